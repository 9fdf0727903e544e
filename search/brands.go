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
	Total   int            // similar brands on all pages; exact
	Counts  map[string]int // similar brands by kind of similarity
	HasMore bool           // whether more brands follow this page
}

// Brands returns one page of the brands whose names are similar to a given name: highest score
// first, then most labels, then by name. Spellings with the same text.BrandKey are one brand. With
// a product type filter, only labels of those types count. Labels without a brand name are
// ignored.
func (v *View) Brands(s cola.BrandSearch) BrandPage {
	page := BrandPage{Rows: []cola.BrandMatch{}, Counts: map[string]int{}}
	counter := newBrandCounter(v, s.ProductTypes)
	byScore := make([][]brandGroup, 101)
	for _, g := range counter.liveGroups(counter.similarBrands(s)) {
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

// similarity returns the name that responses use for a kind.
func similarity(k similar.Kind) string { return cola.Similarities()[k] }

// brandNames returns the ways to read a brand name: first its key, then other readings of elided
// articles, unless they have the same words.
func brandNames(brand string) (all []similar.Name) {
	for i, key := range text.BrandReadings(brand) {
		name := similar.NewName(key)
		name.Reading = i > 0
		if !slices.ContainsFunc(all, func(other similar.Name) bool { return other.SameWords(&name) }) {
			all = append(all, name)
		}
	}
	return all
}

// brandQueries returns a query for each way to read a brand name.
func brandQueries(brand string, allowed similar.Set) (all []*similar.Query) {
	for _, name := range brandNames(brand) {
		all = append(all, similar.NewQuery(name, allowed))
	}
	return all
}

// similarBrand is a brand in a segment that is similar to a query.
type similarBrand struct {
	segment uint16
	kind    similar.Kind
	score   uint8
	partial bool // whether the match may apply only to some of its spellings
	brand   uint32
}

func (b *similarBrand) match() similar.Match { return similar.Match{Kind: b.kind, Score: int(b.score)} }

// similarBrands returns the similar brands of every segment, sorted by key.
func (c *brandCounter) similarBrands(s cola.BrandSearch) (all []similarBrand) {
	allowed := similar.All
	if len(s.Similarities) > 0 {
		allowed = 0
		for i, name := range cola.Similarities() {
			if slices.Contains(s.Similarities, name) {
				allowed = allowed.With(similar.Kind(i))
			}
		}
	}
	queries := brandQueries(s.Name, allowed)
	for i := range c.view.segments {
		all = c.view.mergeBrands(all, c.similarInSegment(uint16(i), queries, s.MinScore))
	}
	return all
}

// similarInSegment returns the similar brands of a segment, sorted by key.
func (c *brandCounter) similarInSegment(segment uint16, queries []*similar.Query, minScore int) (found []similarBrand) {
	seg := &c.view.segments[segment]
	sc := c.view.scratch.Get()
	defer c.view.scratch.Put(sc)
	brands := uint32(seg.brands.keys.Len())
	for _, q := range queries {
		seg.similarNames(q, minScore, sc, func(name uint32, m similar.Match) {
			b := similarBrand{segment: segment, kind: m.Kind, score: uint8(m.Score), brand: name}
			if b.partial = name >= brands; b.partial {
				spelling := seg.nameSpellings(name)[0]
				if len(c.labels(segment, spelling)) == 0 {
					return
				}
				b.brand = seg.brands.keyOf[spelling]
			}
			found = append(found, b)
		})
	}
	// Brands are in the order of their keys, unless some were found in several ways.
	slices.SortStableFunc(found, func(a, b similarBrand) int { return cmp.Compare(a.brand, b.brand) })
	return mergeMatches(found)
}

// mergeMatches merges consecutive matches of one brand, keeping the best.
func mergeMatches(found []similarBrand) []similarBrand {
	merged := found[:0]
	for _, b := range found {
		last := len(merged) - 1
		switch {
		case last < 0 || merged[last].brand != b.brand:
			merged = append(merged, b)
		case merged[last].match().Or(b.match()) != merged[last].match():
			merged[last] = b
		}
	}
	return merged
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
	similarBrand // its best match
	all          []similarBrand
	labels       int
}
