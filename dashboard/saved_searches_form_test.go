package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// TestConflictingEdits checks that a form does not overwrite later changes without a warning, and
// that previews and validation errors preserve the form's fingerprint.
func TestConflictingEdits(t *testing.T) {
	s := mustSite(t)
	form := typedSearch("filters.query", "oak", "filters.volume_max", "1.50", "filters.volume_unit", "liters",
		"schedule.cadence", "weekly", "schedule.weekday", "2")
	for name, change := range map[string]func(path string){
		"name": func(path string) { s.post(path+"/edit", with(form, "name", "Other")).redirects(t) },
		"filters": func(path string) {
			s.post(path+"/edit", with(form, "filters.brand_name", "other")).redirects(t)
		},
		"fewer filters": func(path string) { s.post(path+"/edit", with(form, "filters.query", "")).redirects(t) },
		"cadence": func(path string) {
			s.post(path+"/edit", with(form, "schedule.cadence", "daily")).redirects(t)
		},
		"day":         func(path string) { s.post(path+"/edit", with(form, "schedule.weekday", "3")).redirects(t) },
		"no schedule": func(path string) { s.post(path+"/edit", with(form, "schedule.cadence", "")).redirects(t) },
		"pause":       func(path string) { s.post(path+"/pause", nil).redirects(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s.registry.Advance(time.Minute) // stays under the page rate limit
			path := s.mustSave(form)
			fingerprint := cutOut(s.get(path+"/edit").body, `name="was" value="`, `"`)
			if fingerprint == "" {
				t.Fatal("form has no fingerprint")
			}
			mine := with(form, "name", "Mine", "was", fingerprint)
			change(path)
			s.post(path+"/edit", with(mine, "preview", "true")).shows(t, http.StatusOK, `name="was" value="`+fingerprint+`"`)
			conflict := s.post(path+"/edit", mine)
			conflict.shows(t, http.StatusConflict, `value="Mine"`, `role="alert"`)
			conflict.checkHTML(t)
			s.get(path).lacks(t, "Mine")
			mine.Set("was", cutOut(conflict.body, `name="was" value="`, `"`))
			s.post(path+"/edit", with(mine, "name", "")).shows(t, http.StatusBadRequest, `href="#name"`,
				`name="was" value="`+mine.Get("was")+`"`)
			s.post(path+"/edit", mine).redirects(t)
			s.get(path).shows(t, http.StatusOK, "Mine")
			s.post(path+"/edit", with(mine, "was", fingerprint)).redirects(t) // double submission
			s.post(path+"/delete", nil).redirects(t)
		})
	}
}

// TestForeignForms checks that a form opened in one account is rejected if another account
// has signed in since.
func TestForeignForms(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierPro)
	bob := s.by("bob@example.com")
	for path, typed := range map[string]url.Values{
		"/saved-searches/new": typedSearch(),
		"/destinations/new":   typedWebhook(),
	} {
		typed = with(typed, "holder", cutOut(s.get(path).body, `name="holder" value="`, `"`))
		if typed.Get("holder") == "" {
			t.Fatalf("form at %s has no account", path)
		}
		rejected := bob.post(path, typed)
		rejected.shows(t, http.StatusForbidden, "different account")
		rejected.checkHTML(t)
		s.by("").post(path, typed).shows(t, http.StatusUnauthorized, `name="holder" value="`+typed.Get("holder")+`"`)
		if a := s.post(path, typed); a.StatusCode != http.StatusSeeOther && a.StatusCode != http.StatusCreated {
			t.Errorf("%s: status %d for the account that opened it\n%s", path, a.StatusCode, a.body)
		}
	}
	bob.get("/saved-searches").lacks(t, "All wine")
	bob.get("/destinations").lacks(t, hook)
}

// TestDayBounds checks that an invalid day shows the bounds of its own field.
func TestDayBounds(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch())
	for _, tt := range []struct{ cadence, field, typed, says string }{
		{"monthly", "schedule.monthday", "x", "1 to 28."},
		{"monthly", "schedule.monthday", "1.5", "1 to 28."},
		{"monthly", "schedule.monthday", "0", "1 to 28"},
		{"monthly", "schedule.monthday", "29", "1 to 28"},
		{"weekly", "schedule.weekday", "x", "0 to 6."},
		{"weekly", "schedule.weekday", "7", "0 to 6"},
	} {
		for _, form := range []string{newSearchPath, path + "/edit"} {
			page := s.post(form, typedSearch("schedule.cadence", tt.cadence, tt.field, tt.typed))
			page.shows(t, http.StatusBadRequest, tt.says, `href="#`+fieldID(tt.field)+`"`)
			page.lacks(t, "0 to 28")
		}
	}
}

