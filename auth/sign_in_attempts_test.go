package auth

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
)

// TestStartedSignIns checks that starting a sign-in, or returning with a forged
// response, does not use the store.
func TestStartedSignIns(t *testing.T) {
	d := newBrowserFixture(t, nil)
	for n := range 50 {
		b := d.browser()
		redirect, err := url.Parse(b.begin(t, "0", "/"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.finish(url.Values{"state": {"unknown"}, "code": {"x"}}); cola.CodeOf(err) != cola.CodeUnauthorized {
			t.Errorf("Finish with an unknown state: %v, want unauthorized", err)
		}
		want := cola.CodeUnauthorized
		if n >= exchangesByAddress {
			want = cola.CodeQuotaExceeded
		}
		if _, err := b.finish(url.Values{"state": redirect.Query()["state"], "code": {"x"}}); cola.CodeOf(err) != want {
			t.Errorf("Finish with an invalid code: %v, want code %q", err, want)
		}
	}
	if len(d.store.calls) != 0 || len(d.store.sessions) != 0 {
		t.Errorf("unexpected store calls: %v", d.store.calls)
	}
	for path, limit := range map[string]int{"/.well-known/openid-configuration": 1, "/keys": 0, "/token": exchangesByAddress} {
		if n := d.provider.requests[path]; n > limit {
			t.Errorf("%d requests for %s, want at most %d", n, path, limit)
		}
	}
}

// TestAttemptCookies checks the attributes of the cookies, and that their content is unreadable.
func TestAttemptCookies(t *testing.T) {
	for public, want := range map[string]struct {
		prefix string
		secure bool
	}{"https://cola.example.com": {"__Host-colaregistry-attempt-", true}, "http://127.0.0.1:8080": {"colaregistry-attempt-", false}} {
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.PublicURL = public })
		b := d.browser()
		redirect := b.begin(t, "0", "/keys?page=2")
		for _, c := range b.attemptCookies() {
			if !strings.HasPrefix(c.Name, want.prefix) || c.Secure != want.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
				c.Domain != "" || c.MaxAge != 600 {
				t.Errorf("%s: cookie = %s", public, c)
			}
			content, err := base64.RawURLEncoding.DecodeString(c.Value)
			u, _ := url.Parse(redirect)
			if err != nil || strings.Contains(string(content), u.Query().Get("state")) || strings.Contains(string(content), "/keys") {
				t.Errorf("%s: cookie content is in plaintext: %q, %v", public, content, err)
			}
		}
		if len(b.attemptCookies()) != 1 {
			t.Errorf("%s: %d attempt cookies, want 1", public, len(b.attemptCookies()))
		}
	}
}

// TestAttemptsAcrossProcesses checks that another process can finish a sign-in if and only if its
// key file contains the same key, which may be an older one after a rotation.
func TestAttemptsAcrossProcesses(t *testing.T) {
	first, second := keyring.NewKey(), keyring.NewKey()
	for name, tt := range map[string]struct {
		keys []string
		want cola.Code
	}{
		"the same key":  {[]string{first}, ""},
		"a rotated key": {[]string{second, first}, ""},
		"another key":   {[]string{second}, cola.CodeUnauthorized},
	} {
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.Attempts = sealer(newKeys(t, first)) })
		b := d.browser()
		answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
		b.browserFixture = newBrowserFixture(t, func(other *browserFixture, o *BrowserOptions) {
			o.Attempts, o.Store, o.Client = sealer(newKeys(t, tt.keys...)), d.store, &http.Client{Transport: providers{d.provider, d.other}}
			other.provider.secret = d.provider.secret
		})
		if _, err := b.finish(answer); cola.CodeOf(err) != tt.want {
			t.Errorf("%s: error = %v, want code %q", name, err, tt.want)
		}
		if len(b.attemptCookies()) != 0 {
			t.Errorf("%s: attempt cookie was not deleted", name)
		}
		if warned := strings.Contains(b.log.text(), "key file"); warned != (tt.want != "") {
			t.Errorf("%s: log = %q, mentions the key file = %v, want %v", name, b.log.text(), warned, tt.want != "")
		}
	}
}

