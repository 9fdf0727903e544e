package site

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// paths returns the paths of the results, best first.
func (f found) paths() (paths []string) {
	for _, r := range f.Results {
		paths = append(paths, r.Path)
	}
	return paths
}

// TestFind checks that the documentation's guides, operations, parameters, objects and tools are
// found.
func TestFind(t *testing.T) {
	s := newTestServer()
	for query, want := range map[string]string{
		"pagination": docsPath + "/pagination", "search labels": referencePath + "/labels#searchColas",
		"per_page": referencePath + "/labels#searchColas.per_page", "container_position": referencePath + "/objects/labels#Image",
		"get_permittee": toolsPath + "/permittees#get_permittee",
	} {
		if paths := s.search.find(query, maxResults).paths(); !slices.Contains(paths[:min(3, len(paths))], want) {
			t.Errorf("%q finds %q, want %s among the first three", query, paths, want)
		}
	}
	for _, query := range []string{"", "   ", "xyzzyplugh", "…", "'"} {
		if f := s.search.find(query, maxResults); f.Results != nil {
			t.Errorf("%q finds %q", query, f.paths())
		}
	}
	if n := len(s.search.find("label", maxResults).Results); n != maxResults {
		t.Errorf("a frequent word finds %d sections, want %d", n, maxResults)
	}
}

