package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// Page is one page of labels.
type Page struct {
	Rows    []cola.ColaSummary
	Total   int           // matching labels on all pages; exact
	HasMore bool          // whether labels follow this page
	Next    cola.Position // of the last row; zero when the page is empty
}

// Search returns one page of the labels that match, in the order of s.Sort.
//
// The text is interpreted as the first of these that applies:
//
//  1. the ID of a label that exists;
//  2. a barcode, if a label with that barcode matches the filters;
//  3. words, which must all occur in searched fields of the label.
//
// Non-empty text without letters or digits matches no labels, nor does a non-empty part of a name
// that folds to the empty string.
func (v *View) Search(s cola.ColaSearch) Page {
	q, ok := v.resolveQuery(&s.Query)
	if !ok {
		return Page{Rows: []cola.ColaSummary{}}
	}
	page := v.searchResolved(q, s)
	if page.Total == 0 && q.barcode {
		page = v.searchResolved(q.asText(), s)
	}
	return page
}

// searchResolved returns the page for a resolved query.
func (v *View) searchResolved(q *query, s cola.ColaSearch) Page {
	skip, perPage := 0, max(0, s.PerPage)
	if !s.CursorMode {
		skip = pageOffset(s.Page, perPage)
	}
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	found := make([][]uint32, len(v.segments))
	page := Page{}
	for i := range v.segments {
		seg := &v.segments[i]
		p := newPlan(q, i, seg, sc)
		if !p.empty {
			p.take = skip + perPage + 1
			n, docs := seg.runSorted(&p.selection, &s, sc)
			page.Total += n
			found[i] = docs
		}
		p.release()
	}
	page.Rows, page.HasMore = v.rows(found, s.Sort, skip, perPage)
	if n := len(page.Rows); n > 0 {
		page.Next = PositionOf(&page.Rows[n-1], s.Sort)
	}
	return page
}

// CountByDay returns the number of matching labels for each effective date, from q.To back to
// q.From. Both dates must be set; the result is empty if q.From is after q.To. The counts add up to
// the total of Search.
func (v *View) CountByDay(q cola.Query) []int {
	counts := make([]int, max(0, int(q.To-q.From)+1))
	r, ok := v.resolveQuery(&q)
	if !ok {
		return counts
	}
	if v.addDays(counts, r); r.barcode && !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
		r = r.asText()
		v.addDays(counts, r)
	}
	return counts
}

// addDays adds the labels that a query finds to the daily counts, latest first.
func (v *View) addDays(counts []int, r *query) {
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	for i := range v.segments {
		seg := &v.segments[i]
		p := newPlan(r, i, seg, sc)
		if !p.empty {
			seg.addDays(counts, r.To, p, sc)
		}
		p.release()
	}
}

// addDays adds the labels that a plan finds in the segment to the daily counts, latest first.
// Documents are in the same order, so each cursor of the plan is read only once.
func (seg *segmentView) addDays(counts []int, latest cola.Date, p *plan, sc *postings.Scratch) {
	for i := range counts {
		day := latest.AddDays(-i)
		p.lo, p.hi = seg.t.window(day, day)
		n, _ := seg.run(&p.selection, sc)
		counts[i] += n
	}
}

// maxOffset is beyond the end of any list.
const maxOffset = 1 << 40

// pageOffset returns the number of rows before a page.
func pageOffset(page, perPage int) int {
	page = max(page, 1)
	if perPage > 0 && page-1 > maxOffset/perPage {
		return maxOffset
	}
	return (page - 1) * perPage
}

// rows merges the documents found in each segment, which are in the given order, and returns up to
// take rows after the first skip. more reports whether more rows follow.
func (v *View) rows(found [][]uint32, by cola.Sort, skip, take int) (rows []cola.ColaSummary, more bool) {
	n := -skip
	for _, docs := range found {
		n += len(docs)
	}
	rows = make([]cola.ColaSummary, 0, max(0, min(n, take)))
	next := newResultMerger(v.segments, found, by)
	next.skip(skip)
	for range take {
		i, doc, ok := next.next()
		if !ok {
			return rows, false
		}
		rows = append(rows, v.segments[i].t.summary(doc))
	}
	_, _, more = next.next()
	return rows, more
}

// Subset is an immutable set of labels of one view.
type Subset struct {
	docs [][]uint32 // in each segment, ascending
}

