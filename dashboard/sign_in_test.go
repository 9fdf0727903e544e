package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// withOptions changes the options of a site.
func (s *site) withOptions(change func(*Options)) *site {
	o := Options{PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now}
	change(&o)
	other := *s
	other.handler = New(s.registry.Service, s.browsers, o)
	return &other
}

// TestSignInByEmail checks the form for a sign-in link.
func TestSignInByEmail(t *testing.T) {
	s := mustSite(t).by("")
	const form = `action="/sign-in/email"`
	if strings.Contains(s.get("/sign-in").body, form) {
		t.Error("the form is shown although the server sends no email")
	}
	for name, k := range map[string]struct {
		options Options
		want    string
	}{
		"no sign-up":  {Options{SignInByEmail: true}, "You don’t need a password"},
		"invite-only": {Options{SignInByEmail: true, InviteOnly: true}, "by invitation"},
		"sign-up":     {Options{SignInByEmail: true, SignUp: true}, "create an account"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.withOptions(func(o *Options) {
				o.SignInByEmail, o.SignUp, o.InviteOnly = k.options.SignInByEmail, k.options.SignUp, k.options.InviteOnly
			})
			s.get("/sign-in").shows(t, http.StatusOK, form, k.want)
			s.browsers.requested = nil
			sent := s.post("/sign-in/email", url.Values{"email": {" ann@example.com\r\n"}})
			sent.shows(t, http.StatusOK, "ann@example.com", "15 minutes")
			if diff := cmp.Diff([]string{"ann@example.com"}, s.browsers.requested); diff != "" || len(sent.Cookies()) > 0 {
				t.Errorf("requested (-want +got):\n%s\ncookies: %v, want none", diff, sent.Cookies())
			}
		})
	}
	if to := s.get("/sign-in/email").redirects(t); to != "/sign-in" {
		t.Errorf("GET redirects to %s, want /sign-in", to)
	}
}

// TestSignInReason checks that the page says why signing in is required.
func TestSignInReason(t *testing.T) {
	s := mustSite(t).by("")
	for wanted, reason := range map[string]string{
		"/keys/new": "To create or manage API keys", "/explore?q=oak": "To open this page", "/": "", "/plans": "", "/docs/search": "",
	} {
		page := s.get("/sign-in?return=" + url.QueryEscape(wanted))
		if got := strings.Contains(page.body, `class="lead"`); got != (reason != "") || !strings.Contains(page.body, reason) {
			t.Errorf("to open %s: the page gives a reason: %t, want %q", wanted, got, reason)
		}
	}
}

// TestSignInByEmailErrors checks rejected requests.
func TestSignInByEmailErrors(t *testing.T) {
	s := mustSite(t).by("").withOptions(func(o *Options) { o.SignInByEmail = true })
	for _, email := range []string{"", "ann", "<script>alert(1)</script>", "ann@example.com\r\nBcc: eve@example.com", "\u202eann@example.com",
		strings.Repeat("é", 10_000)} {
		page := s.post("/sign-in/email", url.Values{"email": {email}, "return": {"/keys"}})
		page.shows(t, http.StatusBadRequest, "Invalid address.", `aria-invalid="true"`, `value="/keys"`)
		if strings.Contains(page.body, "<script>alert") || strings.Contains(page.text, "\u202e") {
			t.Errorf("%.40q is shown unescaped", email)
		}
	}
	s.browsers.requestFault = cola.TooMany("link_requests", 0, time.Minute, "Too many.")
	limited := s.post("/sign-in/email", url.Values{"email": {ann}})
	if limited.shows(t, http.StatusTooManyRequests); limited.Header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After = %q, want 60", limited.Header.Get("Retry-After"))
	}
	s.browsers.requested = nil
	r := httptest.NewRequest(http.MethodPost, "/sign-in/email", strings.NewReader("email="+ann))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if s.send(r).shows(t, http.StatusForbidden); len(s.browsers.requested) > 0 {
		t.Error("a form on another site requested a link")
	}
}

// TestReturnCookie checks that the page requested before a sign-in is forgotten after that sign-in,
// and when the sign-in page is opened without a return path.
func TestReturnCookie(t *testing.T) {
	s := mustSite(t).by("")
	cookie := s.get("/sign-in?return=%2Fusage").Cookies()
	if len(cookie) != 1 {
		t.Fatalf("cookies = %v, want one", cookie)
	}
	for _, target := range []string{"/sign-in", "/sign-in/callback?code=good"} {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.AddCookie(cookie[0])
		if got := s.send(r).Cookies(); len(got) != 1 || got[0].Name != cookie[0].Name || got[0].MaxAge >= 0 {
			t.Errorf("%s: cookies = %v, want the return cookie deleted", target, got)
		}
	}
}

// TestSignUpLink checks the confirmation page of a link that creates an account, and that signing
// in with the link shows a notice.
func TestSignUpLink(t *testing.T) {
	s := mustSite(t)
	s.by("").get("/sign-in/link/new").shows(t, http.StatusOK, "new@example.com", "Create account", `action="/sign-in/link/new"`)
	s.get("/sign-in/link/new").shows(t, http.StatusOK, "signed in as "+ann, "new@example.com")
	if len(s.browsers.put) != 0 {
		t.Errorf("opening the link stored %v", s.browsers.put)
	}
	s.by("").get("/sign-in/link/used").shows(t, http.StatusUnauthorized, "Sign-in failed")
	for _, again := range []response{s.get("/sign-in/link/used"), s.post("/sign-in/link/used", nil)} {
		if to := again.redirects(t); to != "/" || len(s.browsers.put) != 1 {
			t.Errorf("a used link while signed in: redirect to %s with notices %v, want / with one", to, s.browsers.put)
		}
	}
	clear(s.browsers.put)
	if to := s.by("").post("/sign-in/link/new", nil).redirects(t); to != "/" || len(s.browsers.put) != 1 {
		t.Errorf("redirect to %s with notices %v, want / with one", to, s.browsers.put)
	}
}
