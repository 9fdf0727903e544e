package cola

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Filter describes one filter of label searches. Normalization, cursor fingerprints, saved
// searches, explanations, facets, forms, chips and emails all loop over Filters. CONTRIBUTING.md
// lists the steps to add one.
type Filter struct {
	Param string     // name in SearchParams; empty if only saved searches have the filter
	Saved []string   // names in SavedSearchFilters: one, or a boolean per word; nil if not in saved searches
	Kind  FilterKind // form of its value
	Words []string   // allowed values; nil for any
	Max   float64    // highest value of a bound
	Group string     // group of its saved-search booleans: a label must match at least one per group

	Section string // heading of its group in long forms and in the reference
	Label   string // label of its form field
	Hint    string // accepted values, if not clear from Label
	Phrase  string // phrase for display; %s is the value
	Whole   string // phrase for a whole brand in quotes; %s is the brand
	Noun    string // record field it compares

	// Unknown is true if the field is unknown for some labels. The filter never matches those.
	Unknown bool

	field          string                                      // name of its field in Query
	apply          func(q *Query, v filterValue)               // sets field, if the value needs a conversion
	normalize      func(p *Problems, name, text string) string // default: Problems.text
	normalizeSaved func(p *Problems, name, text string) string // for saved searches; default: normalize
	fold           func(string) string                         // maps equivalent values to equal strings; optional
	unfolded       bool                                        // cursors from early versions did not fold the text
	approval       bool                                        // limits the approval date; saved searches have no such filter
	broad          bool                                        // does not narrow a saved search enough for a schedule
	measured       bool                                        // a bound in the unit of the UnitFilter

	paramIndex, queryIndex []int   // field indexes in the structs; set by indexed
	savedIndex             [][]int // one field index for each of Saved
}

// FilterKind is the form of a filter's value.
type FilterKind uint8

// The kinds of filters. A MinFilter and its MaxFilter are neighbors in Filters.
const (
	TextFilter   FilterKind = iota // free text
	ChoiceFilter                   // one of Words
	ListFilter                     // any of Words
	DateFilter                     // inclusive bound
	MinFilter                      // inclusive lower bound, a number
	MaxFilter                      // inclusive upper bound, a number
	UnitFilter                     // unit of other bounds
	WindowFilter                   // date window that replaces the default one; one of Words
)

