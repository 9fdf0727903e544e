package registry_test

import (
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestPermitteeNotes checks the notes on permittee searches.
func TestPermitteeNotes(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "permittees@example.com", cola.TierPro)
	all, _, err := w.SearchPermittees(t.Context(), c, cola.PermitteeParams{})
	if err != nil || len(all.Permittees) == 0 {
		t.Fatalf("SearchPermittees = %+v, %v", all, err)
	}
	p := all.Permittees[0]
	name := strings.Fields(string(p.CompanyName))[0]
	for _, tt := range []struct {
		params cola.PermitteeParams
		want   string
	}{
		{cola.PermitteeParams{Q: name}, ""},
		{cola.PermitteeParams{Q: name[:1] + name[2:]}, "Did you mean " + strings.ToLower(name)},
		{cola.PermitteeParams{Q: name[:1] + name[2:], State: "GU"}, "Did you mean " + strings.ToLower(name) + "?"},
		{cola.PermitteeParams{Q: "zzyzx"}, `No permittee name contains "zzyzx".`},
		{cola.PermitteeParams{Q: name, State: "GU"}, "Permittees that match the name but not the other filters: "},
		{cola.PermitteeParams{State: "GU"}, ""},
		{cola.PermitteeParams{Q: "&"}, ""},
	} {
		page, _, err := w.SearchPermittees(t.Context(), c, tt.params)
		notes := strings.Join(page.Notes, " ")
		if err != nil || !strings.Contains(notes, tt.want) || tt.want == "" && notes != "" {
			t.Errorf("%+v: notes %q, %v; want %q", tt.params, notes, err, tt.want)
		}
	}
}