// TestFingerprint checks that runs do not change a search's fingerprint, and that an arbitrary
// submitted fingerprint is escaped and causes at most a conflict.
func TestFingerprint(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	fingerprint := cutOut(s.get(path+"/edit").body, `name="was" value="`, `"`)
	s.mustRun(path)
	s.post(path+"/edit", typedSearch("filters.query", "oak", "was", fingerprint)).redirects(t)
	for _, hostile := range []string{`"><script>`, "\x00", "\xff", strings.Repeat("A", 9000), fingerprint} {
		a := s.post(path+"/edit", typedSearch("name", "Again", "was", hostile))
		a.shows(t, http.StatusConflict, `role="alert"`)
		if strings.Contains(a.body, "<script>") {
			t.Errorf("field was not escaped:\n%s", a.body)
		}
	}
	s.get(path).shows(t, http.StatusOK, "All wine", "oak")
}

// TestUnknownFormToken checks that a form with an unknown token is rejected with the same message
// as one that was already submitted, and has no effect.
func TestUnknownFormToken(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch())
	hookPath, _ := s.mustWebhook(typedWebhook())
	for form, want := range map[string]string{
		path + "/feed": path, hookPath + "/secret": hookPath,
		"/keys/new": "/keys",
	} {
		if to := s.post(form, url.Values{"form": {"never"}, "name": {"x"}}).redirects(t); to != want {
			t.Errorf("%s redirects to %s, want %s", form, to, want)
		}
		page := s.get(want)
		page.shows(t, http.StatusOK, `class="notice"`, formUsed)
	}
	s.get(path).lacks(t, path+"/feed/end")
}

// with returns a form with some fields replaced. An empty value removes a field.
func with(form url.Values, fields ...string) url.Values {
	form = maps.Clone(form)
	for i := 0; i < len(fields); i += 2 {
		if form.Set(fields[i], fields[i+1]); fields[i+1] == "" {
			form.Del(fields[i])
		}
	}
	return form
}

// TestUnknownWords checks that the preview, the form and the search's page point out exactly the
// values that no label has.
func TestUnknownWords(t *testing.T) {
	s := mustSite(t)
	for name, tt := range map[string]struct {
		field, value, says string // says is empty if a label has the value
	}{
		"no such category":     {"derived_category", "Wine > Nope", `"Wine > Nope"`},
		"misspelled":           {"derived_category", "Wine > Red Wina", "Wine > Red Wine?"},
		"category":             {"derived_category", "wine>red  wine", ""},
		"no such country":      {"country", "Atlantis", `"Atlantis"`},
		"misspelled country":   {"country", "Frrance", "FRANCE?"},
		"adjective":            {"country", "french", ""},
		"without labels":       {"country", "Iceland", `"Iceland"`},
		"state":                {"us_state", "california", ""},
		"state without labels": {"us_state", "Guam", `"Guam"`},
		"hostile":              {"country", "<script>alert(1)</script>", `"<script>alert(1)</script>"`},
		"unknown word":         {"query", "zzzzqqqq", `"zzzzqqqq"`},
	} {
		t.Run(name, func(t *testing.T) {
			s.registry.Advance(time.Minute) // stays under the page rate limit
			form := typedSearch("filters."+tt.field, tt.value)
			part := s.post("/saved-searches/preview", form)
			whole := s.post("/saved-searches/new", with(form, "preview", "true"))
			path := s.mustSave(form)
			for _, a := range []response{part, whole, s.get(path), s.get(path + "/edit")} {
				a.shows(t, http.StatusOK, tt.says)
				if tt.says == "" {
					a.lacks(t, "No label has", "No label is from")
				}
				if strings.Contains(a.body, "<script>alert") {
					t.Errorf("value was not escaped:\n%s", a.body)
				}
			}
			page := s.get(path)
			page.checkHTML(t)
			if strings.Contains(page.text, `class="warning"`) != (tt.says != "") {
				t.Errorf("warning shown: %t, want %t:\n%s", tt.says == "", tt.says != "", page.body)
			}
			whole.checkHTML(t)
			s.post(path+"/delete", nil).redirects(t)
		})
	}
}

