package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// TestWordsHold: what is told of the records is what they hold, in the ways that filters have of saying it.
func TestWordsHold(t *testing.T) {
	w := mustWorld(t, 500)
	words, err := w.Words(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := w.mustCaller(t, "words@example.com", cola.TierPro)
	always := cola.NewDate(2005, 1, 1)
	for _, origin := range []string{"french", "France", "mars", "american", "bhutan", "Georgia", "kentucky"} {
		found := len(w.newest(t, c, cola.SearchParams{Origin: origin, ApprovalDateFrom: always, PerPage: cola.Some(1)})) > 0
		if words.HasOrigin(origin) != found {
			t.Errorf("origin %s: told %t, found %t", origin, words.HasOrigin(origin), found)
		}
	}
	for _, path := range append([]string{"Wine > Nothing", "wine>red  wine", "Mead", "Wine > Red"}, words.Categories...) {
		found := len(w.newest(t, c, cola.SearchParams{DerivedSubcategory: path, ApprovalDateFrom: always, PerPage: cola.Some(1)})) > 0
		if words.HasCategory(path) != found {
			t.Errorf("category %s: told %t, found %t", path, words.HasCategory(path), found)
		}
	}
	for state, has := range map[string]bool{"CA": true, "california": true, "Guam": false} {
		if words.HasUSState(state) != has {
			t.Errorf("the state %s is told to have labels: %t", state, !has)
		}
	}
}

// TestFormerPathsAreKnown: a category path that has been renamed is one that labels have, as a search takes it.
func TestFormerPathsAreKnown(t *testing.T) {
	w := mustWorld(t, 200)
	o := demo.Options{Colas: 200, Seed: 1, AsOf: cola.DateOf(instant)}
	words, err := w.Words(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	aliases := demo.CategoryAliases(o)
	if len(aliases) == 0 {
		t.Fatal("the demonstration renames no category")
	}
	for _, a := range aliases {
		if words.HasCategory(a.Alias) != words.HasCategory(a.Path) {
			t.Errorf("%s is not told as %s is", a.Alias, a.Path)
		}
	}
}

// TestWordsOfLists: each word once and in order; whatever a filter finds rows with is told to have some.
func TestWordsOfLists(t *testing.T) {
	w := mustWorld(t, 10)
	words, err := w.Words(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Distilled Spirits", "Malt Beverage", "Wine"}, words.Times["commodity"]); diff != "" {
		t.Errorf("commodities (-want +got):\n%s", diff)
	}
	c := w.mustCaller(t, "lists@example.com", cola.TierPro)
	for _, commodity := range []string{"wine", " BEER ", "Distilled  Spirits", "whale oil"} {
		reports, _, err := w.ProductionReports(t.Context(), c, cola.ProductionReportParams{Commodity: commodity})
		if found := reports.Meta.Total > 0; err != nil || words.Reports.Has("commodity", commodity) != found {
			t.Errorf("reports of %q: found %t, %v", commodity, found, err)
		}
	}
	for name, list := range map[string][]string{
		"formula_type": words.FormulaTimes["formula_type"], "category": words.RegistrationTimes["category"], "application_type": words.RegistrationTimes["application_type"],
		"year": words.Reports["year"], "report_type": words.Reports["report_type"], "statistical_group": words.Reports["statistical_group"],
	} {
		if len(list) == 0 {
			t.Errorf("there is no %s", name)
		}
	}
}
