package main

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/mailtest"
)

// requestLink submits the form for a sign-in link, and returns the response and its body.
func (s *serverProcess) requestLink(t *testing.T, email string) (*http.Response, string) {
	t.Helper()
	resp, err := http.PostForm(s.root()+"/sign-in/email", url.Values{"email": {email}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// awaitLinks waits for n emails and returns the links in those sent to an address.
func awaitLinks(t *testing.T, mailServer *mailtest.Server, n int, to string) (links []string) {
	t.Helper()
	eventually(t, func() bool { return len(mailServer.Messages()) >= n })
	for _, m := range mailServer.Messages() {
		if m.To != to {
			continue
		}
		link := printedLink.FindString(m.Text)
		if link == "" || !strings.Contains(m.HTML, link) {
			t.Fatalf("email without a link in both parts:\n%s\n%s", m.Text, m.HTML)
		}
		links = append(links, link)
	}
	return links
}

// TestEmailedLinks signs in with emailed links, to an existing account and to a new one, across two
// processes.
func TestEmailedLinks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		st := mustOpen(t, h)
		ann, _, _ := mustAccount(t, st, "ann@example.com", cola.TierPro)
		mailServer := mailtest.Start(t)
		one, two := startSender(t, h, mailServer, "--sign-up", "open"), startSender(t, h, mailServer, "--sign-up", "open")
		for i, k := range []struct{ email, button string }{{"Ann@example.com", "Sign in as"}, {"new@example.com", "Create account"}} {
			if resp, body := one.requestLink(t, k.email); resp.StatusCode != http.StatusOK || !strings.Contains(body, k.email) {
				t.Fatalf("request: status %d, want 200 with %s: %s", resp.StatusCode, k.email, body)
			}
			links := awaitLinks(t, mailServer, i+1, k.email)
			if len(links) != 1 {
				t.Fatalf("%d links to %s, want 1", len(links), k.email)
			}
			for range 3 { // like mail scanners; opening the link has no effect
				if status, text := browse(t, visitor(t), "GET", links[0]); status != http.StatusOK || !strings.Contains(text, k.button) {
					t.Fatalf("link: status %d, want 200 with %q: %s", status, k.button, text)
				}
				browse(t, visitor(t), "HEAD", links[0])
			}
			b := visitor(t)
			if status, text := browse(t, b, "POST", strings.Replace(links[0], one.root(), two.root(), 1)); status != http.StatusSeeOther {
				t.Fatalf("first use: status %d, want 303: %s", status, text)
			}
			if status, text := browse(t, b, "GET", one.root()+"/"); status != http.StatusOK || !strings.Contains(text, strings.ToLower(k.email)) {
				t.Errorf("overview: status %d, want 200 with %s: %s", status, k.email, text)
			}
			if status, _ := browse(t, visitor(t), "POST", links[0]); status != http.StatusUnauthorized {
				t.Errorf("second use: status %d, want 401", status)
			}
			for _, s := range []*serverProcess{one, two} {
				if log := s.err.String(); strings.Contains(log, links[0][len(links[0])-20:]) || strings.Contains(log, "@example.com") {
					t.Errorf("log contains the link or an address: %s", log)
				}
			}
		}
		all, err := st.Accounts(t.Context())
		if err != nil || len(all) != 2 || all[0] != ann || all[1].Email != "new@example.com" || all[1].Tier != cola.TierFree {
			t.Errorf("accounts = %+v, %v; want ann's and a new one on the free tier", all, err)
		}
		signUpAtOnce(t, mailServer, one, two)
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// signUpAtOnce uses several links for a new address at once, across two processes. Exactly one of
// them signs in.
func signUpAtOnce(t *testing.T, mailServer *mailtest.Server, one, two *serverProcess) {
	t.Helper()
	before := len(mailServer.Messages())
	for range 3 {
		one.requestLink(t, "both@example.com")
	}
	links := awaitLinks(t, mailServer, before+3, "both@example.com")
	var all sync.WaitGroup
	var used atomic.Int32
	for i := range 6 {
		all.Go(func() {
			link := links[i%3]
			if i >= 3 {
				link = strings.Replace(link, one.root(), two.root(), 1)
			}
			if status, _ := browse(t, visitor(t), "POST", link); status == http.StatusSeeOther {
				used.Add(1)
			}
		})
	}
	all.Wait()
	if used.Load() != 1 {
		t.Errorf("%d links for one address signed in, want 1", used.Load())
	}
}

// TestSignInEmailOracle checks that responses don't reveal which addresses have accounts: they are
// identical for known, unknown, suspended and rate-limited addresses.
func TestSignInEmailOracle(t *testing.T) {
	t.Parallel()
	for _, signUp := range []string{"off", "invite", "open"} {
		t.Run(signUp, func(t *testing.T) {
			t.Parallel()
			h := demoFile(t)
			st := mustOpen(t, h)
			mustAccount(t, st, "ann@example.com", cola.TierFree)
			bob, _, _ := mustAccount(t, st, "bob@example.com", cola.TierFree)
			if err := st.Suspend(t.Context(), bob.ID, "Unpaid."); err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			mailServer := mailtest.Start(t)
			s := startSender(t, h, mailServer, "--sign-up", signUp)
			answer := func(email string) map[string]string {
				resp, body := s.requestLink(t, email)
				got := map[string]string{"status": resp.Status, "body": strings.ReplaceAll(body, email, "ADDRESS")}
				for name := range maps.Keys(resp.Header) {
					if name != "Date" && name != "X-Request-Id" {
						got[name] = strings.Join(resp.Header[name], "\n")
					}
				}
				return got
			}
			want := answer("ann@example.com")
			if want["status"] != "200 OK" {
				t.Fatalf("response = %v, want 200", want)
			}
			for _, email := range []string{"eve@example.com", "bob@example.com", "ann@example.com", "ann@example.com", "ann@example.com"} {
				if diff := cmp.Diff(want, answer(email)); diff != "" {
					t.Errorf("response for %s differs (-ann +%s):\n%s", email, email, diff)
				}
			}
			wantSent := map[string]int{"ann@example.com": 3, "bob@example.com": 1}
			if signUp == "open" {
				wantSent["eve@example.com"] = 1
			}
			s.stop(t) // sends queued emails
			sent := map[string]int{}
			for _, m := range mailServer.Messages() {
				sent[m.To]++
			}
			if diff := cmp.Diff(wantSent, sent); diff != "" {
				t.Errorf("emails (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSignUpFlags checks that open sign-up requires email, and that servers without email have no
// form.
func TestSignUpFlags(t *testing.T) {
	t.Parallel()
	h := demoFile(t)
	c := command(append([]string{"serve", "--sign-up", "open"}, h.flags()...)...)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "--smtp") {
		t.Errorf("--sign-up open without --smtp: %v, %s; want an error", err, out)
	}
	s := startServer(t, h)
	if resp, body := s.requestLink(t, "ann@example.com"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("status %d, want 404: %s", resp.StatusCode, body)
	}
	if _, body := browse(t, visitor(t), "GET", s.root()+"/sign-in"); strings.Contains(body, "/sign-in/email") {
		t.Error("a server without email shows the form")
	}
}
