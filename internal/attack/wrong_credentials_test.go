package attack

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/program"
)

// wrongToken returns a well-formed token that was never issued. Each n gives a different token.
func wrongToken(n int) string {
	text := make([]byte, 32)
	copy(text, strconv.Itoa(n))
	return base64.RawURLEncoding.EncodeToString(text)
}

// metric reads one sample from an admin listener.
func (s *site) metric(admin, sample string) float64 {
	s.t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(sample) + ` (\S+)$`).FindSubmatch(get(s.t,
		"http://"+admin+"/metrics").Body)
	if m == nil {
		s.t.Fatalf("no sample %s", sample)
	}
	value, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// TestWrongCredentials floods the server with wrong keys, cookies and tokens. The number of queries
// must depend on the elapsed time, not on the number of requests. Valid credentials, even new ones,
// must still work from the same address.
func TestWrongCredentials(t *testing.T) {
	admin := program.Address(t)
	onBoth(t, program.Options{Flags: []string{"--admin-listen", admin}}, func(t *testing.T, s *site) {
		known, unseen := s.account("known@example.com", cola.TierPro), s.account("unseen@example.com", cola.TierPro)
		browser := s.signIn("known@example.com")
		floods := map[string]func(n int) response{
			"key":     func(int) response { return s.rest(auth.NewSecret().Reveal(), http.MethodGet, "/usage", nil) },
			"session": func(n int) response { return s.send(noRedirects, http.MethodGet, "/usage", cookie(wrongToken(n)), nil) },
			"sign_in_link": func(n int) response {
				return s.send(noRedirects, http.MethodGet, "/sign-in/link/"+wrongToken(n), nil, nil)
			},
			"feed": func(n int) response { return s.send(noRedirects, http.MethodGet, "/feeds/"+wrongToken(n), nil, nil) },
			"destination": func(n int) response {
				return s.send(noRedirects, http.MethodPost, "/unsubscribe/"+wrongToken(n), nil, nil)
			},
		}
		for kind, send := range floods {
			statuses := map[int]int{}
			queries := fmt.Sprintf(`colaregistry_secret_lookup_queries_total{kind="%s"}`, kind)
			before, started := s.metric(admin, queries), time.Now()
			var mu sync.Mutex
			var flood sync.WaitGroup
			for worker := range 10 {
				flood.Go(func() {
					for n := range 40 {
						a := send(1000*worker + n)
						mu.Lock()
						statuses[a.Status]++
						mu.Unlock()
					}
				})
			}
			flood.Wait()
			if count, most := s.metric(admin, queries)-before, time.Since(started)/(10*time.Millisecond)+2; count < 1 ||
				count > float64(most) {
				t.Errorf("%s: 400 wrong secrets caused %v queries, want at most %d", kind, count, most)
			}
			if kind != "session" && statuses[http.StatusTooManyRequests] == 0 {
				t.Errorf("%s: no request was limited: %v", kind, statuses)
			}
			if kind == "session" && (len(statuses) != 1 || statuses[http.StatusSeeOther] == 0) {
				t.Errorf("wrong cookies don't redirect to the sign-in page: %v", statuses)
			}
		}
		rejected := s.rest(auth.NewSecret().Reveal(), http.MethodGet, "/usage", nil)
		failure := rejected.JSON(t)["error"].(map[string]any)
		if rejected.Status == http.StatusTooManyRequests &&
			(rejected.Header.Get("Retry-After") == "" || failure["code"] != "quota_exceeded" || failure["details"].(map[string]any)["reason"] != "failed_credentials") {
			t.Errorf("429: want failed_credentials with Retry-After: headers %v: %s", rejected.Header, rejected.Body)
		}
		for name, key := range map[string]string{"known": known.Key.Reveal(), "never seen": unseen.Key.Reveal()} {
			if a := s.rest(key, http.MethodGet, "/usage", nil); a.Status != http.StatusOK {
				t.Errorf("valid key (%s) from the limited address: status %d, want 200: %s", name, a.Status, a.Body)
			}
		}
		if a := s.send(browser, http.MethodGet, "/usage", nil, nil); a.Status != http.StatusOK ||
			!strings.Contains(string(a.Body), "known@example.com") {
			t.Errorf("signed-in browser from the limited address: status %d, want 200 with known@example.com", a.Status)
		}
		s.signIn("unseen@example.com") // with a link created after the flood
		missing := s.send(http.DefaultClient, http.MethodGet, "/api/v1/usage", nil, nil)
		if missing.Status != http.StatusUnauthorized || missing.Header.Get("Www-Authenticate") == "" {
			t.Errorf("request without credentials: %d, want 401 with a challenge", missing.Status)
		}
		s.Stop()
		if lines := strings.Count(s.Log(), "kind=failed_credential"); lines < 1 || lines > 5 {
			t.Errorf("%d log lines for 2,000 failed credentials, want 1 to 5", lines)
		}
	})
}

// TestKeyCreatedAfterFailure tries keys before another process creates them. Each key must work
// immediately after its creation.
func TestKeyCreatedAfterFailure(t *testing.T) {
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		holder := s.account("holder@example.com", cola.TierPro)
		for n := range 20 {
			secret := auth.NewSecret()
			for range 3 {
				if a := s.rest(secret.Reveal(), http.MethodGet, "/usage", nil); a.Status == http.StatusOK {
					t.Fatalf("unknown key was accepted: %s", a.Body)
				}
			}
			key := secret.Key()
			key.AccountID, key.Name = holder.ID, fmt.Sprint(n)
			if _, err := s.Store.CreateKey(t.Context(), key, secret.Hash(), 0); err != nil {
				t.Fatal(err)
			}
			if a := s.rest(secret.Reveal(), http.MethodGet, "/usage", nil); a.Status != http.StatusOK {
				t.Fatalf("new key %d: status %d, want 200: %s", n, a.Status, a.Body)
			}
		}
	})
}

// fail sends 80 wrong keys with varying X-Forwarded-For headers, and returns how many were rate
// limited.
func (s *site) fail(forwarded func(n int) string) (limited int) {
	s.t.Helper()
	for n := range 80 {
		header := http.Header{"X-Api-Key": {"lar_wrong"}, "X-Forwarded-For": {forwarded(n)}}
		if a := s.send(http.DefaultClient, http.MethodGet, "/api/v1/usage", header, nil); a.Status == http.StatusTooManyRequests {
			limited++
		}
	}
	return limited
}

// TestForgedClientAddress checks that the server trusts X-Forwarded-For only from a trusted proxy,
// and only the entry that the proxy wrote.
func TestForgedClientAddress(t *testing.T) {
	forged := func(n int) string { return fmt.Sprintf("198.51.100.%d", n) }
	onBoth(t, program.Options{}, func(t *testing.T, s *site) {
		if s.fail(forged) == 0 {
			t.Error("untrusted peer evaded the limit")
		}
	})
	onBoth(t, program.Options{Flags: []string{"--trusted-proxy", "127.0.0.0/8"}}, func(t *testing.T, s *site) {
		if n := s.fail(forged); n != 0 {
			t.Errorf("%d clients of a trusted proxy were limited because of other clients", n)
		}
		if s.fail(func(n int) string { return forged(n) + ", 203.0.113.7" }) == 0 {
			t.Error("client behind a trusted proxy evaded the limit")
		}
	})
}

// noRedirects is a client without cookies that does not follow redirects.
var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func cookie(token string) http.Header { return http.Header{"Cookie": {"colaregistry=" + token}} }
