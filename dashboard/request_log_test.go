package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// mustLogSite returns a site that records charged pages.
func mustLogSite(t *testing.T) *site {
	s := mustSite(t)
	s.handler = New(s.registry.Service, s.browsers, Options{
		PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now,
		LogRequest: s.registry.LogRequest,
	})
	return s
}

// mustLog stores requests by a caller, a second apart, and returns the paths of their pages.
func (s *site) mustLog(c cola.Caller, requests ...cola.LoggedRequest) (paths []string) {
	s.t.Helper()
	for _, r := range requests {
		s.registry.Advance(time.Second)
		paths = append(paths, fmt.Sprint("/requests/", s.registry.RecordRequest(s.t, c, r)))
	}
	return paths
}

// refused returns a rejected request with an error body.
func refused(status int, code cola.Code, answer string) cola.LoggedRequest {
	return cola.LoggedRequest{Method: "GET", Target: "/api/v1/colas", Status: status, Code: code, Answer: answer}
}

func TestNoRequests(t *testing.T) {
	s := mustSite(t)
	a := s.get("/requests")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, `class="empty"`, "/keys/new", "curl -H \"X-API-Key: $API_KEY\" 'https://registry.example/api/v1/colas?q=oak'")
	a.lacks(t, "<table", "request-filters")
	filtered := s.get("/requests?q=unknown&utm_source=x")
	filtered.shows(t, http.StatusOK, `class="empty"`, `value="unknown"`, `href="/requests"`)
	if to := s.by("").get("/requests").redirects(t); to != "/sign-in?return=%2Frequests" {
		t.Errorf("signed out: redirect to %s", to)
	}
	off := New(noLog{s.registry.Service}, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
	s.handler = off
	s.get("/requests").shows(t, http.StatusOK, "turned off")
}

// noLog wraps a Service with the request log off.
type noLog struct{ Service }

func (n noLog) RequestLog(ctx context.Context, c cola.Caller, p registry.RequestLogParams) (registry.RequestLogPage, cola.QuotaState, error) {
	_, state, err := n.Service.RequestLog(ctx, c, p)
	return registry.RequestLogPage{}, state, err
}

func TestRequests(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	key, app := s.registry.Key(t, account, "nightly <b>"), s.registry.App(t, account, "Claude")
	search := cola.LoggedRequest{
		RequestID: "first", Method: "GET", Target: "/api/v1/colas", Input: "q=blue+moon", Status: 200, Duration: 12 * time.Millisecond,
		Meter: cola.MeterListRecords, Units: 20,
	}
	paths := s.mustLog(key, search, refused(429, cola.CodeQuotaExceeded, ""))
	paths = append(paths, s.mustLog(app, cola.LoggedRequest{
		RequestID: "third", Method: "tools/call", Target: "get_cola", Input: `{"ttb_id":"1"}`, Status: 200, Meter: cola.MeterDetailViews, Units: 1,
	})...)
	s.mustLog(s.browsers.callers[ann], cola.LoggedRequest{Method: "GET", Target: "/explore", Input: "q=oak", Status: 200})
	a := s.get("/requests")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, `href="`+paths[0]+`"`, "/api/v1/colas", "?q=blue+moon", "12 ms", "20 list records", "nightly <b>", "REST API",
		`<span class="state bad">429</span>`, "quota_exceeded", "get_cola", "1 detail view", "Claude", "Assistants",
		"Nov 20, 12:00:01", `datetime="2026-11-20T12:00:01Z"`, "Browser")
	a.lacks(t, "not listed", `rel="next"`, `class="cost"`) // the .cost pill is hidden in print
	for query, want := range map[string][]string{
		"q=blue+moon": {paths[0]}, "q=first": {paths[0]}, "q=get_cola": {paths[2]}, "status=error": {paths[1]}, "status=4xx": {paths[1]},
		"status=5xx": nil, "channel=mcp": {paths[2]}, "key=" + registry.RequestSource{Credential: app.Credential}.Value(): {paths[2]},
		"key=key-99": nil, "from=2026-11-20T12:00:02&to=2026-11-20T12:00:03": {paths[1]}, "from=2026-11-21": nil,
		"q=+&status=&channel=&key=&from=&to=&channel=mcp": paths,
	} {
		page := s.get("/requests?" + query)
		page.checkHTML(t)
		page.shows(t, http.StatusOK, "request-filters")
		for _, path := range paths {
			if got := strings.Contains(page.body, `href="`+path+`"`); got != slices.Contains(want, path) {
				t.Errorf("%s: %s listed: %t", query, path, got)
			}
		}
	}
	s.get("/requests?status=error&from=2026-11-20T12:00").shows(t, http.StatusOK, `<option value="error" selected>`, `value="2026-11-20T12:00"`)
	for _, bad := range []string{
		"status=3xx", "channel=fax", "key=%3Cscript%3E", "from=yesterday", "to=2026-13-01", "before=x", "after=1-x", "q=%00", "q=a%E2%80%AEb",
	} {
		page := s.get("/requests?" + bad)
		page.shows(t, http.StatusBadRequest)
		if strings.Contains(page.body, "<script>") {
			t.Errorf("%s was not escaped", bad)
		}
	}
}

