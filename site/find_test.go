package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSearch checks that the search finds sections, operations, parameters and fields, the best match
// first.
func TestSearch(t *testing.T) {
	s := newTestServer()
	for query, want := range map[string]string{
		"search labels":         "/docs/reference/labels#searchColas",
		"Count labels":          "/docs/reference/labels#countColas",
		"webhook":               "/docs/alerts#webhooks",
		"pagination":            "/docs/api#pagination",
		"brand_first_seen_from": "/docs/reference/labels#searchColas", // a parameter
		"container_position":    "/docs/reference/objects#Image",      // a field
		"get_permittee":         "/docs/tools#get-permittee",
		"SQLITE backup":         "/docs/operations#backup-and-restore",
	} {
		var found []string
		for _, r := range s.search(query) {
			found = append(found, r.Path)
		}
		if !slices.Contains(found[:min(5, len(found))], want) {
			t.Errorf("%q finds %q, want %s among the first five", query, found, want)
		}
	}
	for _, query := range []string{"", "   ", "xyzzyplugh", strings.Repeat("a ", 40)} {
		if found := s.search(query); strings.TrimSpace(query) == "" && found != nil || query == "xyzzyplugh" && found != nil {
			t.Errorf("%q finds %d sections", query, len(found))
		}
	}
	if n := len(s.search("e")); n != maxResults {
		t.Errorf("a frequent letter finds %d sections, want %d", n, maxResults)
	}
}

// TestSearchTargets checks that every result leads to an element of a page.
func TestSearchTargets(t *testing.T) {
	s := newTestServer()
	pages := mustParseAll(t, s)
	for _, e := range s.entries {
		path, id, _ := strings.Cut(e.Path, "#")
		if p, ok := pages[path]; !ok || id != "" && p.ids[id] == nil {
			t.Errorf("%q leads to %s, which does not exist", e.Title, e.Path)
		}
		if e.Title == "" || e.Page == "" {
			t.Errorf("entry for %s has no title or page", e.Path)
		}
	}
}

// TestHostileSearch checks that queries can't add markup to the page, and that long or invalid ones
// are ignored.
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

func FuzzSearch(f *testing.F) {
	s := newTestServer()
	h := s.routes()
	for _, query := range []string{"labels", "İstanbul", "ſ K", "\xff", "a b c", "…", "date_range=all", "é"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, r := range s.search(query) {
			if !utf8.ValidString(r.Excerpt) || len(r.Excerpt) > excerpt+20 {
				t.Errorf("%q: excerpt %q", query, r.Excerpt)
			}
		}
		if resp := send(h, "GET", findPath+"?q="+url.QueryEscape(query)); resp.StatusCode != http.StatusOK {
			t.Errorf("%q: status %d", query, resp.StatusCode)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	s := newTestServer()
	for b.Loop() {
		s.search("date range")
	}
}