// filters lists the filters in the order in which fingerprints hash them. us_state must follow
// origin, whose condition it narrows.
var filters = indexed([]Filter{
	{
		Section: "Keywords and names", Param: "q", Saved: []string{"query"}, Noun: "keywords", Phrase: "“%s”", Label: "Keywords",
		Hint:  `Every word must match. Use "quotes" for exact words and oak* for a prefix.`,
		field: "Text", normalizeSaved: (*Problems).searchable, fold: vocabulary.FoldText, unfolded: true,
	},
	{
		Section: "Product", Param: "product_type", Saved: []string{"type_wine", "type_malt_beverage", "type_distilled_spirit"},
		Kind: ListFilter, Words: []string{string(vocabulary.Wine), string(vocabulary.MaltBeverage), string(vocabulary.DistilledSpirits)}, Group: GroupType,
		Noun: "product type", Phrase: "%s", Label: "Product type", field: "ProductTypes",
	},
	{
		Section: "Product", Param: "class", Saved: []string{"class"}, Noun: "class/type", Phrase: "class/type %s",
		Label: "Class/type", Hint: "Full name, such as Table Red Wine.", Unknown: true, field: "Class", fold: vocabulary.FoldText,
	},
	{
		Section: "Product", Param: "category", Saved: []string{"derived_beer", "derived_wine", "derived_liquor"},
		Kind: ListFilter, Words: vocabulary.CategoryRoots(), Group: GroupCategory,
		Noun: "category", Phrase: "category %s", Label: "Category", Unknown: true, field: "Categories",
	},
	{
		Section: "Product", Param: "derived_subcategory", Saved: []string{"derived_category"}, Noun: "category", Phrase: "category %s",
		Label: "Category path", Hint: "For example, Wine > Red Wine. Includes subcategories.", Unknown: true,
		field: "CategoryPath", normalize: (*Problems).path, fold: vocabulary.FoldPath,
	},
	{
		Section: "Place", Param: "origin", Saved: []string{"country"}, Noun: "origin", Phrase: "from %s",
		Label: "Origin", Hint: "A country, US state or adjective, such as France, French or Kentucky.",
		field: "OriginNames", normalizeSaved: (*Problems).words, fold: vocabulary.FoldText,
		apply: func(q *Query, v filterValue) { q.OriginNames = vocabulary.OriginNames(v.text) },
	},
	{
		Section: "Place", Saved: []string{"us_state"}, Noun: "US state of origin", Phrase: "from %s",
		Label: "US state of origin", Hint: "Name or two-letter code.", field: "OriginNames", normalize: (*Problems).stateWord,
		apply: func(q *Query, v filterValue) { q.narrowToStates(vocabulary.StatesNamed(v.text)) },
	},
	{
		Section: "Place", Param: "domestic_or_imported", Saved: []string{"origin_domestic", "origin_imported"},
		Kind: ChoiceFilter, Words: []string{vocabulary.Domestic, vocabulary.Imported}, Group: GroupOrigin,
		Noun: "domestic/imported status", Phrase: "%s", Label: "Domestic or imported", Unknown: true, field: "Domestic",
	},
	{
		Section: "Identifiers and status", Param: "status", Saved: []string{"application_status"}, Kind: ChoiceFilter, Words: vocabulary.Statuses(),
		Noun: "status", Phrase: "status %s", Label: "Status", Unknown: true, field: "Status", broad: true,
	},
	{
		Section: "Keywords and names", Param: "brand_name", Saved: []string{"brand_name"}, Noun: "brand name", Phrase: "brand contains “%s”", Whole: "brand is “%s”",
		Label: "Brand name contains", Hint: `Use "quotes" for the whole name.`, field: "BrandName", fold: vocabulary.FoldText, unfolded: true,
	},
	{
		Section: "Keywords and names", Param: "brand_similar_to", Saved: []string{"brand_similar_to"}, Noun: "brand name",
		Phrase: "brand similar to “%s”", Label: "Brand name similar to",
		Hint:  "Finds names that sound like it or differ by a letter or two.",
		field: "SimilarTo", normalize: (*Problems).similarTo, fold: vocabulary.FoldText,
	},
	{
		Section: "Dates", Param: "brand_first_seen_from", Kind: DateFilter, Noun: "brand first-seen date",
		Phrase: "brand first seen on or after %s", Label: "Brand first seen on or after", field: "BrandFirstSeen",
	},
	{
		Section: "Dates", Param: "permittee_first_seen_from", Kind: DateFilter, Noun: "permittee first-seen date",
		Phrase: "permittee first seen on or after %s", Label: "Permittee first seen on or after", field: "PermitteeFirstSeen",
	},
	{
		Section: "Identifiers and status", Param: "permit_number", Noun: "permit number", Phrase: "permit %s",
		Label: "Permit number", Hint: "Must match exactly.", field: "PermitNumber", normalize: (*Problems).permit,
	},
	{
		Section: "Identifiers and status", Saved: []string{"permit_number_text"}, Noun: "permit number", Phrase: "permit contains “%s”",
		Label: "Permit number contains", Hint: "For example, CA-W.", field: "PermitPart",
	},
	{
		Section: "Place", Param: "applicant_state", Saved: []string{"applicant_us_state"}, Noun: "applicant state", Phrase: "applicant in %s",
		Label: "Applicant’s US state", Hint: "Name or two-letter code.", field: "AddressState",
		normalize: (*Problems).State, normalizeSaved: (*Problems).stateCode,
	},
	{
		Section: "Identifiers and status", Param: "barcode_value", Saved: []string{"barcode_value"}, Noun: "barcode", Phrase: "barcode %s",
		Label: "Barcode", Hint: "All digits of the main barcode; spaces and hyphens are ignored.", field: "Barcode",
	},
	{
		Section: "Dates", Param: "approval_date_from", Kind: DateFilter, Noun: "approval date", Phrase: "approved on or after %s",
		Label: "Approved on or after", field: "From", approval: true,
	},
	{
		Section: "Dates", Param: "approval_date_to", Kind: DateFilter, Noun: "approval date", Phrase: "approved on or before %s",
		Label: "Approved on or before", field: "To", approval: true,
	},
	{
		Section: "Dates", Param: "date_range", Kind: WindowFilter, Words: []string{AllDates}, Noun: "date range", Phrase: "%s dates",
		Label: "Date range", approval: true,
	},
	{
		Section: "Identifiers and status", Param: "estimated_dates", Saved: []string{"estimated_dates"},
		Kind: ChoiceFilter, Words: []string{excludeEstimates}, Noun: "estimated dates",
		Phrase: "%s estimated dates", Label: "Estimated dates",
		field: "NoEstimates", broad: true,
		apply: func(q *Query, v filterValue) { q.NoEstimates = v.text == excludeEstimates },
	},
	{
		Section: "Alcohol and volume", Param: "abv_min", Saved: []string{"abv_min"}, Kind: MinFilter, Max: 100, Noun: "ABV", Phrase: "at least %s% ABV",
		Label: "Minimum ABV (%)", Unknown: true, field: "ABVMin",
	},
	{
		Section: "Alcohol and volume", Param: "abv_max", Saved: []string{"abv_max"}, Kind: MaxFilter, Max: 100, Noun: "ABV", Phrase: "at most %s% ABV",
		Label: "Maximum ABV (%)", Unknown: true, field: "ABVMax",
	},
	{
		Section: "Alcohol and volume", Param: "volume_min", Saved: []string{"volume_min"}, Kind: MinFilter, Max: math.MaxFloat64, Noun: "volume", Phrase: "at least %s",
		Label: "Minimum volume", Unknown: true, field: "VolumeMin", measured: true,
	},
	{
		Section: "Alcohol and volume", Param: "volume_max", Saved: []string{"volume_max"}, Kind: MaxFilter, Max: math.MaxFloat64, Noun: "volume", Phrase: "at most %s",
		Label: "Maximum volume", Unknown: true, field: "VolumeMax", measured: true,
	},
	{
		Section: "Alcohol and volume", Param: "volume_unit", Saved: []string{"volume_unit"}, Kind: UnitFilter, Words: vocabulary.VolumeUnits(), Noun: "unit", Phrase: "in %s",
		Label: "Volume unit",
	},
	{
		Section: "Container", Param: "container_type", Saved: []string{
			"container_bag", "container_bottle", "container_box", "container_can", "container_carton",
			"container_cask", "container_jug", "container_keg", "container_pod", "container_pouch",
		},
		Kind: ListFilter, Words: ContainerTypes(), Group: GroupContainer,
		Noun: "container type", Phrase: "%s", Label: "Container", Unknown: true, field: "Containers",
	},
	{
		Section: "Product", Param: "grape", Saved: []string{"grape"}, Noun: "grape variety", Phrase: "grape %s",
		Label: "Grape", Hint: "For example, Zinfandel.", Unknown: true, field: "Grape", fold: vocabulary.FoldText,
	},
	{
		Section: "Place", Param: "appellation", Saved: []string{"appellation"}, Noun: "appellation", Phrase: "appellation %s",
		Label: "Appellation", Hint: "For example, Napa Valley; includes areas inside it.", Unknown: true, field: "Appellation", fold: vocabulary.FoldText,
	},
})

