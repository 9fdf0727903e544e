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

// Parts returns every filter that settled filters have, each by itself, in the order of FilterNames. A label meets the filters exactly when it meets
// of every group one part, and every part that is of no group. A bound of the volume takes its unit along, which is no part of its own. Both
// origins together leave no label out, also none of which it is not known, so they are no parts either.
func (f SavedSearchFilters) Parts() []FilterPart {
	parts := f.textParts()
	parts = append(parts, f.boundParts()...)
	for _, group := range []struct {
		name string
		of   func(*SavedSearchFilters) []option
	}{
		{GroupType, (*SavedSearchFilters).types}, {GroupCategory, (*SavedSearchFilters).roots},
		{GroupOrigin, (*SavedSearchFilters).origins}, {GroupContainer, (*SavedSearchFilters).containers},
	} {
		if group.name == GroupOrigin && f.OriginDomestic.V && f.OriginImported.V {
			continue
		}
		for i, o := range group.of(&f) {
			if o.on.V {
				part := FilterPart{Filter: o.name, Group: group.name, Sought: true}
				*group.of(&part.Alone)[i].on = Some(true)
				parts = append(parts, part)
			}
		}
	}
	slices.SortFunc(parts, func(a, b FilterPart) int { return cmp.Compare(FilterSetOf(a.Filter), FilterSetOf(b.Filter)) })
	return parts
}

// textParts returns the parts that are texts.
func (f *SavedSearchFilters) textParts() (parts []FilterPart) {
	for _, p := range []FilterPart{
		{Filter: "query", Sought: f.Query, Alone: SavedSearchFilters{Query: f.Query}},
		{Filter: "brand_name", Sought: f.BrandName, Alone: SavedSearchFilters{BrandName: f.BrandName}},
		{Filter: "barcode_value", Sought: f.BarcodeValue, Alone: SavedSearchFilters{BarcodeValue: f.BarcodeValue}},
		{Filter: "application_status", Sought: f.ApplicationStatus, Alone: SavedSearchFilters{ApplicationStatus: f.ApplicationStatus}},
		{Filter: "derived_category", Sought: f.DerivedCategory, Alone: SavedSearchFilters{DerivedCategory: f.DerivedCategory}},
		{Filter: "country", Sought: f.Country, Alone: SavedSearchFilters{Country: f.Country}},
		{Filter: "us_state", Sought: f.USState, Alone: SavedSearchFilters{USState: f.USState}},
		{Filter: "permit_number_text", Sought: f.PermitNumberText, Alone: SavedSearchFilters{PermitNumberText: f.PermitNumberText}},
		{Filter: "applicant_us_state", Sought: f.ApplicantUSState, Alone: SavedSearchFilters{ApplicantUSState: f.ApplicantUSState}},
	} {
		if p.Sought != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// boundParts returns the parts that are bounds of a number.
func (f *SavedSearchFilters) boundParts() (parts []FilterPart) {
	add := func(filter string, bound Opt[float64], alone SavedSearchFilters) {
		if bound.OK {
			parts = append(parts, FilterPart{Filter: filter, Sought: bound.V, Alone: alone})
		}
	}
	add("abv_min", f.ABVMin, SavedSearchFilters{ABVMin: f.ABVMin})
	add("abv_max", f.ABVMax, SavedSearchFilters{ABVMax: f.ABVMax})
	add("volume_min", f.VolumeMin, SavedSearchFilters{VolumeMin: f.VolumeMin, VolumeUnit: f.VolumeUnit})
	add("volume_max", f.VolumeMax, SavedSearchFilters{VolumeMax: f.VolumeMax, VolumeUnit: f.VolumeUnit})
	return parts
}