func TestFilterSummary(t *testing.T) {
	yes := cola.Some(true)
	for want, f := range map[string]cola.SavedSearchFilters{
		"All labels":                               {},
		"“barrel aged”":                            {Query: "barrel aged"},
		"brand contains “oak”":                     {BrandName: "oak"},
		"wine, malt beverage or distilled spirits": {TypeWine: yes, TypeMaltBeverage: yes, TypeDistilledSpirit: yes},
		"category Beer or Liquor":                  {DerivedBeer: yes, DerivedLiquor: yes},
		"category Wine > Red Wine · from france":   {DerivedCategory: "Wine > Red Wine", Country: "france"},
		"imported":        {OriginImported: yes},
		"status approved": {OriginImported: yes, OriginDomestic: yes, ApplicationStatus: "approved"},
		"at least 12% ABV · at most 1.5 liters · can": {
			ABVMin:       cola.Some(12.0),
			VolumeMax:    cola.Some(1.5),
			VolumeUnit:   "liters",
			ContainerCan: yes,
		},
		"permit contains “CA-W” · applicant in CA · at least 5% ABV · at most 7% ABV": {
			ApplicantUSState: "CA",
			PermitNumberText: "CA-W",
			ABVMin:           cola.Some(5.0),
			ABVMax:           cola.Some(7.0),
		},
		"brand contains “ab” · barcode 036": {BrandName: "a\u202eb", BarcodeValue: "036"},
	} {
		if got := filterSummary(f); got != want {
			t.Errorf("filterSummary(%+v) = %q, want %q", f, got, want)
		}
	}
}

// TestFilterFields checks that both forms have a field for every filter, and that every search
// filter shows a chip.
func TestFilterFields(t *testing.T) {
	form := &searchForm{Values: url.Values{}}
	fields := map[string]bool{}
	for _, s := range form.Sections() {
		if s.Title == "" {
			t.Error("section of the form has no title")
		}
		for _, f := range s.Fields {
			fields[f.Name] = f.Label != ""
		}
		for _, g := range s.Groups {
			for _, b := range g.Boxes {
				fields[b.Name] = b.Label != "" && g.Legend != ""
			}
		}
	}
	for _, name := range cola.FilterNames() {
		if !fields["filters."+name] {
			t.Errorf("saved search form has no field for %s", name)
		}
	}
	explore := map[string]bool{"q": true}
	for _, s := range (exploreForm{}).Sections() {
		for _, f := range append(s.Checks, s.Fields...) {
			explore[f.Name] = f.Label != "" && s.Title != ""
		}
	}
	for _, field := range cola.FieldsOf[cola.SearchParams]() {
		switch field.Name {
		case "sort", "page", "per_page", "cursor":
			continue
		}
		if !explore[field.Name] {
			t.Errorf("Explore has no field for %s", field.Name)
		}
		example := reflect.TypeFor[cola.SearchParams]().FieldByIndex(field.Index).Tag.Get("example")
		search := readQuery(params.New[cola.SearchParams]("a test"), url.Values{field.Name: {example}}.Encode())
		if chips := filterChips(search.params, exploreURL); len(chips) == 0 && field.Name != "volume_unit" {
			t.Errorf("search with %s has no chip", field.Name)
		}
	}
}

func TestScheduleText(t *testing.T) {
	var got []string
	for _, s := range []*cola.Schedule{
		nil, {Cadence: "daily"}, {Cadence: "weekly", Day: 0}, {Cadence: "monthly", Day: 1},
		{Cadence: "monthly", Day: 11},
		{Cadence: "monthly", Day: 22}, {Cadence: "monthly", Day: 13}, {Cadence: "monthly", Day: 23},
	} {
		got = append(got, scheduleText(s))
	}
	want := []string{
		"", "Daily", "Every Sunday", "Monthly on the 1st", "Monthly on the 11th", "Monthly on the 22nd",
		"Monthly on the 13th", "Monthly on the 23rd",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLimitWords checks that if there are too many category paths, those with the fewest levels are
// offered, in order.
func TestLimitWords(t *testing.T) {
	paths := []string{"Beer"}
	for i := range maxWordOptions {
		paths = append(paths, fmt.Sprintf("Beer > Ale > %03d", i))
	}
	paths = append(paths, "Wine", "Wine > Red Wine")
	got := limitWords(paths)
	want := append(paths[:maxWordOptions-2:maxWordOptions-2], "Wine", "Wine > Red Wine")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