// Filters yields all filters, which the caller must not change.
func Filters() iter.Seq[*Filter] {
	return func(yield func(*Filter) bool) {
		for i := range filters {
			if !yield(&filters[i]) {
				return
			}
		}
	}
}

// FilterOf returns the filter with the given name in SearchParams.
func FilterOf(param string) (f *Filter, ok bool) {
	i := slices.IndexFunc(filters, func(f Filter) bool { return f.Param == param && param != "" })
	if i < 0 {
		return nil, false
	}
	return &filters[i], true
}

// SavedFilter returns the filter with the given name in SavedSearchFilters. For a boolean, word is
// the value that it selects; otherwise it is empty.
func SavedFilter(name string) (f *Filter, word string, ok bool) {
	for i := range filters {
		f := &filters[i]
		if n := slices.Index(f.Saved, name); n >= 0 {
			if f.boolean() {
				word = f.Words[n]
			}
			return f, word, true
		}
	}
	return nil, "", false
}

// Describe phrases the filter with a value.
func (f *Filter) Describe(value string) string {
	phrase := f.Phrase
	switch unquoted, quoted := WholeBrand(value); {
	case quoted && f.Whole != "":
		phrase, value = f.Whole, unquoted
	case quoted: // isn't quoted again
		phrase = strings.NewReplacer("“", "", "”", "").Replace(phrase)
	}
	return strings.ReplaceAll(phrase, "%s", value)
}

