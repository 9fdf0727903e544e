package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// typedSearch returns the form for a daily search for wine, with some fields replaced.
func typedSearch(fields ...string) url.Values {
	form := url.Values{
		"name": {"All wine"}, "filters.type_wine": {"true"}, "schedule.cadence": {"daily"},
		"schedule.active": {"true"},
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// addFilter is the summary of an empty preview.
const addFilter = "Add a filter"

// due is the link shown while a run is due or requested.
const due = `id="refresh"`

// mustSave creates a saved search and returns its page's path.
func (s *site) mustSave(form url.Values) string {
	s.t.Helper()
	path := s.post("/saved-searches/new", form).redirects(s.t)
	if !strings.HasPrefix(path, "/saved-searches/") {
		s.t.Fatalf("saving redirects to %s, want the search", path)
	}
	return path
}

// lacks fails the test if the response contains any of the texts.
func (a response) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.text, text) {
			t.Errorf("page contains %q:\n%s", text, a.body)
		}
	}
}

// mustRun adds labels, runs the searches due a day later, and returns the latest run of a search.
func (s *site) mustRun(path string) (run cola.SavedSearchRun) {
	s.t.Helper()
	s.registry.AddNewLabels(s.t, 60)
	s.registry.Advance(24 * time.Hour)
	s.registry.RunDue(s.t)
	list, _, err := s.registry.SavedSearchRuns(s.t.Context(), s.browsers.callers[s.as],
		strings.TrimPrefix(path, "/saved-searches/"), cola.SavedSearchListParams{})
	if err != nil || len(list.Rows) == 0 {
		s.t.Fatalf("SavedSearchRuns = %+v, %v; want at least 1 run", list, err)
	}
	return list.Rows[0]
}

func TestCreateSavedSearch(t *testing.T) {
	s := mustSite(t)
	s.get("/saved-searches").shows(t, http.StatusOK, `class="empty"`, "0 of 10", "/saved-searches/new")
	s.get("/saved-searches/new").shows(t, http.StatusOK, addFilter)
	path := s.mustSave(typedSearch("filters.abv_min", "12", "schedule.cadence", "weekly", "schedule.weekday", "1"))
	s.get(path).shows(t, http.StatusOK, `class="notice"`, "Nov 23, 2026, 06:00 UTC.", "All wine", "active",
		"Minimum ABV (%)</dt><dd>12</dd>", "No runs yet", ann)
	s.get(path).lacks(t, `class="notice"`)
	s.get("/saved-searches").shows(t, http.StatusOK, path, "All wine", "wine · at least 12% ABV", "Every Monday",
		"1 of 10", "curl", "/api/v1/saved-searches'")
	for _, form := range []url.Values{
		typedSearch("name", "Kept", "schedule.cadence", ""), typedSearch("name", "Later", "schedule.cadence", "monthly",
			"schedule.monthday", "3", "schedule.active", ""),
	} {
		s.mustSave(form)
	}
	s.get("/saved-searches").shows(t, http.StatusOK, "manual", "Monthly on the 3rd", "paused", "1 of 10")
}

