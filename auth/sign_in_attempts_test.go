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

// TestStartedSignInsStoreNothing checks that starting a sign-in, or returning with a forged
// response, does not use the store.
func TestStartedSignInsStoreNothing(t *testing.T) {
	d := newDesk(t, nil)
	for n := range 50 {
		b := d.browser()
		redirect, err := url.Parse(b.begin(t, "0", "/"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.finish(url.Values{"state": {"made-up"}, "code": {"x"}}); cola.CodeOf(err) != cola.CodeUnauthorized {
			t.Errorf("a made-up answer: %v", err)
		}
		want := cola.CodeUnauthorized
		if n >= exchangesByAddress {
			want = cola.CodeQuotaExceeded
		}
		if _, err := b.finish(url.Values{"state": redirect.Query()["state"], "code": {"x"}}); cola.CodeOf(err) != want {
			t.Errorf("a made-up code: %v", err)
		}
	}
	if len(d.store.calls) != 0 || len(d.store.sessions) != 0 {
		t.Errorf("the store was asked: %v", d.store.calls)
	}
	for path, most := range map[string]int{"/.well-known/openid-configuration": 1, "/keys": 0, "/token": exchangesByAddress} {
		if n := d.provider.asked[path]; n > most {
			t.Errorf("the issuer was asked %d times for %s, want at most %d", n, path, most)
		}
	}
}

// TestAttemptCookies checks the attributes of the cookies, and that their content is unreadable.
func TestAttemptCookies(t *testing.T) {
	for public, want := range map[string]struct {
		prefix string
		secure bool
	}{"https://cola.example.com": {"__Host-colaregistry-attempt-", true}, "http://127.0.0.1:8080": {"colaregistry-attempt-", false}} {
		d := newDesk(t, func(_ *desk, o *BrowserOptions) { o.PublicURL = public })
		b := d.browser()
		redirect := b.begin(t, "0", "/keys?page=2")
		for _, c := range b.attemptCookies() {
			if !strings.HasPrefix(c.Name, want.prefix) || c.Secure != want.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
				c.Domain != "" || c.MaxAge != 600 {
				t.Errorf("%s: %s", public, c)
			}
			content, err := base64.RawURLEncoding.DecodeString(c.Value)
			if u, _ := url.Parse(redirect); err != nil || strings.Contains(string(content), u.Query().Get("state")) || strings.Contains(string(content), "/keys") {
				t.Errorf("%s: the cookie can be read: %q, %v", public, content, err)
			}
		}
		if len(b.attemptCookies()) != 1 {
			t.Errorf("%s: %d cookies", public, len(b.attemptCookies()))
		}
	}
}

// TestAttemptsOfOtherProcesses checks that another process can finish a sign-in only if it has the
// same key file, even after a rotation.
func TestAttemptsOfOtherProcesses(t *testing.T) {
	first, second := keyring.NewKey(), keyring.NewKey()
	for name, tt := range map[string]struct {
		keys []string
		want cola.Code
	}{
		"the same key":  {[]string{first}, ""},
		"a rotated key": {[]string{second, first}, ""},
		"another key":   {[]string{second}, cola.CodeUnauthorized},
	} {
		d := newDesk(t, func(_ *desk, o *BrowserOptions) { o.Attempts = sealer(newKeys(t, first)) })
		b := d.browser()
		answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
		b.desk = newDesk(t, func(other *desk, o *BrowserOptions) {
			o.Attempts, o.Store, o.Client = sealer(newKeys(t, tt.keys...)), d.store, &http.Client{Transport: providers{d.provider, d.other}}
			other.provider.secret = d.provider.secret
		})
		if _, err := b.finish(answer); cola.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want code %q", name, err, tt.want)
		}
		if len(b.attemptCookies()) != 0 {
			t.Errorf("%s: the cookie is still there", name)
		}
		if warned := strings.Contains(b.log.text(), "key file"); warned != (tt.want != "") {
			t.Errorf("%s: the log has %q", name, b.log.text())
		}
	}
}

// TestTamperedAttempts checks that a changed, renamed or invented cookie finishes no sign-in and is
// deleted.
func TestTamperedAttempts(t *testing.T) {
	for name, tamper := range map[string]func(mine, other *http.Cookie){
		"empty":                func(mine, _ *http.Cookie) { mine.Value = "" },
		"not base64":           func(mine, _ *http.Cookie) { mine.Value = "%%" },
		"one letter changed":   func(mine, _ *http.Cookie) { mine.Value = mine.Value[:40] + flipped(mine.Value[40]) + mine.Value[41:] },
		"cut":                  func(mine, _ *http.Cookie) { mine.Value = mine.Value[:len(mine.Value)-4] },
		"of another attempt":   func(mine, other *http.Cookie) { mine.Value = other.Value },
		"of another purpose":   func(mine, _ *http.Cookie) { mine.Value = sealedFor(t, mine) },
		"of the wrong version": func(mine, _ *http.Cookie) { mine.Value = "AgAA" },
	} {
		d := newDesk(t, nil)
		b, stranger := d.browser(), d.browser()
		answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
		stranger.begin(t, "0", "/")
		tamper(b.attemptCookies()[0], stranger.attemptCookies()[0])
		if _, err := b.finish(answer); cola.CodeOf(err) != cola.CodeUnauthorized || b.caller().Account != 0 {
			t.Errorf("%s: signed in as %+v, %v", name, b.caller(), err)
		}
		if len(b.attemptCookies()) != 0 {
			t.Errorf("%s: the cookie is still there", name)
		}
	}
}

func flipped(letter byte) string {
	if letter == 'A' {
		return "B"
	}
	return "A"
}

// sealedFor returns a cookie value encrypted for another purpose.
func sealedFor(t *testing.T, c *http.Cookie) string {
	return base64.RawURLEncoding.EncodeToString(newKeys(t).Box("another purpose").Seal([]byte(`{}`), []byte(c.Name)))
}

// TestTossedCookies checks that a second cookie of the same name, which a sibling host can add
// without https, does not block the browser's own cookie.
func TestTossedCookies(t *testing.T) {
	d := newDesk(t, func(_ *desk, o *BrowserOptions) { o.PublicURL = "http://cola.example.com" })
	b := d.browser()
	b.begin(t, "0", "/")
	own := b.attemptCookies()[0]
	a, err := d.attempts.open(own)
	if err != nil {
		t.Fatal(err)
	}
	tossed := &http.Cookie{Name: own.Name, Value: "x"}
	for _, sent := range [][]*http.Cookie{{own, tossed}, {tossed, own}} {
		if found, removal, err := d.attempts.find(sent, a.State); err != nil || found.Nonce != a.Nonce || removal == nil {
			t.Errorf("%v: %v", sent, err)
		}
	}
}

// TestReplayedSignIn checks that copies of the cookie and the response are useless, because the
// issuer has already redeemed the code.
func TestReplayedSignIn(t *testing.T) {
	d := newDesk(t, nil)
	b, thief := d.browser(), d.browser()
	answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
	for _, c := range b.attemptCookies() {
		thief.cookies[c.Name] = c
	}
	if _, err := b.finish(answer); err != nil {
		t.Fatal(err)
	}
	if _, err := thief.finish(answer); cola.CodeOf(err) != cola.CodeUnauthorized || thief.caller().Account != 0 {
		t.Errorf("the thief is signed in as %+v, %v", thief.caller(), err)
	}
}

// TestAttemptsAndClocks checks that an attempt expires after ten minutes, and that setting the
// clock back does not extend it.
func TestAttemptsAndClocks(t *testing.T) {
	for name, tt := range map[string]struct {
		pass time.Duration
		want cola.Code
	}{
		"in time":                     {AttemptFor - time.Second, ""},
		"too late":                    {AttemptFor, cola.CodeUnauthorized},
		"a process a little behind":   {-20 * time.Second, ""},
		"the clock is set back":       {-time.Hour, cola.CodeUnauthorized},
		"the clock is set far ahead":  {24 * time.Hour, cola.CodeUnauthorized},
		"the clock is set a bit back": {-leeway - time.Second, cola.CodeUnauthorized},
	} {
		d := newDesk(t, nil)
		b := d.browser()
		answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
		d.clock.pass(tt.pass)
		if _, err := b.finish(answer); cola.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want code %q", name, err, tt.want)
		}
	}
}

