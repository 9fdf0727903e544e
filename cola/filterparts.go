package cola

import (
	"cmp"
	"slices"
)

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
