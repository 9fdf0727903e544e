package search

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// The maximum number of values that each facet shows. Values with the fewest labels are omitted.
const (
	maxOrigins    = 12
	maxCategories = 50
)

// Facets counts the labels that a search finds, by the values of every facet. A value's count is
// the number of results of the search that cola.SearchParams.Choose returns for it, with the same
// dates and with category aliases applied. Values with the most labels come first, except that
// statuses follow the order of vocabulary.Statuses and years are newest first.
func (v *View) Facets(s cola.FacetSearch) []cola.Facet {
	c := &facetCounter{view: v, params: s.Params, query: s.Query, byFacet: map[string]*facetQuery{}}
	for _, q := range s.Queries {
		c.request(q)
	}
	for _, b := range c.queries {
		v.count(&b.query, &b.facetCounts, &b.asText)
	}
	return c.facets()
}

// facetCounter computes the facets of one search.
type facetCounter struct {
	view    *View
	params  cola.SearchParams
	query   cola.Query // of params
	queries []*facetQuery
	byFacet map[string]*facetQuery
}

// facetQuery is the query used to count one or more facets: the search without its conditions on
// those facets.
type facetQuery struct {
	query cola.Query
	facetCounts
	asText facetCounts // of the query as text, if it is a barcode
}

// countFound returns the number of labels that a search finds: those with the barcode, or those
// with the text if there are none.
func countFound(counted, asText int) int { return cmp.Or(counted, asText) }

// countOf returns the number of labels that have the given value.
func (b *facetQuery) countOf(f int, value string) int {
	return countFound(b.values[f][foldValue(value)], b.asText.values[f][foldValue(value)])
}

// request adds a facet. Facets with the same query are counted together.
func (c *facetCounter) request(q cola.FacetQuery) {
	base := &facetQuery{query: q.Query}
	same := func(b *facetQuery) bool { return reflect.DeepEqual(b.query, base.query) }
	if i := slices.IndexFunc(c.queries, same); i >= 0 {
		base = c.queries[i]
	} else {
		c.queries = append(c.queries, base)
	}
	base.request(q.Facet)
	base.asText.request(q.Facet)
	c.byFacet[q.Facet] = base
}

// request adds a facet.
func (c *facetCounts) request(facet string) {
	column := map[string]int{
		cola.FacetProductType: colType, cola.FacetStatus: colStatus,
		cola.FacetOrigin: colOrigin, cola.FacetContainer: colContainer,
	}
	switch f, ok := column[facet]; {
	case ok:
		if c.values[f] == nil {
			c.values[f] = map[string]int{}
		}
	case facet == cola.FacetCategory:
		c.paths = map[string]*pathCount{}
	case facet == cola.FacetYear:
		c.years = map[int]int{}
	}
}

// facets returns the facets in the order of cola.Facets.
func (c *facetCounter) facets() []cola.Facet {
	types := func(value string) int { return c.byFacet[cola.FacetProductType].countOf(colType, value) }
	statuses := func(value string) int { return c.byFacet[cola.FacetStatus].countOf(colStatus, value) }
	containers := func(value string) int { return c.byFacet[cola.FacetContainer].countOf(colContainer, value) }
	return []cola.Facet{
		c.fixedValues(cola.FacetProductType, vocabulary.ProductTypes(), types),
		{Name: cola.FacetStatus, Values: c.valuesOf(cola.FacetStatus, vocabulary.Statuses(), statuses)},
		c.categories(c.byFacet[cola.FacetCategory].allPaths()),
		c.origins(c.byFacet[cola.FacetOrigin]),
		c.fixedValues(cola.FacetContainer, cola.ContainerTypes(), containers),
		c.years(c.byFacet[cola.FacetYear].allYears()),
	}
}

// allPaths returns the counts of categories.
func (b *facetQuery) allPaths() map[string]*pathCount {
	for path, n := range b.asText.paths {
		if have := b.paths[path]; have == nil || have.found == 0 {
			b.paths[path] = n
		}
	}
	return b.paths
}

// allYears returns the counts of years.
func (b *facetQuery) allYears() map[int]int {
	for year, n := range b.asText.years {
		b.years[year] = countFound(b.years[year], n)
	}
	return b.years
}

// valuesOf returns the values from a fixed list that are chosen or that at least one label has.
func (c *facetCounter) valuesOf(facet string, all []string, count func(string) int) (values []cola.FacetValue) {
	for _, value := range all {
		v := cola.FacetValue{Value: value, Count: count(value), Chosen: c.params.Chosen(facet, value)}
		if v.Count > 0 || v.Chosen {
			values = append(values, v)
		}
	}
	return values
}

