package auth

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/store"
)

// equateAddresses lets cmp compare callers.
var equateAddresses = cmpopts.EquateComparable(netip.Addr{})

// hostileCase is a sign-in that must fail.
type hostileCase struct {
	name     string
	setup    func(*browserFixture)                               // before the sign-in starts
	query    func(d *browserFixture, good url.Values) url.Values // returns the query of the callback
	later    func(d *browserFixture, b *browser)                 // after the person approves, before the callback
	code     cola.Code                                           // default: CodeUnauthorized
	reusable bool                                                // the attempt can still be finished
}

// configure returns a setup that changes the issuer.
func configure(change func(*provider)) func(*browserFixture) {
	return func(d *browserFixture) { d.provider.set(change) }
}

// idToken returns a setup that changes the ID token.
func idToken(changes ...change) func(*browserFixture) {
	return configure(func(p *provider) { p.idToken = changes })
}

// hostileQueries returns cases with an invalid callback query.
func hostileQueries() []hostileCase {
	query := func(name string, values ...string) func(*browserFixture, url.Values) url.Values {
		return func(_ *browserFixture, good url.Values) url.Values { return with(good, name, values...) }
	}
	advertiseIss := func(d *browserFixture) {
		d.provider.set(func(p *provider) { p.document = map[string]any{"authorization_response_iss_parameter_supported": true} })
	}
	return []hostileCase{
		{name: "no state", reusable: true, query: query("state")},
		{name: "empty state", reusable: true, query: query("state", "")},
		{name: "unknown state", reusable: true, query: query("state", newSecretText())},
		{name: "duplicate state", reusable: true, query: func(_ *browserFixture, q url.Values) url.Values { return with(q, "state", q.Get("state"), "x") }},
		{name: "no code", query: query("code")},
		{name: "duplicate code", query: query("code", "a", "b")},
		{name: "long code", query: query("code", strings.Repeat("c", 5000))},
		{name: "unknown code", query: query("code", "code-x")},
		{name: "iss of another issuer", query: query("iss", otherIssuer)},
		{name: "iss with a trailing slash", query: query("iss", ourIssuer+"/")},
		{name: "duplicate iss", query: query("iss", ourIssuer, otherIssuer)},
		{name: "missing advertised iss", setup: advertiseIss},
		{name: "denied", query: func(_ *browserFixture, q url.Values) url.Values {
			return with(with(q, "code"), "error", "access_denied")
		}},
		{name: "denied with a code", query: query("error", "access_denied")},
		{name: "login required", query: query("error", "login_required")},
		{name: "server_error", query: query("error", "server_error"), code: cola.CodeUnavailable},
		{name: "markup in the error", query: func(_ *browserFixture, q url.Values) url.Values {
			return with(with(q, "error", "<script>alert(1)</script>"), "error_description", "<b>"+strings.Repeat("x", 9000))
		}, code: cola.CodeUnavailable},
	}
}

