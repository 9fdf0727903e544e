package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// TestLists checks that each list's form finds records, and that a search costs as much as in the
// API.
func TestLists(t *testing.T) {
	s := mustSite(t)
	barcode := s.someBarcode()
	for _, tt := range []struct {
		path, query string
		cost        func(rows int) int
		shows       []string
	}{
		{"/explore/permittees", "state=CA", each, []string{`data-label="Labels" class="number"><a href="/explore?date_range=all&permit_number=`, `<a href="/explore/permittees/`, `<option value="CA" selected>`}},
		{"/explore/barcodes", "barcode_value=" + barcode, each, []string{`<a href="/explore/`, `href="/explore?barcode_value=` + barcode + `&date_range=all"`}},
		{"/explore/avas", "state=CA&current=true", free, []string{`<a href="/explore?appellation=`, `<option value="CA" selected>`}},
		{"/explore/avas", "", free, []string{`<h2>`, `rel="next"`}},
		{"/explore/production-reports", "commodity=Beer", free, []string{`<option value="Beer" selected>`}},
		{"/explore/processing-times", "latest=true", free, []string{`aria-current="true">Label approvals<`}},
		{"/explore/processing-times/formula", "", free, []string{`aria-current="true">Formulas<`}},
		{"/explore/processing-times/registration", "", free, []string{`aria-current="true">Original permits<`}},
	} {
		s.registry.Advance(10 * time.Second)
		target := strings.TrimSuffix(tt.path+"?"+tt.query, "?")
		before, requests := s.used(), s.requests()
		page := s.get(target)
		page.shows(t, http.StatusOK, append(tt.shows, `class="tabs"`, `aria-current="page"`, "api/v1/")...)
		page.checkHTML(t)
		rows := strings.Count(page.body, `role="rowheader"`)
		if rows == 0 {
			t.Errorf("%s: no rows:\n%s", target, page.body)
		}
		s.costs(before, tt.cost(rows), 0)
		if counted := s.requests() - requests; counted != min(1, tt.cost(1)) {
			t.Errorf("%s counts as %d requests", target, counted)
		}
		if head := s.ask(http.MethodHead, target); head.body != "" && tt.cost(1) > 0 {
			t.Errorf("HEAD %s has a body", target)
		}
	}
}

func each(rows int) int { return rows }
func free(int) int      { return 0 }

// someBarcode returns the main barcode of a label.
func (s *site) someBarcode() string {
	s.t.Helper()
	page, _, err := s.registry.SearchColas(s.t.Context(), s.browsers.callers[ann], cola.SearchParams{DateRange: cola.AllDates, PerPage: cola.Some(100)})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range page.Colas {
		label, _, err := s.registry.Cola(s.t.Context(), s.browsers.callers[ann], row.TTBID.String(), "")
		if err != nil {
			s.t.Fatal(err)
		}
		if code := string(label.Value.BarcodeValue); code != "" && strings.Trim(code, "0123456789") == "" {
			return code
		}
	}
	s.t.Fatal("no label has a barcode")
	return ""
}