// TestRequestPages checks that the links between pages keep the filters.
func TestRequestPages(t *testing.T) {
	s := mustSite(t)
	list := make([]cola.LoggedRequest, 70)
	for i := range list {
		list[i] = cola.LoggedRequest{Method: "GET", Target: "/api/v1/usage", Status: 200, RequestID: fmt.Sprint("id-", i)}
	}
	s.mustLog(s.registry.Key(t, s.browsers.callers[ann].Account, "key"), list...)
	link := func(a response, rel string) string {
		t.Helper()
		found := regexp.MustCompile(`rel="` + rel + `" href="([^"]+)"`).FindStringSubmatch(a.text)
		if found == nil {
			t.Fatalf("no %s link:\n%s", rel, a.body)
		}
		return found[1]
	}
	first := s.get("/requests?q=usage&status=success")
	first.checkHTML(t)
	next := link(first, "next")
	second := s.get(next)
	second.checkHTML(t)
	if n, m := strings.Count(first.body, "<th scope=\"row\""), strings.Count(second.body, "<th scope=\"row\""); n != 50 || m != 20 {
		t.Errorf("%d and %d rows, want 50 and 20", n, m)
	}
	if !strings.Contains(next, "q=usage") || !strings.Contains(next, "status=success") {
		t.Errorf("next page: %s", next)
	}
	second.lacks(t, `rel="next"`)
	s.get(link(second, "prev")).lacks(t, `rel="prev"`)
}

func TestRequestsLeftOut(t *testing.T) {
	s := mustSite(t)
	c := s.browsers.callers[ann]
	s.registry.LeaveOut(t, c.Account, 12_345, 1)
	s.mustLog(c, cola.LoggedRequest{Method: "GET", Target: "/explore", Status: 200})
	s.get("/requests").shows(t, http.StatusOK, "12,345 successful requests and 1 error", "/docs/dashboard#request-log")
	s.get("/requests?to=2026-11-20T11:00").lacks(t, "12,345")
}