// TestDoubleSubmit checks that submitting a form twice creates one search, and that the same form
// with a different search creates a second one after confirmation.
func TestDoubleSubmit(t *testing.T) {
	s := mustSite(t)
	form := typedSearch("once", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	first, second := s.mustSave(form), s.mustSave(form)
	if first != second {
		t.Errorf("created %s and %s, want one search", first, second)
	}
	s.get(first).shows(t, http.StatusOK, "already saved")
	form.Set("name", "Another")
	conflict := s.post("/saved-searches/new", form)
	conflict.shows(t, http.StatusConflict, `role="alert"`, "Another")
	once := cutOut(conflict.body, `name="once" value="`, `"`)
	if once == "" || once == form.Get("once") {
		t.Fatalf("new form has the same idempotency key %q", once)
	}
	form.Set("once", once)
	if other := s.mustSave(form); other == first {
		t.Error("second search was not saved")
	}
	if a, b := s.mustSave(typedSearch("once", "é\x00")), s.mustSave(typedSearch("once",
		strings.Repeat("A", 300))); a == b {
		t.Error("two forms with invalid keys saved one search")
	}
}

// cutOut returns the text between the first occurrence of before and the next one of after.
func cutOut(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

func TestSearchProblems(t *testing.T) {
	s := mustSite(t)
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		says   []string
	}{
		"no name": {typedSearch("name", " "), 400, []string{
			`href="#name"`, `aria-invalid="true"`,
			`aria-describedby="name-hint name-problems"`,
		}},
		"too broad": {typedSearch("filters.type_wine", ""), 400, []string{"Too broad", `value="All wine"`}},
		"no unit": {
			typedSearch("filters.volume_min", "700"), 400,
			[]string{`href="#filters-volume_unit"`, `value="700"`, `<details class="group" open>`},
		},
		"not a number": {
			typedSearch("filters.abv_max", "strong"), 400,
			[]string{`href="#filters-abv_max"`, `value="strong"`},
		},
		"no such day": {
			typedSearch("schedule.cadence", "monthly", "schedule.monthday", "29"), 400,
			[]string{`href="#schedule-monthday"`},
		},
		"invalid weekday": {
			typedSearch("schedule.cadence", "weekly", "schedule.weekday", "9"), 400,
			[]string{`href="#schedule-weekday"`},
		},
		"no such cadence": {
			typedSearch("schedule.cadence", "hourly"), 400,
			[]string{`href="#schedule-cadence"`, `"hourly"`},
		},
		"unknown field": {
			typedSearch("filters.brand", "x"), 400,
			[]string{"<li>filters.brand:", "filters.brand_name"},
		},
		"twice": {
			url.Values{"name": {"a", "b"}, "filters.type_wine": {"true"}}, 400,
			[]string{`href="#name"`},
		},
		"invisible character in name": {typedSearch("name", "a\u202eb"), 400, []string{`href="#name"`}},
		"control character":           {typedSearch("filters.query", "a\x00b"), 400, []string{`href="#filters-query"`}},
		"broken UTF-8":                {typedSearch("filters.query", "a\xff"), 400, []string{`href="#filters-query"`}},
		"long": {
			typedSearch("filters.brand_name", strings.Repeat("é", 201)), 400,
			[]string{`href="#filters-brand_name"`, "200"},
		},
	} {
		a := s.post("/saved-searches/new", tt.form)
		t.Log(name)
		a.shows(t, tt.status, append(tt.says, `role="alert"`)...)
		a.checkHTML(t)
	}
	if list := s.get("/saved-searches"); !strings.Contains(list.text, `class="empty"`) {
		t.Error("invalid search was saved")
	}
}

func TestActiveSearchLimit(t *testing.T) {
	s := mustSite(t)
	for i := range cola.MaxActiveSchedules {
		s.mustSave(typedSearch("name", fmt.Sprint("Search ", i)))
	}
	s.post("/saved-searches/new", typedSearch("name", "One more")).shows(t, http.StatusConflict, "limit of 10 active alerts",
		"One more")
	paused := s.mustSave(typedSearch("name", "One more", "schedule.active", ""))
	s.post(paused+"/resume", nil).shows(t, http.StatusConflict, "limit of 10 active alerts", "One more", paused+"/resume")
	s.get("/saved-searches").shows(t, http.StatusOK, "10 of 10")
}

func TestChangeSavedSearch(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch("filters.abv_min", "12", "filters.origin_domestic", "true",
		"filters.origin_imported", "true", "filters.volume_max", "1.5", "filters.volume_unit", "liters",
		"filters.query", "<b>oak</b> \"barrel\"", "schedule.cadence", "weekly", "schedule.weekday", "0"))
	edit := s.get(path + "/edit")
	edit.shows(t, http.StatusOK, `value="All wine"`, `value="12"`,
		`name="filters.origin_domestic" value="true" checked`, `value="1.5"`, `<option value="liters" selected>`,
		`<option value="0" selected>Sunday`, `value="<b>oak</b> "barrel""`,
		`name="schedule.active" value="true" checked`)
	if strings.Contains(edit.body, "<b>oak") {
		t.Error("filter was not escaped")
	}
	if next := s.post(path+"/edit", url.Values{
		"name": {"Gins"}, "filters.query": {"gin"},
		"schedule.cadence": {"daily"},
	}).redirects(t); next != path {
		t.Errorf("saving redirects to %s, want %s", next, path)
	}
	page := s.get(path)
	page.shows(t, http.StatusOK, "Gins", ">gin<", "Daily", "paused")
	page.lacks(t, "oak", "at least 12", "liters")
	s.post(path+"/edit", url.Values{"name": {""}, "filters.query": {"gin"}}).shows(t, http.StatusBadRequest,
		`href="#name"`)
	s.post(path+"/edit", url.Values{"name": {"Gins"}, "filters.query": {"gin"}}).redirects(t)
	s.get(path).shows(t, http.StatusOK, "Manual only")
	s.post(path+"/edit", url.Values{"name": {"Gins"}, "schedule.cadence": {"daily"}}).shows(t, http.StatusBadRequest,
		"Too broad")
}