// fixedValues returns a facet with values from a fixed list.
func (c *facetCounter) fixedValues(facet string, all []string, count func(string) int) cola.Facet {
	values := c.valuesOf(facet, all, count)
	slices.SortStableFunc(values, func(a, b cola.FacetValue) int { return b.Count - a.Count })
	return cola.Facet{Name: facet, Values: values}
}

// years returns the year facet.
func (c *facetCounter) years(counts map[int]int) cola.Facet {
	f := cola.Facet{Name: cola.FacetYear}
	if first := c.query.From; first != 0 {
		if year := first.Time().Year(); c.params.Chosen(f.Name, strconv.Itoa(year)) && counts[year] == 0 {
			counts[year] = 0
		}
	}
	for year, n := range counts {
		value := strconv.Itoa(year)
		f.Values = append(f.Values, cola.FacetValue{Value: value, Count: n, Chosen: c.params.Chosen(f.Name, value)})
	}
	slices.SortFunc(f.Values, func(a, b cola.FacetValue) int { // newest first; years with fewer digits are older
		return cmp.Or(len(b.Value)-len(a.Value), strings.Compare(b.Value, a.Value))
	})
	return f
}

// categories returns the chosen path, if any, and the paths one level below it.
func (c *facetCounter) categories(counts map[string]*pathCount) cola.Facet {
	f := cola.Facet{Name: cola.FacetCategory}
	above, levels := "", 0
	if c.query.CategoryPath != "" {
		chosen := cola.FacetValue{Value: c.query.CategoryPath, Chosen: true}
		above = vocabulary.FoldPath(vocabulary.ResolveCategory(chosen.Value, c.view.aliases))
		levels = 1 + strings.Count(above, categorySeparator)
		if at := counts[above]; at != nil {
			chosen.Count = at.found
			if c.isSearchable(at.spelling, above) {
				chosen.Value = at.spelling
			}
		}
		f.Values = append(f.Values, chosen)
		above += categorySeparator
	}
	var below []cola.FacetValue
	for folded, at := range counts {
		child := strings.HasPrefix(folded, above) && strings.Count(folded, categorySeparator) == levels
		if child && c.isSearchable(at.spelling, folded) {
			below = append(below, cola.FacetValue{Value: at.spelling, Count: at.found})
		}
	}
	below, f.More = topValues(below, maxCategories)
	f.Values = append(f.Values, below...)
	return f
}

// isSearchable reports whether a search for path finds the folded path. It returns false if no
// parameter accepts path, or if path resolves to another one, which cyclic aliases can cause.
func (c *facetCounter) isSearchable(path, folded string) bool {
	return cola.AcceptsText(path) &&
		vocabulary.FoldPath(vocabulary.ResolveCategory(vocabulary.NormalizePath(path), c.view.aliases)) == folded
}

// origins returns the origins with the most labels and the chosen one. The count of a country
// includes its regions.
func (c *facetCounter) origins(b *facetQuery) cola.Facet {
	f := cola.Facet{Name: cola.FacetOrigin}
	sum := func(counts map[string]int, places []string) (n int) {
		for _, place := range places {
			n += counts[foldValue(place)]
		}
		return n
	}
	count := func(places []string) int {
		return countFound(sum(b.values[colOrigin], places), sum(b.asText.values[colOrigin], places))
	}
	names := map[string]bool{}
	for _, counts := range []map[string]int{b.values[colOrigin], b.asText.values[colOrigin]} {
		for place := range counts {
			names[vocabulary.PlaceName(place)] = true
		}
	}
	var chosen []cola.FacetValue
	for name := range names {
		places := vocabulary.OriginNames(strings.TrimSpace(name))
		if !cola.AcceptsText(name) || !slices.Contains(places, name) {
			continue // no parameter can select it
		}
		v := cola.FacetValue{Value: name, Count: count(places), Chosen: slices.Equal(places, c.query.OriginNames)}
		if v.Chosen {
			chosen = append(chosen, v)
		} else {
			f.Values = append(f.Values, v)
		}
	}
	if c.query.OriginNames != nil && chosen == nil {
		name := strings.TrimSpace(c.params.Origin)
		chosen = []cola.FacetValue{{Value: name, Count: count(c.query.OriginNames), Chosen: true}}
	}
	f.Values, f.More = topValues(f.Values, maxOrigins-len(chosen))
	f.Values = append(f.Values, chosen...)
	slices.SortFunc(f.Values, byCount)
	return f
}

// topValues returns up to limit values, those with the most labels, and the number of omitted
// values.
func topValues(values []cola.FacetValue, limit int) (top []cola.FacetValue, more int) {
	slices.SortFunc(values, byCount)
	limit = min(max(limit, 0), len(values))
	return values[:limit], len(values) - limit
}

// byCount sorts values with more labels first.
func byCount(a, b cola.FacetValue) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
}
