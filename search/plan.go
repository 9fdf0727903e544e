package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/similar"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// query is a search's query with the parts that are the same for all segments already resolved.
type query struct {
	cola.Query
	view *View
	// For each segment, the documents whose ID or barcode is the text, or nil.
	lookup   [][]uint32
	barcode  bool                // lookup is by barcode; phrases apply if none of its documents match the filters
	phrases  []text.Phrase       // of the text, unless lookup is by ID
	contains [textColumns]string // parts of values, folded
	names    []text.Phrase       // ways to read the requested part of the brand name
	brand    string              // key of the requested brand; empty if only part of its name is requested
	similar  []*similar.Query    // ways to read the name that the brand must be similar to; nil if there is none
	category string              // with aliases resolved

	appellations []string // the requested appellation and those inside it
}

// resolveQuery resolves a query. ok is false if it matches no labels because a non-empty part of it
// folds to the empty string or its non-empty text has no words. If the text is the barcode of some
// label, the query is by barcode; see asText.
func (v *View) resolveQuery(q *cola.Query) (r *query, ok bool) {
	r = &query{Query: *q, view: v}
	for i := range textFields {
		f := &textFields[i]
		if f.contains == nil {
			continue
		}
		part := f.contains(&r.Query)
		if r.contains[i] = f.fold(part); r.contains[i] == "" && part != "" {
			return r, false
		}
	}
	if brand, ok := cola.WholeBrand(q.BrandName); !ok {
		r.names = text.ParseName(q.BrandName)
	} else if r.brand = text.BrandKey(brand); r.brand == "" {
		return r, false
	}
	if q.SimilarTo != "" {
		r.similar = brandQueries(q.SimilarTo, similar.All)
	}
	if q.CategoryPath != "" {
		r.category = vocabulary.ResolveCategory(q.CategoryPath, v.aliases)
	}
	if q.Appellation != "" {
		r.appellations = v.appellations.Within(q.Appellation)
	}
	if q.Text == "" {
		return r, true
	}
	if r.lookup, r.barcode = v.lookup(q.Text); r.lookup != nil && !r.barcode {
		return r, true
	}
	r.phrases = text.ParseQuery(q.Text)
	return r, len(r.phrases) > 0
}

// asText converts a query by barcode to one by text, for use if no label with the barcode matches
// the filters.
func (q *query) asText() *query {
	text := *q
	text.lookup, text.barcode = nil, false
	return &text
}

// lookup returns each segment's live document with the text as its ID or, if no segment has one,
// the live documents with the text as a barcode. It returns nil if neither exists.
func (v *View) lookup(text string) (found [][]uint32, barcode bool) {
	found = make([][]uint32, len(v.segments))
	if id, ok := cola.ParseTTBID(text); ok {
		if i, doc, ok := v.find(id); ok {
			found[i] = []uint32{doc}
			return found, false
		}
	}
	if !vocabulary.BarcodeShaped(text) || v.findBarcode(text, found) == 0 {
		return nil, false
	}
	return found, true
}

// findBarcode sets found to the live documents with the given barcode in each segment, and returns
// how many there are.
func (v *View) findBarcode(value string, found [][]uint32) (total int) {
	for i := range v.segments {
		seg := &v.segments[i]
		docs := seg.barcodes.match(value, false)
		if seg.tombstones != nil {
			docs = slices.DeleteFunc(slices.Clone(docs), func(doc uint32) bool { return !seg.isLive(doc) })
		}
		found[i] = docs
		total += len(docs)
	}
	return total
}

// plan holds a query's conditions for one segment.
type plan struct {
	selection
	seg     *segmentView
	scratch *postings.Scratch
	span    postings.Span
	empty   bool // no document can match
}

// newPlan returns a query's plan for segment i.
func newPlan(q *query, i int, seg *segmentView, sc *postings.Scratch) *plan {
	p := &plan{seg: seg, scratch: sc}
	p.lo, p.hi = seg.t.window(q.From, q.To)
	if p.lo >= p.hi {
		p.empty = true
		return p
	}
	p.span = postings.BlocksOf(p.lo, p.hi)
	for _, step := range []func(*query, int){
		p.addText, p.addFields, p.addBrand, p.addPermit, p.addCategories, p.addBarcode, p.addKnownDate,
		p.addSimilarBrands, p.addFirstSeen,
	} {
		if step(q, i); p.empty {
			return p
		}
	}
	return p
}

