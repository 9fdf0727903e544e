package main

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// getPage requests a page with the given headers, including Host.
func getPage(t *testing.T, c *http.Client, url string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Host = header.Get("Host")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, resp)
}

// TestLandingPage checks that visitors get the landing page until they sign in, and that links to
// other pages still lead to sign-in.
func TestLandingPage(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	s := startServer(t, h, "--site-name", "Label desk", "--contact", "ops@example.com")
	root, b := strings.TrimSuffix(s.base, "/api/v1"), visitor(t)
	a := getPage(t, b, root+"/", http.Header{"Host": {"evil.example"}, "X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"https"}})
	page := strings.ReplaceAll(string(a.body), "<wbr>", "") // where URLs may break
	for _, must := range []string{
		"<title>Label desk · US alcohol label search and API</title>", `id="newest"`, `id="try"`, `id="assistants"`, `id="plans"`, "mailto:ops@example.com",
		"4,000", `<link rel="canonical" href="` + root + `/">`, root + "/mcp",
	} {
		if !strings.Contains(page, must) {
			t.Errorf("page lacks %s", must)
		}
	}
	if a.StatusCode != http.StatusOK || strings.Contains(page, "evil.example") || a.Header.Get("X-Robots-Tag") != "" {
		t.Errorf("status %d, headers %v; want an indexable page without the hostile host", a.StatusCode, a.Header)
	}
	if len(page) > 60_000 {
		t.Errorf("page has %d bytes, want at most 60,000", len(page))
	}
	checkPictures(t, b, root, page)
	if deepLink := getPage(t, b, root+"/usage", nil); deepLink.StatusCode != http.StatusSeeOther || deepLink.Header.Get("Location") != "/sign-in?return=%2Fusage" {
		t.Errorf("deep link: status %d to %s, want 303 to sign-in", deepLink.StatusCode, deepLink.Header.Get("Location"))
	}
	link := strings.TrimSpace(mustRun(t, append([]string{"account", "link", "--account", demoEmail, "--public-url", root}, h.flags()...)...))
	browse(t, b, http.MethodPost, link)
	signedIn := getPage(t, b, root+"/", nil)
	if !strings.Contains(string(signedIn.body), "<title>Overview · Label desk</title>") || signedIn.Header.Get("X-Robots-Tag") == "" {
		t.Errorf("signed in: status %d; want the overview, not indexable", signedIn.StatusCode)
	}
	ended := visitor(t)
	if a := getPage(t, ended, root+"/", http.Header{"Cookie": {"colaregistry-session=ended"}}); !strings.Contains(string(a.body), `id="plans"`) {
		t.Errorf("ended session: status %d, want the landing page", a.StatusCode)
	}
}

// checkPictures checks that the label images load and stay small in total.
func checkPictures(t *testing.T, b *http.Client, root, page string) {
	t.Helper()
	pictures := regexp.MustCompile(`<li>(?:<a [^>]*>|<div>)<img src="(/images/[^"]+)"`).FindAllStringSubmatch(page, -1)
	bytes := 0
	for _, m := range pictures {
		a := getPage(t, b, root+html.UnescapeString(m[1]), nil)
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "image/") {
			t.Errorf("%s: status %d, %s; want an image", m[1], a.StatusCode, a.Header.Get("Content-Type"))
		}
		bytes += len(a.body)
	}
	if len(pictures) != 8 || bytes > 400_000 {
		t.Errorf("%d images with %d bytes, want 8 with at most 400,000", len(pictures), bytes)
	}
}

// TestSampleCalls checks that the sample calls are free and return the same responses as the calls
// shown next to them, which need a key.
func TestSampleCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t))
	root := strings.TrimSuffix(s.base, "/api/v1")
	page := string(getPage(t, http.DefaultClient, root+"/", nil).body)
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
	calls := regexp.MustCompile(`"`+regexp.QuoteMeta(s.base)+`([^"]+)"`).FindAllStringSubmatch(text, -1)
	if len(calls) != 3 {
		t.Fatalf("the page has %d calls, want 3", len(calls))
	}
	var samples []string
	for _, name := range []string{"search", "brand", "count"} {
		sample := getPage(t, http.DefaultClient, root+"/site/samples/"+name, nil)
		if sample.StatusCode != http.StatusOK || sample.Header.Get("Content-Type") != "application/json" {
			t.Errorf("sample %s: status %d, %s", name, sample.StatusCode, sample.Header.Get("Content-Type"))
		}
		samples = append(samples, string(sample.body))
	}
	if used := s.get(t, "/usage", s.key).at("data", "list_records", "used"); used != 0.0 {
		t.Errorf("%v list records used, want 0", used)
	}
	for i, call := range calls {
		got := getPage(t, http.DefaultClient, s.base+call[1], http.Header{"X-Api-Key": {s.key}})
		if string(got.body) != samples[i] {
			t.Errorf("%s: sample %s, API %s", call[1], samples[i], got.body)
		}
	}
}

