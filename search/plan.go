package search

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// query is a search's query as far as it can be worked out for all layers together.
type query struct {
	*cola.Query
	lookup   [][]uint32 // for each layer, the documents that the text names by id or barcode; nil when it names none
	barcode  bool       // lookup is by barcode: when nothing of it matches the filters, phrases are looked for instead
	phrases  []phrase   // what the text asks for, unless there is a lookup by id
	brand    string     // folded
	part     string     // folded
	category string     // resolved
}

// resolve works out a query. ok is false when it matches nothing, because something that it asks for folds to nothing.
// A text that some label has as a barcode yields a query by barcode; see asText.
func (v *View) resolve(q *cola.Query) (r query, ok bool) {
	r = query{Query: q, brand: Fold(q.BrandName), part: Fold(q.PermitPart)}
	if r.brand == "" && q.BrandName != "" || r.part == "" && q.PermitPart != "" {
		return r, false
	}
	if q.CategoryPath != "" {
		r.category = vocabulary.ResolveCategory(q.CategoryPath, v.aliases)
	}
	if q.Text == "" {
		return r, true
	}
	if r.lookup, r.barcode = v.lookup(q.Text); r.lookup != nil && !r.barcode {
		return r, true
	}
	r.phrases = parseText(q.Text)
	return r, len(r.phrases) > 0
}

// asText returns a query by barcode as one by text, for when no label with the barcode matches the filters.
func (q query) asText() query {
	q.lookup, q.barcode = nil, false
	return q
}

// lookup returns for each layer the living documents that a text names by id or, failing that, by barcode; nil when it names
// none.
func (v *View) lookup(text string) (found [][]uint32, barcode bool) {
	found = make([][]uint32, len(v.layers))
	if id, ok := cola.ParseTTBID(text); ok {
		if i, doc, ok := v.find(id); ok {
			found[i] = []uint32{doc}
			return found, false
		}
	}
	if !vocabulary.BarcodeShaped(text) || v.withCode(text, found) == 0 {
		return nil, false
	}
	return found, true
}

// withCode fills found with each layer's living documents that carry a barcode, and returns how many they are.
func (v *View) withCode(value string, found [][]uint32) (total int) {
	for i := range v.layers {
		l := &v.layers[i]
		docs := l.codes.match(value, false)
		if l.dead != nil {
			docs = slices.DeleteFunc(slices.Clone(docs), func(doc uint32) bool { return !l.alive(doc) })
		}
		found[i] = docs
		total += len(docs)
	}
	return total
}

// plan turns a query into conditions on one layer.
type plan struct {
	selection
	l     *layer
	sc    *scratch
	span  span
	never bool // nothing can match
}

// newPlan works out what a query asks of a layer.
func newPlan(q *query, i int, l *layer, sc *scratch) *plan {
	p := &plan{l: l, sc: sc}
	p.lo, p.hi = l.t.window(q.From, q.To)
	if p.lo >= p.hi {
		p.never = true
		return p
	}
	p.span = blocksOf(p.lo, p.hi)
	for _, step := range []func(*query, int){p.addText, p.addFacets, p.addNames, p.addCategories, p.addRanges, p.addBarcode} {
		if step(q, i); p.never {
			return p
		}
	}
	return p
}

// any adds the condition that a document is in one of the lists.
func (p *plan) any(lists []list) {
	lists = slices.DeleteFunc(lists, func(l list) bool { return l.len() == 0 })
	switch len(lists) {
	case 0:
		p.never = true
	case 1:
		p.conditions = append(p.conditions, newCursor(lists[0]))
	default:
		n := 0
		for _, l := range lists {
			n += l.len()
		}
		p.bitmap(p.sc.unite(p.l.t.n, p.span, lists), n)
	}
}

// bitmap adds the condition that a document is in a bitmap, of n documents at most.
func (p *plan) bitmap(w []uint64, n int) {
	p.conditions = append(p.conditions, newBitmapCursor(w, n))
}

// lists returns an empty slice to gather lists in, until the next one is asked for.
func (p *plan) lists() []list { return p.sc.lists[:0] }

// gathered adds the condition that a document is in one of the lists, and keeps their slice.
func (p *plan) gathered(lists []list) {
	p.sc.lists = lists
	p.any(lists)
}

func (p *plan) addText(q *query, i int) {
	if q.lookup != nil {
		p.docs(q.lookup[i])
		return
	}
	for _, ph := range q.phrases {
		switch {
		case len(ph.words) > 1:
			p.gathered(p.l.texts.match(ph, p.sc, p.lists()))
		case ph.prefix:
			p.addPrefix(ph.words[0])
		default:
			p.addWord(ph.words[0])
		}
		if p.never {
			return
		}
	}
}