// TestQuestions checks the first result for questions that developers ask. If several pages answer
// a question, a result in the top three suffices.
func TestQuestions(t *testing.T) {
	s := newTestServer()
	const first, top = 1, 3
	for _, q := range []struct {
		query string
		among int
		want  string // pages, any of which suffices
	}{
		{"how far back does the data go", first, "/docs/coverage#how-far-back"},
		{"how current is the data?", first, "/docs/coverage#how-current"},
		{"barcode lookup", first, "/docs/reference/labels#lookUpBarcode"},
		{"search by UPC", top, "/docs/search#ids-and-barcodes"},
		{"csv export", first, "/docs/api#fields-and-formats"},
		{"export to excel", top, "/docs/api#fields-and-formats"},
		{"bulk download", first, "/docs/pagination#download-all-results"},
		{"download all labels", top, "/docs/pagination#download-all-results"},
		{"sdk", first, "/docs/api"},
		{"client library", first, "/docs/api"},
		{"openapi", first, "/api/v1/openapi.json"},
		{"get images", first, "/docs/api#label-images"},
		{"how do I authenticate", first, "/docs/authentication"},
		{"rotate api key", first, "/docs/authentication#rotate-a-key"},
		{"restrict key to an IP address", first, "/docs/authentication#restrict-a-key"},
		{"rate limit headers", first, "/docs/quotas#rate-limits"},
		{"what happens when I exceed my quota", top, "/docs/reference#error-QuotaExceeded"},
		{"how much does a search cost", top, "/docs/quotas#costs"},
		{"free plan limits", top, "/docs/quotas"},
		{"webhook retries", first, "/docs/webhooks#retries"},
		{"verify webhook signature", first, "/docs/webhooks#signature"},
		{"rss feed", first, "/docs/alerts#feeds"},
		{"connect Claude", first, "/docs/assistants#claude"},
		{"chatgpt", first, "/docs/assistants#chatgpt"},
		{"is a brand name taken", top, "/docs/api#check-a-brand-name"},
		{"sort by date", first, "/docs/pagination#sort-order"},
		{"next page cursor", top, "/docs/pagination"},
		{"cursor expired", first, "/docs/pagination"},
		{"invalid cursor", first, "/docs/pagination"},
		{"cursor error", first, "/docs/pagination"},
		{"cursor", first, "/docs/pagination"},
		{"connect cursor", first, "/docs/assistants#cursor"},
		{"count labels by year", first, "/docs/api#count-labels"},
		{"error codes", top, "/docs/errors"},
		{"what does 429 mean", top, "/docs/reference#error-QuotaExceeded"},
		{"delete my account", first, "/docs/dashboard#account-deletion"},
		{"labels without an approval date", top, "/docs/coverage#estimated-dates /docs/api#labels-without-an-approval-date"},
		{"cors", first, "/docs/authentication#browsers-and-cors"},
		{"pricing", first, "/plans"},
		{"how much does it cost", top, "/plans"},
		{"X-API-Key", top, "/docs/authentication"},
		{"privacy", first, "/privacy"},
		{"back up the SQLite database", first, "/docs/operations#backup-and-restore"},
		{"retry after 503", top, "/docs/quotas#wait-and-retry /docs/reference#error-Unavailable"},
		{"webhook receiver", first, "/docs/webhooks#receive-messages"},
		{"verify webhook signature go", first, "/docs/webhooks#receive-messages /docs/webhooks#signature"},
		{"how many labels per page", top, "/docs/pagination /docs/reference/labels#searchColas.per_page"},
		{"export csv", first, "/docs/api#fields-and-formats"},
		{"mcp claude desktop", first, "/docs/assistants#claude"},
		{"abv filter", top, "/docs/reference/labels#searchColas.abv_min"},
		{"rotate a key", first, "/docs/authentication#rotate-a-key"},
		{"what does revoked mean", top, "/docs/coverage#approved-expired-surrendered-revoked /docs/reference/labels#searchColas.status"},
		{"webhook secret rotation", first, "/docs/reference/destinations#rotateDestinationSecret"},
		{"search by company name", top, "/docs/reference/permittees#searchPermittees /docs/reference/labels#searchColas.q /docs/reference/permittees#searchPermittees.q /docs/api#search-labels"},
		{"grape variety filter", top, "/docs/reference/labels#searchColas.grape"},
		{"ip allowlist", top, "/docs/authentication#restrict-a-key"},
		{"cancel subscription", top, "/docs/dashboard#change-your-plan"},
		{"resize label image", top, "/docs/api#label-images"},
		{"my webhook was disabled", top, "/docs/webhooks#retries /docs/alerts#destinations"},
		{"idempotent post", top, "/docs/reference/saved-searches#createSavedSearch.Idempotency-Key"},
		{"why is approval_date null", top, "/docs/coverage#estimated-dates /docs/api#search-labels /docs/coverage#whats-missing"},
		{"when does my quota reset", top, "/docs/quotas /docs/reference#header-X-Quota-Reset"},
		{"wildcard search", top, "/docs/search#exact-words-and-prefixes"},
		{"fuzzy match brand", top, "/docs/search#similar-brands /docs/reference/labels#searchColas.brand_similar_to /docs/reference/labels#searchBrands"},
		{"cache with etag", top, "/docs/reference#header-ETag /docs/reference/labels#getCola.If-None-Match"},
		{"401 invalid api key", top, "/docs/authentication#rejected-keys /docs/reference#error-Unauthorized"},
		{"download my data", top, "/docs/dashboard#export"},
		{"unsubscribe from alert emails", top, "/docs/alerts#email"},
		{"cursor editor setup", top, "/docs/assistants#cursor"},
		{"similar brand names", top, "/docs/search#similar-brands /docs/api#check-a-brand-name /docs/reference/labels#searchBrands"},
		{"duplicate webhook messages", top, "/docs/webhooks#receive-messages /docs/webhooks#retries"},
		{"read only key for ai assistant", top, "/docs/authentication#restrict-a-key /docs/assistants#before-you-connect"},
		{"how often is data updated", top, "/docs/coverage#how-current"},
		{"usage this month", top, "/docs/reference/account#getUsage /docs/dashboard#watch-your-usage /docs/quickstart#4-check-your-usage"},
		{"x-request-id", first, "/docs/reference#header-X-Request-Id"},
		{"label processing time", top, "/docs/reference/reference-data#listProcessingTimes /docs/dashboard#times"},
		{"/colas", first, "/docs/reference/labels#searchColas"},
		{"colas", first, "/docs/reference/labels#searchColas"},
		{"GET /colas", first, "/docs/reference/labels#searchColas"},
		{"get /api/v1/colas?q=oak", first, "/docs/reference/labels#searchColas"},
		{"colas/stats", first, "/docs/reference/labels#countColas"},
		{"/colas/17001001000001", first, "/docs/reference/labels#getCola"},
		{"POST saved-searches", first, "/docs/reference/saved-searches#createSavedSearch"},
		{"DELETE /saved-searches/{uuid}", first, "/docs/reference/saved-searches#deleteSavedSearch"},
		{"saved search", first, "/docs/reference/saved-searches#listSavedSearches"},
		{"saved searches", first, "/docs/reference/saved-searches#listSavedSearches"},
		{"python", first, "/docs/quickstart"},
		{"go sample", top, "/docs/quickstart"},
		{"how do I get an API key", first, "/docs/authentication#create-a-key /docs/quickstart#1-get-a-key /docs/authentication"},
		{"get api key", first, "/docs/authentication#create-a-key /docs/quickstart#1-get-a-key /docs/authentication"},
		{"where do I find my key", first, "/docs/authentication#create-a-key"},
		{"what's a COLA", first, "/docs/coverage /docs/coverage#what-is-a-cola"},
		{"what's an API key", first, "/docs/authentication"},
		{"searchColas", first, "/docs/reference/labels#searchColas"},
		{"rss", first, "/docs/alerts#feeds"},
		{"quot", first, "/docs/quotas"},
		{"auth", first, "/docs/authentication"},
		{"orig", top, "/docs/api#filter-by-type-and-origin"},
		{"bar", top, "/docs/reference/labels#lookUpBarcode"},
		{"pagnation", first, "/docs/pagination"},
		{"webhok", first, "/docs/webhooks"},
		{"authentification", first, "/docs/authentication"},
		{"veriffy webhook signature", first, "/docs/webhooks#signature"},
		{"what is a COLA", first, "/docs/coverage /docs/coverage#what-is-a-cola"},
		{"apikey", first, "/docs/authentication"},
		{"api key", first, "/docs/authentication"},
		{"nodejs", first, "/docs/quickstart"},
		{"node.js", first, "/docs/quickstart"},
		{"golang", first, "/docs/quickstart"},
		{"golan", first, "/docs/quickstart"},
		{"javascript", first, "/docs/quickstart"},
		{"curl", top, "/docs/quickstart"},
		{"getting started", first, "/docs/quickstart"},
		{"start", first, "/docs/quickstart"},
		{"quick start", first, "/docs/quickstart"},
		{"tutorial", first, "/docs/quickstart"},
		{"swagger", first, "/api/v1/openapi.json"},
		{"postman", first, "/api/v1/openapi.json"},
		{"schema", first, "/api/v1/openapi.json"},
		{"phonetic", first, "/docs/search#similar-brands"},
		{"sounds like", first, "/docs/search#similar-brands"},
		{"autocomplete", top, "/docs/reference/reference-data#suggestValues"},
		{"login", first, "/docs/dashboard#sign-in"},
		{"log in", first, "/docs/dashboard#sign-in"},
		{"sign in", first, "/docs/dashboard#sign-in"},
		{"password", first, "/docs/dashboard#sign-in"},
		{"sign up", first, "/docs/quickstart#1-get-a-key"},
		{"signup", first, "/docs/quickstart#1-get-a-key"},
		{"account", first, "/docs/dashboard"},
		{"billing", first, "/docs/dashboard#change-your-plan"},
		{"upgrade", first, "/docs/dashboard#change-your-plan"},
		{"support", first, "/privacy"},
		{"contact", first, "/privacy"},
		{"mcp", first, "/docs/assistants"},
		{"mcp tools", first, "/docs/tools"},
		{"tools", first, "/docs/tools"},
		{"prompts", first, "/docs/tools#prompts"},
		{"claude", first, "/docs/assistants#claude"},
		{"self-hosting", first, "/docs/install"},
		{"self hosting", first, "/docs/install"},
		{"self-host", first, "/docs/install"},
		{"install", first, "/docs/install"},
		{"sandbox", first, "/docs/install"},
		{"test data", first, "/docs/install"},
		{"deployment", first, "/docs/install"},
		{"config", first, "/docs/configuration"},
		{"environment variables", first, "/docs/configuration"},
		{"security", first, "/docs/security"},
		{"docker", first, "/docs/operations#containers"},
		{"kubernetes", first, "/docs/operations#containers"},
		{"postgres", first, "/docs/operations#postgresql-and-many-processes"},
		{"metrics", first, "/docs/metrics"},
		{"monitoring", first, "/docs/metrics"},
		{"oauth", first, "/docs/oauth"},
		{"sso", first, "/docs/oauth"},
		{"err", first, "/docs/errors"},
		{"error", first, "/docs/errors"},
		{"status codes", first, "/docs/errors"},
		{"timeouts", first, "/docs/errors"},
		{"404", first, "/docs/reference#error-NotFound"},
		{"delete key", first, "/docs/authentication#rotate-a-key"},
		{"revoke key", first, "/docs/authentication#rotate-a-key"},
		{"new key", first, "/docs/authentication#create-a-key"},
		{"key", first, "/docs/authentication"},
		{"token", first, "/docs/authentication"},
		{"scopes", first, "/docs/authentication#restrict-a-key"},
		{"secret", top, "/docs/webhooks#signature"},
		{"webhook", first, "/docs/webhooks"},
		{"retry", top, "/docs/quotas#wait-and-retry"},
		{"rate limiting", first, "/docs/quotas /docs/quotas#rate-limits"},
		{"usage limits", first, "/docs/quotas"},
		{"free tier", first, "/plans"},
		{"how often updated", first, "/docs/coverage#how-current"},
		{"freshness", first, "/docs/coverage#how-current"},
		{"status", first, "/docs/coverage#approved-expired-surrendered-revoked"},
		{"history", first, "/docs/coverage#how-far-back"},
		{"missing data", first, "/docs/coverage#whats-missing"},
		{"search", first, "/docs/api"},
		{"search syntax", first, "/docs/search#words"},
		{"filters", first, "/docs/api#filter-by-type-and-origin"},
		{"dates", first, "/docs/api#filter-by-date"},
		{"sort", first, "/docs/pagination#sort-order"},
		{"images", first, "/docs/api#label-images"},
		{"download", first, "/docs/pagination#download-all-results"},
		{"bulk", first, "/docs/pagination#download-all-results"},
		{"json", first, "/docs/api#fields-and-formats"},
		{"total count", top, "/docs/api#get-a-total"},
		{"stats", first, "/docs/api#count-labels"},
		{"brand check", first, "/docs/api#check-a-brand-name"},
		{"category", first, "/docs/categories"},
		{"ids", first, "/docs/search#ids-and-barcodes"},
		{"ttb id", first, "/docs/reference/labels#getCola.ttb_id"},
		{"changelog", first, "/docs/api#versions-and-compatibility"},
		{"versioning", first, "/docs/api#versions-and-compatibility"},
		{"notifications", first, "/docs/alerts"},
		{"api reference", first, "/docs/reference"},
		{"endpoints", first, "/docs/reference"},
		{"base url", first, "/docs/reference#request"},
		{"objects", first, "/docs/reference/objects"},
		{"truncated results", top, "/docs/reference#header-X-Truncated-By-Quota /docs/quotas"},
	} {
		paths := s.search.find(q.query, maxResults).paths()
		among := paths[:min(q.among, len(paths))]
		if !slices.ContainsFunc(strings.Fields(q.want), func(want string) bool { return slices.Contains(among, want) }) {
			t.Errorf("%q finds %q, want %s among the first %d", q.query, paths[:min(6, len(paths))], q.want, q.among)
		}
	}
}

