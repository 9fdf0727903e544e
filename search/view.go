package search

import (
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// View is the registry as of one publication. It never changes; any number of goroutines may search it without a lock.
type View struct {
	segments         []segmentView
	permittees       *permittees
	publishedAliases []vocabulary.CategoryAlias
	aliases          map[string]string // of published, as vocabulary.AliasTable makes them
	marks            Marks
	scratch          *postings.ScratchPool
}

// Marks returns the revisions that the view was brought up to.
func (v *View) Marks() Marks { return v.marks }

// Stats describes a view.
type Stats struct {
	Labels     int   // labels that can be found
	Undated    int   // of these, without an approval date
	Permittees int   // permittees that can be found
	Segments   int   // immutable parts that a search visits
	Tombstones int   // labels replaced since and held until compaction
	Bytes      int64 // held by the segments
}

// Stats describes the view.
func (v *View) Stats() Stats {
	s := Stats{Permittees: len(v.permittees.ranked), Segments: len(v.segments)}
	for i := range v.segments {
		seg := &v.segments[i]
		s.Labels += seg.liveCount()
		s.Tombstones += seg.deleted
		s.Bytes += seg.bytes + int64(len(seg.tombstones)*8)
		lo, hi := seg.t.undated()
		for doc := lo; doc < hi; doc++ {
			if seg.isLive(doc) {
				s.Undated++
			}
		}
	}
	return s
}

// find returns the layer and document of a living label.
func (v *View) find(id cola.TTBID) (i int, doc uint32, ok bool) {
	for i := range v.segments {
		if doc, ok := v.segments[i].t.doc(id); ok && v.segments[i].isLive(doc) {
			return i, doc, true
		}
	}
	return 0, 0, false
}

// Label returns the label with an id; ok is false when there is none.
func (v *View) Label(id cola.TTBID) (label cola.ColaSummary, ok bool) {
	i, doc, ok := v.find(id)
	if !ok {
		return label, false
	}
	return v.segments[i].t.summary(doc), true
}

// Rows returns labels with what the index holds beside their summaries. A label that the view no
// longer has keeps its summary.
func (v *View) Rows(labels []cola.ColaSummary) []cola.ColaRow {
	rows := make([]cola.ColaRow, len(labels))
	for n, label := range labels {
		row := &rows[n]
		row.ColaSummary = label
		if i, ok := v.permittees.find(vocabulary.NormalizePermit(label.PermitNumber)); ok {
			row.CompanyName = v.permittees.records[i].CompanyName
		}
		if i, doc, ok := v.find(label.TTBID); ok {
			t := v.segments[i].t
			row.ABV.V, row.ABV.OK = t.num[numABV].Value(doc)
			row.VolumeML.V, row.VolumeML.OK = t.num[numVolume].Value(doc)
		}
	}
	return rows
}

// Barcode returns the labels that carry a barcode, among all that were read from them, in result order and at most limit of
// them, with the exact total. ok is false when no label does.
func (v *View) Barcode(value string, limit int) (r cola.BarcodeResult, ok bool) {
	found := make([][]uint32, len(v.segments))
	total := v.findBarcode(value, found)
	if total == 0 {
		return r, false
	}
	r = cola.BarcodeResult{BarcodeValue: value, TotalColas: total}
	if i, doc, ok := newResultMerger(v.segments, found).next(); ok {
		r.BarcodeType = cola.Text(v.segments[i].t.barcode(doc, value).Type)
	}
	r.Colas, _ = v.rows(found, 0, limit)
	return r, true
}

// Categories returns the category paths that labels have, transitions applied, and every path above them, in alphabetical
// order. A path whose last label was changed or replaced stays until the segment is folded.
func (v *View) Categories() []string {
	paths := map[string]string{} // by folded path: spellings that are compared as equal count once
	for i := range v.segments {
		c := &v.segments[i].t.text[colCategory]
		for value := range uint32(c.Len()) {
			path := vocabulary.ResolveCategory(c.At(value), v.aliases)
			for ; path != ""; path = above(path) {
				folded := vocabulary.FoldPath(path)
				if _, met := paths[folded]; met {
					break
				}
				paths[folded] = path
			}
		}
	}
	return slices.Sorted(maps.Values(paths))
}

// Resolve returns the current category path for one that may be former.
func (v *View) Resolve(path string) string { return vocabulary.ResolveCategory(path, v.aliases) }

// Origins returns the places that labels are from, as vocabulary.PlaceOf has them, upper case and sorted. A place whose last label
// was changed or replaced stays until its segment is folded.
func (v *View) Origins() []string {
	met := map[string]bool{}
	for i := range v.segments {
		keys := &v.segments[i].values[facetOrigin].keys
		for n := range uint32(keys.Len()) {
			met[keys.At(n)] = true
		}
	}
	delete(met, "")
	return slices.Sorted(maps.Keys(met))
}

// above returns the path that a settled one lies directly below, or nothing for a root.
func above(path string) string {
	i := strings.LastIndex(path, " > ")
	return path[:max(0, i)]
}

// States returns the states that permittees are in, two letters each, in alphabetical order.
func (v *View) States() []string {
	met := map[string]bool{}
	for i := range v.permittees.stats {
		if f := &v.permittees.stats[i]; f.known {
			met[v.permittees.states[f.state]] = true
		}
	}
	delete(met, "")
	return slices.Sorted(maps.Keys(met))
}
