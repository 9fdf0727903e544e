package cola

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/internal/shareddata"
)

func TestAppellations(t *testing.T) {
	area := func(name string, states, counties, parents, children []string) AVADetail {
		return AVADetail{AVA: AVA{Name: name, States: states, Counties: counties}, ParentAVAs: parents, ChildAVAs: children}
	}
	former := area("Oakville", []string{"CA"}, []string{"Napa"}, []string{"Elsewhere"}, nil)
	former.ValidEndDate = 1
	table := NewAppellations([]AVADetail{
		area("North Coast", []string{"CA"}, []string{"Napa", "Sonoma"}, nil, []string{"Napa Valley"}),
		area("Napa Valley", []string{"CA"}, []string{"Napa"}, []string{"North Coast"}, nil),
		area("Oakville", []string{"CA"}, []string{"Napa"}, []string{"Napa Valley"}, nil),
		area("Columbia Valley", []string{"OR", "WA"}, nil, nil, []string{"Red Mountain"}),
		area("Red Mountain", []string{"WA"}, nil, nil, []string{"Columbia Valley"}), // a cycle terminates
		former,
		area("Altus", []string{"AR"}, []string{"Franklin"}, nil, nil),
		area("White Bluffs", []string{"WA"}, []string{"Franklin County"}, nil, nil),
		{AVA: AVA{Name: "Los Carneros", AKA: "Carneros", States: []string{"CA"}}, ParentAVAs: []string{"Napa Valley"}},
		{AVA: AVA{Name: "Santa Rita Hills", States: []string{"CA"}, ValidEndDate: 1}, ParentAVAs: []string{"Central Coast"}},
	})
	for name, want := range map[string][]string{
		"NAPA  VALLEY": {"napa valley", "los carneros", "oakville", "carneros"},
		"North Coast":  {"north coast", "napa valley", "los carneros", "oakville", "carneros"},
		"Napa County":  {"napa county", "napa valley", "oakville", "los carneros", "carneros"},
		"california": {
			"california", "los carneros", "napa county", "napa valley", "north coast", "oakville", "santa rita hills", "carneros",
		},
		"Washington":      {"washington", "red mountain", "white bluffs", "columbia valley"},
		"Oregon":          {"oregon"},
		"Carneros":        {"carneros", "los carneros"},
		"Central Coast":   {"central coast", "santa rita hills"},
		"Arkansas":        {"arkansas", "altus"},
		"franklin county": {"franklin county", "altus", "white bluffs"},
		"Elsewhere":       {"elsewhere"},
		"Côtes du Rhône":  {"cotes du rhone"},
		"":                {""},
	} {
		if diff := cmp.Diff(want, table.Within(name)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
}

func TestRealAppellations(t *testing.T) {
	f, err := os.Open(shareddata.File(t, "ava/avas.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var areas []AVADetail
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a AVADetail
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		areas = append(areas, a)
	}
	table := NewAppellations(areas)
	for inner, outer := range map[string]string{
		"oakville": "Napa Valley", "rutherford": "North Coast", "adelaida district": "Central Coast", "napa valley": "California",
		"russian river valley": "Sonoma County", "walla walla valley": "Columbia Valley",
	} {
		if !slices.Contains(table.Within(outer), inner) {
			t.Errorf("Within(%s) does not include %s", outer, inner)
		}
	}
	if slices.Contains(table.Within("Napa Valley"), "paso robles") {
		t.Error("Within(Napa Valley) includes Paso Robles")
	}
}
