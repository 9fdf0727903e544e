package dashboard

import (
	"encoding/csv"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// used returns the account's usage this month.
func (s *site) used() cola.Used {
	s.t.Helper()
	state, err := s.registry.Standing(s.t.Context(), s.browsers.callers[s.as])
	if err != nil {
		s.t.Fatal(err)
	}
	return state.Used
}

// costs fails the test unless usage grew by the given amounts.
func (s *site) costs(before cola.Used, list, details int) {
	s.t.Helper()
	want := cola.Used{DetailViews: before.DetailViews + details, ListRecords: before.ListRecords + list}
	if diff := cmp.Diff(want, s.used()); diff != "" {
		s.t.Errorf("usage (-want +got):\n%s", diff)
	}
}

var shownTotal = regexp.MustCompile(`<h2>([0-9,]+) labels?</h2>`)

// total returns the number of results shown on a search page.
func (a response) total(t *testing.T) int {
	t.Helper()
	found := shownTotal.FindStringSubmatch(a.body)
	if found == nil {
		if strings.Contains(a.body, "<h2>No labels</h2>") {
			return 0
		}
		t.Fatalf("status = %d, want a total:\n%s", a.StatusCode, a.body)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestExploreForm(t *testing.T) {
	s := mustSite(t)
	page := s.get("/explore")
	page.shows(t, http.StatusOK, `name="q" type="search" maxlength="200"`, "1,000,000 left", "10,000 left", "French wine")
	page.checkHTML(t)
	s.costs(cola.Used{}, 0, 0)
	for _, e := range exampleSearches() {
		found := s.get(e.Href)
		found.shows(t, http.StatusOK)
		found.checkHTML(t)
	}
	s.by("").get("/explore?q=oak").redirects(t)
}

var companyOfPermit = regexp.MustCompile(`<span><bdi>[^<]+</bdi>, permit <a `)

func TestExploreResults(t *testing.T) {
	s := mustSite(t)
	page := s.get("/explore?product_type=wine")
	page.checkHTML(t)
	rows := strings.Count(page.body, `loading="lazy"`) + strings.Count(page.body, `class="none"`)
	if total := page.total(t); rows == 0 || rows > 20 || rows < 20 && rows != total {
		t.Errorf("%d of %d labels, want a full first page", rows, total)
	}
	page.shows(t, http.StatusOK, `aria-current="true">Last 12 months`, `href="/explore?date_range=all&product_type=wine">All dates`,
		"<title>wine · Explore", strconv.Itoa(rows)+" list records · "+web.Thousands(1_000_000-rows)+" left",
		"/saved-searches/new?product_type=wine",
		"https://registry.example/api/v1/colas?product_type=wine'",
		`"search_colas", "arguments": {"product_type":["wine"]}`, `src="/images/`, `alt="Label for `)
	s.costs(cola.Used{}, rows, 0)
	if n := len(companyOfPermit.FindAllString(page.body, -1)); n != rows {
		t.Errorf("%d of %d rows show the company that holds the permit", n, rows)
	}
	all := s.get("/explore?date_range=all&product_type=wine")
	all.shows(t, http.StatusOK, `href="/explore?product_type=wine">Last 12 months`, `aria-current="true">All dates`, "AMERICAN (total)", "<bdi>SPAIN<")
	if all.total(t) <= page.total(t) {
		t.Errorf("%d labels in all years, %d in the last year", all.total(t), page.total(t))
	}
	if empty := s.get("/explore?q=nosuchlabel"); empty.total(t) != 0 {
		t.Errorf("%d labels found", empty.total(t))
	} else {
		empty.shows(t, http.StatusOK, `class="empty"`, `class="cost">Free`)
		empty.checkHTML(t)
	}
}

var facetLinks = regexp.MustCompile(`<li><a href="(/explore\?[^"]*)"( aria-current="true")?><bdi>([^<]*)</bdi>(?:<span class="unseen">, selected</span>)? <span class="n">([0-9,]+)<`)

// TestFacetLinks checks that each facet value links to as many labels as its count, and that a
// selected value's link removes it.
func TestFacetLinks(t *testing.T) {
	s := mustSite(t)
	for _, from := range []string{
		"?q=", "?status=expired", "?category=Wine&derived_subcategory=Wine+%3E+Red+Wine",
		"?approval_date_from=2020-01-01&approval_date_to=2020-12-31", "?origin=italian",
	} {
		page := s.get("/explore" + from)
		links := facetLinks.FindAllStringSubmatch(page.body, -1)
		if len(links) < 5 {
			t.Fatalf("%s has %d facet links, want at least 5:\n%s", from, len(links), page.body)
		}
		for i, link := range links {
			s.registry.Advance(time.Second) // avoids the rate limit
			to := s.get(html.UnescapeString(link[1]))
			n, _ := strconv.Atoi(strings.ReplaceAll(link[4], ",", ""))
			if link[2] == "" && to.total(t) != n {
				t.Errorf("%s: facet %s has count %d, its link %s has %d labels", from, link[3], n, link[1], to.total(t))
			}
			if link[2] != "" && strings.Contains(to.body, `aria-current="true"><bdi>`+link[3]+"</bdi>") {
				t.Errorf("%s: the link for selected facet %s does not remove it", from, link[3])
			}
			if i > 25 {
				break // the rest are years
			}
		}
	}
}

// TestDateRange checks that counts and links keep the date range of the results, regardless of a
// filter's default dates.
func TestDateRange(t *testing.T) {
	s := mustSite(t)
	const first, last = "approval_date_from=2025-11-20", "approval_date_to=2026-11-20"
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 26_001_001_000_998, BrandName: "BYGONE", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		ApprovalDate: cola.NewDate(2026, time.March, 1), ApplicationStatus: "expired",
	}})
	recent := s.get("/explore?q=")
	recent.shows(t, http.StatusOK, `href="/explore?`+first+"&"+last+`&status=expired"`, `href="/explore?date_range=all">All dates`)
	recent.lacks(t, "<h3>Approval year</h3>") // the range spans parts of two years
	fixed := s.get("/explore?" + first + "&" + last + "&status=expired")
	fixed.shows(t, http.StatusOK, `aria-current="true">Last 12 months`, `href="/explore?status=expired">All dates`,
		`href="/explore"><span class="unseen">Remove </span><bdi>status expired`)
	fixed.lacks(t, "2025-11-20</bdi>")
	s.get("/explore?status=expired").shows(t, http.StatusOK, `aria-current="true">All dates`,
		`href="/explore?`+first+"&"+last+`&status=expired">Last 12 months`, "<h3>Approval year</h3>",
		`href="/explore?date_range=all"><span class="unseen">Remove </span><bdi>status expired`,
		`href="/explore?date_range=all&status=approved"`)
	custom := s.get("/explore?approval_date_from=2020-01-01&approval_date_to=2020-12-31")
	custom.shows(t, http.StatusOK, `<a href="/explore?q=">Last 12 months`, `<a href="/explore?date_range=all">All dates`,
		`<a href="/explore?date_range=all" aria-current="true"><bdi>2020`)
	for _, n := range regexp.MustCompile(`<span class="n">([0-9,]+)<span class="unseen"> (labels?)<`).FindAllStringSubmatch(recent.body, -1) {
		if (n[1] == "1") != (n[2] == "label") {
			t.Errorf("count %s has the noun %q", n[1], n[2])
		}
	}
	s.get("/explore?q="+s.someLabel()).shows(t, http.StatusOK, `1<span class="unseen"> label<`)
}

