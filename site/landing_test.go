package site

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// samples is a Service that returns fixed samples.
type samples struct {
	m   *registry.Samples
	err error
}

func (s samples) Samples(context.Context) (*registry.Samples, error) { return s.m, s.err }

var testNow = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// newTestSite returns a site with a frozen clock.
func newTestSite(svc Service) *Site {
	return New(Options{
		PublicURL: registrytest.PublicURL, Reference: newAPI().Reference, Service: svc, Operator: web.Operator{Contact: "ops@example.com"},
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return testNow },
	})
}

// get requests a page from the given client address.
func get(h http.Handler, path, client string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
	h.ServeHTTP(w, r.WithContext(cola.WithClient(r.Context(), netip.MustParseAddr(client))))
	return w
}

// sections returns the IDs of a page's headings.
func sections(page string) (ids []string) {
	for _, m := range regexp.MustCompile(`<h2 id="(\w+)"`).FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// TestLanding checks the sections of the landing page with all samples, without images, without
// sample calls, for an empty registry, and while there are no samples.
func TestLanding(t *testing.T) {
	full, err := registrytest.New(t).Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain := *full
	plain.Labels = nil
	noCalls := *full
	noCalls.Calls, noCalls.Colas, noCalls.Brands, noCalls.Counts = registry.SampleCalls{}, registry.ColaPage{}, registry.BrandPage{}, registry.ColaCounts{}
	for name, tt := range map[string]struct {
		svc    Service
		images int
		want   string
		number bool
		note   string
	}{
		"all":       {samples{m: full}, 9, "newest try assistants uses plans", true, ""},
		"no images": {samples{m: &plain}, 0, "try assistants uses plans", true, ""},
		"no calls":  {samples{m: &noCalls}, 9, "newest uses plans", true, ""},
		"no labels": {samples{m: &registry.Samples{}}, 0, "try uses plans", false, "empty"},
		"starting":  {samples{err: cola.Unavailable()}, 0, "try uses plans", false, "starting"},
		"failing":   {samples{err: errors.New("broken")}, 0, "try uses plans", false, "starting"},
	} {
		t.Run(name, func(t *testing.T) {
			w := get(newTestSite(tt.svc).Landing, "/", "192.0.2.1")
			page := w.Body.String()
			if got := strings.Join(sections(page), " "); w.Code != http.StatusOK || got != tt.want {
				t.Errorf("status %d, sections %s; want 200, %s", w.Code, got, tt.want)
			}
			if n := strings.Count(page, `<img src="/images/`); n != tt.images {
				t.Errorf("%d images, want %d", n, tt.images)
			}
			for _, note := range []string{"empty", "starting"} {
				if shown := strings.Contains(page, `class="band note `+note+`"`); shown != (note == tt.note) {
					t.Errorf("page has the note %s: %t, want %t", note, shown, !shown)
				}
			}
			if example := strings.Contains(page, `class="call documented"`); example == tt.number {
				t.Errorf("page has the documentation's example: %t, want %t", example, !example)
			}
			if strings.Contains(page, `class="numbers"`) != tt.number {
				t.Errorf("page has numbers: %t, want %t", !tt.number, tt.number)
			}
			for _, must := range []string{
				`href="/docs/quickstart"`, `href="/sign-in"`, "<strong>1,000,000</strong> list records", "mailto:ops@example.com",
				`<link rel="canonical" href="https://registry.example/">`, `content="https://registry.example/site/`,
			} {
				if !strings.Contains(page, must) {
					t.Errorf("page lacks %s", must)
				}
			}
			if robots, cache := w.Header().Get("X-Robots-Tag"), w.Header().Get("Cache-Control"); robots != "" || !strings.Contains(cache, "private") {
				t.Errorf("X-Robots-Tag %q, Cache-Control %q; want an indexable page that proxies don't share", robots, cache)
			}
		})
	}
}

// TestLandingQueries checks that the examples name the queries of the sample calls.
func TestLandingQueries(t *testing.T) {
	full, err := registrytest.New(t).Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := *full
	shown.Brands.Brands = []cola.BrandMatch{{BrandName: "VALE", Similarity: cola.SimilarOneEdit}}
	page := get(newTestSite(samples{m: &shown}).Landing, "/", "192.0.2.1").Body.String()
	checked, counted := full.Calls.Check.Q, full.Calls.Count.Q
	for _, text := range []string{
		"Labels that mention “" + full.Calls.Search.Q + "”", "sound like “" + checked + "”", "a brand called “" + checked + "”",
		"<span>" + checked + "</span>", "How many labels mention “" + counted + "”,", `"Labels that mention “` + counted + "” by year:",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("page lacks %q", text)
		}
	}
}

