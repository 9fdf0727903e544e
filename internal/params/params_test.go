package params

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestReadKeepsWhatWasWrong checks that problems found earlier are reported together with new ones.
func TestReadKeepsWhatWasWrong(t *testing.T) {
	r := New[cola.AVAParams]("this test")
	got := r.Read([]Value{{Name: "q", Text: "a"}, {Name: "q", Text: "b"}, {Name: "stat", Text: "CA"}, {Name: "zzzzzz"}}, cola.Problems{"state": {"It is odd."}}).Problems
	want := cola.Problems{
		"q":      {`It is given 2 times, first as "a" and last as "b"; give it once.`},
		"stat":   {"There is no such parameter; did you mean state?"},
		"state":  {"It is odd."},
		"zzzzzz": {"There is no such parameter; this test takes current, q, state."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTakes(t *testing.T) {
	r := New[cola.SearchParams]("this test")
	for name, want := range map[string][2]bool{"q": {false, true}, "product_type": {true, true}, "Q": {}, "problems": {}} {
		if several, ok := r.Takes(name); several != want[0] || ok != want[1] {
			t.Errorf("%s: several %t, taken %t", name, several, ok)
		}
	}
}

func TestNewRefusesUnreadableFields(t *testing.T) {
	type unreadable struct {
		cola.Decoded
		When complex64 `json:"when"`
	}
	type withoutProblems struct {
		Q string `json:"q"`
	}
	for _, build := range []func(){func() { New[unreadable]("a test") }, func() { New[withoutProblems]("a test") }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a struct that cannot be decoded is accepted")
				}
			}()
			build()
		}()
	}
}

// TestForms checks that a form is parsed like the equivalent JSON object, and that problems have
// the names of its fields.
func TestForms(t *testing.T) {
	for name, tt := range map[string]struct {
		form string
		want cola.SavedSearchParams
	}{
		"nothing":   {"", cola.SavedSearchParams{}},
		"all empty": {"name=&filters.brand_name=&schedule.cadence=", cola.SavedSearchParams{}},
		"all objects": {"name=a&filters.brand_name=oak&filters.type_wine=true&filters.abv_min=12.5&schedule.cadence=weekly&schedule.day=1", cola.SavedSearchParams{
			Name:     "a",
			Filters:  &cola.SavedSearchFilters{BrandName: "oak", TypeWine: cola.Some(true), ABVMin: cola.Some(12.5)},
			Schedule: &cola.ScheduleParams{Cadence: "weekly", Day: cola.Some(1)},
		}},
		"wrong": {"filters.abv_min=x&filters=a&.=b&a.b=c&filters.query=d&filters.query=e", cola.SavedSearchParams{
			Filters: &cola.SavedSearchFilters{},
			Decoded: cola.Decoded{Problems: cola.Problems{
				"filters.abv_min": {`"x" is not accepted; write a number from 0 to 100.`},
				"filters":         {`It is a string; send an object, such as {"query": "barrel aged", "brand_name": "oak"}.`},
				"filters.query":   {`It is given 2 times, first as "d" and last as "e"; give it once.`},
				".":               {Unknown(".", "a test", []string{"filters", "name", "schedule"})},
				"a.b":             {Unknown("a.b", "a test", []string{"filters", "name", "schedule"})},
			}},
		}},
	} {
		form, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, savedSearch.Read(savedSearch.Fields(form), nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