// TestSearchControls checks that the links for the order, the page size and the view keep the rest
// of the search, and that a new search keeps all three.
func TestSearchControls(t *testing.T) {
	s := mustSite(t)
	page := s.get("/explore?per_page=50&product_type=wine&sort=brand&view=gallery")
	page.shows(t, http.StatusOK, `class="gallery"`, "?width=640",
		`<input type="hidden" name="per_page" value="50">`, `<input type="hidden" name="sort" value="brand">`, `<input type="hidden" name="view" value="gallery">`,
		`aria-current="true">Brand A–Z<`, `aria-current="true">50<`, `aria-current="true">Gallery<`,
		`href="/explore?per_page=50&product_type=wine&view=gallery">Newest<`,
		`href="/explore?per_page=50&product_type=wine&sort=approval_date&view=gallery">Oldest<`,
		`href="/explore?product_type=wine&sort=brand&view=gallery">20<`,
		`href="/explore?per_page=100&product_type=wine&sort=brand&view=gallery">100<`,
		`href="/explore?per_page=50&product_type=wine&sort=brand">List<`,
		`href="/explore?date_range=all&per_page=50&product_type=wine&sort=brand&view=gallery">All dates<`,
		`href="/explore?per_page=50&sort=brand&view=gallery"><span class="unseen">Remove `)
	page.lacks(t, `class="explore-labels"`)
	page.checkHTML(t)
	if rows := strings.Count(page.body, `<h3><a href="/explore/`); rows != min(50, page.total(t)) {
		t.Errorf("%d of %d labels, want up to 50", rows, page.total(t))
	}
	list := s.get("/explore?view=%3Cscript%3E&sort=-APPROVAL_DATE")
	list.shows(t, http.StatusOK, `class="explore-labels"`, `aria-current="true">Newest<`, `aria-current="true">20<`, `aria-current="true">List<`)
	list.checkHTML(t)
}

