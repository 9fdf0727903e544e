package cola

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"slices"
)

// FilterSet is some of the filters that a saved search may have: bit i stands for the i-th of FilterNames. JSON has it as an array
// of their names. It is kept in databases, so FilterNames may grow at its end and never change.
type FilterSet uint64

// filterNames are in the order of the bits of a FilterSet, for good.
var filterNames = [...]string{
	"query", "brand_name", "barcode_value", "application_status", "type_malt_beverage", "type_wine", "type_distilled_spirit",
	"derived_beer", "derived_wine", "derived_liquor", "derived_category", "origin_domestic", "origin_imported", "country", "us_state",
	"permit_number_text", "applicant_us_state", "abv_min", "abv_max", "volume_unit", "volume_min", "volume_max",
	"container_bottle", "container_can", "container_keg", "container_box", "container_cask", "container_pouch", "container_pod",
	"container_carton", "container_bag", "container_jug",
}

// FilterNames returns the names of all filters, in the order of the bits of a FilterSet.
func FilterNames() []string { return filterNames[:len(filterNames):len(filterNames)] }

// FilterSetOf returns the set of the filters with the names. A name that no filter has is left out.
func FilterSetOf(names ...string) (s FilterSet) {
	for _, name := range names {
		if i := slices.Index(filterNames[:], name); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

// Names returns the names of the filters of the set, never nil. Bits that a newer version of the program has set are left out.
func (s FilterSet) Names() []string {
	names := make([]string, 0, bits.OnesCount64(uint64(s)))
	for i, name := range filterNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Words names the filters of the set for people: a boolean by what it asks for, others by the field that they compare.
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

// The groups of filters that are options: a label meets a group with any of those that are given.
const (
	GroupType      = "type"
	GroupCategory  = "category"
	GroupOrigin    = "origin"
	GroupContainer = "container"
)

// FilterPart is one filter of a saved search by itself.
type FilterPart struct {
	Filter string // its name
	Group  string // of an option; empty for a filter that a label has to meet by itself
	Sought any    // its value, as it is given: a string, a float64 or true
	Alone  SavedSearchFilters
}

// Parts returns every filter that settled filters have, each by itself, in the order of FilterNames. A label matches the
// filters if it matches one part of every group and every part without a group. A bound of the volume includes its unit,
// which is no part of its own. Both origins together exclude no label, so they are no parts either.
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
			part := FilterPart{Filter: c.Saved[0], Sought: v.text}
			if v.number.OK {
				part.Sought = v.number.V
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

// options returns the booleans that are true, as parts.
func (f *Filter) options(v filterValue) (parts []FilterPart) {
	if f.excludesNothing(v) {
		return nil
	}
	for _, word := range v.words {
		part := FilterPart{Filter: f.Saved[slices.Index(f.Words, word)], Group: f.Group, Sought: true}
		f.save(&part.Alone, filterValue{words: []string{word}})
		parts = append(parts, part)
	}
	return parts
}
