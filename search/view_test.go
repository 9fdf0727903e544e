package search

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/google/go-cmp/cmp"
)

func TestCategories(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	for round, paths := range [][]string{
		{"Beer > Lager > Märzen", "Wine > Red Wine", ""},
		{"beer > lager > marzen", "Beer > Old Ale > Dark"},
	} {
		u := x.Begin()
		for i, path := range paths {
			u.Label(labelWith(cola.TTBID(10*round+i+1), func(c *cola.Cola) { c.LLMCategoryPath = cola.Text(path) }))
		}
		u.Aliases([]vocabulary.CategoryAlias{{Alias: "Beer > Old Ale", Path: "Beer > Ale > Old"}})
		mustCommit(t, u, Marks{Labels: cola.Revision(round + 1)})
	}
	want := []string{
		"Beer", "Beer > Ale", "Beer > Ale > Old", "Beer > Ale > Old > Dark",
		"Beer > Lager", "Beer > Lager > Märzen", "Wine", "Wine > Red Wine",
	}
	if diff := cmp.Diff(want, x.View().Categories()); diff != "" {
		t.Errorf("Categories (-want +got):\n%s", diff)
	}
}

// TestOrigins checks that each origin is listed once, regardless of letter case and segment.
func TestOrigins(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	for round, origins := range [][]cola.Text{{"FRANCE", "oregon", ""}, {"Oregon", "KOSOVO"}} {
		u := x.Begin()
		for i, origin := range origins {
			u.Label(labelWith(cola.TTBID(10*round+i+1), func(c *cola.Cola) { c.OriginName = origin }))
		}
		mustCommit(t, u, Marks{Labels: cola.Revision(round + 1)})
	}
	if diff := cmp.Diff([]string{"FRANCE", "KOSOVO", "OREGON"}, x.View().Origins()); diff != "" {
		t.Errorf("Origins (-want +got):\n%s", diff)
	}
}

// TestStates checks that a state is listed if a permittee is in it, but not if it appears only in a
// label's permit number.
func TestStates(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	if got := x.View().States(); len(got) != 0 {
		t.Errorf("States(empty index) = %v, want empty", got)
	}
	u := x.Begin()
	u.Label(labelWith(1, func(c *cola.Cola) { c.PermitNumber = "TX-I-1" }))
	for number, state := range map[string]cola.Text{"NJ-I-721": "nj", "CA-I-2": "CA", "CA-I-3": "CA", "X-1": ""} {
		u.Permittee(&cola.Permittee{PermitNumber: number, CompanyState: state})
	}
	mustCommit(t, u, Marks{Labels: 1})
	if diff := cmp.Diff([]string{"CA", "NJ"}, x.View().States()); diff != "" {
		t.Errorf("States (-want +got):\n%s", diff)
	}
}
