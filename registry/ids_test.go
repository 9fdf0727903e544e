package registry_test

import (
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestIdentifiers: white space around one does not count, and what is wrong with one is said where something is.
func TestIdentifiers(t *testing.T) {
	w := mustWorld(t, 50)
	c := w.mustCaller(t, "ids@example.com", cola.TierPro)
	id := w.newest(t, c, cola.SearchParams{PerPage: cola.Some(1)})[0].TTBID
	if label, _, err := w.Cola(t.Context(), c, " \t"+id.String()+" ", ""); err != nil || label.Value.TTBID != id {
		t.Errorf("with white space around: %v, %v", label.Value.TTBID, err)
	}
	areas, _, err := w.AVAs(t.Context(), c, cola.AVAParams{})
	if err != nil || len(areas.Rows) == 0 {
		t.Fatalf("%d areas, %v", len(areas.Rows), err)
	}
	if area, _, err := w.AVA(t.Context(), c, " "+areas.Rows[0].AVAID+" ", ""); err != nil || area.Value.AVAID != areas.Rows[0].AVAID {
		t.Errorf("an area with white space around: %v, %v", area.Value.AVAID, err)
	}
	for given, hint := range map[string]bool{
		"00000000000000": false, "99999999999999": false, " 99999999999999": false, "": true, "1105400100004": true, "110540010000490": true, "1105400100004a": true, "１１０５４００１００００４９": true,
	} {
		_, _, err := w.Cola(t.Context(), c, given, "")
		if cola.CodeOf(err) != cola.CodeNotFound || strings.Contains(err.Error(), "A TTB id has 14 digits.") != hint {
			t.Errorf("%q: %v", given, err)
		}
	}
}
