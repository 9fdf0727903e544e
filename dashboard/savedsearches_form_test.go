package dashboard

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestTwoFormsOfOneSearch: what was changed since a form was filled is not overwritten before its sender knows; whatever else the form is sent for, it stays the
// same form.
func TestTwoFormsOfOneSearch(t *testing.T) {
	s := mustSite(t)
	made := typedSearch("filters.query", "oak", "filters.volume_max", "1.50", "filters.volume_unit", "liters", "schedule.cadence", "weekly", "schedule.weekday", "2")
	for name, change := range map[string]func(path string){
		"name":          func(path string) { s.post(path+"/edit", with(made, "name", "Other")).leads(t) },
		"filters":       func(path string) { s.post(path+"/edit", with(made, "filters.brand_name", "other")).leads(t) },
		"fewer filters": func(path string) { s.post(path+"/edit", with(made, "filters.query", "")).leads(t) },
		"cadence":       func(path string) { s.post(path+"/edit", with(made, "schedule.cadence", "daily")).leads(t) },
		"day":           func(path string) { s.post(path+"/edit", with(made, "schedule.weekday", "3")).leads(t) },
		"no schedule":   func(path string) { s.post(path+"/edit", with(made, "schedule.cadence", "")).leads(t) },
		"pause":         func(path string) { s.post(path+"/pause", nil).leads(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s.registry.Pass(time.Minute) // as people write
			path := s.mustSaved(made)
			was := cutOut(s.get(path+"/edit").body, `name="was" value="`, `"`)
			if was == "" {
				t.Fatal("the form does not know what it was filled with")
			}
			mine := with(made, "name", "Mine", "was", was)
			change(path)
			s.post(path+"/edit", with(mine, "preview", "true")).shows(t, http.StatusOK, `name="was" value="`+was+`"`)
			again := s.post(path+"/edit", mine)
			again.shows(t, http.StatusConflict, "changed meanwhile", `value="Mine"`, `role="alert"`)
			again.wellMade(t)
			s.get(path).lacks(t, "Mine")
			mine.Set("was", cutOut(again.body, `name="was" value="`, `"`))
			s.post(path+"/edit", with(mine, "name", "")).shows(t, http.StatusBadRequest, "A name to recognise the search by is required", `name="was" value="`+mine.Get("was")+`"`)
			s.post(path+"/edit", mine).leads(t)
			s.get(path).shows(t, http.StatusOK, "Mine")
			s.post(path+"/edit", with(mine, "was", was)).leads(t) // sent twice
			s.post(path+"/delete", nil).leads(t)
		})
	}
}

// TestFormsOfAnotherAccount: what was opened as one account is not made for another that has signed in meanwhile.
func TestFormsOfAnotherAccount(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierPro)
	bob := s.by("bob@example.com")
	for path, typed := range map[string]url.Values{"/saved-searches/new": typedSearch(), "/destinations/new": typedWebhook()} {
		typed = with(typed, "holder", cutOut(s.get(path).body, `name="holder" value="`, `"`))
		if typed.Get("holder") == "" {
			t.Fatalf("the form at %s does not know whom it was shown to", path)
		}
		refused := bob.post(path, typed)
		refused.shows(t, http.StatusForbidden, "opened by another account than the one that is signed in now", "Nothing was done")
		refused.wellMade(t)
		s.by("").post(path, typed).shows(t, http.StatusUnauthorized, `name="holder" value="`+typed.Get("holder")+`"`)
		if a := s.post(path, typed); a.StatusCode != http.StatusSeeOther && a.StatusCode != http.StatusCreated {
			t.Errorf("%s: %d for who opened it\n%s", path, a.StatusCode, a.body)
		}
	}
	bob.get("/saved-searches").lacks(t, "All wine")
	bob.get("/destinations").lacks(t, hook)
}

// TestBoundsOfTheDay: whatever is wrong with a day, the form tells the bounds of the field that it was typed into.
func TestBoundsOfTheDay(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch())
	for _, tt := range []struct{ cadence, field, typed, says string }{
		{"monthly", "schedule.monthday", "x", `"x" is not accepted; write a whole number from 1 to 28.`},
		{"monthly", "schedule.monthday", "1.5", `"1.5" is not accepted; write a whole number from 1 to 28.`},
		{"monthly", "schedule.monthday", "0", "allowed: 1 to 28"},
		{"monthly", "schedule.monthday", "29", "allowed: 1 to 28"},
		{"weekly", "schedule.weekday", "x", `"x" is not accepted; write a whole number from 0 to 6.`},
		{"weekly", "schedule.weekday", "7", "allowed: 0 to 6"},
	} {
		for _, form := range []string{newSearchPath, path + "/edit"} {
			page := s.post(form, typedSearch("schedule.cadence", tt.cadence, tt.field, tt.typed))
			page.shows(t, http.StatusBadRequest, tt.says, `href="#`+fieldID(tt.field)+`"`)
			page.lacks(t, "0 to 28")
		}
	}
}

// TestFormOfAnUnchangedSearch: runs change nothing that a form holds, and no field of it is markup or a fault, whatever it has.
func TestFormOfAnUnchangedSearch(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	was := cutOut(s.get(path+"/edit").body, `name="was" value="`, `"`)
	s.mustRun(path)
	s.post(path+"/edit", typedSearch("filters.query", "oak", "was", was)).leads(t)
	for _, hostile := range []string{`"><script>`, "\x00", "\xff", strings.Repeat("A", 9000), was} {
		a := s.post(path+"/edit", typedSearch("name", "Again", "was", hostile))
		a.shows(t, http.StatusConflict, "changed meanwhile")
		if strings.Contains(a.body, "<script>") {
			t.Errorf("a field has become markup:\n%s", a.body)
		}
	}
	s.get(path).shows(t, http.StatusOK, "All wine", "oak")
}

// TestFormThatWasNeverOpened: what is told of a form that is not taken is true of one that nobody opened here, too.
func TestFormThatWasNeverOpened(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch())
	hookPath, _ := s.mustWebhook(typedWebhook())
	for form, shown := range map[string]string{path + "/feed": path, hookPath + "/secret": hookPath, "/keys/new": "/keys"} {
		if to := s.post(form, url.Values{"form": {"never"}, "name": {"x"}}).leads(t); to != shown {
			t.Errorf("%s leads to %s", form, to)
		}
		page := s.get(shown)
		page.shows(t, http.StatusOK, "This form was sent before, or is not one that is open for this account, so nothing was done now.", "open the form anew")
		page.lacks(t, "was done already")
	}
	s.get(path).lacks(t, "This search has one")
}

// with returns a form with some fields set otherwise; one that is set to nothing is left out.
func with(form url.Values, fields ...string) url.Values {
	form = maps.Clone(form)
	for i := 0; i < len(fields); i += 2 {
		if form.Set(fields[i], fields[i+1]); fields[i+1] == "" {
			form.Del(fields[i])
		}
	}
	return form
}