func TestPauseRunAndDeleteSavedSearch(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch())
	s.post(path+"/pause", nil).redirects(t)
	s.get(path).shows(t, http.StatusOK, `class="notice"`, `<span class="state soft">paused`, path+"/resume")
	s.post(path+"/resume", nil).redirects(t)
	s.get(path).shows(t, http.StatusOK, `class="notice"`, "active", path+"/pause")
	s.post(path+"/run", nil).redirects(t)
	page := s.get(path)
	page.shows(t, http.StatusOK, due)
	page.lacks(t, "Choose “Run now”")
	s.post(path+"/pause", nil).redirects(t)
	s.get(path).lacks(t, due)
	s.post(path+"/resume", nil).redirects(t)
	s.registry.Advance(24 * time.Hour)
	s.registry.RunDue(t)
	s.get(path).lacks(t, due)
	broad := s.mustSave(typedSearch("filters.type_wine", "", "schedule.cadence", ""))
	s.post(broad+"/run", nil).shows(t, http.StatusBadRequest, "Too broad", "No filters")
	s.get(path+"/delete").shows(t, http.StatusOK, "Delete “All wine”?", path+"/delete", "pause the search")
	s.get(path).shows(t, http.StatusOK, "All wine") // the confirmation page changes nothing
	if next := s.post(path+"/delete", nil).redirects(t); next != "/saved-searches" {
		t.Errorf("deleting redirects to %s, want /saved-searches", next)
	}
	s.get(path).shows(t, http.StatusNotFound)
	s.post(path+"/delete", nil).shows(t, http.StatusNotFound)
}

// update requests the part of a page that updates itself.
func (s *site) update(target string) response {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("HX-Request", "true")
	return s.send(r)
}

// TestRunProgress checks that a search's page updates itself while a manual run is due, with and
// without a schedule, for a limited time, and then announces the result.
func TestRunProgress(t *testing.T) {
	for _, cadence := range []string{"daily", ""} {
		t.Run("cadence "+cadence, func(t *testing.T) {
			s := mustSite(t)
			path := s.mustSave(typedSearch("schedule.cadence", cadence))
			s.get(path).lacks(t, "hx-get", due)
			s.post(path+"/run", nil).redirects(t)
			s.get(path).shows(t, http.StatusOK, due, path+"?updates=150")
			part := s.update(path + "?updates=150")
			part.shows(t, http.StatusOK, due, path+"?updates=149", `hx-swap-oob`)
			part.lacks(t, "<html", "<h1")
			for _, last := range []string{"1", "0", "-3", "x", ""} {
				s.update(path+"?updates="+last).lacks(t, "hx-get")
			}
			s.registry.AddNewLabels(t, 60)
			s.registry.RunDue(t)
			done := s.update(path + "?updates=100")
			done.shows(t, http.StatusOK, `id="found"`, "/runs/", "manual")
			done.lacks(t, due)
			s.get(path).shows(t, http.StatusOK, `id="found"`)
			s.registry.Advance(time.Hour)
			s.get(path).lacks(t, `id="found"`)
		})
	}
}

// TestSearchOnHold checks that a search paused because its account is over the alert limit shows
// the reason on every page.
func TestSearchOnHold(t *testing.T) {
	s := mustSite(t)
	s.mustSave(typedSearch("name", "First"))
	s.registry.Advance(time.Second)
	path := s.mustSave(typedSearch("name", "Second"))
	if err := s.registry.Store.SetActiveLimit(t.Context(), s.browsers.callers[ann].Account, 1); err != nil {
		t.Fatal(err)
	}
	s.get(path).shows(t, http.StatusOK, "on hold", "over your alert limit")
	s.get("/saved-searches").shows(t, http.StatusOK, "on hold", "over your alert limit", ">1 of 1<")
	s.post(path+"/run", nil).shows(t, http.StatusConflict, `role="alert"`)
}