// TestExport checks that the CSV file contains the labels of the search in the API's format and
// costs one list record per label, and that its cost is shown next to the link.
func TestExport(t *testing.T) {
	s := mustSite(t)
	const search = "approval_date_from=2015-01-01&product_type=wine&sort=brand"
	total := s.get("/explore?" + search).total(t)
	s.get("/explore?"+search).shows(t, http.StatusOK, `<a class="button small" href="/explore/labels.csv?`+search+`">`,
		"for "+plural(total, "list record", "list records"))
	before := s.used()
	file := s.get("/explore/labels.csv?page=2&per_page=20&" + search)
	file.shows(t, http.StatusOK)
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	if err != nil || len(rows) != total+1 || rows[0][0] != "ttb_id" || !slices.Contains(rows[0], "company_name") {
		t.Errorf("file has %d rows (error %v), want %d and a header: %.200s", len(rows), err, total, file.body)
	}
	if got := file.Header.Get("Content-Disposition"); got != `attachment; filename="labels.csv"` {
		t.Errorf("Content-Disposition = %q", got)
	}
	s.costs(before, total, 0)
	before = s.used()
	s.ask(http.MethodGet, "/explore/labels.csv?q=oak", "Sec-Fetch-Site: cross-site").shows(t, http.StatusOK,
		"up to 1,000", `href="/explore/labels.csv?q=oak"`)
	s.ask(http.MethodGet, "/explore/labels.csv?q=oak", "Sec-Fetch-Dest: image").shows(t, http.StatusForbidden)
	s.get("/explore/labels.csv?abv_min=strong").shows(t, http.StatusBadRequest)
	s.get("/explore/labels.csv?q=nosuchlabel").shows(t, http.StatusOK, "ttb_id,")
	s.costs(before, 0, 0)
	s.get("/explore?q=nosuchlabel").lacks(t, "labels.csv")
}

// TestRemovableFilters checks that a search without results links to searches that find some, in
// the same view.
func TestRemovableFilters(t *testing.T) {
	s := mustSite(t)
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 26_001_001_000_998, BrandName: "BYGONE", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		ApprovalDate: cola.NewDate(2026, time.March, 1),
	}})
	page := s.get("/explore?q=bygone&product_type=malt+beverage&view=gallery")
	page.shows(t, http.StatusOK, `class="empty"`)
	links := regexp.MustCompile(`filter</a>`).FindAllString(page.text, -1)
	hrefs := regexp.MustCompile(`</bdi> <a href="(/explore\?[^"]*)">Remove the`).FindAllStringSubmatch(page.text, -1)
	if page.total(t) != 0 || len(links) == 0 || len(hrefs) != len(links) {
		t.Fatalf("%d labels, %d links, want no labels and some links:\n%s", page.total(t), len(hrefs), page.body)
	}
	for _, href := range hrefs {
		if to := s.get(href[1]); to.total(t) == 0 || !strings.Contains(href[1], "view=gallery") {
			t.Errorf("%s finds no labels or loses the view", href[1])
		}
	}
}

func TestChips(t *testing.T) {
	s := mustSite(t)
	page := s.get("/explore?q=red&product_type=wine,malt+beverage&volume_min=1&volume_unit=liters&abv_max=14.5&approval_date_from=2010-01-01&derived_subcategory=Wine")
	for words, href := range map[string]string{
		"“red”":            "/explore?abv_max=14.5&approval_date_from=2010-01-01&derived_subcategory=Wine&product_type=wine&product_type=malt+beverage&volume_min=1&volume_unit=liters",
		"malt beverage":    "/explore?abv_max=14.5&approval_date_from=2010-01-01&derived_subcategory=Wine&product_type=wine&q=red&volume_min=1&volume_unit=liters",
		"at least 1 liter": "/explore?abv_max=14.5&approval_date_from=2010-01-01&derived_subcategory=Wine&product_type=wine&product_type=malt+beverage&q=red",
	} {
		page.shows(t, http.StatusOK, `href="`+href+`"><span class="unseen">Remove </span><bdi>`+words)
	}
	s.get("/explore?q=red").shows(t, http.StatusOK, `href="/explore"><span class="unseen">Remove </span><bdi>“red”`)
}