// Subset returns the labels with the given IDs. It ignores IDs without a label in the view.
func (v *View) Subset(ids []cola.TTBID) *Subset {
	s := &Subset{docs: make([][]uint32, len(v.segments))}
	for _, id := range ids {
		if i, doc, ok := v.find(id); ok {
			s.docs[i] = append(s.docs[i], doc)
		}
	}
	for i, docs := range s.docs {
		slices.Sort(docs)
		s.docs[i] = slices.Compact(docs)
	}
	return s
}

// Matches returns the labels of a subset that match, in result order. It interprets the text like
// Search, except that a barcode must match a label of the subset; otherwise it is searched as
// words.
func (v *View) Matches(query cola.Query, among *Subset) []cola.Position {
	q, ok := v.resolveQuery(&query)
	if !ok {
		return nil
	}
	found := v.matchResolved(q, among)
	if found == nil && q.barcode {
		found = v.matchResolved(q.asText(), among)
	}
	return found
}

// matchResolved returns the labels of a subset that match a resolved query.
func (v *View) matchResolved(q *query, among *Subset) []cola.Position {
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	found := make([][]uint32, len(v.segments))
	total := 0
	for i := range v.segments {
		seg := &v.segments[i]
		p := newPlan(q, i, seg, sc)
		if !p.empty {
			p.addDocs(among.docs[i])
		}
		if !p.empty {
			p.take = len(among.docs[i])
			_, found[i] = seg.run(&p.selection, sc)
			total += len(found[i])
		}
		p.release()
	}
	return v.positions(found, total)
}

// positions merges the documents found in each segment in result order.
func (v *View) positions(found [][]uint32, total int) []cola.Position {
	if total == 0 {
		return nil
	}
	positions := make([]cola.Position, 0, total)
	next := newResultMerger(v.segments, found, cola.SortNewest)
	for range total {
		i, doc, _ := next.next()
		positions = append(positions, v.segments[i].t.position(doc))
	}
	return positions
}

// resultMerger merges the documents found in several segments in a sort order.
type resultMerger struct {
	segments []segmentView
	by       cola.Sort
	heads    []mergeHead
}

// mergeHead is a merger's position in one segment.
type mergeHead struct {
	segment int
	docs    []uint32
	at      cola.Position // of docs[0]
}

// newResultMerger returns a merger for the documents found in each segment.
func newResultMerger(segments []segmentView, found [][]uint32, by cola.Sort) *resultMerger {
	m := &resultMerger{segments: segments, by: by}
	for i, docs := range found {
		if len(docs) > 0 {
			m.heads = append(m.heads, mergeHead{i, docs, segments[i].position(docs[0], by)})
		}
	}
	return m
}

// skip skips n documents. With h segments left, it considers a run of n/h documents in each
// segment. The run that ends first is entirely among the next n documents, so it skips that run.
func (m *resultMerger) skip(n int) {
	for n > 0 && len(m.heads) > 0 {
		step := max(1, n/len(m.heads))
		soonest, end := 0, cola.Position{}
		for i, h := range m.heads {
			last := m.segments[h.segment].position(h.docs[min(step, len(h.docs))-1], m.by)
			if i == 0 || comesBefore(last, end, m.by) {
				soonest, end = i, last
			}
		}
		left := min(step, len(m.heads[soonest].docs))
		m.drop(soonest, left)
		n -= left
	}
}

// drop skips the first n documents of head i.
func (m *resultMerger) drop(i, n int) {
	h := &m.heads[i]
	if h.docs = h.docs[n:]; len(h.docs) == 0 {
		m.heads = append(m.heads[:i], m.heads[i+1:]...)
	} else if len(m.heads) > 1 {
		h.at = m.segments[h.segment].position(h.docs[0], m.by)
	}
}

// next returns the next document.
func (m *resultMerger) next() (segment int, doc uint32, ok bool) {
	if len(m.heads) == 0 {
		return 0, 0, false
	}
	first := 0
	for i := 1; i < len(m.heads); i++ {
		if comesBefore(m.heads[i].at, m.heads[first].at, m.by) {
			first = i
		}
	}
	h := &m.heads[first]
	segment, doc = h.segment, h.docs[0]
	m.drop(first, 1)
	return segment, doc, true
}

// Contains reports whether s contains part after folding both. It returns false for a non-empty
// part that folds to the empty string.
func Contains(s, part string) bool { return text.Contains(s, part) }
