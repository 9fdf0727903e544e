package cola

import (
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// The facets of a search. Each is named after the parameter that selects its values, except the
// year.
const (
	FacetProductType = "product_type"
	FacetStatus      = "status"
	FacetCategory    = "derived_subcategory" // values are category paths: the selected one and those one level below it
	FacetOrigin      = "origin"
	FacetContainer   = "container_type"
	FacetYear        = "year" // year of the effective date; stands for approval_date_from and approval_date_to
)

// Facets lists every facet, in display order.
func Facets() []string {
	return []string{FacetProductType, FacetStatus, FacetCategory, FacetOrigin, FacetContainer, FacetYear}
}

// Facet counts the labels that a search would find with each value of one parameter, with the other
// parameters unchanged.
type Facet struct {
	Name   string       // one of Facets
	Values []FacetValue // most labels first; statuses in the order of vocabulary.Statuses, years newest first
	More   int          // number of omitted values, those with the fewest labels
}

// FacetValue is one value of a facet. Values without labels are omitted unless chosen.
type FacetValue struct {
	Value  string // in the format of the parameter
	Count  int    // exact number of labels with this value alone (see SearchParams.Choose)
	Chosen bool   // the search has the value
}

// Choose returns the search with value as the facet's only value, on the first page. An invalid
// year removes the facet.
func (p SearchParams) Choose(facet, value string) SearchParams {
	p = p.Without(facet)
	if facet == FacetYear {
		if first, last, ok := daysOfPeriod(value); ok {
			p.ApprovalDateFrom, p.ApprovalDateTo, p.DateRange = first, last, ""
		}
		return p
	}
	if f, ok := facetFilter(facet); ok {
		v := filterValue{text: value}
		if f.Kind == ListFilter {
			v = filterValue{words: []string{value}}
		}
		v.writeTo(f.param(&p))
	}
	return p
}

// Without returns the search without a facet, on the first page. A search without dates or status
// may be limited to the default date window.
func (p SearchParams) Without(facet string) SearchParams {
	p.Cursor, p.Page = "", Opt[int]{}
	if facet == FacetYear {
		p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0
	} else if f, ok := facetFilter(facet); ok {
		filterValue{}.writeTo(f.param(&p))
	}
	return p
}

// Toggle removes the value if the search has it. Otherwise it adds the value or, if the facet can
// have only one, replaces the current value. The result is on the first page.
func (p SearchParams) Toggle(facet, value string) SearchParams {
	f, ok := facetFilter(facet)
	switch chosen := p.Chosen(facet, value); {
	case ok && f.Kind == ListFilter:
		have := slices.Clone(valueAt(f.param(&p)).words)
		if chosen {
			have = slices.DeleteFunc(have, func(v string) bool { return sameWord(v, value) })
		} else {
			have = append(have, value)
		}
		p = p.Without(facet)
		if len(have) > 0 {
			filterValue{words: have}.writeTo(f.param(&p))
		}
		return p
	case chosen:
		return p.Without(facet)
	}
	return p.Choose(facet, value)
}

// Chosen reports whether the search has the given value of a facet. Origins are equal if they mean
// the same places. Categories are compared without resolving aliases.
func (p SearchParams) Chosen(facet, value string) bool {
	if facet == FacetYear {
		first, last, ok := daysOfPeriod(value)
		return ok && p.ApprovalDateFrom == first && p.ApprovalDateTo == last
	}
	f, ok := facetFilter(facet)
	if !ok {
		return false
	}
	have := valueAt(f.param(&p))
	switch {
	case facet == FacetOrigin:
		names := vocabulary.OriginNames(have.text)
		return names != nil && slices.Equal(names, vocabulary.OriginNames(value))
	case facet == FacetCategory:
		path := vocabulary.FoldPath(have.text)
		return path != "" && path == vocabulary.FoldPath(value)
	case f.Kind == ListFilter:
		return slices.ContainsFunc(have.words, func(word string) bool { return sameWord(word, value) })
	}
	return have.text != "" && sameWord(have.text, value)
}

// facetFilter returns the filter of a facet other than the year.
func facetFilter(facet string) (f *Filter, ok bool) {
	if facet == FacetYear || !slices.Contains(Facets(), facet) {
		return nil, false
	}
	return FilterOf(facet)
}

// FacetSearch is a search with the queries that count its facets.
type FacetSearch struct {
	Params  SearchParams
	Query   Query // the query for Params
	Queries []FacetQuery
}

// FacetQuery finds the labels that a facet counts by value: those that match the search without the
// facet's own condition.
type FacetQuery struct {
	Facet string
	Query Query
}

// FacetSearch returns the queries that count the facets of the search, or a validation Error. All
// facets cover the dates of the search (see FixDates), except the year, which replaces them.
func (p SearchParams) FacetSearch(now time.Time) (FacetSearch, error) {
	p = p.FixDates(now)
	p.Cursor, p.Page = "", Opt[int]{}
	s, err := p.Normalize(now)
	if err != nil {
		return FacetSearch{}, err
	}
	found := FacetSearch{Params: p, Query: s.Query}
	for _, facet := range Facets() {
		q := FacetQuery{Facet: facet, Query: s.Query}
		if f, ok := facetFilter(facet); ok {
			f.Clear(&q.Query)
		} else {
			q.Query.From, q.Query.To = 0, 0
		}
		found.Queries = append(found.Queries, q)
	}
	return found, nil
}

// FixDates returns the search with its default dates as explicit parameters, so that changing
// another parameter, such as the status, keeps them.
func (p SearchParams) FixDates(now time.Time) SearchParams {
	if p.ApprovalDateFrom != 0 || p.ApprovalDateTo != 0 || p.DateRange != "" {
		return p
	}
	normalized := p
	if normalized.normalize(&Problems{}); normalized.defaultWindow() {
		p.ApprovalDateFrom, p.ApprovalDateTo = LastYear(now)
	} else {
		p.DateRange = AllDates
	}
	return p
}

// FreeDates is the inverse of FixDates: it removes dates that equal the defaults of the search.
func (p SearchParams) FreeDates(now time.Time) SearchParams {
	free := p
	free.ApprovalDateFrom, free.ApprovalDateTo, free.DateRange = 0, 0, ""
	fixed := free.FixDates(now)
	if fixed.ApprovalDateFrom != p.ApprovalDateFrom || fixed.ApprovalDateTo != p.ApprovalDateTo ||
		fixed.DateRange != p.DateRange {
		return p
	}
	return free
}

// LastYear returns the first and last day of the default date window.
func LastYear(now time.Time) (from, to Date) {
	to = DateOf(now)
	return to.AddDays(-DefaultWindowDays), to
}

// sameWord compares two values from a fixed list as Normalize does.
func sameWord(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}
