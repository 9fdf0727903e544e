package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// typedSearch returns the form for a daily search for wine, with some fields replaced.
func typedSearch(fields ...string) url.Values {
	form := url.Values{"name": {"All wine"}, "filters.type_wine": {"true"}, "schedule.cadence": {"daily"}, "schedule.active": {"true"}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

// mustSaved creates a saved search and returns its page's path.
func (s *site) mustSaved(form url.Values) string {
	s.t.Helper()
	path := s.post("/saved-searches/new", form).leads(s.t)
	if !strings.HasPrefix(path, "/saved-searches/") {
		s.t.Fatalf("a saved search leads to %s", path)
	}
	return path
}

// lacks fails the test if the response contains any of the texts.
func (a answer) lacks(t *testing.T, says ...string) {
	t.Helper()
	for _, words := range says {
		if strings.Contains(a.text, words) {
			t.Errorf("the page says %q:\n%s", words, a.body)
		}
	}
}

// mustRun adds labels, runs the searches due a day later, and returns the latest run of a search.
func (s *site) mustRun(path string) (run cola.SavedSearchRun) {
	s.t.Helper()
	s.registry.Arrive(s.t, 60)
	s.registry.Pass(24 * time.Hour)
	s.registry.RunDue(s.t)
	list, _, err := s.registry.SavedSearchRuns(s.t.Context(), s.browsers.callers[s.as], strings.TrimPrefix(path, "/saved-searches/"), cola.SavedSearchListParams{})
	if err != nil || len(list.Rows) == 0 {
		s.t.Fatalf("%+v, %v", list, err)
	}
	return list.Rows[0]
}

func TestSavedSearchIsMade(t *testing.T) {
	s := mustSite(t)
	s.get("/saved-searches").shows(t, http.StatusOK, "No saved search yet", "0 of 10", "/saved-searches/new")
	s.get("/saved-searches/new").shows(t, http.StatusOK, "New saved search", "Fill in what to look for")
	path := s.mustSaved(typedSearch("filters.abv_min", "12", "schedule.cadence", "weekly", "schedule.weekday", "1"))
	s.get(path).shows(t, http.StatusOK, "Saved. It runs every Monday, first on 23 November, 06:00 UTC.", "All wine", "active", "Minimum ABV (%)</dt><dd>12</dd>", "It has not run yet", ann)
	s.get(path).lacks(t, "Saved. It runs")
	s.get("/saved-searches").shows(t, http.StatusOK, path, "All wine", "wine · at least 12% ABV", "every Monday", "1 of 10", "curl", "/api/v1/saved-searches'")
	for _, form := range []url.Values{
		typedSearch("name", "Kept", "schedule.cadence", ""), typedSearch("name", "Later", "schedule.cadence", "monthly", "schedule.monthday", "3", "schedule.active", ""),
	} {
		s.mustSaved(form)
	}
	s.get("/saved-searches").shows(t, http.StatusOK, "no schedule", "on the 3rd of every month", "paused", "1 of 10")
}

// TestDoubleSubmit checks that submitting a form twice creates one search. The same form with a
// different search creates a second one after confirmation.
func TestDoubleSubmit(t *testing.T) {
	s := mustSite(t)
	form := typedSearch("once", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	first, second := s.mustSaved(form), s.mustSaved(form)
	if first != second {
		t.Errorf("made %s and %s", first, second)
	}
	s.get(first).shows(t, http.StatusOK, "was saved already")
	form.Set("name", "Another")
	again := s.post("/saved-searches/new", form)
	again.shows(t, http.StatusConflict, "saved another search from this form already", "Another")
	once := cutOut(again.body, `name="once" value="`, `"`)
	if once == "" || once == form.Get("once") {
		t.Fatalf("the form is to be sent again with %q", once)
	}
	form.Set("once", once)
	if other := s.mustSaved(form); other == first {
		t.Error("the other search was not saved")
	}
	if a, b := s.mustSaved(typedSearch("once", "é\x00")), s.mustSaved(typedSearch("once", strings.Repeat("A", 300))); a == b {
		t.Error("forms without a token of ours are the same")
	}
}

// cutOut returns the first text between two others.
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
		"no name":         {typedSearch("name", " "), 400, []string{`href="#name"`, "A name to recognise the search by is required", `aria-invalid="true"`, `aria-describedby="name-hint name-problems"`}},
		"too broad":       {typedSearch("filters.type_wine", ""), 400, []string{"needs something that narrows it", `value="All wine"`}},
		"no unit":         {typedSearch("filters.volume_min", "700"), 400, []string{"A unit is required", `value="700"`, `<details class="group" open>`}},
		"no number":       {typedSearch("filters.abv_max", "strong"), 400, []string{`"strong" is not accepted; write a number from 0 to 100.`, `value="strong"`}},
		"no such day":     {typedSearch("schedule.cadence", "monthly", "schedule.monthday", "29"), 400, []string{"29 is too large", `href="#schedule-monthday"`}},
		"another day":     {typedSearch("schedule.cadence", "weekly", "schedule.weekday", "9"), 400, []string{"9 is too large", `href="#schedule-weekday"`}},
		"no such cadence": {typedSearch("schedule.cadence", "hourly"), 400, []string{`"hourly" is not allowed`}},
		"unknown field":   {typedSearch("filters.brand", "x"), 400, []string{"did you mean filters.brand_name?"}},
		"twice":           {url.Values{"name": {"a", "b"}, "filters.type_wine": {"true"}}, 400, []string{"given 2 times"}},
		"hidden in name":  {typedSearch("name", "a\u202eb"), 400, []string{"a character that nobody sees"}},
		"control":         {typedSearch("filters.query", "a\x00b"), 400, []string{"control character"}},
		"broken UTF-8":    {typedSearch("filters.query", "a\xff"), 400, []string{"not valid UTF-8"}},
		"long":            {typedSearch("filters.brand_name", strings.Repeat("é", 201)), 400, []string{"at most 200 are allowed"}},
	} {
		a := s.post("/saved-searches/new", tt.form)
		t.Log(name)
		a.shows(t, tt.status, append(tt.says, `role="alert"`)...)
		a.wellMade(t)
	}
	if list := s.get("/saved-searches"); !strings.Contains(list.text, "No saved search yet") {
		t.Error("something was saved all the same")
	}
}

func TestLimitOfActiveSearches(t *testing.T) {
	s := mustSite(t)
	for i := range cola.MaxActiveSchedules {
		s.mustSaved(typedSearch("name", fmt.Sprint("Search ", i)))
	}
	s.post("/saved-searches/new", typedSearch("name", "One more")).shows(t, http.StatusConflict, "may have 10 saved searches that run by themselves", "One more")
	paused := s.mustSaved(typedSearch("name", "One more", "schedule.active", ""))
	s.post(paused+"/resume", nil).shows(t, http.StatusConflict, "may have 10 saved searches that run by themselves", "One more", "Resume")
	s.get("/saved-searches").shows(t, http.StatusOK, "10 of 10")
}

func TestSearchIsChanged(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch("filters.abv_min", "12", "filters.origin_domestic", "true", "filters.origin_imported", "true", "filters.volume_max", "1.5", "filters.volume_unit", "liters",
		"filters.query", "<b>oak</b> \"barrel\"", "schedule.cadence", "weekly", "schedule.weekday", "0"))
	edit := s.get(path + "/edit")
	edit.shows(t, http.StatusOK, "Change saved search", `value="All wine"`, `value="12"`, `name="filters.origin_domestic" value="true" checked`, `value="1.5"`, `<option value="liters" selected>`,
		`<option value="0" selected>Sunday`, `value="<b>oak</b> "barrel""`, `name="schedule.active" value="true" checked`)
	if strings.Contains(edit.body, "<b>oak") {
		t.Error("a filter has become markup")
	}
	if next := s.post(path+"/edit", url.Values{"name": {"Gins"}, "filters.query": {"gin"}, "schedule.cadence": {"daily"}}).leads(t); next != path {
		t.Errorf("leads to %s", next)
	}
	page := s.get(path)
	page.shows(t, http.StatusOK, "Gins", ">gin<", "every day", "paused")
	page.lacks(t, "oak", "at least 12", "liters")
	s.post(path+"/edit", url.Values{"name": {""}, "filters.query": {"gin"}}).shows(t, http.StatusBadRequest, "A name to recognise the search by is required")
	s.post(path+"/edit", url.Values{"name": {"Gins"}, "filters.query": {"gin"}}).leads(t)
	s.get(path).shows(t, http.StatusOK, "no schedule")
	s.post(path+"/edit", url.Values{"name": {"Gins"}, "schedule.cadence": {"daily"}}).shows(t, http.StatusBadRequest, "needs something that narrows it")
}

