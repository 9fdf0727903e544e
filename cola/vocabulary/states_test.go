package vocabulary

import (
	"strings"
	"testing"
)

func TestStates(t *testing.T) {
	for word, want := range map[string]string{
		"CA": "CA", "ca": "CA", "California": "CA", "californian": "CA", "dc": "DC", "D.C.": "DC", "district of columbia": "DC",
		"washington dc": "DC", "Washington": "WA", "washington state": "WA", "washingtonian": "DC WA", "carolinian": "NC SC",
		"puerto rico": "PR", "Boricua": "PR", "us virgin islands": "VI", "GU": "GU", "georgia": "GA", "Georgian": "GA", "Hawaiʻi": "HI",
		"ZZ": "", "ontario": "", "american": "", "usa": "", "": "", "!": "",
	} {
		var got []string
		for _, s := range StatesNamed(word) {
			got = append(got, s.Code)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("state %q = %v, want %s", word, got, want)
		}
	}
	if len(states) != 54 {
		t.Errorf("%d states, want 50 and 4 others", len(states))
	}
	for _, s := range states {
		for _, word := range []string{s.Code, s.Origin} {
			if found := StatesNamed(word); len(found) != 1 || found[0] != s {
				t.Errorf("state %s = %v, want only itself", word, found)
			}
		}
	}
}

// TestDomesticStates checks that saved searches can filter by every domestic origin except
// AMERICAN.
func TestDomesticStates(t *testing.T) {
	for _, o := range Origins() {
		if o.Domestic && o.Name != "AMERICAN" && len(StatesNamed(o.Name)) == 0 {
			t.Errorf("domestic origin %s is not a state", o.Name)
		}
	}
}
