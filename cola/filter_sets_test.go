package cola

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilterBits checks that the fields of SavedSearchFilters are the filters of a FilterSet, in
// the same order.
func TestFilterBits(t *testing.T) {
	var names []string
	fields := reflect.TypeFor[SavedSearchFilters]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		if got := FilterSetOf(name).Names(); len(got) != 1 || got[0] != name {
			t.Errorf("FilterSetOf(%s).Names() = %v", name, got)
		}
	}
	if diff := cmp.Diff(names, FilterNames()); diff != "" {
		t.Errorf("filters (-fields +bits):\n%s", diff)
	}
	if whole := FilterSetOf(names...); len(whole.Names()) != len(names) || FilterSetOf("brand", "") != 0 {
		t.Errorf("FilterSetOf(all names).Names() = %v", whole.Names())
	}
}

func TestFilterSetJSON(t *testing.T) {
	for set, want := range map[FilterSet]string{
		0:                                      `[]`,
		FilterSetOf("type_wine", "brand_name"): `["brand_name","type_wine"]`,
		FilterSetOf("container_jug") | 1<<60:   `["container_jug"]`, // filters from later versions are omitted
	} {
		b, err := json.Marshal(set)
		if err != nil || string(b) != want {
			t.Errorf("Marshal(%b) = %s, %v, want %s", set, b, err, want)
		}
		var read FilterSet
		if err := json.Unmarshal(b, &read); err != nil || read != set&(1<<len(filterNames)-1) {
			t.Errorf("Unmarshal(%s) = %b, %v", b, read, err)
		}
	}
	var s FilterSet
	if err := json.Unmarshal([]byte(`{"brand_name":true}`), &s); err == nil {
		t.Errorf("Unmarshal(object) = %v, want an error", s.Names())
	}
}

// TestFilterParts checks that fully populated filters yield one part per filter, each with only its
// own field and value.
func TestFilterParts(t *testing.T) {
	whole := everyFilter()
	parts := whole.Parts()
	var names []string
	for _, p := range parts {
		names = append(names, p.Filter)
		alone := map[string]any{}
		mustConvert(t, p.Alone, &alone)
		if unit := alone["volume_unit"]; strings.HasPrefix(p.Filter, "volume_") && unit == "liters" {
			delete(alone, "volume_unit")
		}
		if diff := cmp.Diff(map[string]any{p.Filter: p.Value}, alone); diff != "" {
			t.Errorf("%s by itself (-want +got):\n%s", p.Filter, diff)
		}
		if diff := cmp.Diff([]FilterPart{p}, p.Alone.Parts()); diff != "" {
			t.Errorf("parts of the %s part alone (-want +got):\n%s", p.Filter, diff)
		}
		prefix := map[string]string{"type_": GroupType, "derived_": GroupCategory, "origin_": GroupOrigin, "container_": GroupContainer}
		group := prefix[p.Filter[:strings.Index(p.Filter, "_")+1]]
		if p.Filter == "derived_category" {
			group = ""
		}
		if p.Group != group {
			t.Errorf("%s: group = %q, want %q", p.Filter, p.Group, group)
		}
	}
	want := FilterSetOf(FilterNames()...) &^ FilterSetOf("volume_unit", "origin_imported")
	if diff := cmp.Diff(want.Names(), names); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// everyFilter returns filters with every field set except origin_imported, because both origins
// together don't filter.
func everyFilter() SavedSearchFilters {
	var f SavedSearchFilters
	v := reflect.ValueOf(&f).Elem()
	for i := range v.NumField() {
		switch p := v.Field(i).Addr().Interface().(type) {
		case *string:
			*p = "liters"
		case *Opt[float64]:
			*p = Some(float64(i))
		case *Opt[bool]:
			*p = Some(true)
		}
	}
	f.OriginImported = Opt[bool]{}
	return f
}

func mustConvert(t *testing.T, from any, to any) {
	t.Helper()
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiltersWithoutParts(t *testing.T) {
	for name, f := range map[string]SavedSearchFilters{
		"none":             {},
		"a unit":           {VolumeUnit: "liters"},
		"both origins":     {OriginDomestic: Some(true), OriginImported: Some(true)},
		"an option is off": {TypeWine: Some(false), OriginImported: Some(false)},
	} {
		if parts := f.Parts(); len(parts) != 0 {
			t.Errorf("%s: Parts = %+v, want none", name, parts)
		}
	}
	one := SavedSearchFilters{OriginDomestic: Some(false), OriginImported: Some(true), ABVMin: Some(0.0)}.Parts()
	if len(one) != 2 || one[0].Filter != "origin_imported" || one[1].Filter != "abv_min" || one[1].Value != 0.0 {
		t.Errorf("one origin and a bound of 0: Parts = %+v", one)
	}
}
