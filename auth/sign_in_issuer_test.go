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

// TestHostileDiscovery checks that an issuer whose discovery document contains unsafe URLs signs no
// one in. The person sees "try again later"; the log has the reason.
func TestHostileDiscovery(t *testing.T) {
	for name, c := range map[string]struct {
		document map[string]any
		answer   string
		status   int
		log      string
	}{
		"another issuer":            {document: map[string]any{"issuer": otherIssuer}, log: "did not match the issuer"},
		"almost this issuer":        {document: map[string]any{"issuer": ourIssuer + "/"}, log: "did not match the issuer"},
		"no authorization endpoint": {document: map[string]any{"authorization_endpoint": nil}, log: "authorization_endpoint"},
		"no token endpoint":         {document: map[string]any{"token_endpoint": nil}, log: "token_endpoint"},
		"plain authorization":       {document: map[string]any{"authorization_endpoint": "http://id.example.com/authorize"}, log: "is not an https URL"},
		"plain token endpoint":      {document: map[string]any{"token_endpoint": "http://id.example.com/token"}, log: "is not an https URL"},
		"token endpoint in here":    {document: map[string]any{"token_endpoint": "http://127.0.0.1:5432/token"}, log: "is not an https URL"},
		"plain details":             {document: map[string]any{"userinfo_endpoint": "http://id.example.com/me"}, log: "userinfo_endpoint"},
		"plain sign-out":            {document: map[string]any{"end_session_endpoint": "http://id.example.com/bye"}, log: "end_session_endpoint"},
		"script as sign-out":        {document: map[string]any{"end_session_endpoint": "javascript:alert(1)"}, log: "end_session_endpoint"},
		"policy in the host":        {document: map[string]any{"authorization_endpoint": "https://a;script-src.example/x"}, log: "has an invalid host"},
		"policy in the sign-out":    {document: map[string]any{"end_session_endpoint": "https://a,b'unsafe-inline'/x"}, log: "has an invalid host"},
		"password in the address":   {document: map[string]any{"token_endpoint": "https://a:b@id.example.com/token"}, log: "is not a valid endpoint URL"},
		"fragment in the address":   {document: map[string]any{"authorization_endpoint": "https://id.example.com/a#b"}, log: "is not a valid endpoint URL"},
		"endless address":           {document: map[string]any{"end_session_endpoint": "https://id.example.com/" + strings.Repeat("x", 2000)}, log: "is not a valid endpoint URL"},
		"number as endpoint":        {document: map[string]any{"end_session_endpoint": 5}, log: "discover"},
		"secret in no way":          {document: map[string]any{"token_endpoint_auth_methods_supported": []string{"private_key_jwt"}}, log: "client_secret_post"},
		"not JSON":                  {answer: "<html>" + strings.Repeat("x", 9000), log: "discover"},
		"more than can be read":     {answer: strings.Repeat(" ", 2<<20), log: "longer than"},
		"an error full of text":     {answer: "\x1b[31m" + strings.Repeat("x", 9000), status: 500, log: "500"},
	} {
		d := newDesk(t, nil)
		path := "/.well-known/openid-configuration"
		d.provider.document = c.document
		d.provider.status[path], d.provider.answer[path] = c.status, c.answer
		b := d.browser()
		err := b.do(func(ctx context.Context) error { _, err := b.Begin(ctx, "0", "/"); return err })
		var shown *cola.Error
		if !errors.As(err, &shown) || shown.Code != cola.CodeUnavailable || shown.RetryAfter <= 0 || !strings.Contains(shown.Message, "id.example.com") {
			t.Errorf("%s: %v", name, err)
		}
		if log := d.log.text(); !strings.Contains(log, c.log) || len(log) > 1500 || strings.Contains(log, "\x1b") {
			t.Errorf("%s: logged %.1600q", name, log)
		}
		if b.cookie() != "" {
			t.Errorf("%s: a session is kept", name)
		}
	}
}

// TestIssuersThatAreAway checks that not every click sends a request to an unavailable issuer, and
// that sign-ins work soon after it recovers.
func TestIssuersThatAreAway(t *testing.T) {
	d := newDesk(t, nil)
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
	if n := d.provider.asked[path]; n != 1 {
		t.Errorf("asked %d times", n)
	}
	d.provider.set(func(p *provider) { p.err = nil })
	d.clock.pass(retryInterval)
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	d.provider.set(func(p *provider) { p.err = errors.New("connection refused") })
	d.clock.pass(maxDocumentAge - time.Second)
	if err := begin(); err != nil {
		t.Errorf("with the discovery document of a day ago: %v", err)
	}
}

// TestSlowIssuers checks that each step waits for an issuer for at most five seconds.
func TestSlowIssuers(t *testing.T) {
	for path, delay := range map[string]map[string]time.Duration{
		"discovery": {"/.well-known/openid-configuration": time.Hour}, "code": {"/token": time.Hour}, "keys": {"/keys": time.Hour}, "details": {"/me": time.Hour},
		"each a little": {"/token": 3 * time.Second, "/keys": time.Second, "/me": 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, nil)
			d.provider.delay = delay
			b := d.browser()
			begun := time.Now()
			var redirect string
			err := b.do(func(ctx context.Context) (err error) {
				redirect, err = b.Begin(ctx, "0", "/")
				return err
			})
			if err == nil {
				_, err = b.finish(d.provider.approve(t, redirect, "ann", ""))
			}
			if took := time.Since(begun); cola.CodeOf(err) != cola.CodeUnavailable || took > requestTimeout {
				t.Errorf("%s: %v after %v", path, err, took)
			}
			time.Sleep(requestTimeout) // pending requests end
		})
	}
}

// TestCheckSignIn checks that CheckSignIn reports exactly the unusable issuers.
func TestCheckSignIn(t *testing.T) {
	d := newDesk(t, func(d *desk, _ *BrowserOptions) { d.other.err = errors.New("connection refused") })
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), otherIssuer) || strings.Contains(err.Error(), ourIssuer) {
		t.Errorf("check: %v", err)
	}
}

// TestScopesToAsk checks that only scopes listed by the issuer are requested, if it lists any.
func TestScopesToAsk(t *testing.T) {
	for _, c := range []struct{ supported, want []string }{
		{nil, []string{"openid", "email"}},
		{[]string{"openid", "profile", "email"}, []string{"openid", "email"}},
		{[]string{"openid"}, []string{"openid"}},
	} {
		if diff := cmp.Diff(c.want, scopesToAsk(c.supported)); diff != "" {
			t.Errorf("%v: %s", c.supported, diff)
		}
	}
}

// TestSignInWithGoOIDCIssuer signs in over a real connection at an issuer whose documents and
// signatures come from go-oidc.
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
	d := newDesk(t, func(d *desk, o *BrowserOptions) {
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
		t.Fatalf("%q, %v, account %+v", returnTo, err, d.store.people)
	}
	if redirect := b.signOut(t); redirect != "" {
		t.Errorf("signed out at %q, though the issuer has no such place", redirect)
	}
}
