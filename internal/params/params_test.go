package params

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// TestMergedProblems checks that problems found earlier are reported together with new ones.
func TestMergedProblems(t *testing.T) {
	r := New[cola.AVAParams]("this test")
	got := r.Read([]Value{{Name: "q", Text: "a"}, {Name: "q", Text: "b"}, {Name: "stat", Text: "CA"}, {Name: "zzzzzz"}}, cola.Problems{"state": {"It is odd."}}).Problems
	golden.Load(t, "merged").Check(t, "problems", got)
}

func TestTakes(t *testing.T) {
	r := New[cola.SearchParams]("this test")
	for name, want := range map[string][2]bool{"q": {false, true}, "product_type": {true, true}, "Q": {}, "problems": {}} {
		if repeatable, ok := r.Takes(name); repeatable != want[0] || ok != want[1] {
			t.Errorf("Takes(%q) = %t, %t, want %v", name, repeatable, ok, want)
		}
	}
}

// TestUnknown checks the parameter suggested for an unknown name.
func TestUnknown(t *testing.T) {
	names := []string{"brand_name", "page", "per_page", "q"}
	for name, want := range map[string]string{"brandname": "brand_name", "Limit": "per_page", "offset": "page", "search": "q"} {
		if got := Unknown(name, "a test", names); !strings.Contains(got, "did you mean "+want+"?") {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
	for _, name := range []string{"sort_by", "zzzzzz"} {
		if got := Unknown(name, "a test", names); !strings.Contains(got, "brand_name, page, per_page, q") {
			t.Errorf("%s: %q, want all names", name, got)
		}
	}
}

func TestUnsupportedFields(t *testing.T) {
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
					t.Error("New did not panic for an invalid struct")
				}
			}()
			build()
		}()
	}
}

// TestForms checks that a form is parsed like the equivalent JSON object, and that problems have
// the names of its fields.
func TestForms(t *testing.T) {
	problems := golden.Load(t, "forms")
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
		"invalid": {"filters.abv_min=x&filters=a&.=b&a.b=c&filters.query=d&filters.query=e", cola.SavedSearchParams{
			Filters: &cola.SavedSearchFilters{},
		}},
	} {
		form, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		got := savedSearch.Read(savedSearch.Fields(form), nil)
		problems.Check(t, name, got.Problems)
		got.Problems = nil
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