// TestClosedServer checks that a server where only the operator creates accounts says so, and that
// a public server warns if its pages name no contact.
func TestClosedServer(t *testing.T) {
	t.Parallel()
	const public, contact = "--public-url=http://registry.example", "--contact=ops@example.com"
	h := seeded(t)
	for args, warns := range map[string]bool{"": false, public: true, public + " " + contact: false} {
		s := startServer(t, h, strings.Fields(args)...)
		if strings.Contains(s.err.String(), "set --contact") != warns {
			t.Errorf("serve %s warns: %t, want %t", args, !warns, warns)
		}
		s.kill()
	}
	for args, ask := range map[string]string{"": "Ask them for one.", contact: `<a href="mailto:ops@example.com">Ask them</a> for one.`} {
		s := startServer(t, h, strings.Fields(args)...)
		for _, path := range []string{"/", "/plans"} {
			page := string(getPage(t, http.DefaultClient, s.root()+path, nil).body)
			if !strings.Contains(page, "Accounts on this server are created by its operator. "+ask) {
				t.Errorf("serve %s: %s doesn't say who creates accounts", args, path)
			}
		}
		s.kill()
	}
}

// TestCrawlers checks the files for crawlers: the sitemap lists the public pages, all of which may
// be indexed, and the dashboard's pages may not be.
func TestCrawlers(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t))
	root, b := strings.TrimSuffix(s.base, "/api/v1"), visitor(t)
	robots := getPage(t, b, root+"/robots.txt", nil)
	rules := strings.Split(string(robots.body), "\n")
	for _, must := range []string{"Allow: /$", "Allow: /docs", "Allow: /plans$", "Allow: /privacy$", "Disallow: /", "Sitemap: " + root + "/sitemap.xml"} {
		if !slices.Contains(rules, must) {
			t.Errorf("robots.txt lacks %q", must)
		}
	}
	sitemap := getPage(t, b, root+"/sitemap.xml", http.Header{"Host": {"evil.example"}})
	var paths []string
	for _, m := range regexp.MustCompile(`<loc>([^<]*)</loc>`).FindAllStringSubmatch(string(sitemap.body), -1) {
		path, ours := strings.CutPrefix(html.UnescapeString(m[1]), root)
		page := getPage(t, b, m[1], nil)
		if !ours || page.StatusCode != http.StatusOK || page.Header.Get("X-Robots-Tag") != "" || strings.Contains(string(page.body), `name="robots"`) {
			t.Errorf("%s: status %d, X-Robots-Tag %q; want an indexable page of this site", m[1], page.StatusCode, page.Header.Get("X-Robots-Tag"))
		}
		paths = append(paths, path)
	}
	for _, must := range []string{"/", "/plans", "/privacy", "/docs", "/docs/quickstart", "/docs/reference"} {
		if !slices.Contains(paths, must) {
			t.Errorf("the sitemap lacks %s", must)
		}
	}
	for _, path := range []string{"/sign-in", "/usage", "/docs/find?q=label"} {
		if page := getPage(t, b, root+path, nil); page.Header.Get("X-Robots-Tag") == "" {
			t.Errorf("%s may be indexed", path)
		}
	}
	icon := getPage(t, b, root+"/favicon.ico", nil)
	if icon.StatusCode != http.StatusOK || http.DetectContentType(icon.body) != "image/png" {
		t.Errorf("favicon: status %d, %s; want a PNG", icon.StatusCode, http.DetectContentType(icon.body))
	}
}