// TestRequestDetail checks a request's page, including its explanation of errors.
func TestRequestDetail(t *testing.T) {
	s := mustSite(t)
	key := s.registry.Key(t, s.browsers.callers[ann].Account, "nightly")
	invalid := refused(400, cola.CodeValidation, `{"error":{"code":"validation_error","message":"Invalid parameters: a.","details":{"a":["One.","Two <b>."]}}}`)
	invalid.Input, invalid.RequestID = "a=1&q=blue+moon%26&a=2", "the-id"
	call := cola.LoggedRequest{
		Channel: cola.ChannelMCP, Method: "tools/call", Target: "search_colas", Input: `{"q":"it's"}`, Status: 404, Code: cola.CodeNotFound,
		Answer: `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool.","data":{"error":{"code":"not_found","message":"x","details":{}}}}}`,
	}
	paths := s.mustLog(key, invalid, call,
		refused(429, cola.CodeQuotaExceeded, `{"error":{"code":"quota_exceeded","message":"Slow down.","details":{"reason":"burst"}}}`),
		cola.LoggedRequest{Method: "POST", Target: "/api/v1/saved-searches", Status: 201},
		cola.LoggedRequest{Channel: cola.ChannelDashboard, Method: "GET", Target: "/explore", Input: "q=oak", Status: 200})
	a := s.get(paths[0])
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "400 Bad Request", "validation_error", "Nov 20, 2026, 12:00:01.000 UTC", "the-id", "blue moon&", "One.", "Two <b>.",
		`href="/docs/errors"`, "\n    \"code\": \"validation_error\"", "curl -H \"X-API-Key: $API_KEY\" 'https://registry.example/api/v1/colas?a=1&q=blue+moon%26&a=2'",
		`href="/requests?key=key-`)
	if strings.Contains(a.body, "<b>") {
		t.Error("a message was not escaped")
	}
	a = s.get(paths[1])
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "Unknown tool.", "search_colas", `"params": {"name": "search_colas", "arguments": {"q":"it's"}}`)
	s.get(paths[2]).shows(t, http.StatusOK, "Slow down.", "120 requests per minute", "/docs/quotas")
	created := s.get(paths[3])
	created.shows(t, http.StatusOK, "201 Created")
	created.lacks(t, "What went wrong", "View as API call")
	s.get(paths[4]).shows(t, http.StatusOK, `href="/explore?q=oak"`)
	session := s.mustLog(s.browsers.callers[ann],
		cola.LoggedRequest{Channel: cola.ChannelREST, Method: "GET", Target: "/api/v1/usage", Status: 200})
	s.get(session[0]).shows(t, http.StatusOK, "Browser", "REST API", "'https://registry.example/api/v1/usage'")
	bob := s.join("bob@example.com", cola.TierFree)
	for _, path := range append(paths, "/requests/0", "/requests/-1", "/requests/x", "/requests/01", "/requests/%00", "/requests/99999999999999999999") {
		s.by("bob@example.com").get(path).shows(t, http.StatusNotFound)
	}
	s.mustLog(bob, cola.LoggedRequest{Method: "GET", Target: "/from-bob", Status: 200})
	s.get("/requests").lacks(t, "/from-bob")
	s.by("bob@example.com").get("/requests").lacks(t, "saved-searches</bdi>", "nightly")
}

// TestHostileRequests checks that hostile paths, arguments and error bodies are shown as text.
func TestHostileRequests(t *testing.T) {
	s := mustSite(t)
	key := s.registry.Key(t, s.browsers.callers[ann].Account, "k\u202ey")
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'` + "\u202e\u200b"
	var all []cola.LoggedRequest
	for _, method := range []string{"GET", hostile, "tools/call"} {
		for _, target := range []string{"/" + hostile, hostile, "javascript:alert(1)", "//evil.example", "/api/v1//evil.example/" + hostile} {
			for _, answer := range []string{"", hostile, `{"error":{"code":7,"details":{"` + "a\u202e" + `":["<script>alert(1)</script>"]},"data":[]}}`, `{"error":{"code":"validation_error","message":"<script>alert(1)</script>","details":{"<script>":["<script>alert(1)</script>\u202e"],"reason":{}}}}`, "[[[", "null"} {
				r := refused(400, cola.Code(hostile), answer)
				r.Method, r.Target, r.Input, r.RequestID = method, target, "a%ZZ=&"+hostile+"=%00%ff", hostile
				r.Channel = cola.Channel([]string{"rest", "mcp", "dashboard"}[len(all)%3])
				all = append(all, r)
			}
		}
	}
	paths := append(s.mustLog(key, all...), "/requests")
	for i, path := range paths {
		if i%30 == 0 {
			s.registry.Advance(time.Minute) // stays under the page rate limit
		}
		a := s.get(path)
		a.checkHTML(t)
		a.shows(t, http.StatusOK)
		for _, bad := range []string{"<script>alert", "<img", "\u202e", "\u200b", `href="javascript:`, `href="//evil`} {
			if strings.Contains(a.body, bad) {
				t.Errorf("%s (%+v) contains %q", path, all[min(i, len(all)-1)], bad)
			}
		}
	}
}

