package search

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// facets asks for the facets of a search of all history, and returns how many values they have.
func facets(edit func(p *cola.SearchParams, i int)) func(*View, int) int {
	return func(v *View, i int) (values int) {
		p := cola.SearchParams{ApprovalDateFrom: 1}
		edit(&p, i)
		s, err := p.FacetSearch(cola.NewDate(2026, 11, 20).Time())
		if err != nil {
			panic(err)
		}
		for _, f := range v.Facets(s) {
			values += len(f.Values) + f.More
		}
		return values
	}
}

// facetClasses are the searches whose facets are measured.
func facetClasses(g *synthetic, sample []cola.IndexRecord) []class {
	common := strings.Fields(commonWords)
	return []class{
		{"facets: default window", facets(func(p *cola.SearchParams, _ int) { p.ApprovalDateFrom = 0 })},
		{"facets: all history", facets(func(*cola.SearchParams, int) {})},
		{"facets: a common word", facets(func(p *cola.SearchParams, i int) { p.Q = common[i%len(common)] })},
		{"facets: any word", facets(func(p *cola.SearchParams, i int) { p.Q = g.words[i%len(g.words)] })},
		{"facets: prefix of 1", facets(func(p *cola.SearchParams, i int) { p.Q = letters(1)[i%26] + "*" })},
		{"facets: brand, 1 letter", facets(func(p *cola.SearchParams, i int) { p.BrandName = letters(1)[i%26] })},
		{"facets: category roots", facets(func(p *cola.SearchParams, i int) { p.Category = vocabulary.CategoryRoots()[:1+i%3] })},
		{"facets: abv range", facets(func(p *cola.SearchParams, i int) { p.ABVMin = cola.Some(float64(i % 10)) })},
		{"facets: permit number", facets(func(p *cola.SearchParams, i int) { p.PermitNumber = sample[i%len(sample)].Summary.PermitNumber })},
		{"facets: american", facets(func(p *cola.SearchParams, _ int) { p.Origin = "american" })},
		{"facets: five chosen", facets(func(p *cola.SearchParams, i int) {
			p.Origin, p.Status, p.ProductType = "american", vocabulary.StatusApproved, vocabulary.ProductTypes()[:1+i%3]
			p.ContainerType, p.DerivedSubcategory = cola.ContainerTypes()[:1+i%10], vocabulary.CategoryRoots()[i%3]
		})},
		{"facets: five chosen, a word, default window", facets(func(p *cola.SearchParams, i int) {
			p.Q, p.Origin, p.Status, p.ProductType = common[i%len(common)], "american", vocabulary.StatusApproved, vocabulary.ProductTypes()[:1+i%3]
			p.ContainerType, p.DerivedSubcategory, p.ApprovalDateFrom = cola.ContainerTypes()[:1+i%10], vocabulary.CategoryRoots()[i%3], 0
		})},
	}
}