// TestCanonicalURL checks that submitting a form redirects to a URL without its empty fields.
func TestCanonicalURL(t *testing.T) {
	s := mustSite(t)
	for target, want := range map[string]string{
		"q=oak&brand_name=&abv_min=&volume_min=&volume_unit=milliliters": "/explore?q=oak",
		"q=&brand_name=": "/explore?q=",
		"q=&volume_min=700&volume_max=&volume_unit=milliliters":              "/explore?volume_min=700&volume_unit=milliliters",
		"q=&product_type=wine&product_type=malt+beverage&container_type=can": "/explore?container_type=can&product_type=wine&product_type=malt+beverage",
	} {
		if got := s.get("/explore?" + target).redirects(t); got != want {
			t.Errorf("%s redirects to %s, want %s", target, got, want)
		}
		s.get(want).shows(t, http.StatusOK)
	}
	s.get("/explore?q=").shows(t, http.StatusOK, "labels</h2>")
}

func TestExploreProblems(t *testing.T) {
	s := mustSite(t)
	for query, says := range map[string][]string{
		"abv_min=strong":                        {`value="strong"`, `href="#f-abv_min"`, "<details open>"},
		"volume_min=1":                          {`href="#f-volume_unit"`},
		"status=frozen":                         {`href="#f-status"`, `<option value="frozen" selected>`},
		"product_type=wine&product_type=juice":  {`href="#f-product_type"`, `"juice"`, `value="wine" checked`},
		"approval_date_from=31.5.2024":          {`href="#f-approval_date_from"`, `type="text"`, `value="31.5.2024"`},
		"page=0":                                {"<bdi>Page</bdi>"},
		"page=-1":                               {"<bdi>Page</bdi>"},
		"page=1000000000000":                    {"<bdi>Page</bdi>"},
		"page=99999999999999999999":             {"<bdi>Page</bdi>"},
		"per_page=101":                          {"<bdi>Labels per page</bdi>", "100"},
		"q=a&q=b":                               {`href="#f-q"`},
		"cursor=xyz":                            {"<bdi>Cursor</bdi>"},
		"q=a%00b":                               {`href="#f-q"`},
		"q=a%ff":                                {`href="#f-q"`},
		"q=%zz":                                 {"<bdi>URL</bdi>"},
		"q=" + strings.Repeat("x", 201):         {`href="#f-q"`, "200"},
		"q=" + strings.Repeat("x", 9000):        {"<bdi>URL</bdi>", "8192"},
		"q=a%00%3Cscript%3Ealert(1)%3C/script>": {`href="#f-q"`},
	} {
		page := s.get("/explore?" + strings.NewReplacer(" ", "+", "<", "%3C").Replace(query))
		page.shows(t, http.StatusBadRequest, append(says, `role="alert"`)...)
		page.checkHTML(t)
	}
	s.costs(cola.Used{}, 0, 0)
}

// TestExploreUnknownParameters checks that unknown parameters, such as campaign tags, are ignored,
// with a hint if the name resembles a filter.
func TestExploreUnknownParameters(t *testing.T) {
	s := mustSite(t)
	want := s.get("/explore?q=oak").total(t)
	before := s.used()
	for query, hint := range map[string]string{
		"q=oak&utm_source=x&utm_campaign=y&gclid=1": "", "q=oak&%3Cscript%3E=1": "",
		"q=oak&brandname=x": "Did you mean brand_name?", "Q=x&q=oak": "Did you mean q?",
	} {
		page := s.get("/explore?" + query)
		page.shows(t, http.StatusOK, hint)
		page.checkHTML(t)
		if page.total(t) != want || hint == "" && strings.Contains(page.body, "Ignored ") {
			t.Errorf("%s finds %d labels, want %d:\n%s", query, page.total(t), want, page.body)
		}
	}
	s.costs(before, 4*min(want, cola.DefaultPerPage), 0)
	before = s.used()
	for query, hint := range map[string]string{"utm_source=x": "", "brandname=x": "Did you mean brand_name?"} {
		s.get("/explore?"+query).shows(t, http.StatusOK, hint, `id="examples"`)
	}
	s.costs(before, 0, 0) // no filter given
	for _, path := range []string{
		"/", "/usage", "/keys", "/plans", "/saved-searches", "/saved-searches/new",
		"/destinations", "/deliveries",
	} {
		s.get(path+"?utm_source=x").shows(t, http.StatusOK)
	}
}

