package search

import (
	"maps"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// View is the registry as of one publication. It never changes; any number of goroutines may search it without a lock.
type View struct {
	layers    []layer
	holders   *holders
	published []vocabulary.CategoryAlias
	aliases   map[string]string // of published, as vocabulary.AliasTable makes them
	marks     Marks
	scratches *scratches
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
	s := Stats{Permittees: len(v.holders.ranked), Segments: len(v.layers)}
	for i := range v.layers {
		l := &v.layers[i]
		s.Labels += l.living()
		s.Tombstones += l.deaths
		s.Bytes += l.bytes + int64(len(l.dead)*8)
		lo, hi := l.t.undated()
		for doc := lo; doc < hi; doc++ {
			if l.alive(doc) {
				s.Undated++
			}
		}
	}
	return s
}

// find returns the layer and document of a living label.
func (v *View) find(id cola.TTBID) (i int, doc uint32, ok bool) {
	for i := range v.layers {
		if doc, ok := v.layers[i].t.doc(id); ok && v.layers[i].alive(doc) {
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
	return v.layers[i].t.summary(doc), true
}

// Rows returns labels with what the index holds beside their summaries. A label that the view no
// longer has keeps its summary.
func (v *View) Rows(labels []cola.ColaSummary) []cola.ColaRow {
	rows := make([]cola.ColaRow, len(labels))
	for n, label := range labels {
		row := &rows[n]
		row.ColaSummary = label
		if i, ok := v.holders.find(vocabulary.NormalizePermit(label.PermitNumber)); ok {
			row.CompanyName = v.holders.recs[i].CompanyName
		}
		if i, doc, ok := v.find(label.TTBID); ok {
			t := v.layers[i].t
			row.ABV.V, row.ABV.OK = t.num[numABV].value(doc)
			row.VolumeML.V, row.VolumeML.OK = t.num[numVolume].value(doc)
		}
	}
	return rows
}

// Barcode returns the labels that carry a barcode, among all that were read from them, in result order and at most limit of
// them, with the exact total. ok is false when no label does.
func (v *View) Barcode(value string, limit int) (r cola.BarcodeResult, ok bool) {
	found := make([][]uint32, len(v.layers))
	total := v.withCode(value, found)
	if total == 0 {
		return r, false
	}
	r = cola.BarcodeResult{BarcodeValue: value, TotalColas: total}
	if i, doc, ok := newMerger(v.layers, found).next(); ok {
		r.BarcodeType = cola.Text(v.layers[i].t.barcode(doc, value).Type)
	}
	r.Colas, _ = v.rows(found, 0, limit)
	return r, true
}

// Categories returns the category paths that labels have, transitions applied, and every path above them, in alphabetical
// order. A path whose last label was changed or replaced stays until the segment is folded.
func (v *View) Categories() []string {
	paths := map[string]string{} // by folded path: spellings that are compared as equal count once
	for i := range v.layers {
		c := &v.layers[i].t.text[colCategory]
		for value := range uint32(c.len()) {
			path := vocabulary.ResolveCategory(c.at(value), v.aliases)
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
	for i := range v.layers {
		keys := &v.layers[i].facets[facetOrigin].keys
		for n := range uint32(keys.len()) {
			met[keys.at(n)] = true
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
	for i := range v.holders.facts {
		if f := &v.holders.facts[i]; f.known {
			met[v.holders.states[f.state]] = true
		}
	}
	delete(met, "")
	return slices.Sorted(maps.Keys(met))
}