// TestSiteName checks that the operator's name for the service appears wherever the service
// introduces itself, escaped as the format requires.
func TestSiteName(t *testing.T) {
	t.Parallel()
	const name = `Ann & Bob’s "Labels" <Desk>`
	h := seeded(t)
	s := startServer(t, h, "--site-name", name)
	root := strings.TrimSuffix(s.base, "/api/v1")
	for path, want := range map[string]string{
		"/llms.txt":            "# " + name + "\n",
		"/api/v1/openapi.json": "",
		"/mcp/server-card":     "",
		"/mcp/server.json":     "",
		"/privacy":             "<title>Privacy · Ann &amp; Bob’s &#34;Labels&#34; &lt;Desk&gt;</title>",
		"/confirm/unknown":     " · Ann &amp; Bob’s &#34;Labels&#34; &lt;Desk&gt;</title>",
		"/docs":                "<title>Documentation · Ann &amp; Bob’s &#34;Labels&#34; &lt;Desk&gt;</title>",
	} {
		body := getPage(t, visitor(t), root+path, nil).body
		if want != "" {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s lacks %s", path, want)
			}
			continue
		}
		var got struct {
			Title string
			Info  struct{ Title string }
		}
		if err := json.Unmarshal(body, &got); err != nil || got.Title+got.Info.Title != name {
			t.Errorf("%s has the title %q, %v", path, got.Title+got.Info.Title, err)
		}
	}
}

// TestInvalidSiteName checks that names that would break headers or hide text are rejected.
func TestInvalidSiteName(t *testing.T) {
	for _, name := range []string{"", " ", "a\nBcc: b@example.com", "a\u202eb", "a\u200b", strings.Repeat("n", 61)} {
		f := siteFlags{SiteName: name}
		if f.checkSiteName() == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	f := siteFlags{SiteName: strings.Repeat("é", 60)}
	if err := f.checkSiteName(); err != nil {
		t.Error(err)
	}
}

// TestLegalLinks checks that --terms-url and --privacy-url are linked from public pages and from
// the dashboard.
func TestLegalLinks(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t), "--terms-url", "https://example.com/terms?v=2&x=1", "--privacy-url", "https://example.com/privacy",
		"--source-url", "https://example.com/source")
	for _, path := range []string{"/", "/docs", "/sign-in"} {
		page := getPage(t, http.DefaultClient, strings.TrimSuffix(s.base, "/api/v1")+path, nil)
		for _, link := range []string{`href="https://example.com/terms?v=2&x=1">Terms<`, `href="https://example.com/privacy">Privacy<`, `href="https://example.com/source">Source<`} {
			if !strings.Contains(html.UnescapeString(string(page.body)), link) {
				t.Errorf("%s lacks %s", path, link)
			}
		}
	}
	for _, flag := range []string{"--terms-url", "--privacy-url", "--source-url"} {
		for _, invalid := range []string{"javascript:alert(1)", "example.com/terms", "/terms"} {
			var errs strings.Builder
			p := program{args: []string{"serve", "--data-dir", t.TempDir(), flag, invalid}, stdout: &errs, stderr: &errs}
			if code := p.run(t.Context()); code != exitUsage || !strings.Contains(errs.String(), flag) {
				t.Errorf("%s %s: exit code %d, want %d: %s", flag, invalid, code, exitUsage, &errs)
			}
		}
	}
}
