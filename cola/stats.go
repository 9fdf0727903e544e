package cola

import (
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
)

// Limits of GET /colas/stats.
const (
	maxDimensions = 2
	defaultTop    = 30

	// MaxGroups is the maximum number of groups in a response.
	MaxGroups = 1000

	// GroupsPerRecord is the number of groups that cost one list record.
	GroupsPerRecord = 50
)

// Names of the dimensions in group_by.
const (
	ByYear        = "year"
	ByQuarter     = "quarter"
	ByMonth       = "month"
	ByProductType = "product_type"
	ByClass       = "class"
	ByCategory    = "category"      // top level of the path
	BySubcategory = "subcategory"   // first two levels
	ByPath        = "category_path" // all levels
	ByOrigin      = "origin"
	ByStatus      = "status"
	ByContainer   = "container"
	ByPermit      = "permit"
	ByState       = "state"
	ByBrand       = "brand"
	ByAppellation = "appellation"
	ByABV         = "abv"
	ByVolume      = "volume"

	// Years of the first approval.
	ByBrandFirstSeen     = "brand_first_seen_year"
	ByPermitteeFirstSeen = "permittee_first_seen_year"
)

// Dimensions lists every dimension.
func Dimensions() []string {
	return []string{
		ByYear, ByQuarter, ByMonth, ByProductType, ByClass, ByCategory, BySubcategory, ByPath, ByOrigin, ByStatus,
		ByContainer, ByPermit, ByState, ByBrand, ByAppellation, ByABV, ByVolume,
		ByBrandFirstSeen, ByPermitteeFirstSeen,
	}
}

// HasOwnOrder reports whether groups of a dimension are ordered by value, not by number of labels.
func HasOwnOrder(dimension string) bool {
	return slices.Contains([]string{
		ByYear, ByQuarter, ByMonth, ByABV, ByVolume, ByBrandFirstSeen, ByPermitteeFirstSeen,
	}, dimension)
}

// CountParams are the parameters of GET /colas/stats and count_labels, as sent: the filters of
// SearchParams and the dimensions to count by.
type CountParams struct {
	GroupBy []string `json:"group_by" required:"true" enum:"year,quarter,month,product_type,class,category,subcategory,category_path,origin,status,container,permit,state,brand,appellation,abv,volume,brand_first_seen_year,permittee_first_seen_year" doc:"One or two dimensions." example:"year"`
	Top     Opt[int] `json:"top" minimum:"1" maximum:"1000" default:"30" doc:"Maximum number of groups. If one dimension is a date or range, limits the values of the other instead." example:"10"`
	SearchParams

	// Counts have a fixed order and no pages. These fields hide those of SearchParams.
	Sort, Page, PerPage, Cursor struct{} `json:"-"`
}

// CountSearch is a normalized request for counts.
//
// If one of two dimensions has its own order (the year, for example) and the other is ranked by
// number of labels, the one with its own order is the axis. The result then has every group of the
// Top most frequent values of the other dimension, or of fewer values if those have more than
// MaxGroups groups. It is ordered by the first dimension, then by the second. If neither dimension
// has its own order, the result has the Top groups with the most labels. In all other cases, it has
// the first Top groups.
type CountSearch struct {
	ColaSearch
	GroupBy []string // one or two of Dimensions
	Top     int      // maximum number of groups or, with an axis, of values
}

// Axis returns the axis, or "" if there is none.
func (s *CountSearch) Axis() string {
	own := slices.DeleteFunc(slices.Clone(s.GroupBy), func(by string) bool { return !HasOwnOrder(by) })
	if len(s.GroupBy) == maxDimensions && len(own) == 1 {
		return own[0]
	}
	return ""
}

// Ranked reports whether groups are ordered by their number of labels.
func (s *CountSearch) Ranked() bool { return !slices.ContainsFunc(s.GroupBy, HasOwnOrder) }

// Normalize returns the request, or a validation Error that lists all problems.
func (p CountParams) Normalize(now time.Time) (CountSearch, error) {
	problems := p.Decoded.problems()
	s := CountSearch{
		GroupBy: problems.dimensions("group_by", p.GroupBy),
		Top:     problems.integer("top", p.Top, defaultTop, 1, MaxGroups),
	}
	p.Problems = *problems
	search, err := p.SearchParams.Normalize(now)
	if err != nil {
		return CountSearch{}, err
	}
	s.ColaSearch = search
	return s, nil
}

