package search

import (
	"cmp"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/similar"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// BrandPage is one page of brands.
type BrandPage struct {
	Rows    []cola.BrandMatch
	Total   int            // similar brands, over all pages; exact
	Counts  map[string]int // similar brands by kind of similarity
	HasMore bool           // whether brands follow this page
}

// Brands returns one page of the brands whose names are similar to a given name: highest score
// first, then most labels, then by name. Spellings with the same text.BrandKey are one brand. With
// a filter by product type, only labels of these types count. Labels without a brand name belong to
// no brand.
func (v *View) Brands(s cola.BrandSearch) BrandPage {
	page := BrandPage{Rows: []cola.BrandMatch{}, Counts: map[string]int{}}
	counter := newBrandCounter(v, s.ProductTypes)
	byScore := make([][]brandGroup, 101)
	for _, g := range counter.liveGroups(v.similarBrands(s)) {
		byScore[g.score] = append(byScore[g.score], g)
		page.Counts[similarity(g.kind)]++
		page.Total++
	}
	skip, take := pageOffset(s.Page, s.PerPage), max(0, s.PerPage)
	page.HasMore = skip+take < page.Total
	for _, groups := range slices.Backward(byScore) {
		if skip >= len(groups) {
			skip -= len(groups)
			continue
		}
		if len(page.Rows) == take {
			break
		}
		// The groups are ordered by name.
		slices.SortStableFunc(groups, func(a, b brandGroup) int { return cmp.Compare(b.labels, a.labels) })
		for i := skip; i < len(groups) && len(page.Rows) < take; i++ {
			page.Rows = append(page.Rows, counter.row(&groups[i]))
		}
		skip = 0
	}
	return page
}

// similarity returns the name of a kind in responses.
func similarity(k similar.Kind) string { return cola.Similarities()[k] }

// similarBrands returns the similar brands of every segment, sorted by key.
func (v *View) similarBrands(s cola.BrandSearch) (all []similarBrand) {
	allowed := similar.All
	if len(s.Similarities) > 0 {
		allowed = 0
		for i, name := range cola.Similarities() {
			if slices.Contains(s.Similarities, name) {
				allowed = allowed.With(similar.Kind(i))
			}
		}
	}
	q := similar.NewQuery(text.BrandKey(s.Name), allowed)
	sc := v.scratch.Get()
	defer v.scratch.Put(sc)
	for i := range v.segments {
		found := v.segments[i].similarBrands(q, s.MinScore, sc)
		for j := range found {
			found[j].segment = uint16(i)
		}
		all = v.mergeBrands(all, found)
	}
	return all
}

// brandKey returns the key of a brand.
func (v *View) brandKey(b similarBrand) string { return v.segments[b.segment].brands.keys.At(b.brand) }

// mergeBrands merges two lists that are sorted by key.
func (v *View) mergeBrands(a, b []similarBrand) []similarBrand {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	merged := make([]similarBrand, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if v.brandKey(b[0]) < v.brandKey(a[0]) {
			merged, b = append(merged, b[0]), b[1:]
		} else {
			merged, a = append(merged, a[0]), a[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// brandGroup is a similar brand in all segments that have it.
type brandGroup struct {
	similarBrand // in the first segment that has it
	all          []similarBrand
	labels       int
}
