package cola

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"slices"
)

// FilterSet is a set of saved-search filters: bit i is the i-th of FilterNames. In JSON it is an
// array of names. Databases store it, so only append to FilterNames.
type FilterSet uint64

// filterNames lists the filters in the order of the bits of a FilterSet. Never reorder it.
var filterNames = [...]string{
	"query", "brand_name", "barcode_value", "application_status", "type_malt_beverage", "type_wine", "type_distilled_spirit",
	"derived_beer", "derived_wine", "derived_liquor", "derived_category", "origin_domestic", "origin_imported", "country", "us_state",
	"permit_number_text", "applicant_us_state", "abv_min", "abv_max", "volume_unit", "volume_min", "volume_max",
	"container_bottle", "container_can", "container_keg", "container_box", "container_cask", "container_pouch", "container_pod",
	"container_carton", "container_bag", "container_jug", "grape", "appellation", "estimated_dates",
	"brand_similar_to", "class",
}

// FilterNames returns the names of all filters, in the order of the bits of a FilterSet.
func FilterNames() []string { return filterNames[:len(filterNames):len(filterNames)] }

// FilterSetOf returns the set of the named filters. It ignores unknown names.
func FilterSetOf(names ...string) (s FilterSet) {
	for _, name := range names {
		if i := slices.Index(filterNames[:], name); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

// Names returns the names in the set, never nil. It omits filters from newer versions.
func (s FilterSet) Names() []string {
	names := make([]string, 0, bits.OnesCount64(uint64(s)))
	for i, name := range filterNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Words describes the set for display: booleans by their meaning, other filters by their field.
func (s FilterSet) Words() (words []string) {
	for _, name := range s.Names() {
		f, value, ok := SavedFilter(name)
		if !ok || f.Kind == UnitFilter {
			continue
		}
		word := f.Noun
		if value != "" {
			word = f.Describe(value)
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// MarshalJSON writes the names.
func (s FilterSet) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// UnmarshalJSON reads names.
func (s *FilterSet) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*s = FilterSetOf(names...)
	return nil
}

// The groups of boolean filters. A label must match at least one of the filters set in a group.
const (
	GroupType      = "type"
	GroupCategory  = "category"
	GroupOrigin    = "origin"
	GroupContainer = "container"
)

// FilterPart is a single filter of a saved search.
type FilterPart struct {
	Filter string             // filter name
	Group  string             // group of a boolean; empty for a filter that must match by itself
	Value  any                // value in the saved search: a string, a float64 or true
	Alone  SavedSearchFilters // only this filter; a volume bound includes its unit
}

// Parts returns the normalized filters one by one, in the order of FilterNames. A label matches the
// filters if it matches every part without a group and at least one part of every group. A volume
// bound includes its unit. The origins are omitted if both are set, because together they exclude
// no label.
func (f SavedSearchFilters) Parts() (parts []FilterPart) {
	for i := range filters {
		c := &filters[i]
		if c.Saved == nil || c.Kind == UnitFilter {
			continue
		}
		v := c.saved(&f)
		if c.boolean() {
			parts = append(parts, c.options(v)...)
		} else if v.given() {
			part := FilterPart{Filter: c.Saved[0], Value: v.text}
			if v.number.OK {
				part.Value = v.number.V
			}
			if c.save(&part.Alone, v); c.measured {
				part.Alone.VolumeUnit = f.VolumeUnit
			}
			parts = append(parts, part)
		}
	}
	slices.SortFunc(parts, func(a, b FilterPart) int { return cmp.Compare(FilterSetOf(a.Filter), FilterSetOf(b.Filter)) })
	return parts
}

// options returns the true booleans as parts.
func (f *Filter) options(v filterValue) (parts []FilterPart) {
	if f.excludesNothing(v) {
		return nil
	}
	for _, word := range v.words {
		part := FilterPart{Filter: f.Saved[slices.Index(f.Words, word)], Group: f.Group, Value: true}
		f.save(&part.Alone, filterValue{words: []string{word}})
		parts = append(parts, part)
	}
	return parts
}