var noteLinkPattern = regexp.MustCompile(`</bdi> <a href="(/explore[^"]*)">Did you mean`)

// TestExploreNotes checks that the page says how an ambiguous origin was interpreted and why a
// search had no results, without naming API parameters, and links to the searches that notes
// suggest.
func TestExploreNotes(t *testing.T) {
	s := mustSite(t)
	s.get("/explore?origin=DE").shows(t, http.StatusOK, "Delaware", "DEU")
	s.get("/explore?origin=frrance&page=1&product_type=wine").shows(t, http.StatusOK,
		`No label is from "frrance".</bdi> <a href="/explore?origin=FRANCE&product_type=wine">`)
	s.registry.AddLabels(t, cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 15_001_001_000_998, BrandName: "BYGONE", ProductType: vocabulary.Wine, PermitNumber: "ZZ-I-9",
		ApprovalDate: cola.NewDate(2015, time.March, 1),
	}})
	page := s.get("/explore?q=bygone")
	page.shows(t, http.StatusOK, `1 older match:</bdi> <a href="/explore?date_range=all&q=bygone">show</a>`)
	page.lacks(t, "date_range to all")
	s.get("/explore?q=bygo&date_range=all").shows(t, http.StatusOK, `<a href="/explore?date_range=all&q=bygo%2A">`)
	misspelled := s.get("/explore?q=%22ByGoen%22+bygone&date_range=all")
	misspelled.shows(t, http.StatusOK, `<a href="/explore?date_range=all&q=%22bygone%22+bygone">`)
	misspelled.checkHTML(t)
	for _, link := range noteLinkPattern.FindAllStringSubmatch(misspelled.text, -1) {
		s.get(link[1]).shows(t, http.StatusOK, "1 label</h2>")
	}
}

func TestExplorePages(t *testing.T) {
	s := mustSite(t)
	next := regexp.MustCompile(`<a rel="next" href="([^"]*)"`)
	labelLink := regexp.MustCompile(`<h3><a href="/explore/([0-9]{14})"`)
	seen, pages := map[string]bool{}, 0
	to, total := "/explore?date_range=all", 0
	for to != "" {
		page := s.get(to)
		total = page.total(t)
		pages++
		for _, id := range labelLink.FindAllStringSubmatch(page.body, -1) {
			if seen[id[1]] {
				t.Errorf("%s appears twice", id[1])
			}
			seen[id[1]] = true
		}
		to = ""
		if found := next.FindStringSubmatch(page.text); found != nil {
			to = found[1]
		}
	}
	if len(seen) != total || pages != (total+19)/20 {
		t.Errorf("%d pages with %d labels, want %d labels", pages, len(seen), total)
	}
	s.costs(cola.Used{}, total, 0)
	s.get("/explore?date_range=all&page=100").shows(t, http.StatusOK, `href="/explore?date_range=all"`)
}