// TestTamperedAttempts checks that a changed, swapped or forged cookie can't finish a sign-in and
// is deleted.
func TestTamperedAttempts(t *testing.T) {
	for name, tamper := range map[string]func(d *browserFixture, mine, other *http.Cookie){
		"empty":      func(_ *browserFixture, mine, _ *http.Cookie) { mine.Value = "" },
		"not base64": func(_ *browserFixture, mine, _ *http.Cookie) { mine.Value = "%%" },
		"changed character": func(_ *browserFixture, mine, _ *http.Cookie) {
			mine.Value = mine.Value[:40] + flipped(mine.Value[40]) + mine.Value[41:]
		},
		"truncated":       func(_ *browserFixture, mine, _ *http.Cookie) { mine.Value = mine.Value[:len(mine.Value)-4] },
		"another attempt": func(_ *browserFixture, mine, other *http.Cookie) { mine.Value = other.Value },
		"another purpose": func(d *browserFixture, mine, _ *http.Cookie) { mine.Value = sealedElsewhere(d, mine) },
		"unknown version": func(_ *browserFixture, mine, _ *http.Cookie) { mine.Value = "AgAA" },
	} {
		d := newBrowserFixture(t, nil)
		b, stranger := d.browser(), d.browser()
		answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
		stranger.begin(t, "0", "/")
		tamper(d, b.attemptCookies()[0], stranger.attemptCookies()[0])
		if _, err := b.finish(answer); cola.CodeOf(err) != cola.CodeUnauthorized || b.caller().Account != 0 {
			t.Errorf("%s: signed in as %+v, %v", name, b.caller(), err)
		}
		if len(b.attemptCookies()) != 0 {
			t.Errorf("%s: attempt cookie was not deleted", name)
		}
	}
}

func flipped(letter byte) string {
	if letter == 'A' {
		return "B"
	}
	return "A"
}

// sealedElsewhere returns a cookie value with the same attempt, encrypted under the same key for
// another purpose.
func sealedElsewhere(d *browserFixture, c *http.Cookie) string {
	sealed, _ := base64.RawURLEncoding.DecodeString(c.Value)
	content, err := d.attempts.box.Open(sealed, []byte(c.Name))
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(d.keys.Box("another purpose").Seal(content, []byte(c.Name)))
}

// TestTossedCookies checks that a second cookie with the same name, which a sibling host can add
// without https, does not block the browser's own cookie.
func TestTossedCookies(t *testing.T) {
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.PublicURL = "http://cola.example.com" })
	b := d.browser()
	b.begin(t, "0", "/")
	own := b.attemptCookies()[0]
	a, err := d.attempts.open(own)
	if err != nil {
		t.Fatal(err)
	}
	tossed := &http.Cookie{Name: own.Name, Value: "x"}
	for _, cookies := range [][]*http.Cookie{{own, tossed}, {tossed, own}} {
		if found, removal, err := d.attempts.find(cookies, a.State); err != nil || found.Nonce != a.Nonce || removal == nil {
			t.Errorf("find(%v) = %+v, %v, %v, want the browser's own attempt", cookies, found, removal, err)
		}
	}
}

// TestReplayedSignIn checks that copies of the cookie and the response are useless, because a
// process redeems each attempt's code only once.
func TestReplayedSignIn(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b, thief := d.browser(), d.browser()
	answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
	for _, c := range b.attemptCookies() {
		thief.cookies[c.Name] = c
	}
	if _, err := b.finish(answer); err != nil {
		t.Fatal(err)
	}
	if _, err := thief.finish(answer); cola.CodeOf(err) != cola.CodeUnauthorized || thief.caller().Account != 0 {
		t.Errorf("thief is signed in as %+v, %v", thief.caller(), err)
	}
}

