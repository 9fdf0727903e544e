package auth

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/store"
)

// TestAnonymousVisit checks that anonymous visits set no cookie and do not use the store.
func TestAnonymousVisit(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	response := b.visit(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := b.Caller(r.Context()); ok || b.Pop(r.Context(), "notice") != "" {
			t.Error("anonymous request has a caller or stored text")
		}
		if redirect, err := b.SignOut(r.Context()); redirect != "" || err != nil {
			t.Errorf("SignOut without a session = %q, %v, want no redirect and no error", redirect, err)
		}
		_, _ = io.WriteString(w, "page")
	})
	if len(response.Header["Set-Cookie"]) != 0 || response.Header.Get("Vary") != "Cookie" {
		t.Errorf("headers = %v, want Vary: Cookie and no Set-Cookie", response.Header)
	}
	if len(b.store.calls) != 0 {
		t.Errorf("unexpected store calls: %v", b.store.calls)
	}
}

// TestCookies checks that cookies are hidden from scripts and other sites and, over https, from
// sibling hosts and plain connections.
func TestCookies(t *testing.T) {
	for public, want := range map[string]http.Cookie{
		"https://cola.example.com":   {Name: "__Host-colaregistry", Secure: true},
		"https://cola.example.com/":  {Name: "__Host-colaregistry", Secure: true},
		"http://127.0.0.1:8080":      {Name: "colaregistry"},
		"http://cola.example.com:80": {Name: "colaregistry"},
	} {
		b := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.PublicURL = public }).browser()
		response := b.visit(func(_ http.ResponseWriter, r *http.Request) { b.Put(r.Context(), "notice", "hello") })
		c := response.Cookies()[0]
		if len(c.Value) != 43 || c.MaxAge < 595 || c.MaxAge > 605 {
			t.Errorf("%s: Set-Cookie = %s, want a 43-character value and a Max-Age of about 600", public, response.Header["Set-Cookie"])
		}
		got := http.Cookie{Name: c.Name, Secure: c.Secure}
		if diff := cmp.Diff(want, got); diff != "" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: Set-Cookie = %s (-want +got):\n%s", public, response.Header["Set-Cookie"], diff)
		}
		for name := range b.store.sessions {
			if strings.Contains(name, c.Value) {
				t.Error("session token is stored in plaintext")
			}
		}
	}
}

// TestForgedCookies checks that a session ID chosen by the browser is never used.
func TestForgedCookies(t *testing.T) {
	known := newSecretText()
	for _, planted := range []string{known, "x", strings.Repeat("A", 5000), known[:42] + "/", "a\u00e9", known + "="} {
		d := newBrowserFixture(t, nil)
		b := d.browser()
		b.cookies["x"] = &http.Cookie{Name: "__Host-colaregistry", Value: planted}
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "hello") })
		delete(b.cookies, "x")
		if calls := d.store.called("Session"); planted != known && calls != 0 {
			t.Errorf("Session called with invalid ID %.50q", planted)
		}
		if b.cookie() == planted || b.cookie() == "" {
			t.Fatalf("planted cookie %q was accepted as the session ID", planted)
		}
		b.signIn(t, "ann")
		attacker := d.browser()
		attacker.cookies["x"] = &http.Cookie{Name: "__Host-colaregistry", Value: planted}
		if c := attacker.caller(); c.Account != 0 {
			t.Fatalf("browser with planted cookie %q is signed in as %+v", planted, c)
		}
	}
}

// TestSessionFixation checks that signing in and signing out both invalidate the previous session
// token.
func TestSessionFixation(t *testing.T) {
	d := newBrowserFixture(t, nil)
	for name, enter := range map[string]func(b *browser){
		"issuer": func(b *browser) { b.signIn(t, "ann") },
		"link": func(b *browser) {
			token := d.store.link(store.Account{ID: 77, Email: "eve@example.com"})
			if err := b.use(token); err != nil {
				t.Fatal(err)
			}
		},
	} {
		b := d.browser()
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "anonymous") })
		attacker := d.browser()
		attacker.cookies["x"] = b.cookies["__Host-colaregistry"] // set or seen by the attacker
		enter(b)
		if attacker.caller().Account != 0 || attacker.cookie() == b.cookie() {
			t.Errorf("%s: old session token is still valid", name)
		}
		thief := d.browser()
		thief.cookies["x"] = b.cookies["__Host-colaregistry"]
		if thief.caller().Account == 0 {
			t.Fatalf("%s: new session token is not signed in", name)
		}
		b.signOut(t)
		if thief.caller().Account != 0 || b.caller().Account != 0 || b.cookie() != "" {
			t.Errorf("%s: still signed in after SignOut", name)
		}
	}
	if len(d.store.sessions) != 0 {
		t.Errorf("%d sessions remain, want 0", len(d.store.sessions))
	}
}

