package search

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// A snapshot is the magic with the format's version, a number that shows the machine's byte order, and then the view's
// slices as they lie in memory, each with its length before it, closed by a CRC-32C of it all.
const (
	snapshotMagic = "colaidx2"
	snapshotOrder = 0x0a0b0c0d
)

// ErrSnapshot is wrapped by what Restore returns for a file that is not a whole snapshot of the store, of this version.
var ErrSnapshot = errors.New("not a usable snapshot")

// Save writes the view to a file, from which Restore makes it again. The file takes the name only once it is whole and on
// disk. storeID is that of the store that the index was built from.
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
	w := &snapshotWriter{w: bufio.NewWriterSize(f, 1<<20)}
	h := header{snapshotMagic, snapshotOrder, storeID}
	h.carry(w)
	v.saved().carry(w)
	if err := w.close(); err != nil {
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

// syncDir makes a renaming in a directory last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Restore makes the index what Save wrote, and returns the revisions that it was brought up to. When the file is damaged, of
// another store, or of another version of the format, it fails with ErrSnapshot; when it fails the index is as it was.
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
	v.scratches = &x.scratches
	x.publishing.Lock()
	defer x.publishing.Unlock()
	x.view.Store(v)
	return v.marks, nil
}

// readView reads a snapshot of size bytes.
func readView(from io.Reader, size int64, storeID string) (*View, error) {
	r := &snapshotReader{r: from, left: size}
	var h header
	switch h.carry(r); {
	case !r.ok():
		return nil, r.err
	case h.magic != snapshotMagic || h.order != snapshotOrder:
		return nil, fmt.Errorf("%w: it is of another version or machine", ErrSnapshot)
	case h.store != storeID:
		return nil, fmt.Errorf("%w: it is of another database", ErrSnapshot)
	}
	var content saved
	content.carry(r)
	if err := r.close(); err != nil {
		return nil, err
	}
	return content.view(), nil
}

// header opens a snapshot.
type header struct {
	magic string
	order uint32
	store string
}

func (h *header) carry(c carrier) {
	carryText(c, &h.magic)
	carryNumber(c, &h.order)
	carryText(c, &h.store)
}

// saved is what a snapshot holds of a view. What follows from the rest is worked out again. Nothing is looked into while it
// is read, as it may turn out to be damaged.
type saved struct {
	marks   Marks
	aliases dict    // of each transition, the path that was and the path that is
	holders dict    // of each permittee, its texts
	flags   []uint8 // of each permittee
	layers  []layer
}

// Flags of a permittee.
const (
	flagKnown = 1 << iota
	flagListed
)

// textsOfHolder is how many texts a permittee has.
const textsOfHolder = 6

func (v *View) saved() *saved {
	s := &saved{marks: v.marks, layers: v.layers}
	aliases, holders := newDictBuilder(), newDictBuilder()
	for _, a := range v.published {
		aliases.add(a.Alias)
		aliases.add(a.Path)
	}
	for _, p := range v.holders.recs {
		holders.add(p.PermitNumber)
		for _, text := range []cola.Text{p.CompanyName, p.OperatingName, p.CompanyState, p.CompanyZipCode, p.PermitteeType} {
			holders.add(string(text))
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
	s.aliases, s.holders = aliases.dict(), holders.dict()
	return s
}

func (s *saved) carry(c carrier) {
	for _, m := range []*cola.Revision{&s.marks.Labels, &s.marks.Permittees, &s.marks.References} {
		carryNumber(c, m)
	}
	s.aliases.carry(c)
	s.holders.carry(c)
	carry(c, &s.flags)
	layers := len(s.layers)
	carryNumber(c, &layers)
	for i := 0; i < layers && c.ok(); i++ {
		if i == len(s.layers) {
			s.layers = append(s.layers, layer{segment: &segment{}})
		}
		l := &s.layers[i]
		l.segment.carry(c)
		carry(c, &l.dead)
		carryNumber(c, &l.deaths)
	}
}

// view returns the view that was saved.
func (s *saved) view() *View {
	v := &View{marks: s.marks, layers: s.layers}
	for i := uint32(0); int(i)+1 < s.aliases.len(); i += 2 {
		v.published = append(v.published, vocabulary.CategoryAlias{Alias: s.aliases.at(i), Path: s.aliases.at(i + 1)})
	}
	v.aliases = vocabulary.AliasTable(v.published)
	edit := (&holders{}).edit()
	for i, f := range s.flags {
		text := func(field int) cola.Text { return cola.Text(s.holders.at(uint32(i*textsOfHolder + field))) }
		if f&flagKnown != 0 {
			edit.put(&cola.Permittee{
				PermitNumber: string(text(0)), CompanyName: text(1), OperatingName: text(2), CompanyState: text(3),
				CompanyZipCode: text(4), PermitteeType: text(5), Listed: f&flagListed != 0,
			})
		}
	}
	for i := range v.layers {
		l := &v.layers[i]
		l.weigh()
		l.resolve(v.aliases)
		edit.count(l.segment, func(yield func(uint32)) { part{t: l.t, live: l.livingBits()}.each(yield) }, +1)
	}
	v.holders = edit.finish(v.layers)
	return v
}
