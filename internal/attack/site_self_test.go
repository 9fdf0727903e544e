package attack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestSite checks the harness: an account can search and is charged, and a browser can sign in.
func TestSite(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		a := s.account("holder@example.com", cola.TierPro)
		if found := s.rest(a.Key.Reveal(), http.MethodGet, "/colas?per_page=3", nil); found.Status != http.StatusOK {
			t.Fatalf("search: status %d, want 200: %s", found.Status, found.Body)
		}
		if used := s.used(a); used.ListRecords != 3 {
			t.Errorf("used %+v after a page of 3, want 3 list records", used)
		}
		if page := s.send(s.signIn("holder@example.com"), http.MethodGet, "/usage", nil, nil); !strings.Contains(string(page.Body), "holder@example.com") {
			t.Errorf("usage page: status %d, want one with the account's address", page.Status)
		}
	})
}