// TestSignInExpiry checks that sign-ins expire after a day of inactivity, and after fourteen days
// regardless of activity.
func TestSignInExpiry(t *testing.T) {
	for _, c := range []struct {
		name        string
		every, last time.Duration
	}{
		{"idle", 0, 24 * time.Hour},
		{"in use", 23 * time.Hour, 14 * 24 * time.Hour},
		{"in constant use", 5 * time.Minute, 14 * 24 * time.Hour},
	} {
		b := newBrowserFixture(t, nil).browser()
		b.signIn(t, "ann")
		start := b.clock.now()
		if c.every > 0 {
			for b.clock.now().Add(c.every).Before(start.Add(c.last)) {
				b.clock.advance(c.every)
				b.look(func(ctx context.Context) {
					if _, ok := b.Caller(ctx); !ok {
						t.Fatalf("%s: signed out after %v", c.name, b.clock.now().Sub(start))
					}
				})
			}
		}
		b.clock.advance(start.Add(c.last).Sub(b.clock.now()) - time.Second)
		if b.caller().Account == 0 && c.every != 5*time.Minute { // last seen at most five minutes ago
			t.Errorf("%s: signed out a second too early", c.name)
		}
		b.clock.advance(time.Second)
		if c.every == 0 {
			b.clock.advance(24 * time.Hour) // b.caller() above counted as activity
		}
		if _, ok := callerOf(b); ok {
			t.Errorf("%s: still signed in", c.name)
		}
	}
}

func callerOf(b *browser) (c cola.Caller, ok bool) {
	b.look(func(ctx context.Context) { c, ok = b.Caller(ctx) })
	return c, ok
}

// TestSignOut checks that the issuer receives the ID token of the person signing out and redirects
// back, and that signing out reports an error if the store is unavailable.
func TestSignOut(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	c := b.signIn(t, "ann")
	d.store.set(func(s *browserStore) { s.fail["EndSignIn"] = store.ErrUnavailable })
	err := b.do(func(ctx context.Context) error { _, err := b.SignOut(ctx); return err })
	if cola.CodeOf(err) != cola.CodeUnavailable || b.caller().Account != c.Account {
		t.Errorf("SignOut with the store unavailable: %v", err)
	}
	d.store.set(func(s *browserStore) { clear(s.fail) })
	redirect, err := url.Parse(b.signOut(t))
	if err != nil {
		t.Fatal(err)
	}
	q := redirect.Query()
	if redirect.Host != "id.example.com" || redirect.Path != "/realms/beer/bye" || q.Get("theme") != "dark" || q.Get("client_id") != "dashboard" ||
		q.Get("post_logout_redirect_uri") != ourURL+"/sign-in" || strings.Count(q.Get("id_token_hint"), ".") != 2 {
		t.Errorf("SignOut redirects to %s, want the end-session endpoint with all parameters", redirect)
	}
	if d.store.isActive(c.Credential.ID) {
		t.Error("sign-in is still active after sign-out")
	}
	d.provider.set(func(p *provider) { p.idToken = []change{claim("groups", strings.Repeat("g", 5000))} })
	b.signIn(t, "ann")
	if redirect := b.signOut(t); strings.Contains(redirect, "id_token_hint") || !strings.Contains(redirect, "client_id=dashboard") {
		t.Errorf("ID token too long for a URL: SignOut redirects to %.200s, want client_id without id_token_hint", redirect)
	}
}