func TestSearchIsPausedRunAndDeleted(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch())
	s.post(path+"/pause", nil).leads(t)
	s.get(path).shows(t, http.StatusOK, "Paused. Nothing is lost", "It is paused", "Resume")
	s.post(path+"/resume", nil).leads(t)
	s.get(path).shows(t, http.StatusOK, "Resumed", "active", "Pause")
	s.post(path+"/run", nil).leads(t)
	s.get(path).shows(t, http.StatusOK, "within a minute")
	again := s.get(path)
	again.shows(t, http.StatusOK, "A run is asked for", "within a minute or so: it is asked for, or due")
	again.lacks(t, "Choose “Run now”", "choose “Run now”")
	s.post(path+"/pause", nil).leads(t)
	s.get(path).lacks(t, "A run is asked for", "it is asked for")
	s.post(path+"/resume", nil).leads(t)
	s.registry.Pass(24 * time.Hour)
	s.registry.RunDue(t)
	s.get(path).lacks(t, "A run is asked for", "it is asked for")
	broad := s.mustSaved(typedSearch("filters.type_wine", "", "schedule.cadence", ""))
	s.post(broad+"/run", nil).shows(t, http.StatusBadRequest, "needs something that narrows it", "All labels: no filter is set")
	s.get(path+"/delete").shows(t, http.StatusOK, "Delete “All wine”?", "does not run any more", "pause it")
	s.get(path).shows(t, http.StatusOK, "All wine") // the confirmation page changes nothing
	if next := s.post(path+"/delete", nil).leads(t); next != "/saved-searches" {
		t.Errorf("leads to %s", next)
	}
	s.get(path).shows(t, http.StatusNotFound)
	s.post(path+"/delete", nil).shows(t, http.StatusNotFound)
}

