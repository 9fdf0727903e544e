package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
)

// chargedPages returns charged pages of every kind, each with its price.
func (s *site) chargedPages() map[string]string {
	return map[string]string{
		"/explore?q=":                                                  "one list record",
		"/explore?origin=france&page=2":                                "one list record",
		"/explore/labels.csv?origin=france":                            "one list record",
		"/explore/permittees?q=winery":                                 "one list record",
		"/explore/barcodes?barcode_value=1":                            "one list record",
		"/brands?q=oak":                                                "one list record",
		"/trends?group_by=year":                                        "one list record",
		"/explore/" + s.someLabel():                                    "one detail view",
		"/explore/permittees/" + s.somePermit():                        "one detail view",
		"/explore/99999999999999":                                      "one detail view",
		s.mustSave(typedSearch()) + "/explain?ttb_id=" + s.someLabel(): "one list record",
		"/explore/permittees/%3Cscript%3Ealert%2F/":                    "one detail view",
		s.mustSave(typedSearch("name", "Runs")) + "/runs/1/labels":     "one list record",
	}
}

// somePermit returns the number of a permit that has labels.
func (s *site) somePermit() string {
	s.t.Helper()
	label, _, err := s.registry.Cola(s.t.Context(), s.browsers.callers[ann], s.someLabel(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return label.Value.PermitNumber
}

func (s *site) ask(method, target string, headers ...string) response {
	s.t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return s.send(r)
}

// requests returns the number of requests in the account's usage.
func (s *site) requests() (n int) {
	s.t.Helper()
	report, _, err := s.registry.UsageReport(s.t.Context(), s.browsers.callers[s.as], registry.Last30Days)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range report.Rows {
		n += row.Total.Requests
	}
	return n
}

// TestChargedPagesFromOtherSites checks that a charged page opens directly only from this site,
// from the address bar, or in a browser that does not send Sec-Fetch-Site. From other sites it asks
// first.
func TestChargedPagesFromOtherSites(t *testing.T) {
	s := mustSite(t)
	for target, price := range s.chargedPages() {
		for _, from := range []string{"cross-site", "same-site", "elsewhere", "CROSS-SITE"} {
			s.registry.Advance(time.Second) // stays under the page rate limit
			before, requests := s.used(), s.requests()
			page := s.ask(http.MethodGet, target, "Sec-Fetch-Site: "+from, "Sec-Fetch-Mode: navigate")
			page.shows(t, http.StatusOK, price, `<a class="button" href="`+target+`">`)
			page.checkHTML(t)
			if got := page.Header.Get("Cache-Control"); got != "private, no-store" {
				t.Errorf("%s: Cache-Control = %q, want private, no-store", target, got)
			}
			s.costs(before, 0, 0)
			if n := s.requests(); n != requests {
				t.Errorf("%s from %s counts as %d requests", target, from, n-requests)
			}
		}
		for _, from := range []string{
			"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate",
		} {
			if page := s.ask(http.MethodGet, target, from); strings.Contains(page.text, `<a class="button" href="`+target+`">`) {
				t.Errorf("%s, %s: got a confirmation page", target, from)
			}
		}
	}
	s.by("").ask(http.MethodGet, "/explore?q=oak", "Sec-Fetch-Site: cross-site").redirects(t)
	long := s.ask(http.MethodGet, `/explore?q=%22%3E%3Cscript%3Ealert(1)`+strings.Repeat("x", 9000),
		"Sec-Fetch-Site: cross-site")
	long.shows(t, http.StatusOK, `<a class="button" href="/explore?`)
	long.checkHTML(t)
}

// TestEmbeddedChargedPages checks that an embedded or prefetched charged page is rejected and
// free.
func TestEmbeddedChargedPages(t *testing.T) {
	s := mustSite(t)
	label := s.someLabel()
	headers := []string{
		"Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "Sec-Purpose: prefetch;prerender",
		"Purpose: prefetch", "X-Moz: prefetch",
		"X-Purpose: preview", "Sec-Fetch-Dest: ", "Sec-Fetch-Dest: Document", "Sec-Fetch-Dest: document, image",
	}
	for _, dest := range []string{
		"audio", "audioworklet", "embed", "empty", "font", "frame", "iframe", "image", "json", "manifest", "object",
		"paintworklet", "report", "script",
		"serviceworker", "sharedworker", "style", "track", "video", "webidentity", "worker", "xslt", "futuredest",
	} {
		headers = append(headers, "Sec-Fetch-Dest: "+dest)
	}
	for target := range s.chargedPages() {
		for _, header := range headers {
			s.registry.Advance(time.Second) // stays under the page rate limit
			before, requests := s.used(), s.requests()
			page := s.ask(http.MethodGet, target, header, "Sec-Fetch-Site: same-origin")
			if page.StatusCode != http.StatusForbidden || strings.Contains(page.body, label+`"`) {
				t.Errorf("%s, %s: status %d, want 403 without labels", target, header, page.StatusCode)
			}
			s.costs(before, 0, 0)
			if n := s.requests(); n != requests {
				t.Errorf("%s, %s counts as %d requests", target, header, n-requests)
			}
		}
	}
}

// TestTopLevelPages checks that opening a page is charged, whichever headers the browser sends.
func TestTopLevelPages(t *testing.T) {
	s := mustSite(t)
	label := s.someLabel()
	for _, headers := range [][]string{
		nil, {"Sec-Fetch-Dest: document", "Sec-Fetch-Site: same-origin"}, {"Accept: */*"},
		{"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
	} {
		before := s.used()
		if page := s.ask(http.MethodGet, "/explore/"+label, headers...); page.StatusCode != http.StatusOK {
			t.Errorf("%v: status %d, want 200", headers, page.StatusCode)
		}
		s.costs(before, 0, 1)
	}
}

// TestEmbeddedPages checks that no page can be embedded, and that only our own scripts can fetch
// free pages.
func TestEmbeddedPages(t *testing.T) {
	s := mustSite(t)
	for _, target := range []string{
		"/", "/keys/new", "/usage", "/sign-in", "/sign-in/callback?code=x&state=y",
		"/sign-in/link/x", "/nothing/here",
	} {
		for _, headers := range [][]string{
			{"Sec-Fetch-Dest: image", "Sec-Fetch-Site: same-origin"},
			{"Sec-Fetch-Dest: iframe", "Sec-Fetch-Site: same-origin"},
			{"Sec-Fetch-Dest: empty", "Sec-Fetch-Site: same-site"}, {"Sec-Fetch-Dest: empty"},
		} {
			if page := s.ask(http.MethodGet, target, headers...); page.StatusCode != http.StatusForbidden {
				t.Errorf("%s, %v: status %d, want 403", target, headers, page.StatusCode)
			}
		}
	}
	s.ask(http.MethodGet, "/usage", "Sec-Fetch-Dest: empty", "Sec-Fetch-Site: same-origin").shows(t, http.StatusOK,
		`id="month"`)
}

// TestFreePagesFromOtherSites checks that a free page opens directly from other sites.
func TestFreePagesFromOtherSites(t *testing.T) {
	s := mustSite(t)
	for target, says := range map[string]string{
		"/explore": `id="examples"`,
		"/brands":  `data-suggest="brand"`,
		"/trends":  `id="examples"`,
		"/usage":   `id="month"`,
		"/":        `id="month"`,
	} {
		s.ask(http.MethodGet, target, "Sec-Fetch-Site: cross-site").shows(t, http.StatusOK, says)
	}
	if to := s.ask(http.MethodGet, "/explore?q=oak&brand_name=",
		"Sec-Fetch-Site: cross-site").redirects(t); to != "/explore?q=oak" {
		t.Errorf("redirect to %s, want /explore?q=oak", to)
	}
}

// TestHead checks that a HEAD request is free and does not reveal the page's content.
func TestHead(t *testing.T) {
	s := mustSite(t)
	for target := range s.chargedPages() {
		for _, header := range []string{"Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site", "Sec-Purpose: prefetch"} {
			before, requests := s.used(), s.requests()
			head := s.ask(http.MethodHead, target, header)
			if head.StatusCode != http.StatusOK || head.body != "" ||
				head.Header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("HEAD %s: status %d, headers %v, body %q; want 200 as HTML without a body", target, head.StatusCode, head.Header, head.body)
			}
			s.costs(before, 0, 0)
			if n := s.requests(); n != requests {
				t.Errorf("HEAD %s counts as %d requests", target, n-requests)
			}
		}
	}
	if to := s.by("").ask(http.MethodHead, "/explore?q=oak").redirects(t); !strings.HasPrefix(to, signInPath) {
		t.Errorf("HEAD redirects to %s, want the sign-in page", to)
	}
}

// TestTryAgain checks that a rate-limited page links to itself, and that a rate-limited form does
// not.
func TestTryAgain(t *testing.T) {
	s := mustSite(t)
	for range pageBurst {
		s.get("/setup")
	}
	s.get("/explore?q=a&page=2").shows(t, http.StatusTooManyRequests, `href="/explore?q=a&page=2">Try again</a>`,
		`<a href="/">Back`)
	form := s.post("/keys/new", nil)
	form.shows(t, http.StatusTooManyRequests, `<a href="/">Back`)
	if strings.Contains(form.text, "Try again</a>") {
		t.Errorf("form has a retry link:\n%s", form.body)
	}
	s.registry.Advance(time.Minute)
	if page := s.get("/explore/99999999999999"); strings.Contains(page.text, "Try again</a>") {
		t.Error("404 has a retry link")
	}
}

// TestReload checks that reloading a page within ten minutes is free in the same session,
// regardless of how the rows are shown, and that a later reload is charged.
func TestReload(t *testing.T) {
	s := mustSite(t)
	const search = "/explore?date_range=all&per_page=20"
	saved := s.mustSave(typedSearch("filters.type_malt_beverage", "true", "filters.abv_max", "99"))
	runLabels := fmt.Sprint(saved, "/runs/", s.mustRun(saved).ID, "/labels")
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{ // also waits until the index has the run's labels
		TTBID: 15_001_001_000_998, BrandName: "BYGONE", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		ApprovalDate: cola.NewDate(2015, time.March, 1),
	}})
	for _, pages := range [][]string{
		{search, search + "&view=gallery", search + "&utm_source=x"},
		{"/explore/permittees?q=&state=CA", "/explore/permittees?state=CA"},
		{"/explore/barcodes?barcode_value=" + s.someBarcode()},
		{"/brands?q=oak"},
		{"/explore/labels.csv?origin=france&date_range=all"},
		{"/trends?group_by=year&date_range=all"},
		{runLabels},
	} {
		before := s.used()
		first := s.open(pages[0])
		paid := s.used().ListRecords - before.ListRecords
		if paid == 0 || first.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, %d list records", pages[0], first.StatusCode, paid)
		}
		for _, page := range append(pages, pages[0]) {
			s.registry.Advance(20 * time.Second)
			requests := s.requests()
			reload := s.open(page)
			reload.shows(t, http.StatusOK)
			switch {
			case page == runLabels:
				reload.shows(t, http.StatusOK, "Used 0 list records")
			case !strings.Contains(page, ".csv"):
				reload.shows(t, http.StatusOK, `class="cost">Free`)
			}
			if n := s.requests(); n != requests+1 {
				t.Errorf("%s counts as %d requests, want 1", page, n-requests)
			}
			s.costs(before, paid, 0)
		}
		s.registry.Advance(10 * time.Minute)
		s.open(pages[0])
		s.costs(before, 2*paid, 0)
	}
}

