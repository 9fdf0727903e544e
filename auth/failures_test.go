package auth

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// limited returns the context of a request from an address that exceeded the limit on invalid keys.
func limited(t *testing.T, events *security.Events) context.Context {
	t.Helper()
	ctx := cola.WithClient(t.Context(), netip.MustParseAddr("203.0.113.7"))
	for range 100 {
		if cola.CodeOf(events.Failed(ctx, security.Key, unauthorized("Wrong."))) == cola.CodeQuotaExceeded {
			return ctx
		}
	}
	t.Fatal("not rate-limited after 100 invalid keys")
	return nil
}

// frozenNow is a clock that never advances, so that the rate limit does not expire.
func frozenNow() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// TestLimitedAddress checks that an address that sent too many invalid credentials gets a 429 for
// more unknown, malformed or forged ones, but not for valid credentials, expired tokens or tokens
// from an unregistered app.
func TestLimitedAddress(t *testing.T) {
	b := newTokenFixture(t, nil)
	events := security.New(security.Options{Now: frozenNow})
	valid, other := NewSecret(), newSigner(t, "ES256", "k1")
	a := New(&finder{keys: map[store.KeyHash]store.Key{valid.Hash(): {ID: 3, AccountID: 4}}}, b.tokens, events)
	ctx := limited(t, events)
	for name, tt := range map[string]struct {
		header http.Header
		want   cola.Code
	}{
		"no credential":    {nil, cola.CodeUnauthorized},
		"another scheme":   {http.Header{"Authorization": {"Basic YTpi"}}, cola.CodeUnauthorized},
		"valid key":        {http.Header{"X-Api-Key": {valid.Reveal()}}, ""},
		"valid token":      {http.Header{"Authorization": {"Bearer " + b.token()}}, ""},
		"expired token":    {http.Header{"Authorization": {"Bearer " + b.token(claim("exp", time.Now().Add(-time.Hour).Unix()))}}, cola.CodeUnauthorized},
		"unregistered app": {http.Header{"Authorization": {"Bearer " + b.token(claim("client_id", "new"))}}, cola.CodeUnauthorized},
		"unknown key":      {http.Header{"X-Api-Key": {NewSecret().Reveal()}}, cola.CodeQuotaExceeded},
		"mistyped key":     {http.Header{"X-Api-Key": {valid.Reveal() + "x"}}, cola.CodeQuotaExceeded},
		"malformed key":    {http.Header{"X-Api-Key": {"letmein"}}, cola.CodeQuotaExceeded},
		"malformed token":  {http.Header{"Authorization": {"Bearer a.b.c"}}, cola.CodeQuotaExceeded},
		"forged token":     {http.Header{"Authorization": {"Bearer " + other.sign(b.header(nil), b.claims(nil))}}, cola.CodeQuotaExceeded},
		"unknown issuer":   {http.Header{"Authorization": {"Bearer " + b.token(claim("iss", "https://evil.example"))}}, cola.CodeQuotaExceeded},
		"duplicate claims": {http.Header{"Authorization": {"Bearer " + b.key.sign(b.header(nil), `{"a":1`+strings.Repeat(`,"a":1`, 1_500)+`}`)}}, cola.CodeQuotaExceeded},
	} {
		if _, err := a.Authenticate(ctx, tt.header, cola.ChannelREST); cola.CodeOf(err) != tt.want {
			t.Errorf("%s: error = %v, want code %q", name, err, tt.want)
		}
	}
}

// TestLimitedSignInLinks checks that a valid link works from a limited address, and that an invalid
// one is rejected with a 429.
func TestLimitedSignInLinks(t *testing.T) {
	events := security.New(security.Options{Now: frozenNow})
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.Events = events })
	valid := d.store.link(store.Account{ID: 1, Email: "ann@example.com"})
	wrong, _ := NewSignInLink()
	ctx := limited(t, events)
	for _, token := range []string{wrong, "letmein", ""} {
		if _, err := d.LinkAccount(ctx, token); cola.CodeOf(err) != cola.CodeQuotaExceeded {
			t.Errorf("LinkAccount(%q) = %v, want code %q", token, err, cola.CodeQuotaExceeded)
		}
	}
	if target, err := d.LinkAccount(ctx, valid); err != nil || target.Email != "ann@example.com" {
		t.Errorf("LinkAccount(valid link) = %+v, %v, want ann@example.com", target, err)
	}
}

// TestUnknownCookie checks that a browser with an unknown session is treated as anonymous,
// and that the request counts as a failure.
func TestUnknownCookie(t *testing.T) {
	events := security.New(security.Options{Now: frozenNow})
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.Events = events })
	b := d.browser()
	b.cookies["__Host-colaregistry"] = &http.Cookie{Name: "__Host-colaregistry", Value: newSecretText()}
	for range 100 {
		if resp := b.visit(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }); resp.StatusCode != http.StatusTeapot {
			t.Fatalf("status = %s, want %d", resp.Status, http.StatusTeapot)
		}
	}
	if err := events.Failed(t.Context(), security.Key, nil); cola.CodeOf(err) != cola.CodeQuotaExceeded {
		t.Error("unknown session cookies were not counted as failed credentials")
	}
}