// TestPausedSearchSaysWhy checks that a search paused because of its account shows the reason on
// every page.
func TestPausedSearchSaysWhy(t *testing.T) {
	s := mustSite(t)
	s.mustSaved(typedSearch("name", "First"))
	s.registry.Pass(time.Second)
	path := s.mustSaved(typedSearch("name", "Second"))
	if err := s.registry.Store.SetActiveLimit(t.Context(), s.browsers.callers[ann].Account, 1); err != nil {
		t.Fatal(err)
	}
	s.get(path).shows(t, http.StatusOK, "held back", "more active searches than it may")
	s.get("/saved-searches").shows(t, http.StatusOK, "held back", "more active searches than it may", ">2 of 1<")
	s.post(path+"/run", nil).shows(t, http.StatusConflict, "does not run")
}

// TestRunsOfASearch checks that a run's counts are free and that its labels, on their own page,
// cost a list record each.
func TestRunsOfASearch(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	run := s.mustRun(path)
	if run.MatchCount == 0 {
		t.Fatal("the run found nothing, so there is nothing to see")
	}
	found := s.mustFind(path, run)
	before := s.used()
	s.get(path).shows(t, http.StatusOK, fmt.Sprint("Run ", run.ID), "21 Nov 2026, 12:00 UTC", "Latest deliveries", "pending")
	page := s.get(fmt.Sprint(path, "/runs/", run.ID))
	page.shows(t, http.StatusOK, count(run.MatchCount), fmt.Sprintf(`href="%s/runs/%d/labels"`, path, run.ID), "Costs one list record for each label shown")
	page.lacks(t, "/explore/", "manual")
	page.wellMade(t)
	s.costs(before, 0, 0)

	shown := found[:min(len(found), cola.DefaultPerPage)]
	page = s.get(fmt.Sprint(path, "/runs/", run.ID, "/labels"))
	page.shows(t, http.StatusOK, plural(run.MatchCount, "new label", "new labels"), "ABV", "/matches'", plural(len(shown), "list record", "list records"))
	page.wellMade(t)
	for _, l := range shown {
		page.shows(t, http.StatusOK, l.TTBID.String(), l.Label.BrandName, string(l.Label.ApplicationStatus))
	}
	s.costs(before, len(shown), 0)
	for _, other := range []string{"0", "-1", "999999", "x", "1e3", "%00", "01"} {
		s.get(path+"/runs/"+other).shows(t, http.StatusNotFound)
		s.get(path+"/runs/"+other+"/labels").shows(t, http.StatusNotFound)
	}
	s.costs(before, len(shown), 0)
}