// TestSearchRuns checks that a run's counts are free and that its labels, on their own page,
// cost a list record each.
func TestSearchRuns(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	run := s.mustRun(path)
	if run.MatchCount == 0 {
		t.Fatal("run has no matches")
	}
	found := s.mustFind(path, run)
	before := s.used()
	s.get(path).shows(t, http.StatusOK, fmt.Sprint("Run ", run.ID), "Nov 21, 2026, 12:00 UTC", "pending")
	page := s.get(fmt.Sprint(path, "/runs/", run.ID))
	page.shows(t, http.StatusOK, web.Thousands(run.MatchCount), fmt.Sprintf(`href="%s/runs/%d/labels"`, path, run.ID),
		"one list record per label")
	page.lacks(t, "/explore/", "manual")
	page.checkHTML(t)
	s.costs(before, 0, 0)

	firstPage := found[:min(len(found), cola.DefaultPerPage)]
	page = s.get(fmt.Sprint(path, "/runs/", run.ID, "/labels"))
	page.shows(t, http.StatusOK, plural(run.MatchCount, "new label", "new labels"), "ABV", "/matches'",
		plural(len(firstPage), "list record", "list records"))
	page.checkHTML(t)
	for _, l := range firstPage {
		page.shows(t, http.StatusOK, l.TTBID.String(), l.Label.BrandName, string(l.Label.ApplicationStatus))
	}
	s.costs(before, len(firstPage), 0)
	for _, other := range []string{"0", "-1", "999999", "x", "1e3", "%00", "01"} {
		s.get(path+"/runs/"+other).shows(t, http.StatusNotFound)
		s.get(path+"/runs/"+other+"/labels").shows(t, http.StatusNotFound)
	}
	s.costs(before, len(firstPage), 0)
}

// longRuns is a registry whose runs have three pages of labels. If cut is set, the quota truncates
// the pages.
type longRuns struct {
	*registry.Service
	cut bool
}

func (l longRuns) RunLabels(ctx context.Context, c cola.Caller, id, run string,
	p cola.SavedSearchListParams) (registry.PageList[registry.RunLabel], cola.QuotaState, error) {
	list, state, err := l.Service.RunLabels(ctx, c, id, run, p)
	if err == nil {
		list.Rows, list.Meta.Total, list.Meta.HasMore, list.Meta.TruncatedByQuota = list.Rows[:1], 60, true, l.cut
	}
	return list, state, err
}

// TestTruncatedRunLabels checks that a page truncated by the quota says so and has no link to the
// next page, which would skip the missing labels.
func TestTruncatedRunLabels(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	run := s.mustRun(path)
	for _, cut := range []bool{false, true} {
		page := s.with(longRuns{s.registry.Service, cut}, s.browsers).get(fmt.Sprint(path, "/runs/", run.ID,
			"/labels"))
		page.checkHTML(t)
		page.shows(t, http.StatusOK)
		warned, next := strings.Contains(page.body, `class="warning"`), strings.Contains(page.body, "page=2")
		if warned != cut || next == cut {
			t.Errorf("cut %t: warning %t, link to the next page %t", cut, warned, next)
		}
	}
}

// TestTooManyManualRuns checks that a search's page explains the limit on manual runs if none are
// left.
func TestTooManyManualRuns(t *testing.T) {
	s := mustSite(t)
	var path string
	for n := range cola.MaxDailyManualRuns {
		path = s.mustSave(typedSearch("name", fmt.Sprint("Search ", n), "schedule.cadence", ""))
		s.post(path+"/run", nil).redirects(t)
	}
	s.post(path+"/run", nil).redirects(t) // already due
	path = s.mustSave(typedSearch("name", "One more", "schedule.cadence", ""))
	s.post(path+"/run", nil).shows(t, http.StatusTooManyRequests, `role="alert"`, "24", "One more")
	s.registry.RunDue(t)
	s.get(path).shows(t, http.StatusOK, "No runs yet")
}

