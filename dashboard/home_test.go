package dashboard

import (
	"net/http"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestOverview checks the overview of a new account and of one with exhausted quotas.
func TestOverview(t *testing.T) {
	s := mustSite(t)
	const bob = "bob@example.com"
	holder := s.join(bob, cola.TierFree)
	fresh := s.by(bob).get("/")
	fresh.shows(t, http.StatusOK, "0 of 200", "0 of 10,000", "No API keys yet", "No saved searches yet",
		"Dec 1, 2026, 00:00 UTC")
	fresh.lacks(t, `class="problem"`)
	fresh.checkHTML(t)

	key := s.registry.Key(t, holder.Account, "laptop")
	page, _, err := s.registry.SearchColas(t.Context(), key, cola.SearchParams{PerPage: cola.Some(1)})
	if err != nil {
		t.Fatal(err)
	}
	label := page.Colas[0].TTBID.String()
	for range 200 {
		s.registry.Advance(time.Minute)
		if _, _, err := s.registry.Cola(t.Context(), key, label, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.by(bob).get("/").shows(t, http.StatusOK, "200 of 200", `class="problem"`, `href="/plans"`, "1 API key")
}

// TestSuspended checks that every page shows a suspended visitor the reason and lets them sign out.
func TestSuspended(t *testing.T) {
	s := mustSite(t)
	account := s.browsers.callers[ann].Account
	if err := s.registry.Store.Suspend(t.Context(), account, "The October invoice is unpaid."); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/keys", "/usage", "/explore?q=oak", "/saved-searches/new"} {
		a := s.get(path)
		a.shows(t, http.StatusForbidden, "The October invoice is unpaid.", "Sign out")
		a.checkHTML(t)
	}
	s.post("/keys/new", nil).shows(t, http.StatusForbidden, "The October invoice is unpaid.")
	s.get("/plans").shows(t, http.StatusOK)
	if to := s.post("/sign-out", nil).redirects(t); to != signInPath || len(s.browsers.ended) != 1 {
		t.Errorf("signing out redirects to %s and ended %v", to, s.browsers.ended)
	}
}