// hostileTokens returns cases with an invalid ID token.
func hostileTokens(t *testing.T) []hostileCase {
	return []hostileCase{
		{name: "another service's token", setup: idToken(claim("aud", "shop"))},
		{name: "no audience", setup: idToken(claim("aud", nil))},
		{name: "aud in upper case", setup: idToken(claim("aud", nil), claim("AUD", "dashboard"))},
		{name: "azp of another client", setup: idToken(claim("azp", "shop"))},
		{name: "two audiences without azp", setup: idToken(claim("aud", []string{"dashboard", "shop"}))},
		{name: "no nonce", setup: idToken(claim("nonce", nil))},
		{name: "another nonce", setup: idToken(claim("nonce", newSecretText()))},
		{name: "numeric nonce", setup: idToken(claim("nonce", 5))},
		{name: "another issuer", setup: idToken(claim("iss", otherIssuer))},
		{name: "no subject", setup: idToken(claim("sub", nil))},
		{name: "empty subject", setup: idToken(claim("sub", ""))},
		{name: "NUL in the subject", setup: idToken(claim("sub", "a\x00b"))},
		{name: "long subject", setup: idToken(claim("sub", strings.Repeat("s", 300)))},
		{name: "expired", setup: func(d *browserFixture) { idToken(claim("exp", d.clock.now().Add(-leeway).Unix()))(d) }},
		{name: "no expiry", setup: idToken(claim("exp", nil))},
		{name: "issued in the future", setup: func(d *browserFixture) { idToken(claim("iat", d.clock.now().Add(time.Minute).Unix()))(d) }},
		{name: "not valid yet", setup: func(d *browserFixture) { idToken(claim("nbf", d.clock.now().Add(time.Minute).Unix()))(d) }},
		{name: "unsigned", setup: idToken(header("alg", "none"))},
		{name: "signed with the client secret", setup: func(d *browserFixture) {
			d.provider.set(func(p *provider) { p.key.secret = []byte(p.secret) })
			idToken(header("alg", "HS256"))(d)
		}},
		{name: "another key", setup: configure(func(p *provider) {
			p.answer["/keys"] = `{"keys":[` + newSigner(t, "ES256", "k1").jwk() + `]}`
		})},
		{name: "access token", setup: idToken(header("typ", "at+jwt"))},
		{name: "critical extension", setup: idToken(header("crit", []string{"x"}))},
		{name: "no ID token", setup: configure(func(p *provider) { p.raw = "x" })},
		{name: "huge ID token", setup: idToken(claim("x", strings.Repeat("x", maxToken)))},
		{name: "JSON serialization", setup: configure(func(p *provider) {
			p.raw = `{"payload":"x","signatures":[]}`
		})},
		{name: "email not verified", setup: idToken(claim("email", "boss@example.com"), claim("email_verified", false))},
		{name: "email_verified is the string false", setup: idToken(claim("email", "boss@example.com"), claim("email_verified", "false"))},
	}
}

// hostileServices returns cases in which the store fails, or an endpoint of the issuer fails or
// returns invalid data.
func hostileServices() []hostileCase {
	return []hostileCase{
		{name: "user info of another subject", setup: configure(func(p *provider) {
			p.info = map[string]any{"sub": "eve", "email": "boss@example.com", "email_verified": true}
		})},
		{name: "user info temporarily refused", setup: configure(func(p *provider) { p.status["/me"] = 401 }), code: cola.CodeUnavailable},
		{name: "user info without a subject", setup: configure(func(p *provider) { p.info = map[string]any{"sub": nil} })},
		{name: "ambiguous user info", setup: configure(func(p *provider) {
			p.answer["/me"] = `{"sub":"ann","sub":"eve"}`
		})},
		{name: "unverified email in user info", setup: configure(func(p *provider) {
			p.info = map[string]any{"email": "boss@example.com", "email_verified": false}
		})},
		{name: "user info unavailable", setup: configure(func(p *provider) { p.status["/me"] = 502 }), code: cola.CodeUnavailable},
		{name: "wrong secret", setup: configure(func(p *provider) {
			p.status["/token"], p.answer["/token"] = 401, `{"error":"invalid_client"}`
		}), code: cola.CodeUnavailable},
		{name: "redirected token request", setup: configure(func(p *provider) { p.status["/token"] = 307 }), code: cola.CodeUnavailable},
		{name: "token endpoint returns 500", setup: configure(func(p *provider) {
			p.status["/token"], p.answer["/token"] = 500, `{"error":"invalid_grant"}`
		}), code: cola.CodeUnavailable},
		{name: "not JSON", setup: configure(func(p *provider) { p.answer["/token"] = "<html>" }), code: cola.CodeUnavailable},
		{name: "oversized token response", setup: configure(func(p *provider) {
			p.answer["/token"] = `{"access_token":"` + strings.Repeat("x", 2<<20) + `"}`
		}), code: cola.CodeUnavailable},
		{name: "keys unavailable", setup: configure(func(p *provider) { p.status["/keys"] = 500 }), code: cola.CodeUnavailable},
		{name: "store unavailable", later: func(d *browserFixture, _ *browser) {
			d.store.set(func(s *browserStore) { s.fail["AccountOf"] = store.ErrUnavailable })
		}, code: cola.CodeUnavailable},
		{name: "CreateSignIn fails", later: func(d *browserFixture, _ *browser) {
			d.store.set(func(s *browserStore) { s.fail["CreateSignIn"] = store.ErrUnavailable })
		}, code: cola.CodeUnavailable},
		{name: "DeleteSession fails", later: func(d *browserFixture, b *browser) {
			b.look(func(ctx context.Context) { b.Put(ctx, "notice", "creates a session") })
			d.store.set(func(s *browserStore) { s.fail["DeleteSession"] = store.ErrUnavailable })
		}, code: cola.CodeUnavailable},
	}
}

