package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// addBrands adds brands similar to QUOKKA to the registry, one with hostile text.
func (s *site) addBrands() {
	s.t.Helper()
	var labels []cola.Cola
	for i, name := range []string{
		"QUOKKA", "Quokka", "QUOKA", "QUOKKA RIDGE", `QUOKKA <script>alert(1)</script>"'&`, "RED QUOKKA",
	} {
		labels = append(labels, cola.Cola{ColaSummary: cola.ColaSummary{
			TTBID: cola.TTBID(26_001_001_000_900 + i), BrandName: name, ProductType: "wine", PermitNumber: "ZZ-I-9",
			ApprovalDate: cola.NewDate(2015+i, 3, 1), ApplicationStatus: []cola.Text{"approved", "expired"}[i%2],
		}})
	}
	s.registry.AddLabels(s.t, labels...)
}

// TestCheckName checks the report for a name and its charge.
func TestCheckName(t *testing.T) {
	s := mustSite(t)
	s.addBrands()
	form := s.get("/brands?utm_source=x")
	form.shows(t, http.StatusOK, `name="q"`, `data-suggest="brand"`)
	form.checkHTML(t)
	s.costs(cola.Used{}, 0, 0)
	page := s.get("/brands?q=Quokka")
	page.checkHTML(t)
	s.costs(cola.Used{}, 5, 0)
	page.shows(t, http.StatusOK, "<title>Quokka · Check a name", "<dt>Brands</dt><dd>5, highest score first", "1 approved, 1 expired", "Sounds similar",
		`<a href="/explore/26001001000901">`, `href="/explore/permittees/ZZ-I-9"`, "data-print",
		`<a href="/explore?brand_name=%22QUOKA%22&date_range=all">`, `href="/saved-searches/new?brand_name=%22QUOKA%22"`,
		"https://registry.example/api/v1/brands?q=Quokka'", `"check_brand", "arguments": {"q":"Quokka"}`)
	s.get("/brands?q=Quokka&product_type=wine&min_score=100&strategies=exact").shows(t, http.StatusOK, "<dt>Brands</dt><dd>1</dd>",
		`value="wine" checked`, "<dt>Minimum score</dt><dd>100", "<dt>Similarity</dt><dd>Identical", "<details open>",
		`href="/saved-searches/new?brand_name=%22QUOKKA%22&product_type=wine"`)
	before := s.used()
	none := s.get("/brands?q=xylozzq+estate")
	none.shows(t, http.StatusOK, `class="empty"`, `class="cost">Free`, "<dt>Brands</dt><dd>0",
		`<a href="/explore?brand_name=xylozzq+estate&date_range=all">`)
	none.checkHTML(t)
	none.lacks(t, "search brand_name")
	s.costs(before, 0, 0)
	if to := s.get("/brands?q=Quokka&min_score=&product_type=").redirects(t); to != "/brands?q=Quokka" {
		t.Errorf("redirect to %s, want /brands?q=Quokka", to)
	}
	s.by("").get("/brands?q=Quokka").redirects(t)
}

// TestBrandLinks checks that each row's link finds as many labels as the row shows.
func TestBrandLinks(t *testing.T) {
	s := mustSite(t)
	s.addBrands()
	page := s.get("/brands?q=Quokka")
	links := regexp.MustCompile(`(?s)<a href="(/explore\?brand_name=[^"]*)"><bdi>.*?data-label="Labels">(\d+)<`).
		FindAllStringSubmatch(page.text, -1)
	if len(links) != 5 {
		t.Fatalf("%d links, want 5:\n%s", len(links), page.body)
	}
	for _, link := range links {
		if n := s.get(link[1]).total(t); strconv.Itoa(n) != link[2] {
			t.Errorf("%s finds %d labels, want %s", link[1], n, link[2])
		}
	}
}

