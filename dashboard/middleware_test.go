package dashboard

import (
	"net/http"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestRateLimit checks that exceeding the page rate limit affects no other visitor, and that
// requests succeed again after a second.
func TestRateLimit(t *testing.T) {
	s := mustSite(t)
	s.join("bob@example.com", cola.TierFree)
	for range pageBurst {
		s.get("/setup").shows(t, http.StatusOK)
	}
	s.get("/plans").shows(t, http.StatusOK) // public, so shown even over the limit
	rejected := s.get("/setup")
	rejected.shows(t, http.StatusTooManyRequests, "too quickly")
	if rejected.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After = %q, want 1", rejected.Header.Get("Retry-After"))
	}
	s.by("bob@example.com").get("/setup").shows(t, http.StatusOK)
	s.registry.Advance(time.Second)
	for range pagesPerSecond {
		s.get("/setup").shows(t, http.StatusOK)
	}
	s.get("/setup").shows(t, http.StatusTooManyRequests)
}

// TestSignedOutRateLimit checks that requests from a signed-out browser do not use the account's
// page rate limit.
func TestSignedOutRateLimit(t *testing.T) {
	s := mustSite(t)
	s.browsers.callers["thief"] = s.registry.SignIn(t, s.browsers.callers[ann].Account, "Thief", "")
	s.by("thief").get("/setup").shows(t, http.StatusOK)
	s.post("/account/sign-ins/end-others", nil).redirects(t)
	for range 2 * pageBurst {
		s.by("thief").get("/setup")
	}
	s.get("/setup").shows(t, http.StatusOK)
}