// TestBrowserOptions checks that invalid options are rejected at startup.
func TestBrowserOptions(t *testing.T) {
	good := SignInIssuer{URL: ourIssuer, ClientID: "x"}
	messages := golden.Load(t, "browser_options")
	for name, o := range map[string]BrowserOptions{
		"no scheme":         {PublicURL: "cola.example.com"},
		"path":              {PublicURL: "https://cola.example.com/app"},
		"another scheme":    {PublicURL: "ftp://cola.example.com"},
		"plain http issuer": {PublicURL: ourURL, Issuers: []SignInIssuer{{URL: "http://id.example.com", ClientID: "x"}}},
		"no client ID":      {PublicURL: ourURL, Issuers: []SignInIssuer{{URL: ourIssuer}}},
		"duplicate issuer":  {PublicURL: ourURL, Issuers: []SignInIssuer{good, good}},
		"query":             {PublicURL: ourURL, Issuers: []SignInIssuer{{URL: ourIssuer + "?a", ClientID: "x"}}},
		"no keys":           {PublicURL: ourURL},
	} {
		if name != "no keys" {
			o.Attempts = sealer(newKeys(t))
		}
		if _, err := NewBrowsers(o); err == nil {
			t.Errorf("%s: NewBrowsers succeeded, want an error", name)
		} else {
			messages.Check(t, name, err.Error())
		}
	}
	d := newBrowserFixture(t, func(d *browserFixture, o *BrowserOptions) {
		o.Issuers = []SignInIssuer{d.provider.settings(), {URL: otherIssuer, ClientID: "x", Name: "Work"}}
	})
	if diff := cmp.Diff([]IssuerChoice{{"0", "id.example.com"}, {"1", "Work"}}, d.Issuers()); diff != "" {
		t.Error(diff)
	}
}

// TestDisplayBrowser checks that the User-Agent is truncated and stripped of invisible characters.
func TestDisplayBrowser(t *testing.T) {
	for userAgent, want := range map[string]string{
		"Mozilla/5.0 (X11)":             "Mozilla/5.0 (X11)",
		"":                              "",
		" a\x00b\r\nc\u202ed\xff ":      "abcd",
		strings.Repeat("é", 300) + "xx": strings.Repeat("é", 100),
		"x" + strings.Repeat("é", 300):  "x" + strings.Repeat("é", 99),
	} {
		if got := displayBrowser(userAgent); got != want {
			t.Errorf("displayBrowser(%q) = %q, want %q", userAgent, got, want)
		}
	}
}

// TestForms checks that a form can be submitted once, by the account that opened it, before it
// expires, even under concurrent submissions.
func TestForms(t *testing.T) {
	d := newBrowserFixture(t, nil)
	ann, bob, anonymous := d.browser(), d.browser(), d.browser()
	ann.signIn(t, "ann")
	bob.signIn(t, "bob")
	open := func(b *browser) (token string) {
		t.Helper()
		if err := b.do(func(ctx context.Context) (err error) { token, err = d.OpenForm(ctx); return err }); err != nil {
			t.Fatal(err)
		}
		return token
	}
	take := func(b *browser, token string) (first bool) {
		t.Helper()
		if err := b.do(func(ctx context.Context) (err error) { first, err = d.TakeForm(ctx, token); return err }); err != nil {
			t.Error(err)
		}
		return first
	}
	token := open(ann)
	for name, other := range map[string]*browser{"another account": bob, "anonymous": anonymous} {
		if take(other, token) {
			t.Errorf("%s: TakeForm = true, want false", name)
		}
	}
	for _, invalid := range []string{"", "unknown", token + "\x00", "../" + token} {
		if take(ann, invalid) {
			t.Errorf("TakeForm(%q) = true, want false", invalid)
		}
	}
	var all sync.WaitGroup
	var firsts atomic.Int32
	for range 8 {
		all.Go(func() {
			caller := ann.caller()
			signIn := &signedIn{ID: caller.Credential.ID, Account: caller.Account}
			ctx := context.WithValue(t.Context(), sessionKey{}, &session{data: sessionData{SignIn: signIn}})
			if first, err := d.TakeForm(ctx, token); err != nil {
				t.Error(err)
			} else if first {
				firsts.Add(1)
			}
		})
	}
	all.Wait()
	if firsts.Load() != 1 {
		t.Errorf("TakeForm succeeded %d times, want 1", firsts.Load())
	}
	typed := open(ann)
	second := d.browser()
	second.signIn(t, "ann")
	if !take(second, typed) || take(ann, typed) {
		t.Error("form opened in another session of the account: want exactly one submission")
	}
	late := open(ann)
	d.clock.advance(FormLifetime)
	if take(ann, late) {
		t.Error("TakeForm accepted an expired form")
	}
	d.store.set(func(s *browserStore) { s.fail["DeleteSession"] = store.ErrUnavailable })
	err := ann.do(func(ctx context.Context) error { _, err := d.TakeForm(ctx, late); return err })
	if cola.CodeOf(err) != cola.CodeUnavailable {
		t.Errorf("TakeForm with the store unavailable: %v", err)
	}
}