// TestRanking checks which of a few entries comes first: words match in other forms, as parts of
// names and through synonyms, and titles and guides rank above the rest.
func TestRanking(t *testing.T) {
	var x index
	for _, e := range []entry{
		{Area: areaGuides, Page: "Quotas", Title: "Rate limits", Path: "limits", text: "Number of requests. Wait after a 429."},
		{Area: areaReference, Page: "Overview", Title: "429 quota_exceeded", Path: "429", text: "Over the rate limit or a quota."},
		{Area: areaReference, Page: "Overview", Title: "Retry-After", Path: "header", text: "Seconds to wait."},
		{Area: areaReference, Page: "Overview", Title: "Plans", Path: "plans", text: "The price of each plan."},
		{Area: areaGuides, Page: "Alerts", Title: "Verifying a signature", Path: "signature", text: "Webhooks are signed."},
		{Area: areaReference, Page: "Labels", Title: "brand_first_seen_from", Path: "param", text: "Date of the first label."},
		{Area: areaOperators, Page: "Operations", Title: "Backup", Path: "backup", text: "Copy the SQLite file; see signature."},
		{Area: areaGuides, Page: "Keys", Title: "Backup", Path: "keys", text: "Keep a copy."},
		{Area: areaGuides, Page: "Search", Title: "Corrected names", Path: "corrected", text: "A typeface is corrected too."},
		{Area: areaReference, Page: "Labels", Title: "ColaSummary", Path: "object", text: "An item of a list."},
		{Area: areaReference, Page: "Data", Title: "Cola summary", Path: "summary", text: "The cola summary of a label."},
		{Area: areaGuides, Page: "Start", Title: "Setup", Path: "setup", text: "Choose a name."},
		{Area: areaGuides, Page: "Start", Title: "Ports", Path: "port", text: "Set up a port."},
		{Area: areaGuides, Page: "Codes", Title: "Codes", Path: "codes", text: "All of them."},
		{Area: areaGuides, Page: "Codes", Title: "Cod", Path: "codes#cod", text: "Cod, cod and cod.", code: "haddock"},
		{Area: areaGuides, Page: "Names", Title: "Fish", Path: "fish#names", text: "A hake, not a haddock.", keywords: "sea fish, seafood"},
		{Area: areaOperators, Page: "Operations", Title: "Browsers", Path: "cors", text: "Any origin is allowed (CORS) for each type."},
	} {
		x.add(e)
	}
	x.build()
	for query, want := range map[string]string{
		"rate limit": "limits", "limits of rates": "limits", "burst": "limits", "429": "429", "quota_exceeded": "429",
		"retry-after": "header", "tier": "plans", "pricing": "plans", "verify signature": "signature",
		"webhook signature": "signature", "brand_first_seen_from": "param", "backup": "keys",
		"cors": "cors", "type": "cors", "correct": "corrected", "typef": "corrected",
		"ColaSummary":            "object",
		"code":                   "codes",      // begins the title of a page
		"haddock":                "fish#names", // prose ranks above code
		"seafood":                "fish#names",
		"ratelimit":              "limits", // two words written as one
		"retryafter":             "header",
		"set up a port":          "port",
		"what's the burst":       "limits",
		"verify xyzzy signature": "signature", // two of three words
	} {
		f := x.find(query, maxResults)
		if paths := f.paths(); len(paths) == 0 || paths[0] != want {
			t.Errorf("%q finds %q, want %s first", query, paths, want)
		}
		if f.Partial != strings.Contains(query, "xyzzy") {
			t.Errorf("%q: partial = %t", query, f.Partial)
		}
	}
	if paths := x.find("cors", maxResults).paths(); len(paths) != 1 {
		t.Errorf("a three-letter stem matches longer words: %q", paths)
	}
}

