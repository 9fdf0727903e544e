package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// mustPreview returns the count that a preview shows for a form.
func (s *site) mustPreview(form url.Values) (total int) {
	s.t.Helper()
	a := s.post("/saved-searches/preview", form)
	a.shows(s.t, http.StatusOK, `id="preview-said"`, `id="found"`)
	summary := strings.ReplaceAll(cutOut(a.text, `hx-swap-oob="innerHTML">`, "<"), ",", "")
	if strings.HasPrefix(summary, "No labels") {
		return 0
	}
	if _, err := fmt.Sscanf(summary, "%d label", &total); err != nil {
		s.t.Fatalf("summary %q: %v", summary, err)
	}
	return total
}

func TestPreview(t *testing.T) {
	s := mustSite(t)
	form := typedSearch("filters.type_malt_beverage", "true", "filters.abv_min", "1")
	total := s.mustPreview(form)
	want, _, err := s.registry.PreviewSavedSearch(t.Context(), s.browsers.callers[ann], cola.PreviewParams{
		Filters: &cola.SavedSearchFilters{
			TypeWine:         cola.Some(true),
			TypeMaltBeverage: cola.Some(true),
			ABVMin:           cola.Some(1.0),
		},
	})
	if err != nil || total != want.Total || total == 0 {
		t.Fatalf("page counts %d, the API counts %d (error %v)", total, want.Total, err)
	}
	a := s.post("/saved-searches/preview", form)
	if n := strings.Count(a.body, `href="/explore/`); n != min(total, cola.MaxPreviewLabels) {
		t.Errorf("%[2]d of %[1]d labels are named", total, n)
	}
	if strings.Contains(a.body, "<html") {
		t.Error("got a whole page, want a fragment")
	}
	form.Set("preview", "true")
	whole := s.post("/saved-searches/new", form)
	whole.shows(t, http.StatusOK, fmt.Sprint(plural(total, "label", "labels"), " in the last 30 days."),
		`value="All wine"`, `class="lately"`)
	whole.checkHTML(t)
	s.get("/saved-searches").shows(t, http.StatusOK, `class="empty"`)
	state, err := s.registry.Standing(t.Context(), s.browsers.callers[ann])
	if err != nil || state.Used != (cola.Used{}) {
		t.Errorf("previews used %+v, %v; want no quota", state.Used, err)
	}
}

func TestPreviewWithoutCounts(t *testing.T) {
	s := mustSite(t)
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 15_001_001_000_998, BrandName: "BYGONE", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		ApprovalDate: cola.NewDate(2015, time.March, 1),
	}})
	for name, tt := range map[string]struct {
		form url.Values
		says string
	}{
		"empty":         {url.Values{}, addFilter},
		"half a number": {url.Values{"filters.abv_min": {"1e"}}, "Minimum ABV"},
		"no unit":       {url.Values{"filters.volume_min": {"1"}}, "Volume unit"},
		"twice":         {url.Values{"filters.query": {"a", "b"}}, "Keywords"},
		"NUL":           {url.Values{"filters.query": {"\x00"}}, "Keywords"},
		"huge":          {url.Values{"filters.query": {strings.Repeat("x", 50_000)}}, "Keywords"},
		"unknown":       {url.Values{"filters.<script>": {"x"}}, "filters.<script>"},
		"old label":     {url.Values{"filters.query": {"bygone"}}, "No labels in the last 30 days."},
		"no label":      {url.Values{"filters.query": {"zzzzqqqq"}}, `No label contains the word "zzzzqqqq".`},
		"too broad":     {url.Values{"filters.application_status": {"approved"}}, "Too broad"},
	} {
		a := s.post("/saved-searches/preview", tt.form)
		t.Log(name)
		a.shows(t, http.StatusOK, tt.says)
		if strings.Contains(a.body, "<script") {
			t.Error("field was not escaped")
		}
	}
	s.post("/saved-searches/preview", url.Values{"filters.query": {strings.Repeat("x", 70_000)}}).shows(t,
		http.StatusRequestEntityTooLarge)
	s.by("").post("/saved-searches/preview", url.Values{}).shows(t, http.StatusUnauthorized, "You’re signed out")
}

// TestPreviewWithoutNames checks that a preview still shows its counts after the daily limit on
// named labels is reached, and mentions the limit.
func TestPreviewWithoutNames(t *testing.T) {
	s := mustSite(t)
	form := typedSearch("filters.type_malt_beverage", "true", "filters.abv_min", "1")
	total := s.mustPreview(form)
	var others []cola.TTBID
	for n := range cola.MaxDailyPreviewLabels {
		others = append(others, cola.TTBID(n+1))
	}
	account := s.browsers.callers[ann].Account
	s.registry.Advance(24 * time.Hour)
	for range 3 { // an empty form names no labels, so it does not count
		s.get("/saved-searches/new").shows(t, http.StatusOK, addFilter)
	}
	named, err := s.registry.Store.NamePreviewLabels(t.Context(), account, cola.DateOf(s.registry.Now()), others,
		cola.MaxDailyPreviewLabels)
	if err != nil || len(named) != len(others) {
		t.Fatalf("%d labels are named, %v; want %d", len(named), err, len(others))
	}
	a := s.post("/saved-searches/preview", form)
	a.shows(t, http.StatusOK, strconv.Itoa(cola.MaxDailyPreviewLabels)+" previewed labels", `class="lately"`)
	a.lacks(t, `href="/explore/`)
	s.registry.Advance(-24 * time.Hour)
	if second := s.mustPreview(form); second != total {
		t.Errorf("second preview counts %d labels, want %d", second, total)
	}
}

