package cola

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The facets of a search, named by the parameter of SearchParams that narrows to one of their values.
const (
	FacetProductType = "product_type"
	FacetStatus      = "status"
	FacetCategory    = "derived_subcategory" // values are category paths: the one asked for, if one is, then those one level below it
	FacetOrigin      = "origin"
	FacetContainer   = "container_type"
	FacetYear        = "year" // of approval: stands for approval_date_from and approval_date_to
)

// Facets lists every facet, in the order of the page.
func Facets() []string {
	return []string{FacetProductType, FacetStatus, FacetCategory, FacetOrigin, FacetContainer, FacetYear}
}

// Facet tells how many labels a search would find with each value of one parameter, the others as they are: what it has for this
// parameter itself does not count.
type Facet struct {
	Name   string       // one of Facets
	Values []FacetValue // the most labels first, but statuses in the order of Statuses and years newest first
	More   int          // values that are left out, since they have the fewest labels
}

// FacetValue is one value of a facet. Values that no label has are left out, unless they are chosen.
type FacetValue struct {
	Value  string // as the parameter takes it
	Count  int    // labels that the search would find with this value alone (see SearchParams.Choose), exact
	Chosen bool   // the search has it
}

// Choose returns the search with this value, and no other, for a facet. It begins at the first page. A year that is none leaves the search
// without the facet.
func (p SearchParams) Choose(facet, value string) SearchParams {
	p = p.Without(facet)
	switch facet {
	case FacetProductType:
		p.ProductType = []string{value}
	case FacetStatus:
		p.Status = value
	case FacetCategory:
		p.DerivedSubcategory = value
	case FacetOrigin:
		p.Origin = value
	case FacetContainer:
		p.ContainerType = []string{value}
	case FacetYear:
		if first, last, ok := daysOfYear(value); ok {
			p.ApprovalDateFrom, p.ApprovalDateTo = first, last
		}
	}
	return p
}

// Without returns the search with nothing for a facet. It begins at the first page. What a search without dates, or without a status, looks
// at may be the default date window.
func (p SearchParams) Without(facet string) SearchParams {
	p.Cursor, p.Page = "", Opt[int]{}
	switch facet {
	case FacetProductType:
		p.ProductType = nil
	case FacetStatus:
		p.Status = ""
	case FacetCategory:
		p.DerivedSubcategory = ""
	case FacetOrigin:
		p.Origin = ""
	case FacetContainer:
		p.ContainerType = nil
	case FacetYear:
		p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0
	}
	return p
}

// Toggle returns the search with the value taken away when it has it, and otherwise added to those that it has, or chosen in their place where
// a search has one value only. It begins at the first page.
func (p SearchParams) Toggle(facet, value string) SearchParams {
	if !p.Chosen(facet, value) {
		next := p.Choose(facet, value)
		switch facet {
		case FacetProductType:
			next.ProductType = append(slices.Clone(p.ProductType), value)
		case FacetContainer:
			next.ContainerType = append(slices.Clone(p.ContainerType), value)
		}
		return next
	}
	next := p.Without(facet)
	others := func(have []string) []string {
		return slices.DeleteFunc(slices.Clone(have), func(v string) bool { return sameWord(v, value) })
	}
	switch facet {
	case FacetProductType:
		next.ProductType = others(p.ProductType)
	case FacetContainer:
		next.ContainerType = others(p.ContainerType)
	}
	return next
}

// Chosen reports whether the search has a value for a facet: alone, or among others where it may have several. An origin is chosen by any
// word that means the same, and a category path by itself: former paths are not known here.
func (p SearchParams) Chosen(facet, value string) bool {
	is := func(have string) bool { return sameWord(have, value) }
	switch facet {
	case FacetProductType:
		return slices.ContainsFunc(p.ProductType, is)
	case FacetStatus:
		return p.Status != "" && is(p.Status)
	case FacetCategory:
		path := FoldPath(p.DerivedSubcategory)
		return path != "" && path == FoldPath(value)
	case FacetOrigin:
		names := OriginNames(p.Origin)
		return names != nil && slices.Equal(names, OriginNames(value))
	case FacetContainer:
		return slices.ContainsFunc(p.ContainerType, is)
	case FacetYear:
		first, last, ok := daysOfYear(value)
		return ok && p.ApprovalDateFrom == first && p.ApprovalDateTo == last
	}
	return false
}

// sameWord reports whether two values are the same word of a fixed list, as Normalize takes them.
func sameWord(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// daysOfYear returns the first and the last day of a year, which has up to four digits.
func daysOfYear(year string) (first, last Date, ok bool) {
	n, err := strconv.ParseUint(year, 10, 16)
	if err != nil || n < 1 || n > 9999 {
		return 0, 0, false
	}
	return NewDate(int(n), time.January, 1), NewDate(int(n), time.December, 31), true
}