// TestMarks checks that a result's title and excerpt show the matching words.
func TestMarks(t *testing.T) {
	marked := func(spans []span) (text string) {
		for _, s := range spans {
			if s.Mark {
				s.Text = "[" + s.Text + "]"
			}
			text += s.Text
		}
		return text
	}
	long := strings.Repeat("Some words about other things. ", 20)
	for _, tt := range []struct{ title, text, query, heading, excerpt string }{
		{"Limits", "A limit of rates.\nRate limits apply.", "rate limit", "[Limits]", "A [limit] of [rates].\n[Rate] [limits] apply."},
		{"A", "RateLimit-Policy and “limiting”", "rate limit", "A", "[RateLimit]-Policy and “[limiting]”"},
		{"A & <b>", long + "Then burst. " + long, "burst", "A & <b>", "…Then [burst]. Some words"},
		{"Look up a barcode", "é È", "lookup é", "Look up a barcode", "[é] [È]"},
	} {
		var x index
		x.add(entry{Area: areaGuides, Page: "Page", Title: tt.title, Path: "/docs/a", text: tt.text})
		x.build()
		f := x.find(tt.query, maxResults)
		if len(f.Results) != 1 {
			t.Errorf("%q finds %d entries", tt.query, len(f.Results))
			continue
		}
		r := f.Results[0]
		if got := marked(r.Heading); got != tt.heading {
			t.Errorf("%q: heading %s, want %s", tt.query, got, tt.heading)
		}
		if got := marked(r.Excerpt); !strings.HasPrefix(got, tt.excerpt) || len(strings.Fields(got)) > maxExcerpt+1 {
			t.Errorf("%q: excerpt %s, want %s", tt.query, got, tt.excerpt)
		}
	}
}

