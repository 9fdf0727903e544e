package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestHostileDiscovery checks that no sign-in starts with an issuer whose discovery document is
// invalid or contains unsafe URLs. The error asks the person to try again later; the log has the
// reason.
func TestHostileDiscovery(t *testing.T) {
	for name, c := range map[string]struct {
		document map[string]any
		answer   string
		status   int
		log      string
	}{
		"another issuer":                    {document: map[string]any{"issuer": otherIssuer}, log: "did not match the issuer"},
		"issuer with a trailing slash":      {document: map[string]any{"issuer": ourIssuer + "/"}, log: "did not match the issuer"},
		"no authorization endpoint":         {document: map[string]any{"authorization_endpoint": nil}, log: "authorization_endpoint"},
		"no token endpoint":                 {document: map[string]any{"token_endpoint": nil}, log: "token_endpoint"},
		"http authorization endpoint":       {document: map[string]any{"authorization_endpoint": "http://id.example.com/authorize"}, log: "is not an https URL"},
		"http token endpoint":               {document: map[string]any{"token_endpoint": "http://id.example.com/token"}, log: "is not an https URL"},
		"loopback token endpoint":           {document: map[string]any{"token_endpoint": "http://127.0.0.1:5432/token"}, log: "is not an https URL"},
		"http userinfo endpoint":            {document: map[string]any{"userinfo_endpoint": "http://id.example.com/me"}, log: "userinfo_endpoint"},
		"http sign-out endpoint":            {document: map[string]any{"end_session_endpoint": "http://id.example.com/bye"}, log: "end_session_endpoint"},
		"javascript sign-out endpoint":      {document: map[string]any{"end_session_endpoint": "javascript:alert(1)"}, log: "end_session_endpoint"},
		"CSP directive in the host":         {document: map[string]any{"authorization_endpoint": "https://a;script-src.example/x"}, log: "has an invalid host"},
		"CSP source in the sign-out host":   {document: map[string]any{"end_session_endpoint": "https://a,b'unsafe-inline'/x"}, log: "has an invalid host"},
		"password in the URL":               {document: map[string]any{"token_endpoint": "https://a:b@id.example.com/token"}, log: "is not a valid endpoint URL"},
		"fragment in the URL":               {document: map[string]any{"authorization_endpoint": "https://id.example.com/a#b"}, log: "is not a valid endpoint URL"},
		"oversized URL":                     {document: map[string]any{"end_session_endpoint": "https://id.example.com/" + strings.Repeat("x", 2000)}, log: "is not a valid endpoint URL"},
		"numeric endpoint":                  {document: map[string]any{"end_session_endpoint": 5}, log: "discover"},
		"unsupported client authentication": {document: map[string]any{"token_endpoint_auth_methods_supported": []string{"private_key_jwt"}}, log: "client_secret_post"},
		"not JSON":                          {answer: "<html>" + strings.Repeat("x", 9000), log: "discover"},
		"oversized document":                {answer: strings.Repeat(" ", 2<<20), log: "longer than"},
		"long error page":                   {answer: "\x1b[31m" + strings.Repeat("x", 9000), status: 500, log: "500"},
	} {
		d := newBrowserFixture(t, nil)
		path := "/.well-known/openid-configuration"
		d.provider.document = c.document
		d.provider.status[path], d.provider.answer[path] = c.status, c.answer
		b := d.browser()
		err := b.do(func(ctx context.Context) error { _, err := b.Begin(ctx, "0", "/"); return err })
		var public *cola.Error
		if !errors.As(err, &public) || public.Code != cola.CodeUnavailable || public.RetryAfter <= 0 ||
			!strings.Contains(public.Message, "id.example.com") {
			t.Errorf("%s: error = %v, want unavailable with a Retry-After and the issuer", name, err)
		}
		if log := d.log.text(); !strings.Contains(log, c.log) || len(log) > 1500 || strings.Contains(log, "\x1b") {
			t.Errorf("%s: log = %.1600q, want a short log with %q", name, log, c.log)
		}
		if b.cookie() != "" {
			t.Errorf("%s: a session cookie was set", name)
		}
	}
}

