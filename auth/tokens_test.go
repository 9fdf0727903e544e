package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestTokenAlgorithms checks that a valid token, signed with any accepted algorithm, authenticates
// as its subject's account, through its connection to the app.
func TestTokenAlgorithms(t *testing.T) {
	for _, alg := range algorithms() {
		t.Run(string(alg), func(t *testing.T) {
			b := newTokenFixture(t, nil)
			b.key = newSigner(t, string(alg), "k1")
			b.issuer.publish(b.key)
			got, err := b.send(t.Context(), b.token())
			if err != nil {
				t.Fatal(err)
			}
			want := cola.Caller{
				Account: 1, Credential: cola.Credential{Kind: cola.CredentialLink, ID: 1000},
				Channel: cola.ChannelMCP, Scopes: []cola.Scope{cola.ScopeWriteSavedSearches},
			}
			if diff := cmp.Diff(want, got, equateAddresses); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeysAndTokens checks that the prefix alone distinguishes keys from tokens, and that
// neither is tried as the other.
func TestKeysAndTokens(t *testing.T) {
	b := newTokenFixture(t, nil)
	secret, token := NewSecret(), b.token()
	b.keys.(*finder).keys = map[store.KeyHash]store.Key{secret.Hash(): {ID: 3, AccountID: 9}}
	tests := []struct {
		name   string
		header http.Header
		want   cola.CredentialKind // empty if rejected
		reason string
	}{
		{"key", http.Header{"X-Api-Key": {secret.Reveal()}}, cola.CredentialKey, ""},
		{"bearer key", http.Header{"Authorization": {"Bearer " + secret.Reveal()}}, cola.CredentialKey, ""},
		{"token", http.Header{"Authorization": {"Bearer " + token}}, cola.CredentialLink, ""},
		{"token, scheme in lower case", http.Header{"Authorization": {"bearer " + token}}, cola.CredentialLink, ""},
		{"token as API key", http.Header{"X-Api-Key": {token}}, "", "API key"},
		{"token as both", http.Header{"X-Api-Key": {token}, "Authorization": {"Bearer " + token}}, "", "API key"},
		{"token and key", http.Header{"X-Api-Key": {secret.Reveal()}, "Authorization": {"Bearer " + token}}, "", "more than one credential"},
		{"two tokens", http.Header{"Authorization": {"Bearer " + token, "Bearer " + b.token()}}, "", "more than one credential"},
		{"DPoP", http.Header{"Authorization": {"DPoP " + token}}, "", `must be "Bearer" followed by the key or an access token`},
		{"no credential", http.Header{}, "", "access token"},
		{"mistyped key", http.Header{"Authorization": {"Bearer " + secret.Reveal()[:39] + "-"}}, "", "API key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := b.Authenticate(t.Context(), tt.header, cola.ChannelREST)
			if c.Credential.Kind != tt.want {
				t.Errorf("credential kind = %q, %v; want %q", c.Credential.Kind, err, tt.want)
			}
			if tt.want == "" {
				wantUnauthorized(t, err, tt.reason)
			}
		})
	}
}

// wantUnauthorized checks that an error has CodeUnauthorized and mentions a reason.
func wantUnauthorized(t *testing.T, err error, reason string) {
	t.Helper()
	if cola.CodeOf(err) != cola.CodeUnauthorized || !strings.Contains(err.Error(), reason) {
		t.Errorf("error = %v\nwant unauthorized with %q", err, reason)
	}
}

// wantUnavailable checks that an error has CodeUnavailable, and returns its Retry-After.
func wantUnavailable(t *testing.T, err error) time.Duration {
	t.Helper()
	var e *cola.Error
	if !errors.As(err, &e) || e.Code != cola.CodeUnavailable || e.RetryAfter <= 0 {
		t.Fatalf("error = %v, want unavailable with a Retry-After", err)
	}
	return e.RetryAfter
}

// TestAppAccess checks which apps are accepted and with which scopes.
func TestAppAccess(t *testing.T) {
	narrow, disabled := ourApp(), ourApp()
	narrow.Scopes = nil
	disabled.DisabledAt = time.Now()
	tests := []struct {
		name   string
		app    store.App
		any    bool
		reason string // for the rejection, if any
		scopes []cola.Scope
	}{
		{"registered", ourApp(), false, "", cola.Scopes()},
		{"fewer scopes than the token", narrow, false, "", nil},
		{"unknown", store.App{Issuer: otherIssuer, ClientID: "assistant"}, false, `The app "assistant" is not registered`, nil},
		{"unknown, any app allowed", store.App{Issuer: otherIssuer, ClientID: "assistant"}, true, "", cola.Scopes()},
		{"disabled", disabled, false, "disabled the app", nil},
		{"disabled, any app allowed", disabled, true, "disabled the app", nil},
		{"fewer scopes, any app allowed", narrow, true, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newTokenFixture(t, func(o *TokenOptions) { o.AnyApp = tt.any })
			b.store.apps = map[string]store.App{}
			b.store.put(tt.app)
			got, err := b.send(t.Context(), b.token())
			if tt.reason != "" {
				wantUnauthorized(t, err, tt.reason)
				if len(b.store.accounts) > 0 {
					t.Error("account was created for a rejected app")
				}
				return
			}
			if diff := cmp.Diff(tt.scopes, got.Scopes); err != nil || diff != "" {
				t.Errorf("Authenticate: %v, scopes (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAppRegistration checks that, with AnyApp, an app's first request registers it under its
// client ID.
func TestAppRegistration(t *testing.T) {
	b := newTokenFixture(t, func(o *TokenOptions) { o.AnyApp = true })
	b.store.apps = map[string]store.App{}
	for _, subject := range []string{"one", "two"} {
		if _, err := b.send(t.Context(), b.token(claim("sub", subject))); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]store.App{ourIssuer + " assistant": {ID: 100, Issuer: ourIssuer, ClientID: "assistant", Name: "assistant", Scopes: cola.Scopes()}}
	if diff := cmp.Diff(want, b.store.apps); diff != "" {
		t.Errorf("apps (-want +got):\n%s", diff)
	}
	if n := b.store.called("EnsureApp"); n != 1 || len(b.store.accounts) != 2 {
		t.Errorf("%d registrations for %d accounts, want 1 for 2", n, len(b.store.accounts))
	}
}

func TestRevokedLink(t *testing.T) {
	b := newTokenFixture(t, nil)
	if _, err := b.send(t.Context(), b.token()); err != nil {
		t.Fatal(err)
	}
	b.store.change(func(s *fakeStore) {
		for between, l := range s.links {
			l.RevokedAt = time.Now()
			s.links[between] = l
		}
	})
	_, err := b.send(t.Context(), b.token(claim("jti", "2")))
	wantUnauthorized(t, err, `"assistant"`)
}

// TestTokenStoreErrors checks that a store failure neither accepts nor rejects a token.
func TestTokenStoreErrors(t *testing.T) {
	for err, want := range map[error]cola.Code{store.ErrUnavailable: cola.CodeUnavailable, errors.New("boom"): cola.CodeInternal} {
		b := newTokenFixture(t, nil)
		b.store.err = err
		if _, got := b.send(t.Context(), b.token()); cola.CodeOf(got) != want {
			t.Errorf("store error %v: Authenticate error = %v, want %s", err, got, want)
		}
		b.store.err = nil
		if _, err := b.send(t.Context(), b.token()); err != nil {
			t.Errorf("after the store recovers: %v", err)
		}
	}
}

func TestTokenStoreTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTokenFixture(t, nil)
		b.store.hold = make(chan struct{})
		start := time.Now()
		_, err := b.send(t.Context(), b.token())
		wantUnavailable(t, err)
		if took := time.Since(start); took != storeTimeout {
			t.Errorf("Authenticate took %v, want %v", took, storeTimeout)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.send(ctx, b.token()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a 1s timeout: error = %v, want context.DeadlineExceeded", err)
		}
		time.Sleep(storeTimeout) // wait for the check to end; otherwise the bubble fails
	})
}

// TestCheckPanic checks that a panic in a check, which runs in its own goroutine, does not crash
// the program.
func TestCheckPanic(t *testing.T) {
	b := newTokenFixture(t, nil)
	b.tokens.store = nil // causes a panic
	if _, err := b.send(t.Context(), b.token()); cola.CodeOf(err) != cola.CodeInternal {
		t.Errorf("error = %v, want an internal error", err)
	}
}

func TestInvalidTokenOptions(t *testing.T) {
	issuers, audiences := []string{ourIssuer}, []string{ourAudience}
	tests := []struct {
		name      string
		issuers   []string
		audiences []string
		reason    string // empty if valid
	}{
		{"valid", issuers, audiences, ""},
		{"loopback name", []string{"http://localhost:9000/oidc"}, audiences, ""},
		{"loopback address", []string{"http://127.0.0.1:9000", "http://[::1]:9000"}, audiences, ""},
		{"audience not a URL", issuers, []string{"2f1c4e0e-7c4f"}, ""},
		{"no issuer", nil, audiences, "issuer"},
		{"empty issuer", []string{""}, audiences, "absolute https URL"},
		{"no scheme", []string{"id.example.com"}, audiences, "absolute https URL"},
		{"no host", []string{"https:///realms"}, audiences, "absolute https URL"},
		{"invalid URL", []string{"https://id.example.com/%zz"}, audiences, "absolute https URL"},
		{"with a password", []string{"https://me:secret@id.example.com"}, audiences, "absolute https URL"},
		{"plain http", []string{"http://id.example.com"}, audiences, "loopback hosts"},
		{"http, host name starting with localhost", []string{"http://localhost.example.com"}, audiences, "loopback hosts"},
		{"http on a private network", []string{"http://10.0.0.1:9000"}, audiences, "loopback hosts"},
		{"another scheme", []string{"ftp://id.example.com"}, audiences, "not an https URL"},
		{"query", []string{ourIssuer + "?a=b"}, audiences, "query or a fragment"},
		{"empty query", []string{ourIssuer + "?"}, audiences, "query or a fragment"},
		{"fragment", []string{ourIssuer + "#a"}, audiences, "query or a fragment"},
		{"second issuer invalid", []string{ourIssuer, "nothing"}, audiences, `"nothing"`},
		{"no audience", issuers, nil, "audience is configured"},
		{"empty audience", issuers, []string{""}, "is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewTokens(newFakeStore(), TokenOptions{Issuers: tt.issuers, Audiences: tt.audiences})
			if (err == nil) != (tt.reason == "") || (err != nil && !strings.Contains(err.Error(), tt.reason)) {
				t.Errorf("error = %v, want %q", err, tt.reason)
			}
		})
	}
}

// BenchmarkKnownToken measures a request with a cached token, without the ledger.
func BenchmarkKnownToken(b *testing.B) { benchmarkToken(b, "ES256", true) }

// BenchmarkNewToken measures the first request with a token, without the store.
func BenchmarkNewToken(b *testing.B) {
	for _, alg := range []string{"ES256", "RS256"} {
		b.Run(alg, func(b *testing.B) { benchmarkToken(b, alg, false) })
	}
}

func benchmarkToken(b *testing.B, alg string, known bool) {
	auth := newTokenFixture(b, nil)
	auth.key = newSigner(b, alg, "k1")
	auth.issuer.publish(auth.key)
	token := auth.token()
	b.ReportAllocs()
	for b.Loop() {
		if !known {
			auth.tokens.known.Purge()
		}
		if _, err := auth.send(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
