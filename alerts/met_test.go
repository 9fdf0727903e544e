package alerts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// bottled is a label of a product type in a container.
func bottled(number int, kind vocabulary.ProductType, container string) cola.IndexRecord {
	label := oak(number, day(11, 9))
	label.Summary.ProductType, label.ContainerType = kind, container
	label.ABV = cola.Some(13.0)
	return label
}

// TestMetFilters: each match tells the filters that it met, and of several options only those that it has.
func TestMetFilters(t *testing.T) {
	on := cola.Some(true)
	for _, tt := range []struct {
		name    string
		filters cola.SavedSearchFilters
		want    []string
	}{
		{"one filter", oaks, []string{"1 [brand_name]", "2 [brand_name]", "3 [brand_name]", "4 [brand_name]"}},
		{"no filter", cola.SavedSearchFilters{}, []string{"1 []", "2 []", "3 []", "4 []"}},
		{
			"one option of each group", cola.SavedSearchFilters{TypeWine: on, ContainerCan: on, ABVMin: cola.Some(12.0), ABVMax: cola.Some(14.0)},
			[]string{"2 [type_wine abv_min abv_max container_can]"},
		},
		{
			"several options", cola.SavedSearchFilters{BrandName: "o", TypeWine: on, TypeMaltBeverage: on, ContainerCan: on, ContainerBottle: on},
			[]string{
				"1 [brand_name type_wine container_bottle]", "2 [brand_name type_wine container_can]", "3 [brand_name type_malt_beverage container_can]",
			},
		},
		{
			"every option", cola.SavedSearchFilters{TypeWine: on, TypeMaltBeverage: on, TypeDistilledSpirit: on},
			[]string{"1 [type_wine]", "2 [type_wine]", "3 [type_malt_beverage]", "4 [type_distilled_spirit]"},
		},
		{"options that nothing has", cola.SavedSearchFilters{ContainerJug: on, ContainerBag: on}, nil},
		{"both origins are no filter", cola.SavedSearchFilters{OriginDomestic: on, OriginImported: on}, []string{"1 []", "2 []", "3 []", "4 []"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeStore(at(11, 9, 12))
			f.save("one", tt.filters, daily)
			f.write(bottled(1, vocabulary.Wine, "bottle"), false)
			f.write(bottled(2, vocabulary.Wine, "can"), false)
			f.write(bottled(3, vocabulary.MaltBeverage, "can"), false)
			f.write(bottled(4, vocabulary.DistilledSpirits, "keg"), false)
			f.clock = at(11, 10, 7)
			mustTick(t, New(Options{Store: f}), f.clock)
			var got []string
			for _, m := range f.recorded[0].new {
				got = append(got, fmt.Sprint(uint64(m.TTBID)-26001001000000, m.Met.Names()))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMetInTheOrderOfResults: labels of many days, found late and not, with every third of another kind.
func TestMetInTheOrderOfResults(t *testing.T) {
	f := newFakeStore(at(11, 9, 12))
	f.save("one", cola.SavedSearchFilters{TypeWine: cola.Some(true), TypeMaltBeverage: cola.Some(true), BrandName: "oak"}, daily)
	for i := range 60 {
		label := bottled(60-i, vocabulary.Wine, "can")
		if label.Summary.ApprovalDate -= cola.Date(i * 7 % 40); label.Summary.TTBID%3 == 0 {
			label.Summary.ProductType = vocabulary.MaltBeverage
		}
		f.write(label, false)
	}
	mustTick(t, New(Options{Store: f}), at(11, 10, 7))
	wine, malt := cola.FilterSetOf("brand_name", "type_wine"), cola.FilterSetOf("brand_name", "type_malt_beverage")
	for _, m := range f.recorded[0].new {
		if want := map[bool]cola.FilterSet{false: wine, true: malt}[m.TTBID%3 == 0]; m.Met != want {
			t.Errorf("%v met %v, want %v", m.TTBID, m.Met.Names(), want.Names())
		}
	}
	if n := len(f.recorded[0].new); n != 60 {
		t.Errorf("%d labels were found, want 60", n)
	}
}