// TestBrandPages checks that each brand appears once across the pages of a report.
func TestBrandPages(t *testing.T) {
	s := mustSite(t)
	s.addBrands()
	seen := map[string]bool{}
	for to := "/brands?per_page=2&q=Quokka"; to != ""; {
		page := s.get(to)
		page.checkHTML(t)
		for _, row := range regexp.MustCompile(`rowheader"><a href="[^"]*"><bdi>([^<]*)<`).FindAllStringSubmatch(page.body, -1) {
			if seen[row[1]] {
				t.Errorf("%s appears twice", row[1])
			}
			seen[row[1]] = true
		}
		to = ""
		if next := regexp.MustCompile(`<a rel="next" href="([^"]*)"`).FindStringSubmatch(page.text); next != nil {
			to = next[1]
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d brands, want 5: %v", len(seen), seen)
	}
	s.get("/brands?page=9&q=Quokka").shows(t, http.StatusOK, `<a href="/brands?q=Quokka">`)
}

// TestBrandProblems checks that an error links to the field of an invalid parameter, and that
// nothing is charged.
func TestBrandProblems(t *testing.T) {
	s := mustSite(t)
	for query, says := range map[string]string{
		"q=%26":                          `href="#f-q"`,
		"q=" + strings.Repeat("x", 101):  `href="#f-q"`,
		"q=a&product_type=juice":         `href="#f-product_type"`,
		"q=a&strategies=rhyme":           `href="#f-strategies"`,
		"q=a&min_score=101":              `href="#f-min_score"`,
		"q=a&per_page=100":               "maximum here is 20",
		"min_score=60":                   `href="#f-q"`,
		"q=%zz":                          "<bdi>URL</bdi>",
		"q=a%00<script>alert(1)</script": `href="#f-q"`,
	} {
		page := s.get("/brands?" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(query))
		page.shows(t, http.StatusBadRequest, says)
		page.checkHTML(t)
	}
	s.costs(cola.Used{}, 0, 0)
}

// TestTruncatedReport checks a report that uses up the month's list records.
func TestTruncatedReport(t *testing.T) {
	s := mustSite(t)
	s.addBrands()
	for email, tier := range map[string]cola.Tier{"free@example.com": cola.TierFree, "pro@example.com": cola.TierPro} {
		s.useUp(s.join(email, tier), tier, 2)
		page := s.by(email).get("/brands?q=Quokka")
		page.shows(t, http.StatusOK, "1 to 2 of 5")
		page.checkHTML(t)
		if linked := strings.Contains(page.body, "Compare plans"); linked == tier.Largest() {
			t.Errorf("%s: page has a link to the plans: %t", email, linked)
		}
	}
}

// TestExploreToReports checks the links from a search to its chart and to a check of its brand.
func TestExploreToReports(t *testing.T) {
	s := mustSite(t)
	s.get("/explore?brand_name=oak&sort=brand").shows(t, http.StatusOK, `href="/brands?q=oak"`,
		`href="/trends?brand_name=oak&group_by=month"`)
	page := s.get("/explore?date_range=all&product_type=wine")
	page.shows(t, http.StatusOK, `href="/trends?date_range=all&group_by=year&product_type=wine"`)
	page.lacks(t, `href="/brands?`)
	s.get("/explore").shows(t, http.StatusOK, `<a href="/brands">`, `<a href="/trends">`)
}

var shownCount = regexp.MustCompile(`<p>([0-9,]+) labels?[ .]`)

// counted returns the total shown on the Trends page.
func (a response) counted(t *testing.T) int {
	t.Helper()
	found := shownCount.FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("status = %d, want a total:\n%s", a.StatusCode, a.body)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// csvOf returns the rows of the page's CSV.
func (a response) csvOf(t *testing.T) (rows []string) {
	t.Helper()
	found := regexp.MustCompile(`href="data:text/csv;charset=utf-8,([^"]*)" download="[a-z-]+\.csv"`).FindStringSubmatch(a.text)
	if found == nil {
		t.Fatalf("page has no CSV:\n%s", a.body)
	}
	text, err := url.PathUnescape(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
}
