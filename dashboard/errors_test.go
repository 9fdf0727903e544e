package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// noAccounts is a registry that cannot read accounts.
type noAccounts struct {
	*registry.Service
	err error
}

func (a noAccounts) Account(context.Context, cola.Caller) (registry.Account, cola.QuotaState, error) {
	return registry.Account{}, cola.QuotaState{}, a.err
}

// brokenSessions is a Browsers that cannot read sessions or, if saveFails is set, cannot save them.
type brokenSessions struct {
	*fakeBrowsers
	saveFails bool
}

func (b brokenSessions) Load(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.saveFails {
			b.fakeBrowsers.Load(next).ServeHTTP(httptest.NewRecorder(), r)
		}
		ShowSessionError(w, r, cola.Unavailable())
	})
}

// resubmitButton is the label of the button that submits a rejected form again.
const resubmitButton = "Submit again"

// with returns a copy of the site with a different service and a different Browsers.
func (s *site) with(svc Service, b Browsers) *site {
	other := *s
	other.handler = New(svc, b, Options{PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now})
	return &other
}

// outages returns copies of the site during a database outage or an overload, keyed by the part
// that is unavailable.
func (s *site) outages() map[string]*site {
	return map[string]*site{
		"account": s.with(noAccounts{s.registry.Service, cola.Unavailable()}, s.browsers),
		"ledger":  s.with(noAccounts{s.registry.Service, cola.Overloaded(time.Second)}, s.browsers),
		"session": s.with(s.registry.Service, brokenSessions{s.browsers, false}),
	}
}

// TestFormInOutage checks that form input is kept if the database is unavailable.
func TestFormInOutage(t *testing.T) {
	s := mustSite(t)
	typed := typedSearch("name", `Oak & "ash" <b>`)
	for name, out := range s.outages() {
		t.Log(name)
		resubmit := out.post("/saved-searches/new?x=1", typed)
		resubmit.shows(t, http.StatusServiceUnavailable,
			`action="/saved-searches/new?x=1"`, `name="name" value="Oak & "ash" <b>"`)
		resubmit.lacks(t, "You’re signed out", "<p>Try again in", `<p><a href="/sign-in">`)
		if strings.Contains(resubmit.body, "<b>") || resubmit.Header.Get("Retry-After") == "" {
			t.Errorf("want escaped fields and Retry-After; headers %v:\n%s", resubmit.Header, resubmit.body)
		}
		resubmit.checkHTML(t)
		huge := out.post("/saved-searches/new", url.Values{"name": {strings.Repeat("x", 70_000)}})
		huge.shows(t, http.StatusServiceUnavailable)
		huge.lacks(t, resubmitButton)
		live := httptest.NewRequest(http.MethodPost, "/saved-searches/preview", strings.NewReader(typed.Encode()))
		live.Header.Set("Hx-Request", "true")
		out.send(live).lacks(t, resubmitButton)
	}
	s.get("/saved-searches").shows(t, http.StatusOK, `class="empty"`)
	fault := s.with(noAccounts{s.registry.Service, cola.Errorf(cola.CodeAccountSuspended, "Suspended.")},
		s.browsers).post("/saved-searches/new", typed)
	fault.shows(t, http.StatusForbidden, "Suspended.")
	fault.lacks(t, resubmitButton)
}

// TestPageInOutage checks that an unavailable page offers to retry instead of asking the visitor,
// who may still be signed in, to sign in.
func TestPageInOutage(t *testing.T) {
	s := mustSite(t)
	for name, out := range s.outages() {
		t.Log(name)
		a := out.get("/saved-searches?page=2")
		a.shows(t, http.StatusServiceUnavailable, `href="/saved-searches?page=2">Try again</a>`, `<a href="/">Back`)
		a.lacks(t, resubmitButton, "<p>Try again in", `<p><a href="/sign-in">`)
		a.checkHTML(t)
	}
	callback := s.with(s.registry.Service, brokenSessions{s.browsers, false}).get("/sign-in/callback?code=x")
	callback.shows(t, http.StatusServiceUnavailable)
	callback.lacks(t, "code=x", "Try again</a>")
}

// TestOutageWithoutResubmission checks that the error page does not offer to resend a cross-site
// form or a form that was already processed.
func TestOutageWithoutResubmission(t *testing.T) {
	s := mustSite(t)
	forged := httptest.NewRequest(http.MethodPost, "/saved-searches/new", strings.NewReader("name=forged"))
	forged.Header.Set("Origin", "https://evil.example")
	a := s.outages()["session"].send(forged)
	a.shows(t, http.StatusServiceUnavailable, `<a href="/">Back`)
	a.lacks(t, "forged", resubmitButton)
	done := s.with(s.registry.Service, brokenSessions{s.browsers, true}).post("/saved-searches/new", typedSearch())
	done.shows(t, http.StatusServiceUnavailable, `<a href="/">Back`)
	done.lacks(t, resubmitButton)
	done.checkHTML(t)
}

// TestMentionsRetry checks which messages already say that, or when, the user can retry.
func TestMentionsRetry(t *testing.T) {
	for message, want := range map[string]bool{
		cola.Unavailable().Message:                       true,
		cola.Overloaded(time.Second).Message:             true,
		"The request timed out. Try again shortly.":      true,
		"Check the list of keys in a few seconds.":       true,
		"You’re opening pages too quickly.":              false,
		"The plan allows 60 requests in any 60 seconds.": false,
	} {
		if got := mentionsRetry.MatchString(message); got != want {
			t.Errorf("mentionsRetry(%q) = %v, want %v", message, got, want)
		}
	}
}
