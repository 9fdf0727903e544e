package cola

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/google/go-cmp/cmp"
)

func TestQueryOfSavedFilters(t *testing.T) {
	on := Some(true)
	for _, tt := range []struct {
		name    string
		filters SavedSearchFilters
		want    Query
	}{
		{"nothing", SavedSearchFilters{}, Query{}},
		{"texts", SavedSearchFilters{Query: "a", BrandName: "b", BarcodeValue: "c", PermitNumberText: "d", ApplicantUSState: "NY",
			DerivedCategory: "Wine > e", ApplicationStatus: "revoked", Country: "french"},
			Query{Text: "a", BrandName: "b", Barcode: "c", PermitPart: "d", AddressState: "NY", CategoryPath: "Wine > e", Status: "revoked", OriginNames: []string{"FRANCE"}}},
		{"types in their order", SavedSearchFilters{TypeDistilledSpirit: on, TypeWine: on, TypeMaltBeverage: on}, Query{ProductTypes: vocabulary.ProductTypes()}},
		{"one type", SavedSearchFilters{TypeMaltBeverage: on}, Query{ProductTypes: []string{"malt beverage"}}},
		{"roots in their order", SavedSearchFilters{DerivedLiquor: on, DerivedBeer: on, DerivedWine: on}, Query{Categories: vocabulary.CategoryRoots()}},
		{"containers in their order", SavedSearchFilters{ContainerBottle: on, ContainerCan: on, ContainerKeg: on, ContainerBox: on, ContainerCask: on,
			ContainerPouch: on, ContainerPod: on, ContainerCarton: on, ContainerBag: on, ContainerJug: on}, Query{Containers: ContainerTypes()}},
		{"domestic", SavedSearchFilters{OriginDomestic: on}, Query{Domestic: vocabulary.Domestic}},
		{"imported", SavedSearchFilters{OriginImported: on}, Query{Domestic: vocabulary.Imported}},
		{"both", SavedSearchFilters{OriginDomestic: on, OriginImported: on}, Query{}},
		{"numbers", SavedSearchFilters{ABVMin: Some(1.0), ABVMax: Some(2.0), VolumeMin: Some(1.0), VolumeMax: Some(2.0), VolumeUnit: "gallons"},
			Query{ABVMin: Some(1.0), ABVMax: Some(2.0), VolumeMin: Some(3785.412), VolumeMax: Some(7570.824)}},
		{"a volume of 0", SavedSearchFilters{VolumeMin: Some(0.0), VolumeUnit: "pints"}, Query{VolumeMin: Some(0.0)}},
		{"a unit alone", SavedSearchFilters{VolumeUnit: "pints"}, Query{}},
		{"a state with two names", SavedSearchFilters{USState: "wa"}, Query{OriginNames: []string{"WASHINGTON", "WASHINGTON STATE"}}},
		{"several states", SavedSearchFilters{USState: "dakotan"}, Query{OriginNames: []string{"NORTH DAKOTA", "SOUTH DAKOTA"}}},
		{"a state of the country", SavedSearchFilters{USState: "ohio", Country: "usa"}, Query{OriginNames: []string{"OHIO"}}},
		{"a state of another country", SavedSearchFilters{USState: "ohio", Country: "france"}, Query{OriginNames: []string{}}},
		{"Georgia", SavedSearchFilters{Country: "georgia"}, Query{OriginNames: vocabulary.OriginNames("georgia")}},
		{"the state of Georgia", SavedSearchFilters{USState: "georgia"}, Query{OriginNames: vocabulary.OriginNames("GA")}},
		{"the state of Georgia, imported", SavedSearchFilters{USState: "GA", OriginImported: on}, Query{OriginNames: vocabulary.OriginNames("GA"), Domestic: vocabulary.Imported}},
	} {
		if diff := cmp.Diff(tt.want, tt.filters.AsQuery()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCountryAndState: with both, a label must be from the state and from the country.
func TestCountryAndState(t *testing.T) {
	for _, s := range vocabulary.States() {
		alone := SavedSearchFilters{USState: s.Code}.AsQuery().OriginNames
		if diff := cmp.Diff(vocabulary.OriginNames(s.Code), alone); diff != "" {
			t.Errorf("origins of %s (-want +got):\n%s", s.Code, diff)
		}
		same := SavedSearchFilters{USState: s.Code, Country: s.Origin}.AsQuery().OriginNames
		if diff := cmp.Diff(alone, same); diff != "" {
			t.Errorf("origins of %s in itself (-want +got):\n%s", s.Code, diff)
		}
		for _, country := range []string{"french", "narnia", "!"} {
			if got := (SavedSearchFilters{USState: s.Code, Country: country}).AsQuery().OriginNames; got == nil || len(got) > 0 {
				t.Errorf("%s in %s asks for the origins %v, want none at all", s.Code, country, got)
			}
		}
	}
}