// TestAttemptExpiry checks that an attempt expires after ten minutes, and that setting the
// clock back does not extend it.
func TestAttemptExpiry(t *testing.T) {
	for name, tt := range map[string]struct {
		pass time.Duration
		want cola.Code
	}{
		"before expiry":           {AttemptLifetime - time.Second, ""},
		"at expiry":               {AttemptLifetime, cola.CodeUnauthorized},
		"process slightly behind": {-20 * time.Second, ""},
		"clock set back":          {-time.Hour, cola.CodeUnauthorized},
		"clock set far ahead":     {24 * time.Hour, cola.CodeUnauthorized},
		"clock set slightly back": {-leeway - time.Second, cola.CodeUnauthorized},
	} {
		d := newBrowserFixture(t, nil)
		b := d.browser()
		answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
		d.clock.advance(tt.pass)
		if _, err := b.finish(answer); cola.CodeOf(err) != tt.want {
			t.Errorf("%s: error = %v, want code %q", name, err, tt.want)
		}
	}
}

// TestAttemptCookieLimit checks that the cookies stay within proxy limits despite long return URLs
// and many stray attempt cookies, and that a new sign-in can still start.
func TestAttemptCookieLimit(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	for n := range 100 {
		c := &http.Cookie{Name: fmt.Sprint(d.attempts.prefix(), n), Value: strings.Repeat("A", 100)}
		b.cookies[c.Name] = c
	}
	for n := range 10 {
		d.clock.advance(time.Second)
		redirect := b.begin(t, "0", "/explore?q="+strings.Repeat("x", 900)+fmt.Sprint(n))
		if n == 9 {
			if to, err := b.finish(d.provider.approve(t, redirect, "ann", "")); err != nil || !strings.HasSuffix(to, "x9") {
				t.Errorf("Finish = %q, %v, want the return page of the last attempt", to, err)
			}
		}
	}
	size := 0
	for _, c := range b.attemptCookies() {
		size += len(c.Name) + len(c.Value)
	}
	if size > maxAttemptBytes {
		t.Errorf("attempt cookies total %d bytes, want at most %d", size, maxAttemptBytes)
	}
}

// TestPreviousSessionFormat checks that a session in the earlier format, which contains its expiry
// and attempts but no verified address, is still signed in.
func TestPreviousSessionFormat(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	c := b.signIn(t, "ann")
	old := strings.Replace(b.session(t), `"sign_in":`, `"end":"2030-01-01T00:00:00Z","attempts":[{"state":"s","nonce":"n","verifier":"v","issuer":"`+ourIssuer+`","return_to":"/","until":"2030-01-01T00:00:00Z"}],"sign_in":`, 1)
	old = strings.Replace(old, `,"verified_email":"ann@example.com"`, "", 1)
	b.store.set(func(s *browserStore) {
		row := s.sessions[sessionName(b.cookie())]
		row.data = seal(b.cookie(), []byte(old))
		s.sessions[sessionName(b.cookie())] = row
	})
	if got := b.caller(); got.Account != c.Account || c.Account == 0 {
		t.Errorf("caller = %+v, want %+v", got, c)
	}
	if got := b.caller().VerifiedEmail; got != "" {
		t.Errorf("verified address %q, want none in an old session", got)
	}
	b.look(func(ctx context.Context) { b.Put(ctx, "notice", "1") })
	if strings.Contains(b.session(t), "attempts") {
		t.Error("session still contains attempts")
	}
}

// FuzzAttemptCookie checks that only cookies that the server encrypted can be decrypted.
func FuzzAttemptCookie(f *testing.F) {
	d := newBrowserFixture(f, nil)
	sealed := d.attempts.seal(attempt{State: "s", Issuer: ourIssuer, ReturnTo: "/", Until: d.clock.now().Add(time.Minute)})
	f.Add(sealed.Name, sealed.Value)
	f.Add(sealed.Name, sealed.Value+"A")
	f.Add(sealed.Name+"A", sealed.Value)
	f.Add(d.attempts.prefix(), "")
	f.Fuzz(func(t *testing.T, name, value string) {
		if a, err := d.attempts.open(&http.Cookie{Name: name, Value: value}); err == nil && (name != sealed.Name || value != sealed.Value) {
			t.Errorf("open(%q: %q) = %+v, want an error", name, value, a)
		}
	})
}