// longRuns is a registry whose runs have three pages of labels. With cut, too few list records
// remain for a page.
type longRuns struct {
	*registry.Service
	cut bool
}

func (l longRuns) RunLabels(ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams) (registry.PageList[registry.RunLabel], cola.QuotaState, error) {
	list, state, err := l.Service.RunLabels(ctx, c, id, run, p)
	if err == nil {
		list.Rows, list.Meta.Total, list.Meta.HasMore, list.Meta.TruncatedByQuota = list.Rows[:1], 60, true, l.cut
	}
	return list, state, err
}

// TestCutLabelsOfARun checks that a page cut by the quota says so and does not link past the
// missing labels.
func TestCutLabelsOfARun(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	run := s.mustRun(path)
	for _, cut := range []bool{false, true} {
		page := s.without(longRuns{s.registry.Service, cut}, s.browsers).get(fmt.Sprint(path, "/runs/", run.ID, "/labels"))
		page.wellMade(t)
		if warned, leads := strings.Contains(page.body, "This page was cut"), strings.Contains(page.body, "page=2"); page.StatusCode != http.StatusOK || warned != cut || leads == cut {
			t.Errorf("cut %t: %d, warned %t, leads to the next page %t", cut, page.StatusCode, warned, leads)
		}
	}
}

// TestTooManyManualRuns checks that a search's page says when no manual runs are left.
func TestTooManyManualRuns(t *testing.T) {
	s := mustSite(t)
	var path string
	for n := range cola.MaxDailyManualRuns {
		path = s.mustSaved(typedSearch("name", fmt.Sprint("Search ", n), "schedule.cadence", ""))
		s.post(path+"/run", nil).leads(t)
	}
	s.post(path+"/run", nil).leads(t) // already due
	path = s.mustSaved(typedSearch("name", "One more", "schedule.cadence", ""))
	s.post(path+"/run", nil).shows(t, http.StatusTooManyRequests, "24 manual runs", "One more")
	s.registry.RunDue(t)
	s.get(path).shows(t, http.StatusOK, "It has not run yet")
}

// TestLateLabels checks that labels approved before a run's date range, but received since the
// previous run, are marked late.
func TestLateLabels(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	s.registry.Pass(40 * 24 * time.Hour)
	s.registry.RunDue(t)
	s.registry.Pass(24 * time.Hour)
	s.registry.ArriveAsOf(t, 200, cola.DateOf(s.registry.Now()).AddDays(-20))
	s.registry.RunDue(t)
	list, _, err := s.registry.SavedSearchRuns(t.Context(), s.browsers.callers[ann], strings.TrimPrefix(path, "/saved-searches/"), cola.SavedSearchListParams{})
	if err != nil || len(list.Rows) < 2 || list.Rows[0].LateCount == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	s.get(fmt.Sprint(path, "/runs/", list.Rows[0].ID)).shows(t, http.StatusOK, "Of these late")
	s.get(fmt.Sprint(path, "/runs/", list.Rows[0].ID, "/labels")).shows(t, http.StatusOK, `<span class="state bad">late</span>`)
}

