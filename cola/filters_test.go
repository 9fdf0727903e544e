package cola

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// setExample sets a field of parameters or saved filters to the example in its tag.
func setExample[T any](t *testing.T, s *T, name string) {
	t.Helper()
	field := reflect.TypeFor[T]().FieldByIndex(FieldsOf[T]()[FieldIndex[T](name)].Index)
	example := field.Tag.Get("example")
	switch at := reflect.ValueOf(s).Elem().FieldByIndex(field.Index).Addr().Interface().(type) {
	case *string:
		*at = example
	case *[]string:
		*at = strings.Split(example, ",")
	case *Opt[bool]:
		*at = Some(true)
	case *Opt[float64]:
		v, err := strconv.ParseFloat(example, 64)
		if err != nil {
			t.Fatal(err)
		}
		*at = Some(v)
	case *Date:
		d, err := ParseDate(example)
		if err != nil {
			t.Fatal(err)
		}
		*at = d
	default:
		t.Fatalf("no example value for type %T", at)
	}
}

// TestEverySearchParamIsAFilter checks that each search parameter changes the query and the cursor
// fingerprint, and has a display description.
func TestEverySearchParamIsAFilter(t *testing.T) {
	for _, field := range FieldsOf[SearchParams]() {
		if slices.Contains([]string{"sort", "page", "per_page", "cursor"}, field.Name) {
			continue
		}
		base := SearchParams{VolumeUnit: "liters"}
		if field.Name == "volume_unit" {
			base.VolumeMin = Some(1.0)
		}
		p := base
		setExample(t, &p, field.Name)
		before, after := mustNormalize(t, base), mustNormalize(t, p)
		if cmp.Equal(before.Query, after.Query) {
			t.Errorf("%s does not change the query", field.Name)
		}
		if before.Fingerprint == after.Fingerprint {
			t.Errorf("%s does not change the fingerprint", field.Name)
		}
		f, ok := FilterOf(field.Name)
		if !ok || f.Label == "" || f.Noun == "" || !strings.Contains(f.Phrase, "%s") {
			t.Errorf("%s: incomplete filter %+v", field.Name, f)
		}
	}
}

// TestEverySavedFilterIsAFilter checks that each saved search filter changes the query, yields one
// part, and has a display description.
func TestEverySavedFilterIsAFilter(t *testing.T) {
	var names []string
	for f := range Filters() {
		names = append(names, f.Saved...)
		if len(f.Saved) > 1 && len(f.Saved) != len(f.Words) {
			t.Errorf("%d booleans, but %d words for %s", len(f.Saved), len(f.Words), f.Noun)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(slices.Sorted(slices.Values(FilterNames())), names); diff != "" {
		t.Errorf("filter names (-bits +table):\n%s", diff)
	}
	for _, field := range FieldsOf[SavedSearchFilters]() {
		base := SavedSearchFilters{VolumeUnit: "liters"}
		f, _, ok := SavedFilter(field.Name)
		if !ok {
			t.Errorf("%s is not a filter", field.Name)
			continue
		}
		if f.Kind == UnitFilter {
			base.VolumeMin = Some(1.0)
		}
		s := base
		setExample(t, &s, field.Name)
		if cmp.Equal(base.AsQuery(), s.AsQuery()) {
			t.Errorf("%s does not change the query", field.Name)
		}
		if f.Kind == UnitFilter {
			continue
		}
		if parts := s.Parts(); len(parts) != 1 || parts[0].Filter != field.Name || parts[0].Alone != s && !f.measured && parts[0].Alone.VolumeUnit != "" {
			t.Errorf("%s: Parts = %+v", field.Name, parts)
		}
		if conditions := s.Conditions(); len(conditions) != 1 || conditions[0].Label == "" || strings.TrimSpace(conditions[0].Value) == "" || strings.Contains(conditions[0].String(), "%s") || f.Section == "" {
			t.Errorf("%s: Conditions = %+v", field.Name, conditions)
		}
		if words := FilterSetOf(field.Name).Words(); len(words) != 1 || words[0] == "" || strings.ContainsAny(words[0], "_,%") {
			t.Errorf("%s: Words = %q", field.Name, words)
		}
	}
}

func TestFilterSetWords(t *testing.T) {
	set := FilterSetOf("brand_name", "abv_min", "abv_max", "volume_unit", "volume_max", "container_keg", "derived_wine", "origin_imported")
	want := []string{"brand name", "category Wine", "imported", "ABV", "volume", "keg"}
	if diff := cmp.Diff(want, set.Words()); diff != "" {
		t.Error(diff)
	}
}

// TestForSavedSearch checks which filters of a search carry over to a saved search, and how.
func TestForSavedSearch(t *testing.T) {
	p := SearchParams{
		Q: "oak", ProductType: []string{"WINE", "malt  beverage"}, Category: []string{"beer"}, Origin: "france", DomesticOrImported: " Imported",
		Status: "APPROVED", PermitNumber: "CA-W-1", ABVMin: Some(12.0), VolumeMin: Some(1.0), VolumeUnit: "Liters", ContainerType: []string{"can"},
		ApprovalDateFrom: 1,
	}
	want := SavedSearchFilters{
		Query: "oak", TypeWine: Some(true), TypeMaltBeverage: Some(true), DerivedBeer: Some(true), Country: "france", OriginImported: Some(true),
		ApplicationStatus: "approved", ABVMin: Some(12.0), VolumeMin: Some(1.0), VolumeUnit: "liters", ContainerCan: Some(true),
	}
	if diff := cmp.Diff(want, p.ForSavedSearch()); diff != "" {
		t.Error(diff)
	}
}

func TestFacetSearchOfInvalidParams(t *testing.T) {
	if _, err := (SearchParams{Status: "gone"}).FacetSearch(testNow); CodeOf(err) != CodeValidation {
		t.Errorf("FacetSearch(invalid status): error = %v, want validation_error", err)
	}
	first, err := SearchParams{}.Normalize(testNow)
	if err != nil {
		t.Fatal(err)
	}
	next := SearchParams{Cursor: first.CursorAfter(Position{Date: first.To, TTBID: 1})}
	if _, err := next.FacetSearch(testNow); err != nil {
		t.Errorf("FacetSearch(with a cursor): %v", err)
	}
}
