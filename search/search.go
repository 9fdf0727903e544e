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
	Total   int           // labels that match, over all pages; exact
	HasMore bool          // whether labels follow this page
	Next    cola.Position // of the last row; zero when the page is empty
}

// Search returns one page of the labels that match, in result order: newest approval first, then by TTB id descending,
// undated labels last.
//
// The text is the id of a label, if there is such a label; else the barcode of labels, if any of them matches the filters; else
// words, each of which must occur among a label's searched texts. A query, or a part of a name, that holds no letter or digit
// once folded matches nothing.
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

// searchResolved returns the page of a search whose query has been worked out.
func (v *View) searchResolved(q query, s cola.ColaSearch) Page {
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
		p := newPlan(&q, i, seg, sc)
		if !p.empty {
			if p.take = skip + perPage + 1; s.CursorMode {
				p.from = seg.t.after(s.After)
			}
			n, docs := seg.run(&p.selection, sc)
			page.Total += n
			found[i] = docs
		}
		p.release()
	}
	page.Rows, page.HasMore = v.rows(found, skip, perPage)
	if n := len(page.Rows); n > 0 {
		last := &page.Rows[n-1]
		page.Next = cola.Position{Date: last.ApprovalDate, TTBID: last.TTBID}
	}
	return page
}

// CountByDay counts the labels that match, for each approval date from q.To back to q.From: the number of the latest day is the
// first. Both days must be given; there are no numbers when q.From comes after q.To. They sum to the total of the Search from
// q.From to q.To.
func (v *View) CountByDay(q cola.Query) []int {
	counts := make([]int, max(0, int(q.To-q.From)+1))
	r, ok := v.resolveQuery(&q)
	if !ok {
		return counts
	}
	if v.addDays(counts, &r); r.barcode && !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
		r = r.asText()
		v.addDays(counts, &r)
	}
	return counts
}

// addDays adds to the counts of days, the latest first, what a query finds.
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

// addDays adds to the counts of days, the latest first, what a plan for all of them finds in the layer. Documents are in the order of
// the days, so the plan's conditions are run through once.
func (seg *segmentView) addDays(counts []int, latest cola.Date, p *plan, sc *postings.Scratch) {
	for i := range counts {
		day := latest.AddDays(-i)
		p.lo, p.hi = seg.t.window(day, day)
		n, _ := seg.run(&p.selection, sc)
		counts[i] += n
	}
}

// maxOffset is further than any list goes.
const maxOffset = 1 << 40

// pageOffset returns how many rows come before a page.
func pageOffset(page, perPage int) int {
	page = max(page, 1)
	if perPage > 0 && page-1 > maxOffset/perPage {
		return maxOffset
	}
	return (page - 1) * perPage
}

// rows merges what was found in each layer in result order and returns take rows after the first skip, and whether more
// were found.
func (v *View) rows(found [][]uint32, skip, take int) (rows []cola.ColaSummary, more bool) {
	rows = make([]cola.ColaSummary, 0, min(take, 100))
	next := newResultMerger(v.segments, found)
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

// Subset is some of the labels of one view. It never changes; any number of goroutines may use it.
type Subset struct {
	docs [][]uint32 // of each layer, ascending
}

// Subset returns the labels with the ids, as far as the view has them.
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

// Matches returns every label of a subset of the view that matches, as Search finds them and in the same order. A barcode that
// matches no label of the subset is looked for as text.
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

// matchResolved returns the labels of a subset that match a query which has been worked out.
func (v *View) matchResolved(q query, among *Subset) []cola.Position {
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	found := make([][]uint32, len(v.segments))
	total := 0
	for i := range v.segments {
		seg := &v.segments[i]
		p := newPlan(&q, i, seg, sc)
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

// positions merges what was found in each layer in result order.
func (v *View) positions(found [][]uint32, total int) []cola.Position {
	if total == 0 {
		return nil
	}
	positions := make([]cola.Position, 0, total)
	next := newResultMerger(v.segments, found)
	for range total {
		i, doc, _ := next.next()
		positions = append(positions, v.segments[i].t.position(doc))
	}
	return positions
}

// resultMerger walks the documents found in several layers in result order.
type resultMerger struct {
	segments []segmentView
	heads    []mergeHead
}

// mergeHead is where the walk stands in one layer.
type mergeHead struct {
	segment int
	docs    []uint32
	at      cola.Position // of docs[0]
}

func newResultMerger(layers []segmentView, found [][]uint32) *resultMerger {
	m := &resultMerger{segments: layers}
	for i, docs := range found {
		if len(docs) > 0 {
			m.heads = append(m.heads, mergeHead{i, docs, layers[i].t.position(docs[0])})
		}
	}
	return m
}

// skip leaves out the next n documents. The first n/h documents of whichever of h layers ends soonest with them are among
// the next n, so that they are left out at once.
func (m *resultMerger) skip(n int) {
	for n > 0 && len(m.heads) > 0 {
		step := max(1, n/len(m.heads))
		soonest, end := 0, cola.Position{}
		for i, h := range m.heads {
			last := m.segments[h.segment].t.position(h.docs[min(step, len(h.docs))-1])
			if i == 0 || ranksBefore(last, end) {
				soonest, end = i, last
			}
		}
		left := min(step, len(m.heads[soonest].docs))
		m.drop(soonest, left)
		n -= left
	}
}

// drop leaves out the first documents of one layer.
func (m *resultMerger) drop(i, n int) {
	h := &m.heads[i]
	if h.docs = h.docs[n:]; len(h.docs) == 0 {
		m.heads = append(m.heads[:i], m.heads[i+1:]...)
	} else if len(m.heads) > 1 {
		h.at = m.segments[h.segment].t.position(h.docs[0])
	}
}

// next returns the next document.
func (m *resultMerger) next() (layer int, doc uint32, ok bool) {
	if len(m.heads) == 0 {
		return 0, 0, false
	}
	first := 0
	for i := 1; i < len(m.heads); i++ {
		if ranksBefore(m.heads[i].at, m.heads[first].at) {
			first = i
		}
	}
	h := &m.heads[first]
	layer, doc = h.segment, h.docs[0]
	m.drop(first, 1)
	return layer, doc, true
}

// Fold returns s in the form in which searches compare text: lower case, without accents or apostrophes.
func Fold(s string) string { return text.Fold(s) }

// Contains reports whether part occurs in s, both folded. A part that is not empty but folds to nothing occurs nowhere.
func Contains(s, part string) bool { return text.Contains(s, part) }