// TestChargedPagesLogged checks that charged pages are recorded with their cost, even if they fail,
// and that free pages and prefetched ones are not.
func TestChargedPagesLogged(t *testing.T) {
	s := mustLogSite(t)
	for _, path := range []string{"/", "/keys", "/explore", "/requests", "/usage"} {
		s.get(path).shows(t, http.StatusOK)
	}
	s.get("/explore?q=red").shows(t, http.StatusOK)
	s.get("/explore?abv_min=x").shows(t, http.StatusBadRequest)
	s.get("/explore/99999999999999").shows(t, http.StatusNotFound)
	prefetch, err := http.NewRequest(http.MethodGet, "/explore?q=blue", nil)
	if err != nil {
		t.Fatal(err)
	}
	prefetch.Header.Set("Sec-Purpose", "prefetch")
	s.send(prefetch).shows(t, http.StatusForbidden)
	s.registry.Close() // writes the requests
	a := s.get("/requests?channel=dashboard")
	a.shows(t, http.StatusOK, "?q=red", "list records", "validation_error", "/explore/99999999999999", "not_found")
	if n := strings.Count(a.body, `<th scope="row"`); n != 3 {
		t.Errorf("%d requests recorded, want 3:\n%s", n, a.body)
	}
}

// TestErrorExplanations checks that every code is explained, with a link to a section that exists.
func TestErrorExplanations(t *testing.T) {
	field, _ := reflect.TypeFor[web.ErrorInfo]().FieldByName("Code")
	codes := strings.Split(field.Tag.Get("enum"), ",")
	if len(codes) < 15 {
		t.Fatalf("codes = %q", codes)
	}
	var all []*errorExplanation
	for _, code := range codes {
		if _, ok := errorExplanations[cola.Code(code)]; !ok && code != string(cola.CodeQuotaExceeded) {
			t.Errorf("no explanation for %s", code)
		}
		all = append(all, explainError(cola.Code(code), 400, "", "", cola.QuotaState{}))
	}
	for _, reason := range []string{"burst", "detail_views", "list_records", "suggestions"} {
		all = append(all, explainError(cola.CodeQuotaExceeded, 429, "", reason, cola.QuotaState{}))
	}
	all = append(all, explainError("", 418, "", "", cola.QuotaState{}), explainError("", 502, "", "", cola.QuotaState{}),
		explainError("", web.StatusClientGone, "", "", cola.QuotaState{}), &appScopeExplanation, &invalidMessage)
	for _, e := range all {
		page, section, inPage := strings.Cut(strings.TrimPrefix(e.Docs.Href, "/docs/"), "#")
		source, err := os.ReadFile("../docs/" + strings.ToUpper(page) + ".md")
		if err != nil {
			t.Fatal(err)
		}
		heading := regexp.MustCompile(`(?mi)^#+ ` + strings.ReplaceAll(section, "-", "[ -]") + `$`)
		if e.Why == "" || e.Do == "" || inPage && !heading.Match(source) {
			t.Errorf("%+v: incomplete, or no such section", e)
		}
	}
}

// TestScopeExplanations checks that the fix for a missing permission links to the connected apps if
// an app lacked it, and otherwise to the keys.
func TestScopeExplanations(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	for want, c := range map[string]cola.Caller{
		`href="/keys"`: s.registry.Key(t, account, "nightly"), `href="/apps"`: s.registry.App(t, account, "Claude"),
	} {
		s.setReport(registry.UsageReport{Refusals: []registry.Refusal{{
			LastAt: registrytest.StartTime, Channel: c.Channel, Credential: c.Credential, Reason: registry.RefusedScope, Count: 1,
		}}})
		logged := s.mustLog(c, refused(403, cola.CodeInsufficientScope, ""))[0]
		for _, path := range []string{logged, "/usage", "/usage/refusals"} {
			page := s.get(path)
			main := cutOut(page.body, `<main id="main"`, "</main>")
			keys, apps := strings.Contains(main, `href="/keys"`), strings.Contains(main, `href="/apps"`)
			if !strings.Contains(main, want) || keys == apps {
				t.Errorf("%s: links to keys %t, to apps %t, want only %s", path, keys, apps, want)
			}
		}
	}
}