func TestFeedIsShownOnce(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch())
	s.get(path).lacks(t, "End the feed")
	ask := s.get(path + "/feed")
	ask.shows(t, http.StatusOK, "Make a feed of “All wine”?", "stops at once")
	form := url.Values{"form": {cutOut(ask.body, `name="form" value="`, `"`)}}
	made := s.post(path+"/feed", form)
	made.shows(t, http.StatusCreated, "shown this once", "https://registry.example/feeds/")
	token := cutOut(made.text, "https://registry.example/feeds/", "<")
	if _, err := s.registry.Feed(t.Context(), token); err != nil {
		t.Errorf("the address that was shown leads nowhere: %v", err)
	}
	s.post(path+"/feed", form).leads(t) // reloads the response
	s.get(path).shows(t, http.StatusOK, "This form was sent before, or is not one that is open for this account", "cannot be shown again")
	if _, err := s.registry.Feed(t.Context(), token); err != nil {
		t.Errorf("loading the answer again has ended the feed: %v", err)
	}
	s.get(path).lacks(t, token)
	s.get(path).shows(t, http.StatusOK, "This search has one", "Replace its address", "End the feed")
	s.get(path+"/feed/end").shows(t, http.StatusOK, "End the feed of “All wine”?")
	s.post(path+"/feed/end", nil).leads(t)
	if _, err := s.registry.Feed(t.Context(), token); cola.CodeOf(err) != cola.CodeNotFound {
		t.Errorf("the feed goes on: %v", err)
	}
	s.get(path).lacks(t, "This search has one")
}

// TestSearchesOfOthers checks that every page and form of another account's search is not found.
func TestSearchesOfOthers(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	path := s.mustSaved(typedSearch("name", "Of Ann"))
	bob := s.by("bob@example.com")
	for _, id := range []string{path, "/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", "/saved-searches/x", "/saved-searches/%00", "/saved-searches/%ff", "/saved-searches/%3Cscript%3E"} {
		s.registry.Pass(time.Minute) // stays under the page rate limit
		for _, page := range []string{"", "/edit", "/delete", "/feed", "/feed/end", "/runs/1", "/runs/1/labels", "/explain?ttb_id=11054001000049"} {
			a := bob.get(id + page)
			a.shows(t, http.StatusNotFound)
			if a.lacks(t, "Of Ann"); strings.Contains(a.body, "<script>") {
				t.Errorf("an id has become markup:\n%s", a.body)
			}
		}
		for _, form := range []string{"/edit", "/pause", "/resume", "/run", "/delete", "/feed", "/feed/end"} {
			bob.post(id+form, typedSearch("name", "Of Bob")).shows(t, http.StatusNotFound)
		}
		bob.post(id+"/edit", typedSearch("preview", "true")).shows(t, http.StatusNotFound)
	}
	s.get(path).shows(t, http.StatusOK, "Of Ann", "active")
	for _, page := range []string{"/saved-searches", path, "/destinations", "/deliveries"} {
		if to := s.by("").get(page).leads(t); !strings.HasPrefix(to, "/sign-in") {
			t.Errorf("%s leads somebody who is not signed in to %s", page, to)
		}
	}
}

func TestPagesOfSearches(t *testing.T) {
	s := mustSite(t)
	for i := range 23 {
		s.mustSaved(typedSearch("name", fmt.Sprint("Search ", i), "schedule.cadence", ""))
	}
	s.get("/saved-searches").shows(t, http.StatusOK, "1 to 20 of 23", "page=2")
	second := s.get("/saved-searches?page=2")
	second.shows(t, http.StatusOK, "Search 22", "21 to 23 of 23", "?page=2'")
	second.lacks(t, "Search 19<")
	s.get("/saved-searches?page=1000").shows(t, http.StatusOK, "Go to its beginning")
	for _, page := range []string{"0", "-1", "1000000000000", "x", "1.5", "%00", "1&page=2"} {
		s.get("/saved-searches?page="+page).shows(t, http.StatusBadRequest, "page")
	}
}