// dimensions normalizes one or two distinct dimensions and keeps their order. It doesn't report
// missing dimensions if decoding has already reported a problem with the parameter.
func (p *Problems) dimensions(name string, values []string) (dimensions []string) {
	missing := (*p)[name] == nil
	for _, value := range values {
		if strings.TrimSpace(value) == "" {
			continue
		}
		missing = false
		dimension, ok := oneOf(value, Dimensions())
		switch {
		case !ok:
			p.refuseChoice(name, value, Dimensions())
		case slices.Contains(dimensions, dimension):
			p.Add(name, "%s is given twice; use two different dimensions.", dimension)
		default:
			dimensions = append(dimensions, dimension)
		}
		if len((*p)[name]) >= maxShownValues {
			return nil
		}
	}
	if missing {
		p.Add(name, "At least one dimension is required: %s.", strings.Join(Dimensions(), ", "))
	}
	if len(dimensions) > maxDimensions {
		p.Add(name, "%d dimensions are too many; use one or two.", len(dimensions))
	}
	return dimensions
}

// LabelGroup is a group of labels with the same values in the requested dimensions. A dimension
// that was not requested is absent. A requested one is null for labels without a value.
type LabelGroup struct {
	Year                   Opt[Text] `json:"year,omitzero" nullable:"true" doc:"Year of the approval date, known or estimated." example:"2025"`
	Quarter                Opt[Text] `json:"quarter,omitzero" nullable:"true" doc:"Quarter of the approval date, known or estimated." example:"2025-Q3"`
	Month                  Opt[Text] `json:"month,omitzero" nullable:"true" doc:"Month of the approval date, known or estimated." example:"2025-07"`
	ProductType            Opt[Text] `json:"product_type,omitzero" nullable:"true" doc:"Product type." example:"wine"`
	Class                  Opt[Text] `json:"class,omitzero" nullable:"true" doc:"Class/type name." example:"TABLE RED WINE"`
	Category               Opt[Text] `json:"category,omitzero" nullable:"true" doc:"Top level of the category path." example:"Wine"`
	Subcategory            Opt[Text] `json:"subcategory,omitzero" nullable:"true" doc:"First two levels of the category path; null for a path with one level." example:"Wine > Red Wine"`
	CategoryPath           Opt[Text] `json:"category_path,omitzero" nullable:"true" doc:"Category path; does not include the paths below it." example:"Wine > Red Wine > Zweigelt"`
	Origin                 Opt[Text] `json:"origin,omitzero" nullable:"true" doc:"Country or US state; does not include the parts of a country." example:"OREGON"`
	Status                 Opt[Text] `json:"status,omitzero" nullable:"true" doc:"Status of the approval." example:"approved"`
	Container              Opt[Text] `json:"container,omitzero" nullable:"true" doc:"Container type." example:"bottle"`
	Permit                 Opt[Text] `json:"permit,omitzero" nullable:"true" doc:"Permit number." example:"NJ-I-721"`
	CompanyName            Opt[Text] `json:"company_name,omitzero" nullable:"true" doc:"Company that holds the permit; present with permit." example:"NIEDERHOFF IMPORTS INC"`
	State                  Opt[Text] `json:"state,omitzero" nullable:"true" doc:"Applicant's state." example:"CA"`
	Brand                  Opt[Text] `json:"brand,omitzero" nullable:"true" doc:"Brand in its most frequent spelling. Spellings that differ only in case, accents, punctuation, or 'and' versus '&' count as one brand." example:"COPPER & KINGS"`
	Appellation            Opt[Text] `json:"appellation,omitzero" nullable:"true" doc:"Appellation in its most frequent spelling; does not include the areas inside it." example:"NAPA VALLEY"`
	ABV                    Opt[Text] `json:"abv,omitzero" nullable:"true" doc:"ABV range in percent; includes the lower bound but not the upper." example:"12-14"`
	Volume                 Opt[Text] `json:"volume,omitzero" nullable:"true" doc:"Range of net contents in milliliters; includes the lower bound but not the upper." example:"700-1000"`
	BrandFirstSeenYear     Opt[Text] `json:"brand_first_seen_year,omitzero" nullable:"true" doc:"Year in which the brand's first label was approved." example:"2024"`
	PermitteeFirstSeenYear Opt[Text] `json:"permittee_first_seen_year,omitzero" nullable:"true" doc:"Year in which the permit's first label was approved." example:"2019"`
	Count                  int       `json:"count" minimum:"1" doc:"Number of labels." example:"1204"`
	Partial                bool      `json:"partial,omitempty" doc:"true if the period hasn't ended, or the search covers only part of it; otherwise absent." example:"true"`
}

