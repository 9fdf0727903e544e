package dashboard

import (
	"fmt"
	"net/url"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

func TestWhatASearchLooksForInWords(t *testing.T) {
	yes := cola.Some(true)
	for want, f := range map[string]cola.SavedSearchFilters{
		"all labels":                               {},
		"“barrel aged”":                            {Query: "barrel aged"},
		"brand contains “oak”":                     {BrandName: "oak"},
		"wine, malt beverage or distilled spirits": {TypeWine: yes, TypeMaltBeverage: yes, TypeDistilledSpirit: yes},
		"category Beer or Liquor":                  {DerivedBeer: yes, DerivedLiquor: yes},
		"category Wine > Red Wine · from france":   {DerivedCategory: "Wine > Red Wine", Country: "france"},
		"imported":        {OriginImported: yes},
		"status approved": {OriginImported: yes, OriginDomestic: yes, ApplicationStatus: "approved"},
		"at least 12% ABV · at most 1.5 liters · can":                                 {ABVMin: cola.Some(12.0), VolumeMax: cola.Some(1.5), VolumeUnit: "liters", ContainerCan: yes},
		"permit contains “CA-W” · applicant in CA · at least 5% ABV · at most 7% ABV": {ApplicantUSState: "CA", PermitNumberText: "CA-W", ABVMin: cola.Some(5.0), ABVMax: cola.Some(7.0)},
		"brand contains “ab” · barcode 036":                                           {BrandName: "a\u202eb", BarcodeValue: "036"},
	} {
		if got := looksForLine(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestEveryFilterHasAField checks that both forms have a field for every filter, and show a chip for every filter of a search.
func TestEveryFilterHasAField(t *testing.T) {
	form := &searchForm{Typed: url.Values{}}
	fields := map[string]bool{}
	for _, s := range form.Sections() {
		if s.Title == "" {
			t.Error("a section of the form has no title")
		}
		for _, f := range s.Fields {
			fields[f.Name] = f.Label != ""
		}
		for _, g := range s.Groups {
			for _, b := range g.Boxes {
				fields[b.Name] = b.Label != "" && g.Legend != ""
			}
		}
	}
	for _, name := range cola.FilterNames() {
		if !fields["filters."+name] {
			t.Errorf("the form of saved searches has no field for %s", name)
		}
	}
	explore := map[string]bool{"q": true}
	for _, f := range append(exploreForm{}.Checks(), exploreForm{}.Fields()...) {
		explore[f.Name] = f.Label != ""
	}
	for _, field := range cola.FieldsOf[cola.SearchParams]() {
		switch field.Name {
		case "page", "per_page", "cursor":
			continue
		}
		if !explore[field.Name] {
			t.Errorf("Explore has no field for %s", field.Name)
		}
		example := reflect.TypeFor[cola.SearchParams]().FieldByIndex(field.Index).Tag.Get("example")
		asked := readSearch(params.New[cola.SearchParams]("a test"), url.Values{field.Name: {example}}.Encode())
		if chips := chipsOf(asked.params); len(chips) == 0 && field.Name != "volume_unit" {
			t.Errorf("a search with %s has no chip", field.Name)
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

// TestWordsOffered checks that of too many category paths the short ones are offered, in order.
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