// TestLateLabels checks that labels approved before a run's date range, but received since the
// previous run, are marked late.
func TestLateLabels(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	s.registry.Advance(40 * 24 * time.Hour)
	s.registry.RunDue(t)
	s.registry.Advance(24 * time.Hour)
	s.registry.AddNewLabelsAsOf(t, 200, cola.DateOf(s.registry.Now()).AddDays(-20))
	s.registry.RunDue(t)
	list, _, err := s.registry.SavedSearchRuns(t.Context(), s.browsers.callers[ann],
		strings.TrimPrefix(path, "/saved-searches/"), cola.SavedSearchListParams{})
	if err != nil || len(list.Rows) < 2 || list.Rows[0].LateCount == 0 {
		t.Fatalf("SavedSearchRuns = %+v, %v; want at least 2 runs, the latest one with late labels", list, err)
	}
	s.get(fmt.Sprint(path, "/runs/", list.Rows[0].ID)).shows(t, http.StatusOK, "<dt>Late</dt>")
	s.get(fmt.Sprint(path, "/runs/", list.Rows[0].ID, "/labels")).shows(t, http.StatusOK,
		`<span class="state bad">late</span>`)
}

func TestFeedURL(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch())
	s.get(path).lacks(t, path+"/feed/end")
	ask := s.get(path + "/feed")
	ask.shows(t, http.StatusOK, "“All wine”?", ">Create feed</button>")
	form := url.Values{"form": {cutOut(ask.body, `name="form" value="`, `"`)}}
	created := s.post(path+"/feed", form)
	created.shows(t, http.StatusCreated, "https://registry.example/feeds/")
	token := cutOut(created.text, "https://registry.example/feeds/", "<")
	if _, err := s.registry.Feed(t.Context(), token); err != nil {
		t.Errorf("feed at the displayed URL: %v", err)
	}
	s.post(path+"/feed", form).redirects(t) // reloads the response
	s.get(path).shows(t, http.StatusOK, `class="notice"`, formUsed)
	if _, err := s.registry.Feed(t.Context(), token); err != nil {
		t.Errorf("reloading the response ended the feed: %v", err)
	}
	s.get(path).lacks(t, token)
	s.get(path).shows(t, http.StatusOK, path+"/feed/end")
	s.get(path+"/feed").shows(t, http.StatusOK, "“All wine”?", ">Replace feed URL</button>")
	s.get(path+"/feed/end").shows(t, http.StatusOK, "“All wine”?")
	s.post(path+"/feed/end", nil).redirects(t)
	if _, err := s.registry.Feed(t.Context(), token); cola.CodeOf(err) != cola.CodeNotFound {
		t.Errorf("deleted feed: err = %v, want not found", err)
	}
	s.get(path).lacks(t, path+"/feed/end")
}

// TestForeignSearches checks that every page and form of another account's search returns 404.
func TestForeignSearches(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	path := s.mustSave(typedSearch("name", "Ann's"))
	bob := s.by("bob@example.com")
	for _, id := range []string{
		path, "/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", "/saved-searches/x",
		"/saved-searches/%00", "/saved-searches/%ff", "/saved-searches/%3Cscript%3E",
	} {
		s.registry.Advance(time.Minute) // stays under the page rate limit
		for _, page := range []string{
			"", "/edit", "/delete", "/feed", "/feed/end", "/runs/1", "/runs/1/labels",
			"/explain?ttb_id=11054001000049",
		} {
			a := bob.get(id + page)
			a.shows(t, http.StatusNotFound)
			a.lacks(t, "Ann's")
			if strings.Contains(a.body, "<script>") {
				t.Errorf("an ID was not escaped:\n%s", a.body)
			}
		}
		for _, form := range []string{"/edit", "/pause", "/resume", "/run", "/delete", "/feed", "/feed/end"} {
			bob.post(id+form, typedSearch("name", "Bob's")).shows(t, http.StatusNotFound)
		}
		bob.post(id+"/edit", typedSearch("preview", "true")).shows(t, http.StatusNotFound)
	}
	s.get(path).shows(t, http.StatusOK, "Ann's", "active")
	for _, page := range []string{"/saved-searches", path, "/destinations", "/deliveries"} {
		if to := s.by("").get(page).redirects(t); !strings.HasPrefix(to, "/sign-in") {
			t.Errorf("%s redirects a signed-out visitor to %s", page, to)
		}
	}
}

func TestSearchPages(t *testing.T) {
	s := mustSite(t)
	for i := range 23 {
		s.mustSave(typedSearch("name", fmt.Sprint("Search ", i), "schedule.cadence", ""))
	}
	s.get("/saved-searches").shows(t, http.StatusOK, "1 to 20 of 23", "page=2")
	second := s.get("/saved-searches?page=2")
	second.shows(t, http.StatusOK, "Search 22", "21 to 23 of 23", "?page=2'")
	second.lacks(t, "Search 19<")
	s.get("/saved-searches?page=1000").shows(t, http.StatusOK, `class="empty"`)
	for _, page := range []string{"0", "-1", "1000000000000", "x", "1.5", "%00", "1&page=2"} {
		s.get("/saved-searches?page="+page).shows(t, http.StatusBadRequest, "page")
	}
}

