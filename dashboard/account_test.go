package dashboard

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// externalIssuer is a Browsers whose issuer is on another site.
type externalIssuer struct{ Browsers }

const signInElsewhere = `https://login.example.org/authorize?state="><script>&nonce=1`

func (externalIssuer) Begin(context.Context, string, string) (string, error) {
	return signInElsewhere, nil
}

func (externalIssuer) SignOut(context.Context) (string, error) {
	return "https://login.example.org/logout?id_token_hint=x", nil
}

// TestExternalRedirect checks that signing in and out reaches the issuer through an intermediate
// page. The form-action policy also applies to redirects that follow a form submission, and the
// sites that an issuer redirects to are unknown.
func TestExternalRedirect(t *testing.T) {
	s := mustSite(t)
	s.handler = New(s.registry.Service, externalIssuer{s.browsers}, Options{
		PublicURL: registrytest.PublicURL,
		Logger:    quiet,
		Now:       s.registry.Now,
	})
	for _, path := range []string{"/sign-in", "/sign-out"} {
		a := s.post(path, url.Values{"issuer": {"0"}})
		a.shows(t, http.StatusOK, `<meta http-equiv="refresh" content="0;url=https://login.example.org/`)
		if strings.Contains(a.body, "<script>&") ||
			!strings.Contains(a.Header.Get("Content-Security-Policy"), "form-action 'self';") {
			t.Errorf("%s: want no script and a form-action of self; headers %v\n%s", path, a.Header, a.body)
		}
		a.checkHTML(t)
	}
}

// TestImagePolicy checks that only pages that can show labels load images from other sites.
func TestImagePolicy(t *testing.T) {
	s := mustSite(t)
	for path, want := range map[string]bool{"/explore": true, "/": true, "/plans": false} {
		if got := strings.Contains(s.get(path).Header.Get("Content-Security-Policy"), "img-src 'self' https: "); got != want {
			t.Errorf("%s loads images from other sites: %t, want %t", path, got, want)
		}
	}
	for _, path := range []string{"/sign-in", "/explore"} {
		if policy := s.by("").get(path).Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' "+registrytest.PublicURL+";") {
			t.Errorf("%s without a session: %s", path, policy)
		}
	}
}

// TestSignOutWithoutSession checks that signing out without being signed in stores nothing.
func TestSignOutWithoutSession(t *testing.T) {
	s := mustSite(t)
	if to := s.by("").post("/sign-out", nil).redirects(t); to != "/sign-in" || len(s.browsers.put) != 0 {
		t.Errorf("redirect to %s, stored %v; want /sign-in, no values", to, s.browsers.put)
	}
	s.post("/sign-out", nil).redirects(t)
	if len(s.browsers.put) != 1 {
		t.Error("signing out stored no notice")
	}
}

// TestReturn checks that signing in, whether with an issuer or a link, returns to the requested
// page and never to one chosen by an attacker.
func TestReturn(t *testing.T) {
	s := mustSite(t)
	wanted := s.by("").get("/explore/26324001000004?x=1").redirects(t)
	if wanted != "/sign-in?return=%2Fexplore%2F26324001000004%3Fx%3D1" {
		t.Fatalf("redirect to %s, want the sign-in page with the requested path", wanted)
	}
	page := s.by("").get(wanted)
	page.shows(t, http.StatusOK)
	if len(page.Cookies()) != 1 || !page.Cookies()[0].Secure || !page.Cookies()[0].HttpOnly {
		t.Fatalf("cookies = %v, want one that is Secure and HttpOnly", page.Cookies())
	}
	use := func(value string) string {
		r := httptest.NewRequest(http.MethodPost, "/sign-in/link/good", nil)
		r.AddCookie(&http.Cookie{Name: page.Cookies()[0].Name, Value: value})
		return s.by("").send(r).redirects(t)
	}
	if to := use(page.Cookies()[0].Value); to != "/explore/26324001000004?x=1" {
		t.Errorf("link redirects to %s, want the requested page", to)
	}
	for _, wanted := range []string{"/explore?brand_name=oak", "/keys?page=2", "/deliveries?status=failed"} {
		if to := use(url.QueryEscape(wanted)); to != wanted {
			t.Errorf("link redirects to %s, want %s", to, wanted)
		}
	}
	for _, odd := range []string{
		"//evil.example", "/sign-out?x=1", "/%73ign-out", "/sign-in?return=/x",
		"https://evil.example", "/sign-out", "/sign-in?return=/keys", "/api/v1/usage", "/%5cevil.example", "%zz", "",
	} {
		if to := use(url.QueryEscape(odd)); to != "/" {
			t.Errorf("return=%q: the link redirects to %s, want /", odd, to)
		}
		if to := s.get("/sign-in?return=" + url.QueryEscape(odd)).redirects(t); to != "/" {
			t.Errorf("return=%q: signed in, redirect to %s, want /", odd, to)
		}
	}
	if to := s.get("/sign-in?return=/docs/search").redirects(t); to != "/docs/search" {
		t.Errorf("signed in, redirect to %s, want /docs/search", to)
	}
	if to := s.get("/sign-in?return=/keys").redirects(t); to != "/keys" {
		t.Errorf("signed in, redirect to %s, want /keys", to)
	}
	if len(s.by("").get("/sign-in").Cookies()) != 0 {
		t.Error("opening the sign-in page sets a cookie")
	}
}