// TestHostileResponses checks that only a valid response signs a browser in, and that a failed one
// cannot be reused. An existing sign-in is unaffected. Values from the issuer or browser do not
// reach the page, and secrets do not reach the log.
func TestHostileResponses(t *testing.T) {
	messages := golden.Load(t, "hostile_answers")
	for _, c := range slices.Concat(hostileQueries(), hostileTokens(t), hostileServices()) {
		if c.code == "" {
			c.code = cola.CodeUnauthorized
		}
		t.Run(c.name, func(t *testing.T) { c.try(t, newBrowserFixture(t, nil).browser(), messages) })
		t.Run(c.name+", signed in", func(t *testing.T) {
			b := newBrowserFixture(t, nil).browser()
			if err := b.use(b.store.link(store.Account{ID: 77, Email: "eve@example.com"})); err != nil {
				t.Fatal(err)
			}
			c.try(t, b, messages)
		})
	}
}

func (c hostileCase) try(t *testing.T, b *browser, messages *golden.Cases) {
	t.Helper()
	d, before := b.browserFixture, b.caller()
	if c.setup != nil {
		c.setup(d)
	}
	good := d.provider.approve(t, b.begin(t, "0", "/keys"), "ann", "")
	if c.later != nil {
		c.later(d, b)
	}
	query := good
	if c.query != nil {
		query = c.query(d, good)
	}
	_, err := b.finish(query)
	var public *cola.Error
	if !errors.As(err, &public) || public.Code != c.code {
		t.Fatalf("error = %v, want %s", err, c.code)
	}
	messages.Check(t, strings.TrimPrefix(t.Name(), "TestHostileResponses/"), public.Message)
	if len(public.Message) > 400 || strings.ContainsAny(public.Message, "<>") {
		t.Errorf("unsafe error message %q", public.Message)
	}
	d.store.set(func(s *browserStore) { clear(s.fail) })
	if diff := cmp.Diff(before, b.caller(), equateAddresses); diff != "" {
		t.Errorf("caller changed (-before +after):\n%s", diff)
	}
	for _, s := range d.store.signIns {
		if s.EndedAt.IsZero() && s.Account != before.Account {
			t.Errorf("unexpected active sign-in: %+v", s)
		}
	}
	d.wantNoLeak(t, good.Get("code"), good.Get("state"), "access-ann", "hush", "error_description")
	if c.reusable {
		return // the attempt is still usable
	}
	d.provider.set(func(p *provider) {
		p.idToken, p.raw, p.status, p.answer = nil, "", map[string]int{}, map[string]string{}
	})
	if _, err := b.finish(good); err == nil || !strings.Contains(err.Error(), "already complete") {
		t.Errorf("second Finish with the same attempt: %v", err)
	}
}

// wantNoLeak fails the test if the log is long or contains a secret, or if a host other than
// the issuer received a request.
func (d *browserFixture) wantNoLeak(t *testing.T, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(d.log.text(), secret) {
			t.Errorf("log contains %q: %s", secret, d.log.text())
		}
	}
	if len(d.log.text()) > 2000 {
		t.Errorf("log has %d bytes, want at most 2000", len(d.log.text()))
	}
	if len(d.other.requests) > 0 {
		t.Errorf("unexpected requests to another host: %v", d.other.requests)
	}
}