// TestSearchTargets checks that every result leads to an element of a page, and that all search
// keywords belong to a result.
func TestSearchTargets(t *testing.T) {
	s := newTestServer()
	for path := range searchKeywords {
		if !slices.ContainsFunc(s.search.entries, func(e entry) bool { return e.Path == path }) {
			t.Errorf("keywords for %s, which does not exist", path)
		}
	}
	pages := mustParseAll(t, s)
	for _, e := range s.search.entries {
		path, id, fragment := strings.Cut(e.Path, "#")
		if p, ok := pages[path]; e.Path != plansPath && e.Path != openAPIPath && (!ok || fragment && p.ids[id] == nil) {
			t.Errorf("%q leads to %s, which does not exist", e.Title, e.Path)
		}
		if e.Title == "" || e.Page == "" || e.Area == "" {
			t.Errorf("entry for %s has no title, page or area", e.Path)
		}
	}
}

// TestHostileSearch checks that queries can't add markup to the page, and that long or invalid ones
// are truncated or repaired.
func TestHostileSearch(t *testing.T) {
	h := newTestServer().routes()
	for _, query := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "\x00\x1b[2J", "\xff\xfe", "{{.}}", "%00",
		strings.Repeat("x", 10_000),
	} {
		resp := send(h, "GET", findPath+"?q="+url.QueryEscape(query))
		page := mustRead(t, resp)
		if resp.StatusCode != http.StatusOK || strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") ||
			!utf8.ValidString(page) || len(page) > 50_000 {
			t.Errorf("%.40q: status %d, %d bytes", query, resp.StatusCode, len(page))
		}
	}
	if resp := send(h, "GET", findPath+"?%zz&q=%zz"); resp.StatusCode != http.StatusOK {
		t.Errorf("invalid escapes: status %d, want 200", resp.StatusCode)
	}
}