// TestFormAfterSession checks that form input is kept if the session has ended.
func TestFormAfterSession(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	typed := url.Values{"name": {`Oak & "ash" <b>`}, "filters.brand_name": {"oak", "ash"}}
	resubmit := s.by("").post("/saved-searches/new?x=1", typed)
	resubmit.shows(t, http.StatusUnauthorized, `action="/saved-searches/new?x=1"`, `name="name" value="Oak & "ash" <b>"`,
		`name="filters.brand_name" value="oak"`, `name="filters.brand_name" value="ash"`)
	if strings.Contains(resubmit.body, "<b>") {
		t.Errorf("field was not escaped:\n%s", resubmit.body)
	}
	resubmit.checkHTML(t)
	live := httptest.NewRequest(http.MethodPost, "/saved-searches/preview", strings.NewReader(typed.Encode()))
	live.Header.Set("Hx-Request", "true")
	part := s.by("").send(live)
	part.shows(t, http.StatusOK, `id="found"`, `role="alert"`,
		`<p id="preview-said" hx-swap-oob="innerHTML"></p>`) // removes the previous count
	if strings.Contains(part.body, "<html") {
		t.Error("got a whole page, want a fragment")
	}
	for _, problem := range tagErrors(part.body) {
		t.Errorf("fragment: %s", problem)
	}
}

// TestTrustedOrigin checks that forms from our own origin are accepted even if a proxy changes the
// Host header, and that others are rejected.
func TestTrustedOrigin(t *testing.T) {
	s := mustSite(t)
	for origin, want := range map[string]int{
		registrytest.PublicURL: http.StatusSeeOther,
		"https://evil.example": http.StatusForbidden, "null": http.StatusForbidden,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://internal:8080/sign-out", nil)
		r.Header.Set("Origin", origin)
		s.send(r).shows(t, want)
	}
}

// TestExportDownload checks that only signed-in account holders can download their account's data,
// and checks the file.
func TestExportDownload(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	s.get("/account").shows(t, http.StatusOK, `href="/account/export"`)
	file := s.get("/account/export")
	var data struct {
		Account  struct{ Email string }
		Complete bool
	}
	if err := json.Unmarshal([]byte(file.body), &data); err != nil || !data.Complete || data.Account.Email != ann {
		t.Errorf("file %q: %v", file.body, err)
	}
	if h := file.Header; h.Get("Content-Type") != "application/json" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") ||
		!strings.Contains(h.Get("Cache-Control"), "no-store") {
		t.Errorf("headers %v", h)
	}
	if to := s.by("").get("/account/export").redirects(t); !strings.HasPrefix(to, "/sign-in") {
		t.Errorf("signed out: redirect to %s", to)
	}
}

// brokenExport is a service with exports that fail after some output.
type brokenExport struct {
	*registry.Service
	before string
}

func (b brokenExport) ExportAccount(_ context.Context, _ cola.Caller, w io.Writer) (cola.QuotaState, error) {
	if b.before != "" {
		_, _ = io.WriteString(w, b.before)
	}
	return cola.QuotaState{}, cola.Unavailable()
}

// TestExportFailure checks that a failure before the first byte is shown as a page, and that a
// later one breaks the connection.
func TestExportFailure(t *testing.T) {
	s := mustSite(t)
	serve := func(before string) (page response, panicked any) {
		s.handler = New(brokenExport{s.registry.Service, before}, s.browsers, Options{PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now})
		defer func() { panicked = recover() }()
		return s.get("/account/export"), nil
	}
	if _, panicked := serve("{"); panicked != http.ErrAbortHandler {
		t.Errorf("panic %v, want ErrAbortHandler", panicked)
	}
	page, panicked := serve("")
	if panicked != nil {
		t.Fatal(panicked)
	}
	page.shows(t, http.StatusServiceUnavailable, "<h1>")
	if page.Header.Get("Content-Disposition") != "" {
		t.Errorf("headers of the error page: %v", page.Header)
	}
}