// TestSearchPager checks that paging continues by cursor after the last numbered page, and that the
// page after a truncated one starts with the omitted labels.
func TestSearchPager(t *testing.T) {
	p := cola.SearchParams{Q: "a", Page: cola.Some(100), Cursor: "old"}
	base := cola.Pagination{
		Mode:       "offset",
		Page:       100,
		PerPage:    20,
		Total:      5000,
		Pages:      250,
		HasMore:    true,
		NextCursor: "new",
	}
	for _, tt := range []struct {
		name string
		edit func(*cola.Pagination)
		cut  bool
		want pager
	}{
		{
			"last numbered page", func(*cola.Pagination) {}, false,
			pager{First: 1981, Last: 2000, Previous: "/explore?page=99&q=a", Next: "/explore?cursor=new&q=a"},
		},
		{
			"next-to-last numbered page", func(p *cola.Pagination) { p.Page = 99 }, false,
			pager{First: 1961, Last: 1980, Previous: "/explore?page=98&q=a", Next: "/explore?page=100&q=a"},
		},
		{
			"second page", func(p *cola.Pagination) { p.Page = 2 }, false,
			pager{First: 21, Last: 40, Previous: "/explore?q=a", Next: "/explore?page=3&q=a"},
		},
		{"truncated by quota", func(p *cola.Pagination) { p.Page = 2 }, true, pager{
			First:    21,
			Last:     40,
			Previous: "/explore?q=a",
			Next:     "/explore?cursor=new&q=a",
		}},
		{
			"by cursor", func(p *cola.Pagination) { p.Mode, p.Page = "cursor", 101 }, false,
			pager{Next: "/explore?cursor=new&q=a"},
		},
		{
			"last page", func(p *cola.Pagination) { p.HasMore, p.NextCursor = false, "" }, false,
			pager{First: 1981, Last: 2000, Previous: "/explore?page=99&q=a"},
		},
	} {
		pagination := base
		tt.edit(&pagination)
		pagination.TruncatedByQuota = tt.cut
		tt.want.Page, tt.want.Pages, tt.want.Total = pagination.Page, 250, 5000
		if diff := cmp.Diff(tt.want, searchPager(p, pagination, 20, exploreURL)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// useUp uses up the monthly quotas of an account, except for the given number of list records.
func (s *site) useUp(c cola.Caller, tier cola.Tier, left int) {
	s.t.Helper()
	limits := tier.Limits()
	s.registry.Charge(s.t, c, map[cola.Meter]int{
		cola.MeterDetailViews: limits.DetailViews, cola.MeterListRecords: limits.ListRecords - left,
	})
}

// TestUpgradeLink checks that the error for a search or label page links to the plans if a quota is
// used up, unless the account has the largest plan.
func TestUpgradeLink(t *testing.T) {
	s := mustSite(t)
	label := "/explore/" + cutOut(s.get("/explore?date_range=all").body, `<h3><a href="/explore/`, `"`)
	for email, tier := range map[string]cola.Tier{"free@example.com": cola.TierFree, "pro@example.com": cola.TierPro} {
		s.useUp(s.join(email, tier), tier, 0)
		for _, path := range []string{"/explore?date_range=all", label} {
			page := s.by(email).get(path)
			page.shows(t, http.StatusTooManyRequests, "Plan limit reached")
			page.checkHTML(t)
			if linked := strings.Contains(page.body, "Compare plans"); linked == tier.Largest() {
				t.Errorf("%s, %s: page has an upgrade link: %t", email, path, linked)
			}
		}
	}
}

// TestExploreAtLimits checks that a page is truncated to the remaining list records, and that the
// next one is rejected with a link to larger plans and keeps the input.
func TestExploreAtLimits(t *testing.T) {
	s := mustSite(t)
	c := s.join("free@example.com", cola.TierFree)
	free := s.by("free@example.com")
	s.useUp(c, cola.TierFree, 10)
	cut := free.get("/explore?date_range=all")
	cut.shows(t, http.StatusOK, `class="warning"`, "10 list records · 0 left", `href="/plans"`, "cursor=")
	cut.checkHTML(t)
	empty := free.get("/explore?date_range=all&q=red")
	empty.shows(t, http.StatusTooManyRequests, `href="/plans"`, `name="q" type="search" maxlength="200" value="red"`)
	empty.checkHTML(t)
	words := free.get("/explore?q=red")
	words.shows(t, http.StatusTooManyRequests)
	words.lacks(t, "<details open>")
	free.get("/explore?date_range=all&product_type=wine").shows(t, http.StatusTooManyRequests, "<details open>", `value="wine" checked`)
	free.get("/explore?date_range=all&sort=brand&view=gallery&per_page=5").shows(t, http.StatusTooManyRequests,
		`name="sort" value="brand"`, `name="view" value="gallery"`)
	free.get("/explore?q=nosuchlabel").shows(t, http.StatusOK, "No labels") // free
}

// TestPagesAndRateLimit checks that charged pages don't fill the plan's rate-limit window, and that
// they still open after API calls have filled it. API calls with the session (“Try it”) count like
// those with a key.
func TestPagesAndRateLimit(t *testing.T) {
	s := mustSite(t)
	c := s.join("free@example.com", cola.TierFree)
	free, key, limit := s.by("free@example.com"), s.registry.Key(t, c.Account, "script"), cola.TierFree.Limits().PerMinute
	session := c
	session.Channel = cola.ChannelREST // as set by httpapi.API.ServeAs
	label := "/explore/" + s.someLabel()
	browse := func() {
		t.Helper()
		before := free.used()
		for range limit + 1 {
			free.get(label).shows(t, http.StatusOK, "1 detail view")
		}
		free.get("/explore?date_range=all").shows(t, http.StatusOK)
		free.get("/explore/permittees?q=winery").shows(t, http.StatusOK)
		if got := free.used().DetailViews - before.DetailViews; got != limit+1 {
			t.Errorf("%d detail views were charged, want %d", got, limit+1)
		}
	}
	browse()
	for n := range limit {
		if _, err := s.registry.Admit(t.Context(), []cola.Caller{key, session}[n%2]); err != nil {
			t.Fatalf("API call %d: %v", n+1, err)
		}
	}
	for _, caller := range []cola.Caller{key, session} {
		if _, err := s.registry.Admit(t.Context(), caller); cola.CodeOf(err) != cola.CodeQuotaExceeded {
			t.Errorf("API call over the limit, by %s: error = %v, want quota_exceeded", caller.Credential.Kind, err)
		}
	}
	browse()
}

// TestBackCache checks that browsers may cache only charged pages, for the back button.
func TestBackCache(t *testing.T) {
	s := mustSite(t)
	id := s.someLabel()
	for target, cached := range map[string]bool{
		"/explore": false, "/explore?q=": true, "/explore?page=0": false, "/explore/" +
			id: true, "/explore/12345678901234": false, "/keys": false,
	} {
		got := s.get(target).Header
		want := "private, no-store"
		if cached {
			want = "private, no-cache"
		}
		if got.Get("Cache-Control") != want ||
			cached && !strings.Contains(strings.Join(got.Values("Vary"), ","), "Cookie") {
			t.Errorf("%s: Cache-Control %q, Vary %q; want %q", target, got.Get("Cache-Control"), got.Values("Vary"), want)
		}
	}
	if got := s.post("/sign-out", nil).Header.Get("Clear-Site-Data"); got != `"cache"` {
		t.Errorf("Clear-Site-Data = %q, want \"cache\"", got)
	}
}

// TestPrefetch checks that prefetching a page is free.
func TestPrefetch(t *testing.T) {
	s := mustSite(t)
	for _, target := range []string{"/explore?q=", "/explore/" + s.someLabel()} {
		before := s.used()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Purpose", "prefetch;prerender")
		s.send(r).shows(t, http.StatusForbidden)
		s.costs(before, 0, 0)
	}
}

// TestReadSearch checks that readQuery recovers any search that params.Query encodes.
func TestReadSearch(t *testing.T) {
	reader := params.New[cola.SearchParams]("a search")
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z0-9&=%+#;/ "'<>é\x00]{0,12}`)
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z&=%+]{1,8}`), 0, 3)
		number := rapid.OneOf(rapid.Just(cola.Opt[float64]{}),
			rapid.Map(rapid.Float64Range(0, 1e12), cola.Some[float64]))
		want := cola.SearchParams{
			Q: word.Draw(t, "q"), BrandName: word.Draw(t, "brand"), Origin: word.Draw(t,
				"origin"), DerivedSubcategory: word.Draw(t, "path"), PermitNumber: word.Draw(t, "permit"),
			ABVMin: number.Draw(t, "abv"), VolumeMax: number.Draw(t, "volume"), Status: word.Draw(t,
				"status"), Cursor: word.Draw(t, "cursor"),
			ApprovalDateFrom: cola.Date(rapid.IntRange(0, 800_000).Draw(t, "from")),
		}
		if some := words.Draw(t, "containers"); len(some) > 0 {
			want.ContainerType = some
		}
		if want.VolumeMax.OK {
			want.VolumeUnit = "liters"
		}
		got := readQuery(reader, params.Query(want).Encode()).params
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", params.Query(want).Encode(), diff)
		}
	})
}

// someLabel returns the ID of a label.
func (s *site) someLabel() string {
	s.t.Helper()
	page, _, err := s.registry.SearchColas(s.t.Context(), s.browsers.callers[ann],
		cola.SearchParams{DateRange: cola.AllDates})
	if err != nil || len(page.Colas) == 0 {
		s.t.Fatalf("search found %d labels, %v; want at least 1", len(page.Colas), err)
	}
	return page.Colas[0].TTBID.String()
}
