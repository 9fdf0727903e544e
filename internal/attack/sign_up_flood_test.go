package attack

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// TestSignUpFlood requests sign-in links for many made-up addresses, from many clients. The number of
// emails must stay within its limit, no accounts may be created, and an account holder must still
// get a link.
func TestSignUpFlood(t *testing.T) {
	const clients, perClient, limit = 40, 10, 300
	mailServer := mailtest.Start(t)
	flags := []string{
		"--trusted-proxy", "127.0.0.1", "--smtp", mailServer.URL(), "--mail-from", "alerts@registry.example", "--sign-up", "open",
	}
	onBoth(t, program.Options{Flags: flags}, func(t *testing.T, s *site) {
		s.account("holder@example.com", cola.TierPro)
		before := len(mailServer.Messages())
		request := func(client, email string) int {
			header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
			return s.send(&http.Client{Transport: forwarded(client)}, http.MethodPost, "/sign-in/email", header,
				url.Values{"email": {email}}.Encode()).Status
		}
		for n := range clients * perClient {
			client := fmt.Sprintf("198.51.100.%d", n/perClient)
			if status := request(client, fmt.Sprintf("made-up-%d@example.com", n)); status != http.StatusOK {
				t.Fatalf("request %d: status %d, want 200", n, status)
			}
		}
		if status := request("198.51.100.0", "more@example.com"); status != http.StatusTooManyRequests {
			t.Errorf("request over the client's limit: status %d, want 429", status)
		}
		if status := request("203.0.113.7", "holder@example.com"); status != http.StatusOK {
			t.Errorf("account holder: status %d, want 200", status)
		}
		got := func(m mailtest.Message) bool { return m.To == "holder@example.com" }
		for until := time.Now().Add(time.Minute); !slices.ContainsFunc(mailServer.Messages()[before:], got); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("the account holder got no link within a minute")
			}
		}
		s.Stop() // sends the queued emails
		if sent := len(mailServer.Messages()) - before; sent != limit+1 {
			t.Errorf("%d emails sent, want %d and the account holder's", sent, limit)
		}
		if n := s.count("emailed_links"); n != limit+1 {
			t.Errorf("%d links stored, want %d", n, limit+1)
		}
		if n := s.count("accounts"); n != 1 {
			t.Errorf("%d accounts, want 1", n)
		}
	})
}