// TestAttemptsAreBounded checks that the cookies stay within proxy limits for long return pages and
// any request cookies, and that a new sign-in can still start.
func TestAttemptsAreBounded(t *testing.T) {
	d := newDesk(t, nil)
	b := d.browser()
	for n := range 100 {
		c := &http.Cookie{Name: fmt.Sprint(d.attempts.prefix(), n), Value: strings.Repeat("A", 100)}
		b.cookies[c.Name] = c
	}
	for n := range 10 {
		d.clock.pass(time.Second)
		redirect := b.begin(t, "0", "/explore?q="+strings.Repeat("x", 900)+fmt.Sprint(n))
		if n == 9 {
			if to, err := b.finish(d.provider.approve(t, redirect, "ann", "")); err != nil || !strings.HasSuffix(to, "x9") {
				t.Errorf("leads to %q, %v", to, err)
			}
		}
	}
	size := 0
	for _, c := range b.attemptCookies() {
		size += len(c.Name) + len(c.Value)
	}
	if size > maxAttemptBytes {
		t.Errorf("the cookies have %d bytes", size)
	}
}

// TestSessionsOfTheVersionBefore checks that a session in the earlier format, with its expiry and
// attempts inside, is still signed in.
func TestSessionsOfTheVersionBefore(t *testing.T) {
	b := newDesk(t, nil).browser()
	c := b.signIn(t, "ann")
	old := strings.Replace(b.session(t), `"sign_in":`, `"end":"2030-01-01T00:00:00Z","attempts":[{"state":"s","nonce":"n","verifier":"v","issuer":"`+ourIssuer+`","return_to":"/","until":"2030-01-01T00:00:00Z"}],"sign_in":`, 1)
	b.store.set(func(s *browserStore) {
		row := s.sessions[sessionName(b.cookie())]
		row.data = seal(b.cookie(), []byte(old))
		s.sessions[sessionName(b.cookie())] = row
	})
	if got := b.caller(); got.Account != c.Account || c.Account == 0 {
		t.Errorf("the session is of %+v, want %+v", got, c)
	}
	b.look(func(ctx context.Context) { b.Put(ctx, "notice", "1") })
	if strings.Contains(b.session(t), "attempts") {
		t.Error("the attempts are still kept")
	}
}

// FuzzAttemptCookie checks that only cookies encrypted by the server decrypt.
func FuzzAttemptCookie(f *testing.F) {
	d := newDesk(f, nil)
	sealed := d.attempts.seal(attempt{State: "s", Issuer: ourIssuer, ReturnTo: "/", Until: d.clock.now().Add(time.Minute)})
	f.Add(sealed.Name, sealed.Value)
	f.Add(sealed.Name, sealed.Value+"A")
	f.Add(sealed.Name+"A", sealed.Value)
	f.Add(d.attempts.prefix(), "")
	f.Fuzz(func(t *testing.T, name, value string) {
		if a, err := d.attempts.open(&http.Cookie{Name: name, Value: value}); err == nil && (name != sealed.Name || value != sealed.Value) {
			t.Errorf("%q: %q is opened as %+v", name, value, a)
		}
	})
}
