package search

import (
	"sort"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// facetCounts contains the number of labels found for each value of the requested facets. The map
// of a facet that was not requested is nil.
type facetCounts struct {
	values [textColumns]map[string]int // by facet column and folded value
	paths  map[string]*pathCount       // by folded path; a path includes its descendants
	years  map[int]int
}

// pathCount is the number of labels found in a category.
type pathCount struct {
	spelling string
	labels   int // with that spelling
	found    int
}

// count counts the labels that a query finds. If the query is a barcode, it also counts the labels
// that the query finds as text; those counts apply to values that no label with the barcode has.
func (v *View) count(q *cola.Query, into, asText *facetCounts) {
	r, ok := v.resolveQuery(q)
	if !ok {
		return
	}
	v.countResolved(r, into)
	if r.barcode {
		r = r.asText()
		v.countResolved(r, asText)
	}
}

// countResolved counts the labels that a resolved query finds.
func (v *View) countResolved(r *query, into *facetCounts) {
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	for i := range v.segments {
		seg := &v.segments[i]
		p := newPlan(r, i, seg, sc)
		if !p.empty {
			seg.count(&p.selection, sc, into)
		}
		p.release()
	}
}

// count adds the labels that a selection finds in the segment.
func (seg *segmentView) count(sel *selection, sc *postings.Scratch, into *facetCounts) {
	var tallies []*valueCounter
	var columns [textColumns]*valueCounter
	for f := range columns {
		if into.values[f] != nil {
			columns[f] = newValueCounter(&seg.t.text[f], &seg.values[f].lists)
			tallies = append(tallies, columns[f])
		}
	}
	var paths *valueCounter
	if into.paths != nil {
		paths = newValueCounter(&seg.t.text[colCategory], &seg.categories.values)
		tallies = append(tallies, paths)
	}
	var years *yearCounter
	if into.years != nil {
		years = newYearCounter(seg.t)
	}
	seg.eachBlock(sel, sc, func(b uint32, w []uint64) {
		n := postings.PopCount(w)
		if n == 0 {
			return
		}
		for _, t := range tallies {
			t.add(b, w, n)
		}
		years.add(b, w)
	})
	for f, t := range columns {
		seg.addValues(into.values[f], f, t)
	}
	seg.addPaths(into.paths, paths)
	years.addTo(into.years)
}

// addValues adds the counts for a facet.
func (seg *segmentView) addValues(into map[string]int, f int, t *valueCounter) {
	if t == nil {
		return
	}
	for i, n := range t.byList {
		if n > 0 {
			into[seg.values[f].keys.At(uint32(i))] += int(n)
		}
	}
	column := &seg.t.text[f]
	for i, n := range t.byValue {
		if n > 0 {
			into[foldValue(column.At(uint32(i)))] += int(n)
		}
	}
}

// addPaths adds the counts of categories.
func (seg *segmentView) addPaths(into map[string]*pathCount, t *valueCounter) {
	if t == nil {
		return
	}
	for i, n := range t.byList { // lists are numbered like the values of the column
		t.byValue[i] += n
	}
	for i, found := range seg.categoryTree.rollUp(t.byValue) {
		if found == 0 {
			continue
		}
		node := &seg.categoryTree.nodes[i]
		path := into[node.folded]
		if path == nil {
			path = &pathCount{}
			into[node.folded] = path
		}
		path.found += found
		if node.labels > path.labels || node.labels == path.labels && node.spelling < path.spelling {
			path.spelling, path.labels = node.spelling, node.labels
		}
	}
}

// yearCounter counts documents by year of their effective date.
type yearCounter struct {
	years  []int    // newest first
	ends   []uint32 // documents of years[i] are in [ends[i-1], ends[i]); the first range starts at 0
	counts []int
}

// newYearCounter returns a counter for the years of a table.
func newYearCounter(t *table) *yearCounter {
	y := &yearCounter{}
	for i := 0; i < len(t.days) && t.days[i] != 0; {
		year := t.days[i].Time().Year()
		first := cola.NewDate(year, time.January, 1)
		i += sort.Search(len(t.days)-i, func(j int) bool { return t.days[i+j] < first })
		y.years, y.ends = append(y.years, year), append(y.ends, t.dayStart[i])
	}
	y.counts = make([]int, len(y.years))
	return y
}

// add counts the documents in w, the bitmap of block b. It is a no-op on a nil counter.
func (y *yearCounter) add(b uint32, w []uint64) {
	if y == nil {
		return
	}
	base, begin := int(b)<<postings.BlockShift, 0
	for i, end := range y.ends {
		lo, hi := max(begin-base, 0), min(int(end)-base, len(w)*64)
		if lo >= len(w)*64 {
			return
		}
		if hi > 0 {
			y.counts[i] += postings.PopCountRange(w, lo, hi)
		}
		begin = int(end)
	}
}

// addTo adds the counts to a map.
func (y *yearCounter) addTo(into map[int]int) {
	if y == nil {
		return
	}
	for i, n := range y.counts {
		if n > 0 {
			into[y.years[i]] += n
		}
	}
}

// valueCounter counts documents by their value in a column, block by block. If a block has few
// documents, it looks up the value of each. Otherwise, it intersects the block with the posting
// list of each value.
type valueCounter struct {
	column   *column.Packed
	lists    *postings.Lists
	cursors  []postings.Cursor // of the lists; nil until needed
	listCost int               // estimated cost of counting a block with the cursors

	byValue []uint32 // counts by the value's index in the column
	byList  []uint32
}

// newValueCounter returns a counter for a column with its lists.
func newValueCounter(column *column.Text, lists *postings.Lists) *valueCounter {
	return &valueCounter{
		column:  &column.IDs,
		lists:   lists,
		byValue: make([]uint32, column.Len()),
		byList:  make([]uint32, lists.Len()),
	}
}

// Costs of counting, in nanoseconds, and the resulting threshold, measured on a 2025 CPU.
const (
	lookupCost  = 2   // to look up a document's value
	advanceCost = 4   // to advance a list to a block
	maxLookups  = 512 // up to this many documents in a block are looked up without opening the lists
)

// add counts the n documents in w, the bitmap of block b.
func (t *valueCounter) add(b uint32, w []uint64, n int) {
	if n > maxLookups && t.cursors == nil {
		t.openCursors()
	}
	if n <= maxLookups || n*lookupCost <= t.listCost {
		t.column.CountBits(t.byValue, int(b)<<postings.BlockShift, w)
		return
	}
	all := n == len(w)*64
	for i := range t.cursors {
		t.byList[i] += t.cursors[i].CountIn(b, w, all)
	}
}

// openCursors opens the lists and estimates the cost of counting with them.
func (t *valueCounter) openCursors() {
	t.cursors = make([]postings.Cursor, t.lists.Len())
	total := 0
	for i := range t.cursors {
		l := t.lists.At(uint32(i))
		t.cursors[i] = postings.NewCursor(l)
		total += l.CountCost()
	}
	t.listCost = total/int(postings.BlockCount(t.lists.NumDocs())) + len(t.cursors)*advanceCost
}