// addAny adds the condition that a document is in one of the lists.
func (p *plan) addAny(lists []postings.List) {
	lists = slices.DeleteFunc(lists, func(l postings.List) bool { return l.Len() == 0 })
	switch len(lists) {
	case 0:
		p.empty = true
	case 1:
		p.conditions = append(p.conditions, postings.NewCursor(lists[0]))
	default:
		n := 0
		for _, l := range lists {
			n += l.Len()
		}
		p.addBitmap(p.scratch.Union(p.seg.t.n, p.span, lists), n)
	}
}

// addBitmap adds the condition that a document is in a bitmap of at most n documents.
func (p *plan) addBitmap(w []uint64, n int) {
	p.conditions = append(p.conditions, postings.NewBitmapCursor(w, n))
}

// emptyLists returns an empty slice to collect lists in. Pass it to addLists before the next call.
func (p *plan) emptyLists() []postings.List { return p.scratch.Lists[:0] }

// addLists adds the condition that a document is in one of the lists, whose slice came from
// emptyLists.
func (p *plan) addLists(lists []postings.List) {
	p.scratch.Lists = lists
	p.addAny(lists)
}

// addText adds the conditions of the query's text.
func (p *plan) addText(q *query, i int) {
	if q.lookup != nil {
		p.addDocs(q.lookup[i])
		return
	}
	for _, ph := range q.phrases {
		switch {
		case len(ph.Words) > 1:
			p.addLists(p.seg.texts.MatchPhrase(ph, p.scratch, p.emptyLists()))
		case ph.Prefix:
			p.addPrefix(ph.Words[0])
		default:
			p.addWord(ph)
		}
		if p.empty {
			return
		}
	}
}

// addDocs adds the condition that a document is in docs, which must be in ascending order.
func (p *plan) addDocs(docs []uint32) { p.addAny([]postings.List{postings.Of(docs)}) }

// addWord adds the condition that a document contains the word of a phrase, or has it as its ID.
func (p *plan) addWord(ph text.Phrase) {
	lists := p.seg.texts.MatchWord(ph, p.emptyLists())
	if id, ok := cola.ParseTTBID(ph.Words[0]); ok {
		if doc, ok := p.seg.t.doc(id); ok {
			lists = append(lists, postings.Of([]uint32{doc}))
		}
	}
	p.addLists(lists)
}

// addPrefix adds the condition that a document has a word or an ID that begins with prefix.
func (p *plan) addPrefix(prefix string) {
	if l, ok := p.seg.texts.PrecomputedPrefix(prefix); ok {
		p.addAny([]postings.List{l})
		return
	}
	lists := p.seg.texts.MatchPrefix(prefix, p.emptyLists())
	ids := p.seg.t.idsWithPrefix(prefix)
	if len(ids) == 0 {
		p.addLists(lists)
		return
	}
	p.scratch.Lists = lists
	n := len(ids)
	for _, l := range lists {
		n += l.Len()
	}
	w := p.scratch.Union(p.seg.t.n, p.span, lists)
	for _, doc := range ids { // bits outside the span are ignored
		postings.SetBit(w, doc)
	}
	p.addBitmap(w, n)
}

// addFields adds the conditions from the field tables.
func (p *plan) addFields(q *query, _ int) {
	for i := range textFields {
		f := &textFields[i]
		if f.anyOf != nil {
			p.addValues(&p.seg.values[i], foldValue, f.anyOf(&q.Query))
		}
		if part := q.contains[i]; part != "" && !p.empty {
			docsOf := func(v uint32) postings.List { return p.seg.texts.DocsOf(i, v) }
			lists := p.seg.parts[i].Match(part, docsOf, p.scratch, p.emptyLists())
			if i == colBrand {
				for _, name := range q.names {
					lists = p.seg.texts.MatchName(name, p.scratch, lists)
				}
			}
			p.addLists(lists)
		}
	}
	for i := range listFields {
		f := &listFields[i]
		if f.anyOf != nil {
			p.addValues(&p.seg.listValues[i], f.fold, f.anyOf(q))
		}
	}
	for i := range numFields {
		f := &numFields[i]
		if f.between != nil {
			minValue, maxValue := f.between(&q.Query)
			p.addBetween(&p.seg.ranges[i], minValue, maxValue)
		}
	}
}

