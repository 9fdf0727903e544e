package search

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
)

// snapshotOrder identifies the byte order of the machine that wrote a snapshot.
const snapshotOrder = 0x0a0b0c0d

// ErrSnapshot is wrapped by Restore's errors for a file that is damaged or from another store or
// version.
var ErrSnapshot = codec.ErrInvalid

// Save writes the view to a file that Restore reads. The file is written under a temporary name,
// synced and renamed. storeID identifies the store that the index was built from.
func (x *Index) Save(path, storeID string) (err error) {
	v := x.View()
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("save snapshot: %w", err)
		}
	}()
	w := codec.NewWriter(f)
	h := header{snapshotFormat(), snapshotOrder, storeID}
	h.serialize(w)
	v.toSaved().serialize(w)
	if err := w.Close(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Restore replaces the content of the index with a snapshot that Save wrote, and returns its
// revisions. It fails with ErrSnapshot if the file is damaged or from another store or version. On
// error, the index is unchanged.
func (x *Index) Restore(path, storeID string) (Marks, error) {
	x.updating.Lock()
	defer x.updating.Unlock()
	f, err := os.Open(path)
	if err != nil {
		return Marks{}, fmt.Errorf("restore snapshot: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Marks{}, fmt.Errorf("restore snapshot: %w", err)
	}
	v, err := readView(bufio.NewReaderSize(f, 1<<20), info.Size(), storeID)
	if err != nil {
		return Marks{}, fmt.Errorf("restore snapshot %s: %w", path, err)
	}
	v.scratch = &x.scratch
	x.publishing.Lock()
	defer x.publishing.Unlock()
	x.publish(v)
	return v.marks, nil
}

// readView reads a snapshot of size bytes.
func readView(from io.Reader, size int64, storeID string) (*View, error) {
	r := codec.NewReader(from, size)
	var h header
	switch h.serialize(r); {
	case !r.OK():
		return nil, r.Err()
	case h.magic != snapshotFormat() || h.order != snapshotOrder:
		return nil, fmt.Errorf("%w: different format version or byte order", ErrSnapshot)
	case h.store != storeID:
		return nil, fmt.Errorf("%w: snapshot of a different database", ErrSnapshot)
	}
	var content savedView
	content.serialize(r)
	if err := r.Close(); err != nil {
		return nil, err
	}
	return content.view(), nil
}

// header is the beginning of a snapshot.
type header struct {
	magic string
	order uint32
	store string
}

func (h *header) serialize(c codec.Codec) {
	codec.String(c, &h.magic)
	codec.Int(c, &h.order)
	codec.String(c, &h.store)
}

// savedView is the part of a view that a snapshot contains; the rest is derived from it. Don't
// inspect a savedView that was read from a file until the checksum is verified.
type savedView struct {
	marks      Marks
	aliases    column.Dict // former and current path of each alias
	areas      column.Dict // outer and inner appellation of each nested pair
	permittees column.Dict // strings of each permittee
	flags      []uint8     // flags of each permittee
	segments   []segmentView
}

// Flags of a permittee.
const (
	flagKnown = 1 << iota
	flagListed
)

// textsPerPermittee is the number of strings per permittee.
const textsPerPermittee = 6

// toSaved returns the part of the view that a snapshot contains.
func (v *View) toSaved() *savedView {
	s := &savedView{marks: v.marks, segments: v.segments}
	aliases, areas, permittees := column.NewDictBuilder(), column.NewDictBuilder(), column.NewDictBuilder()
	for _, a := range v.publishedAliases {
		aliases.Add(a.Alias)
		aliases.Add(a.Path)
	}
	for _, outer := range slices.Sorted(maps.Keys(v.appellations)) {
		for _, inner := range v.appellations[outer] {
			areas.Add(outer)
			areas.Add(inner)
		}
	}
	for _, p := range v.permittees.records {
		permittees.Add(p.PermitNumber)
		for _, text := range []cola.Text{
			p.CompanyName, p.OperatingName, p.CompanyState, p.CompanyZipCode, p.PermitteeType,
		} {
			permittees.Add(string(text))
		}
		var f uint8
		if p.known {
			f |= flagKnown
		}
		if p.Listed {
			f |= flagListed
		}
		s.flags = append(s.flags, f)
	}
	s.aliases, s.areas, s.permittees = aliases.Dict(), areas.Dict(), permittees.Dict()
	return s
}

func (s *savedView) serialize(c codec.Codec) {
	for _, m := range []*cola.Revision{&s.marks.Labels, &s.marks.Permittees, &s.marks.References} {
		codec.Int(c, m)
	}
	s.aliases.Serialize(c)
	s.areas.Serialize(c)
	s.permittees.Serialize(c)
	codec.Slice(c, &s.flags)
	segments := len(s.segments)
	codec.Int(c, &segments)
	for i := 0; i < segments && c.OK(); i++ {
		if i == len(s.segments) {
			s.segments = append(s.segments, segmentView{segment: &segment{}})
		}
		seg := &s.segments[i]
		seg.segment.serialize(c)
		codec.Slice(c, &seg.tombstones)
		codec.Int(c, &seg.deleted)
	}
}

// view derives the complete view.
func (s *savedView) view() *View {
	v := &View{marks: s.marks, segments: s.segments}
	for i := uint32(0); int(i)+1 < s.aliases.Len(); i += 2 {
		alias := vocabulary.CategoryAlias{Alias: s.aliases.At(i), Path: s.aliases.At(i + 1)}
		v.publishedAliases = append(v.publishedAliases, alias)
	}
	v.aliases = vocabulary.AliasTable(v.publishedAliases)
	v.appellations = cola.Appellations{}
	for i := uint32(0); int(i)+1 < s.areas.Len(); i += 2 {
		outer := s.areas.At(i)
		v.appellations[outer] = append(v.appellations[outer], s.areas.At(i+1))
	}
	pb := (&permittees{}).builder()
	for i, f := range s.flags {
		text := func(field int) cola.Text { return cola.Text(s.permittees.At(uint32(i*textsPerPermittee + field))) }
		if f&flagKnown != 0 {
			pb.put(&cola.Permittee{
				PermitNumber:   string(text(0)),
				CompanyName:    text(1),
				OperatingName:  text(2),
				CompanyState:   text(3),
				CompanyZipCode: text(4),
				PermitteeType:  text(5),
				Listed:         f&flagListed != 0,
			})
		}
	}
	for i := range v.segments {
		seg := &v.segments[i]
		seg.measure()
		seg.applyAliases(v.aliases)
		live := mergeInput{table: seg.t, live: seg.liveBits()}
		pb.countLabels(seg.segment, live.each, +1)
	}
	v.permittees = pb.build(v.segments)
	for i := range v.segments {
		v.segments[i].findPermittees(v.permittees.find)
	}
	return v
}
