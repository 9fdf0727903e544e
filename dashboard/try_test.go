package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// trySite is a site that counts account loads.
type trySite struct {
	*site
	loads *accountLoads
}

// mustTry returns a site with an API that records its calls.
func mustTry(t *testing.T) (s *trySite, calls *[]string) {
	t.Helper()
	s, calls = &trySite{site: mustSite(t)}, new([]string)
	s.loads = &accountLoads{Service: s.registry.Service}
	s.handler = New(s.loads, s.browsers, Options{
		PublicURL: registrytest.PublicURL, Logger: quiet, Now: s.registry.Now,
		API: func(w http.ResponseWriter, r *http.Request, c cola.Caller) {
			*calls = append(*calls, fmt.Sprint(r.Method, " ", r.URL, " ", c.Account == s.browsers.callers[ann].Account, len(r.Header["Cookie"]), len(r.Header["Origin"])))
			w.WriteHeader(http.StatusTeapot)
		},
	})
	return s, calls
}

// TestTryCall checks that only API paths are called, with GET and as the signed-in account.
func TestTryCall(t *testing.T) {
	s, calls := mustTry(t)
	if a := s.post(tryPath, url.Values{"url": {"/api/v1/colas?q=a+b&page=2"}}); a.StatusCode != http.StatusTeapot {
		t.Errorf("status %d, want the API's: %s", a.StatusCode, a.body)
	}
	if want := "GET /api/v1/colas?q=a+b&page=2 true 0 0"; len(*calls) != 1 || (*calls)[0] != want {
		t.Errorf("calls = %q, want %q", *calls, want)
	}
	for _, target := range []string{
		"", "/", "/keys", "/api/v1", "/api/v2/colas", "https://other.example/api/v1/colas", "//other.example/api/v1/colas",
		"http:/api/v1/colas", "/images/1", "%", "/api/v1/%zz", "/%61pi/v1/colas",
	} {
		a := s.post(tryPath, url.Values{"url": {target}})
		if a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, `"code":"validation_error"`) {
			t.Errorf("%s: %d %s", target, a.StatusCode, a.body)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut} {
		s.ask(method, tryPath+"?url=/api/v1/colas")
	}
	if len(*calls) != 1 {
		t.Errorf("calls = %q", *calls)
	}
}

// TestTryCallRefused checks that requests from other sites, and from sessions that can't send
// requests, don't reach the API.
func TestTryCallRefused(t *testing.T) {
	s, calls := mustTry(t)
	s.join("sam@example.com", cola.TierPro)
	if err := s.registry.Store.Suspend(t.Context(), s.browsers.callers["sam@example.com"].Account, "The invoice is unpaid."); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		as, header string
		status     int
		code       string
	}{
		{"", "Sec-Fetch-Site: same-origin", http.StatusUnauthorized, "unauthorized"},
		{"sam@example.com", "Sec-Fetch-Site: same-origin", http.StatusForbidden, "account_suspended"},
		{ann, "Sec-Fetch-Site: cross-site", http.StatusForbidden, ""},
		{ann, "Sec-Fetch-Site: same-site", http.StatusForbidden, ""},
		{ann, "Origin: https://other.example", http.StatusForbidden, ""},
		{ann, "Origin: null", http.StatusForbidden, ""},
		{ann, "Sec-Fetch-Site: same-origin", http.StatusTeapot, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, tryPath, strings.NewReader("url=/api/v1/usage"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		name, value, _ := strings.Cut(tt.header, ": ")
		r.Header.Set(name, value)
		a := s.by(tt.as).send(r)
		if a.StatusCode != tt.status || !strings.Contains(a.body, tt.code) || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%q with %s: %d %v %s", tt.as, tt.header, a.StatusCode, a.Header, a.body)
		}
	}
	if len(*calls) != 1 {
		t.Errorf("calls = %q, want only the last request", *calls)
	}
}

// accountLoads is a Service that counts account loads.
type accountLoads struct {
	Service
	n int
}

func (a *accountLoads) Account(ctx context.Context, c cola.Caller) (registry.Account, cola.QuotaState, error) {
	a.n++
	return a.Service.Account(ctx, c)
}

// TestTryCallLimits checks that calls from one session, and from two sessions of the same account
// combined, are rate-limited, and that rate-limited calls from one session don't load the account.
func TestTryCallLimits(t *testing.T) {
	const other = "ann's other browser"
	for name, sessions := range map[string][]string{"one session": {ann}, "two sessions": {ann, other}} {
		t.Run(name, func(t *testing.T) {
			s, calls := mustTry(t)
			s.browsers.callers[other] = s.registry.SignIn(t, s.browsers.callers[ann].Account, other, "")
			limited := 0
			for n := range pageBurst * 3 / 2 {
				a := s.by(sessions[n%len(sessions)]).post(tryPath, url.Values{"url": {"/api/v1/suggest?q=a"}})
				if a.StatusCode == http.StatusTooManyRequests && strings.Contains(a.body, `"error"`) {
					limited++
				}
			}
			if len(*calls) != pageBurst || limited != pageBurst/2 {
				t.Errorf("%d calls and %d limited, want %d and %d", len(*calls), limited, pageBurst, pageBurst/2)
			}
			if len(sessions) == 1 && s.loads.n != pageBurst {
				t.Errorf("the account was loaded %d times, want %d", s.loads.n, pageBurst)
			}
		})
	}
}
