package auth

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// TestDiscovery fetches keys from real servers: over TLS, and over plain HTTP on localhost.
func TestDiscovery(t *testing.T) {
	key := newSigner(t, "ES256", "k1")
	tests := []struct {
		name   string
		tls    bool
		page   func(w http.ResponseWriter, r *http.Request, self string) // serves the key set
		reason string                                                    // empty if it succeeds
	}{
		{"https", true, publishing(key), ""},
		{"http on localhost", false, publishing(key), ""},
		{"three redirects", true, redirecting(3, key), ""},
		{"too many redirects", true, redirecting(4, key), "redirected more than 3 times"},
		{"redirect from https to http", true, to("http://id.example.com/keys"), "not an https URL"},
		{"redirect to http on localhost", true, to("http://127.0.0.1:1/keys"), "not an https URL"},
		{"redirect from http to another http host", false, to("http://id.example.com/keys"), "not an https URL"},
		{"redirect to a file", false, to("file:///etc/passwd"), "not an https URL"},
		{"403", true, func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusForbidden) }, "status 403"},
		{"oversized key set", true, func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = w.Write(make([]byte, maxBody+1)) }, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, client := newServer(t, tt.tls, tt.page)
			err := check(t, server.URL, client)
			if (err == nil) != (tt.reason == "") || (err != nil && !strings.Contains(err.Error(), tt.reason)) {
				t.Errorf("error = %v, want %q", err, tt.reason)
			}
		})
	}
}

// TestUntrustedCertificate checks that the keys of an issuer with an untrusted certificate are
// not requested.
func TestUntrustedCertificate(t *testing.T) {
	server, _ := newServer(t, true, publishing(newSigner(t, "ES256", "k1")))
	if err := check(t, server.URL, nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error = %v, want a certificate error", err)
	}
}

// TestLongDiscoveryError checks that the error for a long invalid discovery response is short.
func TestLongDiscoveryError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("oops ", 10_000), http.StatusInternalServerError)
	}))
	defer server.Close()
	if err := check(t, server.URL, nil); err == nil || !strings.Contains(err.Error(), "500") || len(err.Error()) > 2*maxErrorLen {
		t.Errorf("error = %v, want a short error with the status", err)
	}
}

// TestOIDCTestServer runs against go-oidc's test server.
func TestOIDCTestServer(t *testing.T) {
	b := newTokenFixture(t, nil)
	theirs := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: b.key.key.Public(), KeyID: "k1", Algorithm: "ES256"}}}
	server := httptest.NewUnstartedServer(theirs)
	theirs.SetIssuer("http://" + server.Listener.Addr().String())
	server.Start()
	defer server.Close()
	tokens, err := NewTokens(b.store, TokenOptions{Issuers: []string{server.URL}, Audiences: []string{ourAudience}, AnyApp: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Authenticator = New(&finder{}, tokens, nil)
	good := b.claims([]change{claim("iss", server.URL)})
	if _, err := b.send(t.Context(), b.key.sign(b.header(nil), good)); err != nil {
		t.Errorf("valid token: %v", err)
	}
	idToken := oidctest.SignIDToken(b.key.key, "k1", "ES256", b.claims([]change{claim("iss", server.URL), claim("scope", nil)}))
	_, err = b.send(t.Context(), idToken)
	wantUnauthorized(t, err, "is not an access token")
}

// newServer starts an issuer whose key set is served by page, and returns it with a client that
// trusts it.
func newServer(t *testing.T, secure bool, page func(http.ResponseWriter, *http.Request, string)) (*httptest.Server, *http.Client) {
	t.Helper()
	var self atomic.Pointer[url.URL]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		root := self.Load().String()
		if r.URL.Path == "/.well-known/openid-configuration" {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, root, root+"/keys")
			return
		}
		page(w, r, root)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // aborted handshakes
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	root, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	self.Store(root)
	if !secure {
		return server, nil
	}
	return server, &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}, DisableKeepAlives: true,
	}}
}

func check(t *testing.T, issuer string, client *http.Client) error {
	t.Helper()
	tokens, err := NewTokens(newFakeStore(), TokenOptions{Issuers: []string{issuer}, Audiences: []string{ourAudience}, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Check(t.Context())
}

func publishing(key signer) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) { fmt.Fprintf(w, `{"keys":[%s]}`, key.jwk()) }
}

func to(address string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, _ string) { http.Redirect(w, r, address, http.StatusFound) }
}

// redirecting returns a page that redirects to itself the given number of times, then serves the
// keys.
func redirecting(times int, key signer) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, self string) {
		if n := len(r.URL.Path) - len("/keys"); n < times {
			to(self+r.URL.Path+"+")(w, r, self)
			return
		}
		publishing(key)(w, r, self)
	}
}