// TestListForms checks that a list whose searches are charged shows only its form until a search is
// entered, that invalid and hostile values are shown with the form, and that these pages are free.
func TestListForms(t *testing.T) {
	s := mustSite(t)
	before := s.used()
	for _, path := range []string{"/explore/permittees", "/explore/barcodes"} {
		for _, query := range []string{"", "?utm_source=x"} {
			page := s.get(path + query)
			page.shows(t, http.StatusOK, `class="explore-form list-form"`, "1,000,000 left")
			page.lacks(t, `<table`)
			page.checkHTML(t)
		}
		s.ask(http.MethodGet, path+"?"+map[bool]string{true: "q=a", false: "barcode_value=1"}[path == permitteeListPath],
			"Sec-Fetch-Site: cross-site").shows(t, http.StatusOK, "one list record", `class="button" href="`+path)
	}
	for target, shows := range map[string]string{
		"/explore/permittees?state=zzz":                                               `href="#f-state"`,
		"/explore/permittees?q=a%00":                                                  `href="#f-q"`,
		"/explore/permittees?is_active=perhaps":                                       `<option value="perhaps" selected>`,
		"/explore/permittees?page=0":                                                  "<bdi>Page</bdi>",
		"/explore/permittees?q=%zz":                                                   "<bdi>URL</bdi>",
		"/explore/barcodes?barcode_value=":                                            `href="#f-barcode_value"`,
		"/explore/barcodes?barcode_value=1&barcode_value=2":                           `href="#f-barcode_value"`,
		"/explore/avas?state=%3Cscript%3Ealert(1)%3C/script%3E":                       `href="#f-state"`,
		"/explore/production-reports?year=soon":                                       `href="#f-year"`,
		"/explore/production-reports?month=13":                                        `href="#f-month"`,
		"/explore/processing-times?latest=x":                                          `href="#f-latest"`,
		"/explore/processing-times/formula?formula_type=a%00":                         `href="#f-formula_type"`,
		"/explore/processing-times/registration?category=" + strings.Repeat("x", 201): `href="#f-category"`,
	} {
		page := s.get(target)
		page.shows(t, http.StatusBadRequest, shows, `role="alert"`)
		page.checkHTML(t)
	}
	for target, status := range map[string]int{
		"/explore/permittees?q=nosuchcompany":         http.StatusOK,
		"/explore/permittees?q=%3Cscript%3Ex":         http.StatusOK,
		"/explore/barcodes?barcode_value=%3Cb%3E%22x": http.StatusNotFound,
		"/explore/barcodes?barcode_value=99999999":    http.StatusNotFound,
		"/explore/avas?q=nosucharea":                  http.StatusOK,
		"/explore/processing-times?commodity=milk":    http.StatusOK,
		"/explore/permittees?q=&page=4000":            http.StatusOK,
	} {
		page := s.get(target)
		page.shows(t, status, `class="empty"`)
		page.checkHTML(t)
	}
	for target, shows := range map[string]string{
		"/explore/processing-times/formula?formula_type=formula_type":                                                `No row has the formula type "formula_type".`,
		"/explore/production-reports?year=2015&commodity=beer&report_type=yearly&statistical_group=barrels+produced": "These group values match your other filters: ",
	} {
		s.get(target).shows(t, http.StatusOK, shows)
	}
	s.costs(before, 0, 0)
	s.by("").get("/explore/avas").redirects(t)
}

// TestHostileLists checks that third-party text in lists is shown as text, and that the lists link
// only to our own pages.
func TestHostileLists(t *testing.T) {
	s := mustSite(t)
	const hostile = `<script>alert("x")</script>`
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 26_001_001_000_998, BrandName: hostile, ProductName: "HOSTILE\u202e", ProductType: vocabulary.Wine, PermitNumber: "//evil.example/x",
		ApprovalDate: cola.NewDate(2026, time.March, 1),
	}, BarcodeType: "UPC-A", BarcodeValue: "036000291452", Barcodes: []cola.Barcode{{BarcodeType: "UPC-A", BarcodeValue: "036000291452"}}})
	page := s.get("/explore/barcodes?barcode_value=0+36000-29145+2")
	page.shows(t, http.StatusOK, hostile+` HOSTILE</bdi>`, `<a href="/explore/26001001000998">`)
	page.checkHTML(t)
	if strings.Contains(page.body, hostile) {
		t.Error("text is not escaped")
	}
	links := s.get("/explore/permittees?q=")
	links.checkHTML(t)
	for _, href := range regexp.MustCompile(`role="rowheader"><a href="([^"]*)"`).FindAllStringSubmatch(links.text, -1) {
		if u, err := url.Parse(href[1]); err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/explore/permittees/") {
			t.Errorf("link to %s", href[1])
		}
	}
}

// TestListsAtLimits checks that a list keeps the form when the list records are used up.
func TestListsAtLimits(t *testing.T) {
	s := mustSite(t)
	s.useUp(s.join("free@example.com", cola.TierFree), cola.TierFree, 0)
	visitor := s.by("free@example.com")
	page := visitor.get("/explore/permittees?q=winery&state=CA")
	page.shows(t, http.StatusTooManyRequests, `value="winery"`, `href="/plans"`)
	page.checkHTML(t)
	visitor.get("/explore/avas").shows(t, http.StatusOK, "<h2>") // free, so not limited
}