// TestHostileSearch checks that any storable text of 200 characters is shown escaped.
func TestHostileSearch(t *testing.T) {
	s := mustSite(t)
	hostile := `</h1><script>alert(1)</script>"><img src=x onerror=alert(2)>'` + "`{{.}}${x}&amp;"
	hostile += strings.Repeat("漢", 200-len([]rune(hostile)))
	path := s.mustSave(typedSearch("name", hostile, "filters.query", hostile, "filters.brand_name", hostile,
		"filters.country", hostile, "filters.permit_number_text", hostile, "filters.barcode_value", hostile,
		"filters.derived_category", hostile))
	s.registry.Advance(24 * time.Hour)
	s.registry.RunDue(t)
	for _, page := range []string{
		"/saved-searches", path, path + "/edit", path + "/delete", path + "/feed",
		path + "/feed/end", path + "/runs/1", path + "/runs/1/labels", "/destinations/new?saved_search=" + path[16:],
		"/deliveries", "/",
	} {
		a := s.get(page)
		if a.StatusCode != http.StatusOK || strings.Contains(a.body, "<script>alert") ||
			strings.Contains(a.body, "<img src=x") {
			t.Errorf("%s: status %d, want 200 with escaped text:\n%s", page, a.StatusCode, a.body)
		}
		a.checkHTML(t)
	}
	s.get(path).shows(t, http.StatusOK, hostile)
}

// mustFind returns the matches of a run once the index has their labels.
func (s *site) mustFind(path string, run cola.SavedSearchRun) []registry.RunLabel {
	s.t.Helper()
	for range 1200 { // a minute, on a busy machine
		found, _, err := s.registry.RunLabels(s.t.Context(), s.browsers.callers[s.as],
			strings.TrimPrefix(path, "/saved-searches/"), fmt.Sprint(run.ID),
			cola.SavedSearchListParams{PerPage: cola.Some(100)})
		if err != nil || len(found.Rows) == 0 {
			s.t.Fatalf("matches = %+v, %v; want at least 1", found, err)
		}
		if !slices.ContainsFunc(found.Rows, func(l registry.RunLabel) bool { return l.Label == nil }) {
			return found.Rows
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("timeout: the index did not catch up with the database")
	return nil
}

// TestExplainSearch checks that the page shows the explanation and its cost.
func TestExplainSearch(t *testing.T) {
	s := mustSite(t)
	path := s.mustSave(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99",
		"filters.brand_name", ""))
	run := s.mustRun(path)
	found := s.mustFind(path, run)
	before := s.used()
	page := s.get(path + "/explain?ttb_id=" + found[0].TTBID.String())
	left := cola.TierPro.Limits().ListRecords - before.ListRecords - 1
	page.shows(t, http.StatusOK, fmt.Sprintf("Run %d", run.ID), "At most 99", "no match",
		"1 list record; "+web.Thousands(left)+" left", "/explain/"+found[0].TTBID.String())
	page.checkHTML(t)
	s.post(path+"/edit", typedSearch("filters.brand_name", "zzzz")).redirects(t)
	s.get(path+"/explain?ttb_id="+found[0].TTBID.String()).shows(t, http.StatusOK, "brand name.")
	for _, unknown := range []string{"1", "x", "99999999999999", "%00", "<script>"} {
		if a := s.get(path + "/explain?ttb_id=" + unknown); a.StatusCode != http.StatusNotFound ||
			strings.Contains(a.body, "<script>") {
			t.Errorf("%s: status %d, want 404 with escaped text:\n%s", unknown, a.StatusCode, a.body)
		}
	}
	s.get(path + "/explain").redirects(t)
	s.costs(before, 2, 0)
}

// TestNewSearchExample checks that an empty form shows a valid API call.
func TestNewSearchExample(t *testing.T) {
	s := mustSite(t)
	s.get("/saved-searches/new").shows(t, http.StatusOK, `"filters":{"brand_name":"oak"}`)
	s.post("/saved-searches/new", url.Values{"preview": {"true"}, "filters.query": {"red"}}).shows(t, http.StatusOK,
		`"filters":{"query":"red"}`)
}
