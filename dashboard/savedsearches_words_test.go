package dashboard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

func TestWhatASearchLooksForInWords(t *testing.T) {
	yes := cola.Some(true)
	for want, f := range map[string]cola.SavedSearchFilters{
		"all labels":                                       {},
		"words “barrel aged”":                              {Query: "barrel aged"},
		"brand contains “oak”":                             {BrandName: "oak"},
		"wine, malt beverage or distilled spirits":         {TypeWine: yes, TypeMaltBeverage: yes, TypeDistilledSpirit: yes},
		"category Beer or Liquor":                          {DerivedBeer: yes, DerivedLiquor: yes},
		"Wine > Red Wine · from france":                    {DerivedCategory: "Wine > Red Wine", Country: "france"},
		"imported":                                         {OriginImported: yes},
		"status approved":                                  {OriginImported: yes, OriginDomestic: yes, ApplicationStatus: "approved"},
		"at least 12 % alcohol · at most 1.5 liters · can": {ABVMin: cola.Some(12.0), VolumeMax: cola.Some(1.5), VolumeUnit: "liters", ContainerCan: yes},
		"applicant in CA · permit number contains “CA-W” · 5 to 7 % alcohol": {ApplicantUSState: "CA", PermitNumberText: "CA-W", ABVMin: cola.Some(5.0), ABVMax: cola.Some(7.0)},
		"brand contains “ab” · barcode 036":                                  {BrandName: "a\u202eb", BarcodeValue: "036"},
	} {
		if got := looksForLine(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestEveryFilterHasAFieldAndWords: a filter that is added to saved searches is not forgotten in the form or in what is said of a search.
func TestEveryFilterHasAFieldAndWords(t *testing.T) {
	boxes := map[string]bool{}
	for _, group := range boxNames {
		for _, box := range group {
			boxes[box[0]] = true
		}
	}
	for _, name := range cola.FilterNames() {
		_, typed := searchTexts["filters."+name]
		_, chosen := otherLabels["filters."+name]
		if !typed && !chosen && !boxes[name] {
			t.Errorf("no field is for %s", name)
		}
		if name != "volume_unit" && met(cola.FilterSetOf(name)) == "" {
			t.Errorf("no word is for %s", name)
		}
	}
}

func TestSchedulesInWords(t *testing.T) {
	var got []string
	for _, s := range []*cola.Schedule{
		nil, {Cadence: "daily"}, {Cadence: "weekly", Day: 0}, {Cadence: "monthly", Day: 1}, {Cadence: "monthly", Day: 11},
		{Cadence: "monthly", Day: 22}, {Cadence: "monthly", Day: 13}, {Cadence: "monthly", Day: 23},
	} {
		got = append(got, rhythm(s))
	}
	want := []string{"", "every day", "every Sunday", "on the 1st of every month", "on the 11th of every month", "on the 22nd of every month", "on the 13th of every month", "on the 23rd of every month"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFiltersThatWereMetInWords(t *testing.T) {
	if got := met(cola.FilterSetOf("brand_name", "abv_min", "abv_max", "volume_min", "volume_unit", "container_can", "type_wine")); got != "brand, wine, strength, contents, can" {
		t.Errorf("%q", got)
	}
}

// TestWordsOffered: of too many category paths the short ones are offered, in order.
func TestWordsOffered(t *testing.T) {
	paths := []string{"Beer"}
	for i := range mostWords {
		paths = append(paths, fmt.Sprintf("Beer > Ale > %03d", i))
	}
	paths = append(paths, "Wine", "Wine > Red Wine")
	got := offered(paths)
	want := append(paths[:mostWords-2:mostWords-2], "Wine", "Wine > Red Wine")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
