package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForgedRequests checks that cross-site requests, session fixation and used sign-in links have
// no effect.
func TestForgedRequests(t *testing.T) {
	p := startProgram(t)
	b := newTab(t, newChromium(t, ""), false)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w,
			`<!doctype html><title>Win</title><form method="post" action="%s%s"><input name="name" value="forged"><input name="issuer" value="0"><button>Go</button></form>`, p.base, r.URL.Query().Get("to"))
	}))
	defer evil.Close()
	attacker := strings.Replace(evil.URL, "127.0.0.1", "localhost", 1) // another site

	const chosen = "c2Vzc2lvbiB0aGF0IHNvbWVib2R5IGVsc2UgaGFzIGNob3Nlbg"
	b.open(p.base + "/sign-in")
	b.setCookie(p.base, "colaregistry", chosen)
	b.open(p.link())
	b.click("main form .button")
	b.shows("Overview")
	if now := b.cookie("colaregistry"); now == chosen || now == "" {
		t.Errorf("session after sign-in = %q, want a new one", now)
	}

	replayed := newTab(t, b.ctx, true)
	replayed.open(p.link())
	replayed.shows("used")
	replayed.open(p.base + "/keys")
	if at := replayed.at(); !strings.HasPrefix(at, p.base+"/sign-in") {
		t.Errorf("used link signed in again: at %s", at)
	}

	for _, to := range []string{
		"/keys/new", "/keys", "/sign-out", "/saved-searches/new",
		"/account/sign-ins/end-others", "/sign-in",
	} {
		b.open(attacker + "/?to=" + to)
		b.click("button")
		b.shows("another site")
	}
	b.open(p.base + "/keys")
	if strings.Contains(b.dump(), "forged") || !strings.HasSuffix(b.at(), "/keys") {
		t.Errorf("forged form was accepted\n%s", b.dump())
	}
	b.open(p.base + "/")
	b.checkErrors("after forged forms")
}
