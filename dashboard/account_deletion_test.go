package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// TestAccountDeletion checks the pages for deleting and keeping an account. They are plain forms,
// so they work without JavaScript.
func TestAccountDeletion(t *testing.T) {
	s := mustSite(t)
	bob := s.join("bob@example.com", cola.TierFree)
	s.get("/account").shows(t, http.StatusOK, `href="/account/delete"`)
	form := s.get("/account/delete")
	form.shows(t, http.StatusOK, `action="/account/delete"`, `name="confirmation"`, ann)
	form.checkHTML(t)
	wrong := s.post("/account/delete", url.Values{"confirmation": {`"><script>`}})
	wrong.shows(t, http.StatusBadRequest, `aria-invalid="true"`, `aria-describedby="confirmation-hint confirmation-problem"`)
	wrong.checkHTML(t)
	s.post("/account/delete", url.Values{"confirmation": {ann}, "holder": {"999"}}).shows(t, http.StatusForbidden)
	s.get("/keys").shows(t, http.StatusOK)
	s.post("/account/keep", nil).redirects(t) // nothing to undo

	confirmed := url.Values{"confirmation": {strings.ToUpper(ann)}}
	if to := s.post("/account/delete", confirmed).redirects(t); to != "/account/delete" {
		t.Fatalf("redirect to %s, want /account/delete", to)
	}
	page := s.get("/account/delete")
	page.shows(t, http.StatusOK, `action="/account/keep"`, `href="/account/export"`, `action="/sign-out"`, "Nov 27, 2026, 12:00 UTC", ann)
	page.checkHTML(t)
	if strings.Contains(page.body, "<nav") {
		t.Error("the page shows the navigation, whose pages are not available")
	}
	for _, path := range []string{"/", "/keys", "/account", "/explore?q=oak", "/usage"} {
		if to := s.get(path).redirects(t); to != "/account/delete" {
			t.Errorf("%s redirects to %s, want /account/delete", path, to)
		}
	}
	if to := s.post("/keys/new", url.Values{"name": {"x"}}).redirects(t); to != "/account/delete" {
		t.Errorf("a form redirects to %s, want /account/delete", to)
	}
	fragment := httptest.NewRequest(http.MethodGet, "/keys", nil)
	fragment.Header.Set("Hx-Request", "true")
	if to := s.send(fragment).Header.Get("Hx-Redirect"); to != "/account/delete" {
		t.Errorf("a page fragment redirects to %q, want /account/delete", to)
	}
	s.get("/account/export").shows(t, http.StatusOK, `"complete":true`)
	s.post("/account/delete", confirmed).redirects(t)
	s.by("bob@example.com").get("/keys").shows(t, http.StatusOK)

	if to := s.post("/account/keep", nil).redirects(t); to != "/" {
		t.Fatalf("redirect to %s, want /", to)
	}
	s.get("/keys").shows(t, http.StatusOK, "<nav")
	if _, err := s.registry.Store.Account(t.Context(), bob.Account); err != nil {
		t.Error(err)
	}
}

// TestKeepTooLate checks that a deletion that is due can't be undone.
func TestKeepTooLate(t *testing.T) {
	s := mustSite(t)
	s.post("/account/delete", url.Values{"confirmation": {ann}}).redirects(t)
	s.registry.Advance(7 * 24 * time.Hour)
	s.post("/account/keep", nil).shows(t, http.StatusNotFound)
}

// TestQuotaEmails checks the setting for email about quotas, which is shown if the server sends
// email.
func TestQuotaEmails(t *testing.T) {
	s := mustSite(t)
	if strings.Contains(s.get("/account").body, "/account/quota-emails") {
		t.Error("the page has the setting even though the server sends no email")
	}
	s.handler = New(s.registry.Service, s.browsers, Options{PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now, SignInByEmail: true})
	for _, on := range []string{"false", "true"} {
		page := s.get("/account")
		page.shows(t, http.StatusOK, `action="/account/quota-emails"`, `name="on" value="`+on+`"`)
		page.checkHTML(t)
		if to := s.post("/account/quota-emails", url.Values{"on": {on}}).redirects(t); to != "/account" {
			t.Errorf("redirect to %s, want /account", to)
		}
	}
	s.get("/account").shows(t, http.StatusOK, `name="on" value="false"`)
}