// open gets a page and follows one redirect.
func (s *site) open(target string) response {
	s.t.Helper()
	page := s.get(target)
	if page.StatusCode == http.StatusSeeOther {
		page = s.get(page.redirects(s.t))
	}
	return page
}

// TestChargedReloads checks that a page is charged again if the page number, a filter, the order,
// the page size, the revision or the session differs.
func TestChargedReloads(t *testing.T) {
	s := mustSite(t)
	charged := func(by *site, target string) {
		t.Helper()
		s.registry.Advance(time.Second)
		before := s.used()
		by.open(target).shows(t, http.StatusOK)
		if s.used().ListRecords == before.ListRecords {
			t.Errorf("%s is free", target)
		}
	}
	const search = "/explore?date_range=all"
	charged(s, search)
	for _, other := range []string{
		search + "&page=2", search + "&product_type=wine", search + "&sort=brand", search + "&per_page=21", "/explore?q=",
		"/explore/labels.csv?date_range=all", search + "&page=1",
	} {
		charged(s, other)
	}
	second := s.browsers.callers[ann]
	second.Credential = s.registry.SignIn(t, second.Account, "another browser", "").Credential
	s.browsers.callers["second"] = second
	charged(s.by("second"), search)
	before := s.used()
	s.get(search)
	s.by("second").get(search)
	s.costs(before, 0, 0)
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{ // not on the first page
		TTBID: 15_001_001_000_998, BrandName: "BYGONE", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		ApprovalDate: cola.NewDate(2015, time.March, 1),
	}})
	charged(s, search)
	charged(s.by("second"), search)
	key := s.browsers.callers[ann] // a program that poses as the dashboard pays every time
	key.Credential = s.registry.Key(t, key.Account, "key").Credential
	s.browsers.callers["key"] = key
	for range 2 {
		before := s.used()
		if _, _, err := s.registry.SearchColas(t.Context(), key, cola.SearchParams{DateRange: cola.AllDates}); err != nil {
			t.Fatal(err)
		}
		s.costs(before, 20, 0)
	}
}

// TestReloadAtLimits checks that after the quota is used up, a session can still reload rows that
// it has paid for.
func TestReloadAtLimits(t *testing.T) {
	s := mustSite(t)
	c := s.join("free@example.com", cola.TierFree)
	free := s.by("free@example.com")
	s.useUp(c, cola.TierFree, 10)
	cut := free.get("/explore?date_range=all")
	cut.shows(t, http.StatusOK, "10 list records · 0 left")
	reload := free.get("/explore?date_range=all")
	reload.shows(t, http.StatusOK, "Free · 0 left")
	if a, b := strings.Count(cut.body, `<h3><a href="/explore/`), strings.Count(reload.body, `<h3><a href="/explore/`); a != 10 || b != a {
		t.Errorf("%d rows, then %d, want 10", a, b)
	}
	free.get("/explore?date_range=all&page=2").shows(t, http.StatusTooManyRequests)
	for range 10 {
		free.get("/explore?date_range=all").shows(t, http.StatusOK, "Free · 0 left")
	}
}
