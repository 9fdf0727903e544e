package attack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/internal/program"
)

// TestSignInFlood starts thousands of sign-ins. They must not prevent other people from signing in,
// fill the database, or cause extra requests to the issuer.
func TestSignInFlood(t *testing.T) {
	const strangers, honest, workers = 2_000, 20, 8
	i := newIssuer(t)
	onBoth(t, program.Options{Flags: i.flags()}, func(t *testing.T, s *site) {
		i.reads.Store(0)
		var all sync.WaitGroup
		var started atomic.Int32
		for range workers {
			all.Go(func() {
				for started.Add(1) <= strangers {
					s.beginSignIn(http.DefaultClient, "/")
				}
			})
		}
		for n := range honest {
			for started.Load() < int32(n*strangers/honest) && started.Load() < strangers {
				s.beginSignIn(http.DefaultClient, "/") // keep pace with the flood
			}
			subject := fmt.Sprintf("person%d", n)
			email := subject + "@example.com"
			if page := s.signInAt(newBrowser(t), i, person(subject, email)); !strings.Contains(string(page.Body), email) {
				t.Errorf("%s is not signed in: %d\n%s", subject, page.Status, page.Body)
			}
		}
		all.Wait()
		if n := s.count("sessions"); n != honest {
			t.Errorf("%d sessions stored, want one for each of %d sign-ins", n, honest)
		}
		if n := i.reads.Load(); n > 10 {
			t.Errorf("%d requests for the issuer's documents, want at most 10", n)
		}
	})
}

// TestCallbackFlood sends callbacks with made-up codes from one address, some with the same cookie
// and some with newly started sign-ins. The issuer must get few requests, and people at another
// address must still be able to sign in.
func TestCallbackFlood(t *testing.T) {
	const strangers, honest, workers = 400, 20, 8
	i := newIssuer(t)
	flags := append(i.flags(), "--trusted-proxy", "127.0.0.1")
	onBoth(t, program.Options{Flags: flags}, func(t *testing.T, s *site) {
		newFlooder := func() *http.Client {
			browser := browserAt(t, "203.0.113.7")
			browser.CheckRedirect = noRedirects.CheckRedirect
			return browser
		}
		// start starts a sign-in and returns its callback URL with a made-up code, and its cookie.
		start := func(browser *http.Client) (callback string, cookie http.Header) {
			authorize, page := s.beginSignIn(browser, "/")
			if authorize == nil {
				t.Errorf("starting a sign-in: want a redirect to the issuer: status %d: %s", page.Status, page.Body)
				return "/sign-in/callback", nil
			}
			cookie = http.Header{}
			for _, line := range page.Header.Values("Set-Cookie") {
				pair, _, _ := strings.Cut(line, ";")
				cookie.Add("Cookie", pair)
			}
			return "/sign-in/callback?code=junk&state=" + authorize.Query().Get("state"), cookie
		}
		for name, send := range map[string]func() response{
			"one cookie": func() func() response {
				callback, cookie := start(newFlooder())
				return func() response { return s.send(newFlooder(), http.MethodGet, callback, cookie, nil) }
			}(),
			"new sign-ins": func() response {
				browser := newFlooder()
				callback, _ := start(browser)
				return s.send(browser, http.MethodGet, callback, nil, nil)
			},
		} {
			i.redeemed.Store(0)
			started := time.Now()
			var all sync.WaitGroup
			var sent, limited atomic.Int32
			for range workers {
				all.Go(func() {
					for sent.Add(1) <= strangers {
						if send().Status == http.StatusTooManyRequests {
							limited.Add(1)
						}
					}
				})
			}
			for n := range honest {
				for sent.Load() < int32(n*strangers/honest) {
					time.Sleep(time.Millisecond) // keep pace with the flood
				}
				subject := fmt.Sprintf("person%d", n)
				email := subject + "@example.com"
				if page := s.signInAt(browserAt(t, "203.0.113.8"), i, person(subject, email)); !strings.Contains(string(page.Body), email) {
					t.Errorf("%s: %s is not signed in: %d\n%s", name, subject, page.Status, page.Body)
				}
			}
			all.Wait()
			junk, most := i.redeemed.Load()-honest, 10+int32(time.Since(started)/(6*time.Second))+1
			if name == "one cookie" {
				most = 1
			}
			if junk < 0 || junk > most {
				t.Errorf("%s: %d made-up codes sent to the issuer, want at most %d", name, junk, most)
			}
			if name == "new sign-ins" && limited.Load() == 0 {
				t.Errorf("%s: no callback was limited", name)
			}
		}
		if n := strings.Count(s.Log(), "rejected a code"); n > 3 {
			t.Errorf("%d warnings about made-up codes, want at most 3", n)
		}
	})
}
