package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestPublicPages checks that pages for visitors share a layout, have link preview metadata, and
// name the operator.
func TestPublicPages(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t), "--company", "Example & Sons", "--contact", "ops@example.com")
	root := strings.TrimSuffix(s.base, "/api/v1")
	for path, status := range map[string]int{
		"/": 200, "/docs": 200, "/plans": 200, "/privacy": 200, "/sign-in": 200, "/missing": 404, "/docs/missing": 404,
		"/sign-in/link/unknown": 401,
	} {
		a := getPage(t, visitor(t), root+path, http.Header{"Accept": {"text/html"}})
		page := string(a.body)
		if a.StatusCode != status {
			t.Errorf("%s: status %d, want %d", path, a.StatusCode, status)
		}
		parts := []string{"Operated by Example &amp; Sons", "mailto:ops@example.com", `rel="icon"`, `action="/docs/find"`}
		if status == http.StatusOK {
			parts = append(parts, `<meta name="description"`, `property="og:title"`, `property="og:image"`, `property="og:url" content="`+root+path+`"`)
		}
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %s", path, part)
			}
		}
		if indexable := a.Header.Get("X-Robots-Tag") == ""; indexable != (status == http.StatusOK && path != "/sign-in") {
			t.Errorf("%s: indexable: %t", path, indexable)
		}
	}
}

// TestSignInStatus checks that only our pages can find out whether a browser is signed in, and that
// the response is not cached.
func TestSignInStatus(t *testing.T) {
	t.Parallel()
	h := seeded(t)
	s := startServer(t, h)
	root, b := strings.TrimSuffix(s.base, "/api/v1"), visitor(t)
	ours := http.Header{"Sec-Fetch-Dest": {"empty"}, "Sec-Fetch-Site": {"same-origin"}}
	check := func(want string) {
		t.Helper()
		a := getPage(t, b, root+"/sign-in/status", ours)
		if string(a.body) != want || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || len(a.Cookies()) > 0 {
			t.Errorf("%s, headers %v; want %s, not cached, no cookie", a.body, a.Header, want)
		}
	}
	check(`{"signed_in":false}`)
	link := strings.TrimSpace(mustRun(t, append([]string{"account", "link", "--account", demoEmail, "--public-url", root}, h.flags()...)...))
	browse(t, b, http.MethodPost, link)
	check(`{"signed_in":true}`)
	a := getPage(t, b, root+"/sign-in/status", http.Header{"Sec-Fetch-Dest": {"empty"}, "Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}})
	if a.StatusCode != http.StatusForbidden || a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("from another site: status %d, headers %v; want 403", a.StatusCode, a.Header)
	}
	browse(t, b, http.MethodPost, root+"/sign-out")
	check(`{"signed_in":false}`)
}

func TestCompanyFlag(t *testing.T) {
	for company, valid := range map[string]bool{"": true, "Example Inc.": true, " ": false, "a\nBcc: b@example.com": false, "a\u202eb": false} {
		if err := (&companyFlags{Company: company}).checkCompany(); (err == nil) != valid {
			t.Errorf("%q: %v", company, err)
		}
	}
}
