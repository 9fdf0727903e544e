package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWordsThatNoLabelHas: the preview, the form and the page of a search tell of words that no label has, and are silent of those that labels have.
func TestWordsThatNoLabelHas(t *testing.T) {
	s := mustSite(t)
	for name, tt := range map[string]struct {
		field, value, says string // says nothing where a label has it
	}{
		"no such category":   {"derived_category", "Wine > Nope", `No label has the category path "Wine > Nope".`},
		"misspelled":         {"derived_category", "Wine > Red Wina", `No label has the category path "Wine > Red Wina". Did you mean Wine > Red Wine?`},
		"category":           {"derived_category", "wine>red  wine", ""},
		"no such country":    {"country", "Atlantis", `No label has the country "Atlantis".`},
		"misspelled country": {"country", "Frrance", `No label has the country "Frrance". Did you mean france?`},
		"adjective":          {"country", "french", ""},
		"without labels":     {"country", "Iceland", `No label has the country "Iceland".`},
		"state":              {"us_state", "california", ""},
		"state without any":  {"us_state", "Guam", `No label is from the US state "Guam".`},
		"hostile":            {"country", "<script>alert(1)</script>", `No label has the country "<script>alert(1)</script>".`},
		"other words":        {"query", "zzzzqqqq", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s.registry.Pass(time.Minute) // as people write
			form := typedSearch("filters."+tt.field, tt.value)
			part := s.post("/saved-searches/preview", form)
			whole := s.post("/saved-searches/new", with(form, "preview", "true"))
			path := s.mustSaved(form)
			for _, a := range []answer{part, whole, s.get(path), s.get(path + "/edit")} {
				a.shows(t, http.StatusOK, tt.says)
				if tt.says == "" {
					a.lacks(t, "No label has", "No label is from", "finds nothing until")
				}
				if strings.Contains(a.body, "<script>alert") {
					t.Errorf("a word has become markup:\n%s", a.body)
				}
			}
			page := s.get(path)
			page.wellMade(t)
			if strings.Contains(page.text, "The search finds nothing until a label has it.") != (tt.says != "") {
				t.Errorf("the page of the search says:\n%s", page.body)
			}
			whole.wellMade(t)
			s.post(path+"/delete", nil).leads(t)
		})
	}
}