// addValues adds the condition that a document has one of the values, unless values is nil.
func (p *plan) addValues(index *valueIndex, fold func(string) string, values []string) {
	if values != nil && !p.empty {
		p.addAny(index.match(fold, values, nil))
	}
}

// addBrand adds the condition on the whole brand.
func (p *plan) addBrand(q *query, _ int) {
	if q.brand == "" {
		return
	}
	lists := p.emptyLists()
	if k, ok := p.seg.brands.keys.Find(q.brand); ok {
		lists = p.seg.appendBrand(lists, k)
	}
	p.addLists(lists)
}

// addPermit adds the condition on the permit number.
func (p *plan) addPermit(q *query, _ int) {
	if q.PermitNumber != "" {
		p.addLists(p.seg.docsWithPermit(vocabulary.NormalizePermit(q.PermitNumber), p.emptyLists()))
	}
}

// addCategories adds the conditions on categories.
func (p *plan) addCategories(q *query, _ int) {
	if len(q.Categories) > 0 {
		p.addWithin(q.Categories...)
	}
	if q.category != "" {
		p.addWithin(q.category)
	}
}

// addWithin adds the condition that a document's category, with aliases applied, is at or below one
// of the paths.
func (p *plan) addWithin(paths ...string) {
	lists, n := p.emptyLists(), 0
	for _, path := range paths {
		l := p.seg.categories.within(path)
		lists, n = append(lists, l), n+l.Len()
	}
	if len(p.seg.redirected) == 0 {
		p.addLists(lists)
		return
	}
	p.scratch.Lists = lists
	w := p.scratch.Union(p.seg.t.n, p.span, lists)
	for _, r := range p.seg.redirected {
		within := func(path string) bool {
			return slices.ContainsFunc(paths, func(in string) bool { return vocabulary.PathWithin(path, in) })
		}
		docs := p.seg.categories.values.At(r.value)
		switch {
		case within(r.to):
			docs.OrInto(w, p.span)
			n += docs.Len()
		case within(r.from):
			docs.AndNotInto(w, p.span)
		}
	}
	p.addBitmap(w, n)
}

// addBetween adds the condition that a number is within bounds, if there are any.
func (p *plan) addBetween(index *rangeIndex, minValue, maxValue cola.Opt[float64]) {
	if p.empty || !minValue.OK && !maxValue.OK {
		return
	}
	w, ok := index.match(minValue, maxValue, p.scratch, p.span)
	if !ok {
		p.empty = true
		return
	}
	p.addBitmap(w, int(p.seg.t.n))
}

// addBarcode adds the condition on the main barcode.
func (p *plan) addBarcode(q *query, _ int) {
	if q.Barcode != "" {
		p.addDocs(p.seg.barcodes.match(q.Barcode, true))
	}
}

// addSimilarBrands adds the condition that the brand is similar to a name.
func (p *plan) addSimilarBrands(q *query, _ int) {
	if q.similar == nil {
		return
	}
	lists := p.emptyLists()
	for _, reading := range q.similar {
		p.seg.similarNames(reading, cola.DefaultMinScore, p.scratch, func(name uint32, _ similar.Match) {
			for _, spelling := range p.seg.nameSpellings(name) {
				lists = append(lists, p.seg.texts.DocsOf(colBrand, spelling))
			}
		})
	}
	p.addLists(lists)
}

// addKnownDate adds the condition that the date is not an estimate.
func (p *plan) addKnownDate(q *query, _ int) {
	if q.NoEstimates && p.seg.knownDates.Len() > 0 {
		p.addAny([]postings.List{p.seg.knownDates.At(0)})
	}
}

// release makes the conditions' bitmaps available for reuse.
func (p *plan) release() {
	for _, c := range p.conditions {
		p.scratch.Release(c.Bitmap())
	}
	p.conditions = nil
}