// TestPreviewFailureText checks that the page contains the text that its script shows if a
// preview fails.
func TestPreviewFailureText(t *testing.T) {
	mustSite(t).get("/saved-searches/new").shows(t, http.StatusOK, `data-failed="`, `hx-indicator="closest .preview"`)
}

// TestEmptyPreview checks that an empty form shows no chart, because the chart would cover all
// labels.
func TestEmptyPreview(t *testing.T) {
	s := mustSite(t)
	for name, a := range map[string]response{
		"new": s.get("/saved-searches/new"), "part": s.post("/saved-searches/preview", url.Values{"name": {"x"}}),
		"blank": s.post("/saved-searches/preview",
			url.Values{"filters.query": {" "}, "filters.volume_unit": {"liters"}}),
	} {
		t.Log(name)
		a.shows(t, http.StatusOK, addFilter)
		a.lacks(t, `class="lately"`, "/explore/")
	}
	s.post("/saved-searches/preview", url.Values{"filters.type_wine": {"true"}}).shows(t, http.StatusOK,
		`class="lately"`, "/explore/")
}

// TestPreviewMatchesRun checks that the preview count grows by as many labels as the next run finds
// within the preview period.
func TestPreviewMatchesRun(t *testing.T) {
	s := mustSite(t)
	form := typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99")
	path := s.mustSave(form)
	before := s.mustPreview(form)
	found := s.mustFind(path, s.mustRun(path))
	s.registry.Advance(-24 * time.Hour) // a preview ends on the current day
	after := s.mustPreview(form)
	counted, first := 0, cola.DateOf(s.registry.Now()).AddDays(1-cola.PreviewDays)
	for _, l := range found {
		if l.Label.ApprovalDate >= first {
			counted++
		}
	}
	if counted == 0 || after-before != counted {
		t.Errorf("preview counts %d more labels, and the run found %d", after-before, counted)
	}
}

// TestFormFromSearch checks that a label search fills in and names the form, and that the page lists
// the parameters that have no saved search filter.
func TestFormFromSearch(t *testing.T) {
	s := mustSite(t)
	query := url.Values{
		"q": {"barrel"}, "brand_name": {"<b>oak</b>"}, "product_type": {"Wine,malt beverage"}, "category": {"Liquor"},
		"derived_subcategory": {"Wine > Red Wine"}, "origin": {"french"},
		"domestic_or_imported": {"Imported"}, "status": {"Expired"}, "barcode_value": {"0360"}, "abv_min": {"12.5"},
		"volume_unit": {"liters"}, "volume_max": {"2"}, "container_type": {"can", "keg"},
		"approval_date_from": {"2024-01-01"}, "permit_number": {"NJ-I-721"}, "grape": {"Zinfandel"}, "page": {"3"},
		"per_page": {"50"}, "cursor": {"x"}, "something": {"else"},
	}
	a := s.get("/saved-searches/new?" + query.Encode())
	a.shows(t, http.StatusOK, `value="barrel"`, `value="<b>oak</b>"`, `name="filters.type_wine" value="true" checked`,
		`name="filters.type_malt_beverage" value="true" checked`, `name="filters.derived_liquor" value="true" checked`,
		`value="Wine > Red Wine"`, `value="french"`, `name="filters.origin_imported" value="true" checked`,
		`<option value="expired" selected>`, `value="0360"`, `value="12.5"`, `<option value="liters" selected>`,
		`value="2"`, `name="filters.container_can" value="true" checked`,
		`name="filters.container_keg" value="true" checked`, "<li>Approval dates", `"NJ-I-721"`, `value="Zinfandel"`)
	a.lacks(t, `name="filters.type_distilled_spirit" value="true" checked`,
		`name="filters.derived_wine" value="true" checked`, "invalid values")
	a.checkHTML(t)
	if whole := s.get("/saved-searches/new?from=" +
		url.QueryEscape("?q=barrel&status=approved")); !strings.Contains(whole.text, `value="barrel"`) {
		t.Errorf("from= was ignored:\n%s", whole.body)
	}
	for _, hostile := range []string{
		"category=category", "category=<script>", "container_type=%00", "abv_min=x",
		"approval_date_to=yesterday", "q=a&q=b", "from=%25zz", "product_type=,,,", "q=%ff",
	} {
		a := s.get("/saved-searches/new?" + hostile)
		a.shows(t, http.StatusOK, "New saved search")
		if strings.Contains(a.body, "<script>") ||
			strings.Contains(a.body, `value="true" checked> Wine`) {
			t.Errorf("%s: value was applied, or not escaped:\n%s", hostile, a.body)
		}
	}
	s.get("/saved-searches/new?abv_min=x").shows(t, http.StatusOK, "invalid values")
	for query, want := range map[string]string{
		"": "", "date_range=all": "", "q=oak&product_type=wine": "oak · wine", "q=%22oak%22": "oak", "q=oak&name=Mine": "Mine",
		"q=" + strings.Repeat("é", 200): strings.Repeat("é", 199) + "…", // 200 characters
	} {
		s.get("/saved-searches/new?"+query).shows(t, http.StatusOK, `name="name" value="`+want+`" maxlength="200"`)
	}
}