// OtherGroups are the groups that a response leaves out.
type OtherGroups struct {
	Groups Opt[int] `json:"groups" nullable:"true" minimum:"0" doc:"Number of groups; null if two dimensions have too many pairs of values to count." example:"112"`
	Labels int      `json:"labels" minimum:"0" doc:"Number of labels in them." example:"3310"`

	Breakdown []OtherLabels `json:"breakdown,omitempty" nullable:"false" doc:"Labels in the omitted groups, by period or range. Present only if exactly one of the two dimensions is a date or a range."`
}

// OtherLabels counts the labels that have a given value of a dimension but are in none of the
// returned groups.
type OtherLabels struct {
	Value   Text `json:"value" nullable:"true" doc:"Period or range." example:"2025"`
	Count   int  `json:"count" minimum:"1" doc:"Number of labels." example:"310"`
	Partial bool `json:"partial,omitempty" doc:"Same as partial in data." example:"true"`
}

// BreakDown fills in Breakdown: for each value of the axis, the number of labels with that value
// that are not in groups, if any. totals counts all labels with each value.
func (o *OtherGroups) BreakDown(axis string, totals []OtherLabels, groups []LabelGroup) {
	in := map[Text]int{}
	for _, g := range groups {
		in[g.Get(axis)] += g.Count
	}
	for _, t := range totals {
		if t.Count -= in[t.Value]; t.Count > 0 {
			o.Breakdown = append(o.Breakdown, t)
		}
	}
}

// Omit adds all but the first n groups to o and returns the first n.
func (o *OtherGroups) Omit(groups []LabelGroup, n int) []LabelGroup {
	for _, g := range groups[n:] {
		o.Labels += g.Count
	}
	if o.Groups.OK {
		o.Groups.V += len(groups) - n
	}
	return groups[:n]
}

// Set sets the value of a dimension. value is empty for labels without one.
func (g *LabelGroup) Set(dimension string, value Text) {
	f := FieldsOf[LabelGroup]()[FieldIndex[LabelGroup](dimension)]
	reflect.ValueOf(g).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(Some(value)))
}

// Get returns the value of a dimension, or "" for labels without one.
func (g *LabelGroup) Get(dimension string) Text {
	f := FieldsOf[LabelGroup]()[FieldIndex[LabelGroup](dimension)]
	return reflect.ValueOf(g).Elem().FieldByIndex(f.Index).Interface().(Opt[Text]).V
}

// band is a range of numbers that excludes its upper bound. The last band has no upper bound.
type band struct {
	below float64
	name  Text
}

// The bands of ABV, in percent, and of net contents, in milliliters. They are part of the API.
var (
	abvBands    = bands(.5, 4, 5, 6, 7, 10, 12, 14, 16, 21, 24, 40, 50)
	volumeBands = bands(100, 250, 400, 700, 1000, 1500, 3000, 20_000)
)

// bands returns the bands between the bounds, starting at 0.
func bands(bounds ...float64) (all []band) {
	low := 0.0
	for _, high := range bounds {
		all = append(all, band{high, Text(plain(low) + "-" + plain(high))})
		low = high
	}
	return append(all, band{name: Text(plain(low) + "+")})
}

// Band returns the name of the dimension's band that contains a number, and the band's position,
// counted from the lowest.
func Band(dimension string, v float64) (name Text, position int) {
	all := abvBands
	if dimension == ByVolume {
		all = volumeBands
	}
	position = sort.Search(len(all)-1, func(i int) bool { return v < all[i].below })
	return all[position].name, position
}