// TestLongSearch checks that only the first characters and words of a query are used.
func TestLongSearch(t *testing.T) {
	s := newTestServer()
	if got, want := s.search.find(strings.Repeat("label ", maxWords)+"xyzzy", maxResults).paths(), s.search.find(strings.Repeat("label ", maxWords), maxResults).paths(); len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("a word beyond the limit changes the results: %q, want %q", got, want)
	}
	for query, want := range map[string]string{
		strings.Repeat("x", maxFind) + "y": strings.Repeat("x", maxFind), "a\xff b": "a b",
		strings.Repeat("é", maxFind-1) + " z": strings.Repeat("é", maxFind-1),
	} {
		if got := cleanQuery(query); got != want {
			t.Errorf("cleanQuery(%q) = %q, want %q", query, got, want)
		}
	}
}

// TestSearchLimit checks that a client can send only a limited number of searches at once, but can
// always open the empty search.
func TestSearchLimit(t *testing.T) {
	h := newServer(Options{
		PublicURL: publicURL, Reference: newAPI().Reference, Service: samples{}, Now: func() time.Time { return time.Unix(0, 0) },
	}).routes()
	for range typingBurst {
		if resp := send(h, "GET", findPath+"?q=a"); resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d below the limit, want 200", resp.StatusCode)
		}
	}
	resp := send(h, "GET", findPath+"?q=a")
	if page := mustRead(t, resp); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" ||
		!strings.Contains(page, `action="/docs/find"`) {
		t.Errorf("status %d with Retry-After %q over the limit; want 429 and a page", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if resp := send(h, "GET", findPath); resp.StatusCode != http.StatusOK {
		t.Errorf("empty search: status %d, want 200", resp.StatusCode)
	}
}

// TestInstantResults checks that the results shown while typing are a short list, not a whole page.
func TestInstantResults(t *testing.T) {
	h := newTestServer().routes()
	page := mustRead(t, send(h, "GET", findPath+"?instant=1&q=pagin"))
	if n := strings.Count(page, `role="option"`); n == 0 || n > maxInstant || strings.Contains(page, "<html") {
		t.Errorf("%d results, want 1 to %d without a page:\n%s", n, maxInstant, page)
	}
	if !strings.Contains(page, `href="/docs/pagination"`) {
		t.Errorf("the beginning of a word doesn't find the guide:\n%s", page)
	}
	for _, query := range []string{"xyzzyplugh", "", "%C2%85"} {
		if page := mustRead(t, send(h, "GET", findPath+"?instant=1&q="+query)); strings.TrimSpace(page) != "" {
			t.Errorf("%q: response without results = %q, want empty", query, page)
		}
	}
}

// TestRegistrySearch checks the link from the results to a search for labels. Without sign-up, only
// signed-in visitors see it.
func TestRegistrySearch(t *testing.T) {
	link := regexp.MustCompile(`(hidden)?>Looking for labels\?\n<a href="/explore([^"]*)">`)
	for _, signUp := range []bool{true, false} {
		s := newServer(Options{PublicURL: publicURL, Reference: newAPI().Reference, Service: samples{}, SignUp: signUp})
		for _, query := range []string{`oak & "<b>`, "xyzzyplugh"} {
			page := mustRead(t, send(s.routes(), "GET", "/docs/find?q="+url.QueryEscape(query)))
			m := link.FindStringSubmatch(page)
			if m == nil {
				t.Fatalf("%q: no link in\n%s", query, page)
			}
			target, err := url.Parse(m[2])
			if err != nil || target.Query().Get("q") != query || (m[1] == "hidden") == signUp {
				t.Errorf("%q with sign-up %t: link %q, %v", query, signUp, m[0], err)
			}
		}
	}
}

// TestWordBeginnings checks that beginnings of a word find its guide, even those longer than the
// word's stem.
func TestWordBeginnings(t *testing.T) {
	s := newTestServer()
	for _, word := range []string{"pagination", "authentication"} {
		for n := 6; n <= len(word); n++ {
			results := s.search.find(word[:n], maxResults).Results
			if !slices.ContainsFunc(results, func(r result) bool { return strings.HasPrefix(r.Path, "/docs/"+word) }) {
				t.Errorf("%s doesn't find the guide", word[:n])
			}
		}
	}
}

// TestIdentifierBeginnings checks that the beginning of an identifier finds it first.
func TestIdentifierBeginnings(t *testing.T) {
	s := newTestServer()
	const first, top = 1, 3
	for _, q := range []struct {
		query string
		among int
		want  string
	}{
		{"date_r", first, "/docs/reference/labels#searchColas.date_range"},
		{"date_ra", first, "/docs/reference/labels#searchColas.date_range"},
		{"date-ra", first, "/docs/reference/labels#searchColas.date_range"},
		{"DATE_RANGE", first, "/docs/reference/labels#searchColas.date_range"},
		{"per_", first, "/docs/reference/labels#searchColas.per_page"},
		{"per_p", first, "/docs/reference/labels#searchColas.per_page"},
		{"brand_s", top, "/docs/reference/labels#searchColas.brand_similar_to"},
		{"approval_date_f", first, "/docs/reference/labels#searchColas.approval_date_from"},
		{"next_c", first, "/docs/reference/objects/labels#Pagination"},
		{"quota_ex", first, "/docs/reference#error-QuotaExceeded"},
		{"destination_ex", first, "/docs/reference/destinations#createDestination"},
		{"account_susp", first, "/docs/reference#error-AccountSuspended"},
		{"insufficient_s", top, "/docs/reference/saved-searches#createSavedSearch"},
		{"retry-a", first, "/docs/reference#header-Retry-After"},
		{"x-req", first, "/docs/reference#header-X-Request-Id"},
		{"if-none", first, "/docs/reference/labels#getCola.If-None-Match"},
		{"idempotency-", first, "/docs/reference/saved-searches#createSavedSearch.Idempotency-Key"},
		{"get_perm", first, "/docs/tools/permittees#get_permittee"},
		{"saved-sea", first, "/docs/reference/saved-searches#listSavedSearches"},
		{"processing-", first, "/docs/reference/reference-data#listProcessingTimes"},
		{"container_p", first, "/docs/reference/objects/labels#Image"},
	} {
		f := s.search.find(q.query, maxInstant)
		paths := f.paths()
		if at := slices.Index(paths, q.want); at < 0 || at >= q.among || f.Partial {
			t.Errorf("%q finds %q (partial: %t), want %s among the first %d", q.query, paths, f.Partial, q.want, q.among)
		}
		if !marked(f.Results[0].Heading) && !marked(f.Results[0].Excerpt) {
			t.Errorf("%q: the first result has no mark", q.query)
		}
	}
}

func marked(spans []span) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.Mark })
}

func FuzzSearch(f *testing.F) {
	s := newTestServer()
	for _, query := range []string{"labels", "İstanbul", "ſ K", "\xff", "a b c", "…", "date_range=all", "é", "per_", "ſ_", "İ-b_"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		f := s.search.find(cleanQuery(query), maxResults)
		for _, r := range f.Results {
			if text := plain(r.Excerpt); !utf8.ValidString(text) || len(strings.Fields(text)) > 2*maxExcerpt {
				t.Errorf("%q: excerpt %q", query, text)
			}
		}
		if page := s.render(page{Path: findPath, Body: "find", Query: f.Query, Data: f}); !utf8.Valid(page) {
			t.Errorf("%q: the page is not valid UTF-8", query)
		}
	})
}

// plain returns the text of spans.
func plain(spans []span) (text string) {
	for _, s := range spans {
		text += s.Text
	}
	return text
}

func BenchmarkSearch(b *testing.B) {
	s := newTestServer()
	for b.Loop() {
		s.search.find("date range of labels", maxResults)
	}
}