// TestLandingWithoutLabels checks that a server without labels links to the import guide only if it
// runs on the reader's own machine.
func TestLandingWithoutLabels(t *testing.T) {
	for publicURL, link := range map[string]bool{"http://127.0.0.1:8080": true, "https://labels.example": false} {
		page := get(New(Options{PublicURL: publicURL, Service: samples{m: &registry.Samples{}}}).Landing, "/", "192.0.2.1").Body.String()
		if strings.Contains(page, `href="/docs/import"`) != link {
			t.Errorf("%s: page links to the import guide: %t, want %t", publicURL, !link, link)
		}
	}
}

// TestLandingExample checks that the example call matches its description and has a response. It
// has no button, because there is nothing to run it against.
func TestLandingExample(t *testing.T) {
	page := get(newTestSite(samples{}).Landing, "/", "192.0.2.1").Body.String()
	_, example, _ := strings.Cut(page, `class="call documented"`)
	example, _, _ = strings.Cut(example, "</section>")
	root, err := html.Parse(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	text := shownText(root)
	for _, part := range []string{"/api/v1/colas?q=oak&product_type=wine", `"brand_name": "RAVEN & OAK"`} {
		if !strings.Contains(text, part) {
			t.Errorf("example lacks %s: %s", part, text)
		}
	}
	if strings.Contains(example, "data-sample") {
		t.Error("example has a button")
	}
}

// TestLandingBrand checks that the page compares the checked name with the most similar other name.
func TestLandingBrand(t *testing.T) {
	same, similar := cola.BrandMatch{BrandName: "VALLE", Similarity: cola.SimilarExact}, cola.BrandMatch{BrandName: "VALE", Similarity: cola.SimilarOneEdit}
	for _, tt := range []struct{ brands, want []cola.BrandMatch }{
		{[]cola.BrandMatch{same, similar}, []cola.BrandMatch{same, similar}}, {[]cola.BrandMatch{similar}, []cola.BrandMatch{similar, similar}},
		{[]cola.BrandMatch{same}, []cola.BrandMatch{same}}, {nil, nil},
	} {
		var p landingPage
		p.addExamples(&registry.Samples{Brands: registry.BrandPage{Brands: tt.brands}})
		var got []cola.BrandMatch
		for _, b := range []*cola.BrandMatch{p.Brand, p.Similar} {
			if b != nil {
				got = append(got, *b)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("brands (-want +got):\n%s", diff)
		}
	}
}

// TestLandingNumbers checks the shares and the oldest year, with and without labels.
func TestLandingNumbers(t *testing.T) {
	var p, empty landingPage
	p.addNumbers(&cola.Coverage{
		CoverageCounts: cola.CoverageCounts{Labels: 1000, WithImages: 999, WithBarcodes: 9}, Years: []cola.YearCoverage{{Year: 2026}, {Year: 2005}},
	})
	if want := []share{{"With images", 99}}; !slices.Equal(p.Shares, want) || p.Since != 2005 {
		t.Errorf("shares %v since %d, want %v since 2005", p.Shares, p.Since, want)
	}
	empty.addNumbers(&cola.Coverage{})
	if empty.Shares != nil || empty.Since != 0 {
		t.Errorf("without labels: %+v", empty)
	}
}

// TestNewBars checks that bars are in order of year and that labels without a year have none.
func TestNewBars(t *testing.T) {
	year := func(y string) cola.Opt[cola.Text] { return cola.Some(cola.Text(y)) }
	bars := newBars([]cola.LabelGroup{{Year: year("2025"), Count: 10}, {Count: 99}, {Year: year("2024"), Count: 5}, {Year: year("2023")}})
	want := []bar{
		{Year: "2023", X: 6, Y: 77, Height: 1, Middle: 20}, {Year: "2024", Colas: 5, X: 46, Y: 41, Height: 37, Middle: 60},
		{Year: "2025", Colas: 10, X: 86, Y: 4, Height: 74, Middle: 100},
	}
	if diff := cmp.Diff(want, bars); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
}

// TestLandingSignUp checks that the page offers an account only if visitors can create one.
func TestLandingSignUp(t *testing.T) {
	for _, signUp := range []bool{false, true} {
		page := get(New(Options{Service: samples{}, SignUp: signUp}).Landing, "/", "192.0.2.1").Body.String()
		if strings.Contains(page, "Create account") != signUp {
			t.Errorf("with SignUp %t: page offers an account: %t", signUp, !signUp)
		}
	}
}

// TestSitemapDates checks that the sitemap has dates only if the date of the program's source is
// known.
func TestSitemapDates(t *testing.T) {
	for built, want := range map[time.Time]string{{}: "/docs</loc></url>", time.Date(2026, 5, 4, 23, 0, 0, 0, time.UTC): "/docs</loc><lastmod>2026-05-04</lastmod></url>"} {
		if got := get(New(Options{Service: samples{}, Built: built}), "/sitemap.xml", "192.0.2.1").Body.String(); !strings.Contains(got, want) {
			t.Errorf("built %v: sitemap lacks %s", built, want)
		}
	}
}

// TestLandingClosed checks that the page says who creates accounts if and only if visitors can't.
func TestLandingClosed(t *testing.T) {
	for _, closed := range []bool{false, true} {
		page := get(New(Options{Service: samples{}, Closed: closed}).Landing, "/", "192.0.2.1").Body.String()
		if strings.Contains(page, `class="closed"`) != closed {
			t.Errorf("with Closed %t: page says so: %t", closed, !closed)
		}
	}
}

// TestLandingPlans checks the targets of the plans' buttons: sign-up if visitors can get the plan
// themselves, and otherwise the operator's contact.
func TestLandingPlans(t *testing.T) {
	button := regexp.MustCompile(`<a class="button[^"]*" href="([^"]+)">[^<]+<span class="unseen"> for (\w+)</span>`)
	const create, choose, write = "/sign-in", "/sign-in?return=%2Fplans", "mailto:ops@example.com"
	for _, tt := range []struct {
		signUp, billing bool
		contact         string
		want            map[string]string
	}{
		{false, true, "ops@example.com", map[string]string{}},
		{true, true, "ops@example.com", map[string]string{"Free": create, "Starter": choose, "Pro": choose}},
		{true, false, "ops@example.com", map[string]string{"Free": create, "Starter": write, "Pro": write}},
		{true, false, "", map[string]string{"Free": create}},
	} {
		o := Options{Service: samples{}, SignUp: tt.signUp, Billing: tt.billing, Operator: web.Operator{Contact: tt.contact}}
		got := map[string]string{}
		for _, m := range button.FindAllStringSubmatch(get(New(o).Landing, "/", "192.0.2.1").Body.String(), -1) {
			got[m[2]] = m[1]
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("SignUp %t, Billing %t, contact %q (-want +got):\n%s", tt.signUp, tt.billing, tt.contact, diff)
		}
	}
}

// TestLandingDemo checks that the page doesn't present demo labels as real ones.
func TestLandingDemo(t *testing.T) {
	m, err := registrytest.New(t).Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, demo := range []bool{false, true} {
		page := get(New(Options{Demo: demo, Service: samples{m: m}, Logger: slog.New(slog.DiscardHandler)}).Landing, "/", "192.0.2.1").Body.String()
		if strings.Contains(page, `class="demo"`) != demo || strings.Contains(page, "Public records") == demo {
			t.Errorf("with Demo %t: page is marked as a demo: %t", demo, !demo)
		}
	}
}

// TestLandingPageReuse checks that the page is rendered again only for new samples.
func TestLandingPageReuse(t *testing.T) {
	svc := &samples{m: &registry.Samples{}}
	s := newTestSite(svc)
	first := get(s.Landing, "/", "192.0.2.1").Header().Get("Etag")
	svc.m = &registry.Samples{Coverage: cola.Coverage{CoverageCounts: cola.CoverageCounts{Labels: 7}}}
	changed := get(s.Landing, "/", "192.0.2.1").Header().Get("Etag")
	if last := get(s.Landing, "/", "192.0.2.1").Header().Get("Etag"); first == changed || last != changed {
		t.Errorf("tags %s, %s, %s; want a change for new samples only", first, changed, last)
	}
}

// TestLandingLinks checks that every link from the landing page to the documentation leads to a
// page and a heading.
func TestLandingLinks(t *testing.T) {
	m, err := registrytest.New(t).Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := newTestSite(samples{m: m})
	links := regexp.MustCompile(`href="(/docs[^"#]*)(?:#([^"]+))?"`)
	found := links.FindAllStringSubmatch(get(s.Landing, "/", "192.0.2.1").Body.String(), -1)
	if len(found) < 10 {
		t.Fatalf("found %d links to the documentation", len(found))
	}
	for _, m := range found {
		w := get(s, m[1], "192.0.2.1")
		if w.Code != http.StatusOK || m[2] != "" && !strings.Contains(w.Body.String(), `id="`+m[2]+`"`) {
			t.Errorf("link to %s#%s: status %d or no such heading", m[1], m[2], w.Code)
		}
	}
}

// TestSampleLimit checks that sample calls are limited per client network, and that unknown samples
// return 404.
func TestSampleLimit(t *testing.T) {
	full, err := registrytest.New(t).Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := newTestSite(samples{m: full})
	for i := range sampleBurst {
		if w := get(s, "/site/samples/count", "2001:db8::1"); w.Code != http.StatusOK || w.Header().Get("X-Robots-Tag") == "" {
			t.Fatalf("call %d: status %d, headers %v", i, w.Code, w.Header())
		}
	}
	if w := get(s, "/site/samples/count", "2001:db8::2"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("beyond the limit: status %d, want 429 with Retry-After", w.Code)
	}
	for path, status := range map[string]int{"/site/samples/brand?q=other": 200, "/site/samples/other": 404, "/site/samples/": 404} {
		if w := get(s, path, "192.0.2.1"); w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
	for _, svc := range []samples{{err: cola.Unavailable()}, {m: &registry.Samples{}}} {
		if w := get(newTestSite(svc), "/site/samples/count", "192.0.2.1"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("without samples: status %d, want 503", w.Code)
		}
	}
}
