package search

import (
	"slices"

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

// Stats describes the view.
func (v *View) Stats() Stats {
	s := Stats{Permittees: len(v.holders.ranked), Segments: len(v.layers)}
	for i := range v.layers {
		l := &v.layers[i]
		s.Labels += l.living()
		s.Dead += l.deaths
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

// undated returns the range of documents without an approval date.
func (t *table) undated() (lo, hi uint32) {
	_, lo = t.window(1, 0)
	return lo, t.n
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

// Search returns one page of the labels that match, in result order: newest approval first, then by TTB id descending,
// undated labels last.
//
// The text is the id of a label, if there is such a label; else the barcode of labels, if any of them matches the filters; else
// words, each of which must occur among a label's searched texts. A query, or a part of a name, that holds no letter or digit
// once folded matches nothing.
func (v *View) Search(s cola.ColaSearch) Page {
	q, ok := v.resolve(&s.Query)
	if !ok {
		return Page{Rows: []cola.ColaSummary{}}
	}
	page := v.searchFor(q, s)
	if page.Total == 0 && q.barcode {
		page = v.searchFor(q.asText(), s)
	}
	return page
}

// searchFor returns the page of a search whose query has been worked out.
func (v *View) searchFor(q query, s cola.ColaSearch) Page {
	skip, perPage := 0, max(0, s.PerPage)
	if !s.CursorMode {
		skip = offset(s.Page, perPage)
	}
	sc := v.scratches.get()
	defer v.scratches.put(sc)
	found := make([][]uint32, len(v.layers))
	page := Page{}
	for i := range v.layers {
		l := &v.layers[i]
		p := newPlan(&q, i, l, sc)
		if !p.never {
			if p.take = skip + perPage + 1; s.CursorMode {
				p.from = l.t.after(s.After)
			}
			n, docs := l.run(&p.selection, sc)
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
	r, ok := v.resolve(&q)
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
	sc := v.scratches.get()
	defer v.scratches.put(sc)
	for i := range v.layers {
		l := &v.layers[i]
		p := newPlan(r, i, l, sc)
		if !p.never {
			l.addDays(counts, r.To, p, sc)
		}
		p.release()
	}
}

// addDays adds to the counts of days, the latest first, what a plan for all of them finds in the layer. Documents are in the order of
// the days, so the plan's conditions are run through once.
func (l *layer) addDays(counts []int, latest cola.Date, p *plan, sc *scratch) {
	for i := range counts {
		day := latest.AddDays(-i)
		p.lo, p.hi = l.t.window(day, day)
		n, _ := l.run(&p.selection, sc)
		counts[i] += n
	}
}

// farAway is further than any list goes.
const farAway = 1 << 40

// offset returns how many rows come before a page.
func offset(page, perPage int) int {
	page = max(page, 1)
	if perPage > 0 && page-1 > farAway/perPage {
		return farAway
	}
	return (page - 1) * perPage
}

// rows merges what was found in each layer in result order and returns take rows after the first skip, and whether more
// were found.
func (v *View) rows(found [][]uint32, skip, take int) (rows []cola.ColaSummary, more bool) {
	rows = make([]cola.ColaSummary, 0, min(take, 100))
	next := newMerger(v.layers, found)
	next.skip(skip)
	for range take {
		i, doc, ok := next.next()
		if !ok {
			return rows, false
		}
		rows = append(rows, v.layers[i].t.summary(doc))
	}
	_, _, more = next.next()
	return rows, more
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