// TestUnavailableIssuer checks that repeated sign-ins don't flood an unavailable issuer with
// requests, that sign-ins start soon after it recovers, and that they still start while the
// discovery document is at most a day old.
func TestUnavailableIssuer(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	begin := func() error {
		return b.do(func(ctx context.Context) error { _, err := b.Begin(ctx, "0", "/"); return err })
	}
	d.provider.set(func(p *provider) { p.err = errors.New("connection refused") })
	for range 20 {
		if err := begin(); cola.CodeOf(err) != cola.CodeUnavailable {
			t.Fatal(err)
		}
	}
	path := "/.well-known/openid-configuration"
	if n := d.provider.requests[path]; n != 1 {
		t.Errorf("%d discovery requests, want 1", n)
	}
	d.provider.set(func(p *provider) { p.err = nil })
	d.clock.advance(retryInterval)
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	d.provider.set(func(p *provider) { p.err = errors.New("connection refused") })
	d.clock.advance(maxDocumentAge - time.Second)
	if err := begin(); err != nil {
		t.Errorf("with a day-old discovery document: %v", err)
	}
}

// TestSlowIssuers checks that a sign-in with a slow issuer fails within five seconds.
func TestSlowIssuers(t *testing.T) {
	for path, delay := range map[string]map[string]time.Duration{
		"discovery":    {"/.well-known/openid-configuration": time.Hour},
		"code":         {"/token": time.Hour},
		"keys":         {"/keys": time.Hour},
		"user info":    {"/me": time.Hour},
		"all together": {"/token": 3 * time.Second, "/keys": time.Second, "/me": 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newBrowserFixture(t, nil)
			d.provider.delay = delay
			b := d.browser()
			start := time.Now()
			var redirect string
			err := b.do(func(ctx context.Context) (err error) {
				redirect, err = b.Begin(ctx, "0", "/")
				return err
			})
			if err == nil {
				_, err = b.finish(d.provider.approve(t, redirect, "ann", ""))
			}
			if took := time.Since(start); cola.CodeOf(err) != cola.CodeUnavailable || took > requestTimeout {
				t.Errorf("%s: error = %v after %v, want unavailable within %v", path, err, took, requestTimeout)
			}
			time.Sleep(requestTimeout) // wait for pending requests
		})
	}
}

// TestCheckSignIn checks that Browsers.Check reports exactly the unusable issuers.
func TestCheckSignIn(t *testing.T) {
	d := newBrowserFixture(t, func(d *browserFixture, _ *BrowserOptions) { d.other.err = errors.New("connection refused") })
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), otherIssuer) || strings.Contains(err.Error(), ourIssuer) {
		t.Errorf("Check = %v, want an error that names only %s", err, otherIssuer)
	}
}

// TestRequestedScopes checks that only scopes listed by the issuer are requested, if it lists any.
func TestRequestedScopes(t *testing.T) {
	for _, c := range []struct{ supported, want []string }{
		{nil, []string{"openid", "email"}},
		{[]string{"openid", "profile", "email"}, []string{"openid", "email"}},
		{[]string{"openid"}, []string{"openid"}},
	} {
		if diff := cmp.Diff(c.want, scopesToRequest(c.supported)); diff != "" {
			t.Errorf("scopesToRequest(%v) (-want +got):\n%s", c.supported, diff)
		}
	}
}

// TestSignInWithGoOIDCIssuer signs in over a real connection, with an issuer whose documents and
// signatures come from go-oidc's test server.
func TestSignInWithGoOIDCIssuer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	documents := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "key", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	var nonce, address string
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			documents.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		token := oidctest.SignIDToken(key, "key", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"dashboard","sub":"ann","nonce":%q,"exp":%d,"email":"ann@example.com","email_verified":true}`,
			address, nonce, time.Now().Add(time.Hour).Unix()))
		_, _ = fmt.Fprintf(w, `{"access_token":"x","token_type":"Bearer","id_token":%q}`, token)
	}))
	defer issuer.Close()
	address = issuer.URL
	documents.SetIssuer(address)
	d := newBrowserFixture(t, func(d *browserFixture, o *BrowserOptions) {
		d.store.now = time.Now
		o.Issuers, o.Client, o.Now = []SignInIssuer{{URL: address, ClientID: "dashboard"}}, nil, time.Now
	})
	b := d.browser()
	u, err := url.Parse(b.begin(t, "0", "/usage"))
	if err != nil {
		t.Fatal(err)
	}
	nonce = u.Query().Get("nonce")
	returnTo, err := b.finish(url.Values{"state": {u.Query().Get("state")}, "code": {"any"}})
	if err != nil || returnTo != "/usage" || d.store.people[0].Email != "ann@example.com" {
		t.Fatalf("Finish = %q, %v with accounts %+v, want /usage and ann@example.com", returnTo, err, d.store.people)
	}
	if redirect := b.signOut(t); redirect != "" {
		t.Errorf("SignOut redirects to %q, but the issuer has no end-session endpoint", redirect)
	}
}