// TestHostileSearch checks that any storable text of 200 characters is shown escaped.
func TestHostileSearch(t *testing.T) {
	s := mustSite(t)
	hostile := `</h1><script>alert(1)</script>"><img src=x onerror=alert(2)>'` + "`{{.}}${x}&amp;"
	hostile += strings.Repeat("漢", 200-len([]rune(hostile)))
	path := s.mustSaved(typedSearch("name", hostile, "filters.query", hostile, "filters.brand_name", hostile, "filters.country", hostile, "filters.permit_number_text", hostile,
		"filters.barcode_value", hostile, "filters.derived_category", hostile))
	s.registry.Pass(24 * time.Hour)
	s.registry.RunDue(t)
	for _, page := range []string{"/saved-searches", path, path + "/edit", path + "/delete", path + "/feed", path + "/feed/end", path + "/runs/1", path + "/runs/1/labels", "/destinations/new?saved_search=" + path[16:], "/deliveries", "/"} {
		a := s.get(page)
		if a.StatusCode != http.StatusOK || strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img src=x") {
			t.Errorf("%s: %d\n%s", page, a.StatusCode, a.body)
		}
		a.wellMade(t)
	}
	s.get(path).shows(t, http.StatusOK, hostile)
}

// mustFind returns what a run found, once the index has it too.
func (s *site) mustFind(path string, run cola.SavedSearchRun) []registry.RunLabel {
	s.t.Helper()
	for range 1200 { // a minute, on a busy machine
		found, _, err := s.registry.RunLabels(s.t.Context(), s.browsers.callers[s.as], strings.TrimPrefix(path, "/saved-searches/"), fmt.Sprint(run.ID), cola.SavedSearchListParams{PerPage: cola.Some(100)})
		if err != nil || len(found.Rows) == 0 {
			s.t.Fatalf("%+v, %v", found, err)
		}
		if !slices.ContainsFunc(found.Rows, func(l registry.RunLabel) bool { return l.Label == nil }) {
			return found.Rows
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("the index does not follow the database")
	return nil
}

// TestWhyALabelIsFound: the page says what the API says, in words, and what it cost.
func TestWhyALabelIsFound(t *testing.T) {
	s := mustSite(t)
	path := s.mustSaved(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99", "filters.brand_name", ""))
	run := s.mustRun(path)
	found := s.mustFind(path, run)
	before := s.used()
	page := s.get(path + "/explain?ttb_id=" + found[0].TTBID.String())
	left := cola.TierPro.Limits().ListRecords - before.ListRecords - 1
	page.shows(t, http.StatusOK, fmt.Sprintf("Run %d found it.", run.ID), "at most 99", "not met", "This cost a list record; "+count(left)+" are left this month.", "/explain/"+found[0].TTBID.String())
	page.wellMade(t)
	s.post(path+"/edit", typedSearch("filters.brand_name", "zzzz")).leads(t)
	s.get(path+"/explain?ttb_id="+found[0].TTBID.String()).shows(t, http.StatusOK, "it does not meet brand name.")
	for _, none := range []string{"1", "x", "99999999999999", "%00", "<script>"} {
		if a := s.get(path + "/explain?ttb_id=" + none); a.StatusCode != http.StatusNotFound || strings.Contains(a.body, "<script>") {
			t.Errorf("%s: %d\n%s", none, a.StatusCode, a.body)
		}
	}
	s.get(path + "/explain").leads(t)
	s.costs(before, 2, 0)
}

// TestExampleOfNewSearch: the call that an empty form shows is one that works.
func TestExampleOfNewSearch(t *testing.T) {
	s := mustSite(t)
	s.get("/saved-searches/new").shows(t, http.StatusOK, `"filters":{"brand_name":"oak"}`)
	s.post("/saved-searches/new", url.Values{"preview": {"true"}, "filters.query": {"red"}}).shows(t, http.StatusOK, `"filters":{"query":"red"}`)
}
