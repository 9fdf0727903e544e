package attack

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// operatorPages lists the requests that only an operator may make.
var operatorPages = []string{
	"GET /collection", "HEAD /collection", "GET /collection/resume", "POST /collection/resume",
	"POST /collection/retry-labels", "POST /collection/retry-days",
}

// TestOperatorPages checks that only an operator with a verified address can view and change label
// collection, and only from the dashboard's own pages.
func TestOperatorPages(t *testing.T) {
	const operator = "ops@example.com"
	i := newIssuer(t)
	flags := append(i.flags(), "--operator", "owner@example.com", "--operator", "Ops@example.com")
	onBoth(t, program.Options{Flags: flags}, func(t *testing.T, s *site) {
		account := s.account(operator, cola.TierPro)
		s.account("ann@example.com", cola.TierPro)
		s.Run("account", "add-identity", "--account", operator, "--issuer", i.URL, "--subject", "helper")
		if err := s.Store.BlockSite(t.Context(), "blocked"); err != nil {
			t.Fatal(err)
		}
		as := func(claims map[string]any) *http.Client {
			browser := newBrowser(t)
			if page := s.signInAt(browser, i, claims); page.Status != http.StatusOK {
				t.Fatalf("sign-in as %v: status %d, want 200: %s", claims, page.Status, page.Body)
			}
			return browser
		}
		browsers := map[string]struct {
			client *http.Client
			status int
		}{
			"visitor": {newBrowser(t), http.StatusSeeOther}, "account": {s.signIn("ann@example.com"), http.StatusNotFound},
			// A command linked this identity to the operator's account. It signs in without an
			// address, then with one that is not the account's.
			"linked identity":                  {as(map[string]any{"sub": "helper"}), http.StatusNotFound},
			"linked identity, another address": {as(person("helper", "owner@example.com")), http.StatusNotFound},
			"lookalike":                        {as(person("eve", "op\u017f@example.com")), http.StatusNotFound},
		}
		for name, b := range browsers {
			b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			for _, request := range operatorPages {
				method, path, _ := strings.Cut(request, " ")
				want := b.status
				if name == "visitor" && method == http.MethodPost {
					want = http.StatusUnauthorized
				}
				if got := s.send(b.client, method, path, http.Header{"Origin": {s.URL}}, nil); got.Status != want {
					t.Errorf("%s: %s: status %d, want %d", name, request, got.Status, want)
				}
			}
			if page := s.send(b.client, http.MethodGet, "/coverage", nil, nil); strings.Contains(string(page.Body), `href="/collection`) {
				t.Errorf("%s: the navigation links to /collection", name)
			}
		}
		operators := map[string]*http.Client{"link": s.signIn(operator), "issuer": as(person("ops", operator))}
		for name, browser := range operators {
			if page := s.send(browser, http.MethodGet, "/collection", nil, nil); !strings.Contains(string(page.Body), "Blocked") {
				t.Errorf("operator signed in via %s: status %d, want 200 with the block: %s", name, page.Status, page.Body)
			}
			for _, header := range []http.Header{{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}}} {
				if got := s.send(browser, http.MethodPost, "/collection/resume", header, nil); got.Status != http.StatusForbidden {
					t.Errorf("operator signed in via %s, POST with %v: status %d, want 403", name, header, got.Status)
				}
			}
		}
		for _, path := range []string{"/collection", "/collection/resume"} {
			if got := s.rest(account.Key.Reveal(), http.MethodPost, path, nil); got.Status != http.StatusNotFound {
				t.Errorf("REST %s: status %d, want 404", path, got.Status)
			}
		}
		if status, err := s.Store.FetchStatus(t.Context()); err != nil || status.Blocked == "" {
			t.Fatalf("status = %+v, %v, want the block", status, err)
		}
		form := http.Header{"Origin": {s.URL}, "Content-Type": {"application/x-www-form-urlencoded"}}
		s.send(operators["link"], http.MethodPost, "/collection/resume", form, url.Values{"holder": {""}}.Encode())
		if status, err := s.Store.FetchStatus(t.Context()); err != nil || status.Blocked != "" {
			t.Errorf("status after the operator resumed = %+v, %v, want no block", status, err)
		}
	})
}