// docs adds the condition that a document is one of these.
func (p *plan) docs(docs []uint32) { p.any([]list{listOf(docs)}) }

func (p *plan) addWord(word string) {
	lists := p.lists()
	lists = p.l.texts.matchWord(word, lists)
	if id, ok := cola.ParseTTBID(word); ok {
		if doc, ok := p.l.t.doc(id); ok {
			lists = append(lists, listOf([]uint32{doc}))
		}
	}
	p.gathered(lists)
}

func (p *plan) addPrefix(prefix string) {
	if l, ok := p.l.texts.precomputed(prefix); ok {
		p.any([]list{l})
		return
	}
	lists := p.l.texts.matchPrefix(prefix, p.lists())
	ids := p.l.t.idsWithPrefix(prefix)
	if len(ids) == 0 {
		p.gathered(lists)
		return
	}
	p.sc.lists = lists
	n := len(ids)
	for _, l := range lists {
		n += l.len()
	}
	w := p.sc.unite(p.l.t.n, p.span, lists)
	for _, doc := range ids { // outside the span it does no harm
		setBit(w, doc)
	}
	p.bitmap(w, n)
}

func (p *plan) addFacets(q *query, _ int) {
	p.oneOf(facetType, q.ProductTypes...)
	p.oneOf(facetContainer, q.Containers...)
	p.equal(facetStatus, q.Status)
	p.equal(facetDomestic, q.Domestic)
	p.equal(facetState, q.AddressState)
	if q.OriginNames != nil {
		p.any(p.l.facets[facetOrigin].match(nil, q.OriginNames...))
	}
}

// oneOf adds the condition that a facet has one of the values, if there are any.
func (p *plan) oneOf(f int, values ...string) {
	if len(values) > 0 {
		p.any(p.l.facets[f].match(nil, values...))
	}
}

func (p *plan) equal(f int, value string) {
	if value != "" {
		p.oneOf(f, value)
	}
}

func (p *plan) addNames(q *query, _ int) {
	if q.PermitNumber != "" {
		p.gathered(p.l.permit(vocabulary.NormalizePermit(q.PermitNumber), p.lists()))
	}
	if q.brand != "" && !p.never {
		docsOf := func(v uint32) list { return p.l.texts.docsOf(colBrand, v) }
		p.gathered(p.l.brands.match(q.brand, docsOf, p.sc, p.lists()))
	}
	if q.part != "" && !p.never {
		docsOf := func(v uint32) list { return p.l.texts.docsOf(colPermit, v) }
		p.gathered(p.l.permits.match(q.part, docsOf, p.sc, p.lists()))
	}
}

func (p *plan) addCategories(q *query, _ int) {
	if len(q.Categories) > 0 {
		p.within(q.Categories...)
	}
	if q.category != "" {
		p.within(q.category)
	}
}

// within adds the condition that a document's category, transitions applied, is at one of the paths or below.
func (p *plan) within(paths ...string) {
	lists, n := p.lists(), 0
	for _, path := range paths {
		l := p.l.categories.node(path)
		lists, n = append(lists, l), n+l.len()
	}
	if len(p.l.moved) == 0 {
		p.gathered(lists)
		return
	}
	p.sc.lists = lists
	w := p.sc.unite(p.l.t.n, p.span, lists)
	for _, m := range p.l.moved {
		holds := func(path string) bool {
			return slices.ContainsFunc(paths, func(in string) bool { return vocabulary.PathWithin(path, in) })
		}
		docs := p.l.categories.values.list(m.value)
		switch now := holds(m.now); {
		case now:
			docs.orInto(w, p.span)
			n += docs.len()
		case holds(m.was):
			docs.andNotInto(w, p.span)
		}
	}
	p.bitmap(w, n)
}

func (p *plan) addRanges(q *query, _ int) {
	p.between(rangeABV, q.ABVMin, q.ABVMax)
	p.between(rangeVolume, q.VolumeMin, q.VolumeMax)
}

func (p *plan) between(r int, least, most cola.Opt[float64]) {
	if p.never || !least.OK && !most.OK {
		return
	}
	w, ok := p.l.ranges[r].match(least, most, p.sc, p.span)
	if !ok {
		p.never = true
		return
	}
	p.bitmap(w, int(p.l.t.n))
}

// addBarcode adds the condition that the main barcode means the same as the one asked for.
func (p *plan) addBarcode(q *query, _ int) {
	if q.Barcode == "" {
		return
	}
	p.docs(p.l.codes.match(q.Barcode, true))
}

// release gives back the working memory that the conditions hold.
func (p *plan) release() {
	for _, c := range p.conditions {
		p.sc.release(c.bitmap())
	}
	p.conditions = nil
}