// Condition is a search filter and its value, formatted for display.
type Condition struct {
	*Filter
	Value string // with its unit: "1.5 liters"
}

// String phrases the condition.
func (c Condition) String() string { return c.Describe(c.Value) }

// Conditions returns the conditions of normalized filters. It omits the origins if both are set,
// because together they exclude no label.
func (f SavedSearchFilters) Conditions() (all []Condition) {
	for i := range filters {
		c := &filters[i]
		if c.Saved == nil || c.Kind == UnitFilter {
			continue
		}
		v := c.saved(&f)
		if v.given() && !c.excludesNothing(v) {
			all = append(all, Condition{c, c.withUnit(v.String(), f.VolumeUnit)})
		}
	}
	return all
}

// withUnit adds the unit to the value of a measured filter: "1 liter", "1.5 liters".
func (f *Filter) withUnit(value, unit string) string {
	switch {
	case !f.measured:
		return value
	case value == "1":
		unit = strings.TrimSuffix(unit, "s")
	}
	return value + " " + unit
}

// Condition returns the condition of a filter with the given value, which may be any text. ok is
// false if there is no such filter.
func (p SearchParams) Condition(param, value string) (c Condition, ok bool) {
	f, ok := FilterOf(param)
	if !ok {
		return c, false
	}
	return Condition{f, f.withUnit(value, p.VolumeUnit)}, true
}

// ForSavedSearch returns the filters that saved searches also have. It normalizes only choices and
// units.
func (p SearchParams) ForSavedSearch() (s SavedSearchFilters) {
	for i := range filters {
		f := &filters[i]
		if f.Param == "" || f.Saved == nil {
			continue
		}
		v := valueAt(f.param(&p))
		if word, ok := oneOf(v.text, f.Words); ok {
			v.text = word
		}
		f.save(&s, v)
	}
	return s
}

// NotForSavedSearch returns the filters of the search that saved searches don't have, except
// approval dates.
func (p SearchParams) NotForSavedSearch() (unsupported []Filter) {
	for i := range filters {
		f := &filters[i]
		if f.Param != "" && f.Saved == nil && !f.approval && valueAt(f.param(&p)).given() {
			unsupported = append(unsupported, *f)
		}
	}
	return unsupported
}

// Given reports whether a query has the filter's condition.
func (f *Filter) Given(q *Query) bool {
	return f.queryIndex != nil && !f.condition(q).IsZero()
}

// Clear removes the filter's condition from a query.
func (f *Filter) Clear(q *Query) {
	if f.queryIndex != nil {
		f.condition(q).SetZero()
	}
}

// Remove removes the filter from parameters.
func (f *Filter) Remove(p *SearchParams) {
	if f.paramIndex != nil {
		filterValue{}.writeTo(f.param(p))
	}
}

// IsFiltered reports whether a query has a filter other than approval dates.
func (q *Query) IsFiltered() bool {
	for i := range filters {
		if f := &filters[i]; !f.approval && f.Given(q) {
			return true
		}
	}
	return false
}

// Known returns variants of a query. Each label that matches the query and whose field is known
// matches exactly one of them. It returns nil if the filter's kind can't express that.
func (f *Filter) Known(q Query) (variants []Query) {
	var values []filterValue
	switch f.Kind {
	case ListFilter:
		values = []filterValue{{words: f.Words}}
	case ChoiceFilter:
		for _, word := range f.Words {
			values = append(values, filterValue{text: word})
		}
	case MinFilter:
		values = []filterValue{{number: Some(0.0)}}
	}
	for _, v := range values {
		variant := q
		f.set(&variant, v)
		variants = append(variants, variant)
	}
	return variants
}
