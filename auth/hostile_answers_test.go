package auth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// answer is an invalid authorization response.
type answer struct {
	name  string
	setup func(*desk)                               // before the sign-in starts
	query func(d *desk, good url.Values) url.Values // of the callback
	later func(d *desk, b *browser)                 // after the callback
	want  string                                    // part of the error message
	code  cola.Code                                 // default: CodeUnauthorized
}

func idToken(changes ...change) func(*desk) {
	return func(d *desk) { d.provider.set(func(p *provider) { p.idToken = changes }) }
}

// hostileQueries have an invalid callback query.
func hostileQueries() []answer {
	query := func(name string, values ...string) func(*desk, url.Values) url.Values {
		return func(_ *desk, good url.Values) url.Values { return with(good, name, values...) }
	}
	names := func(d *desk) {
		d.provider.set(func(p *provider) { p.document = map[string]any{"authorization_response_iss_parameter_supported": true} })
	}
	const unknown = "in another browser"
	return []answer{
		{name: "no state", query: query("state"), want: unknown},
		{name: "empty state", query: query("state", ""), want: unknown},
		{name: "made-up state", query: query("state", newSecretText()), want: unknown},
		{name: "two states", query: func(_ *desk, q url.Values) url.Values { return with(q, "state", q.Get("state"), "x") }, want: unknown},
		{name: "no code", query: query("code"), want: "no code"},
		{name: "two codes", query: query("code", "a", "b"), want: "no code"},
		{name: "long code", query: query("code", strings.Repeat("c", 5000)), want: "no code"},
		{name: "made-up code", query: query("code", "code-x"), want: "took too long or is already complete"},
		{name: "iss of another", query: query("iss", otherIssuer), want: "names another issuer"},
		{name: "iss almost", query: query("iss", ourIssuer+"/"), want: "names another issuer"},
		{name: "two iss", query: query("iss", ourIssuer, otherIssuer), want: "names another issuer"},
		{name: "no iss where promised", setup: names, want: "names another issuer"},
		{name: "denied", query: func(_ *desk, q url.Values) url.Values { return with(with(q, "code"), "error", "access_denied") }, want: "access was not granted"},
		{name: "denied, with a code", query: query("error", "access_denied"), want: "access was not granted"},
		{name: "login required", query: query("error", "login_required"), want: "sign in there first"},
		{name: "issuer's fault", query: query("error", "server_error"), want: "is not available right now", code: cola.CodeUnavailable},
		{name: "script", query: func(_ *desk, q url.Values) url.Values {
			return with(with(q, "error", "<script>alert(1)</script>"), "error_description", "<b>"+strings.Repeat("x", 9000))
		}, want: "is not available right now", code: cola.CodeUnavailable},
	}
}

// hostileTokens have an invalid ID token.
func hostileTokens(t *testing.T) []answer {
	return []answer{
		{name: "another service's token", setup: idToken(claim("aud", "shop")), want: "for another service"},
		{name: "no audience", setup: idToken(claim("aud", nil)), want: "for another service"},
		{name: "audience in other letters", setup: idToken(claim("aud", nil), claim("AUD", "dashboard")), want: "for another service"},
		{name: "issued to another", setup: idToken(claim("azp", "shop")), want: "issued to another service"},
		{name: "many audiences, no party", setup: idToken(claim("aud", []string{"dashboard", "shop"})), want: "issued to another service"},
		{name: "no nonce", setup: idToken(claim("nonce", nil)), want: "another sign-in attempt"},
		{name: "another nonce", setup: idToken(claim("nonce", newSecretText())), want: "another sign-in attempt"},
		{name: "number as nonce", setup: idToken(claim("nonce", 5)), want: "another sign-in attempt"},
		{name: "another issuer", setup: idToken(claim("iss", otherIssuer)), want: "from another issuer"},
		{name: "no subject", setup: idToken(claim("sub", nil)), want: "no valid subject"},
		{name: "empty subject", setup: idToken(claim("sub", "")), want: "no valid subject"},
		{name: "NUL in the subject", setup: idToken(claim("sub", "a\x00b")), want: "no valid subject"},
		{name: "long subject", setup: idToken(claim("sub", strings.Repeat("s", 300))), want: "no valid subject"},
		{name: "expired", setup: func(d *desk) { idToken(claim("exp", d.clock.now().Add(-leeway).Unix()))(d) }, want: "has already expired: its clock"},
		{name: "no expiry", setup: idToken(claim("exp", nil)), want: "no expiry"},
		{name: "of the future", setup: func(d *desk) { idToken(claim("iat", d.clock.now().Add(time.Minute).Unix()))(d) }, want: "not valid yet: its clock"},
		{name: "not valid yet", setup: func(d *desk) { idToken(claim("nbf", d.clock.now().Add(time.Minute).Unix()))(d) }, want: "not valid yet"},
		{name: "unsigned", setup: idToken(header("alg", "none")), want: "missing or malformed"},
		{name: "signed with the secret", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.key.secret = []byte(p.secret) })
			idToken(header("alg", "HS256"))(d)
		}, want: "missing or malformed"},
		{name: "another key", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.answer["/keys"] = `{"keys":[` + newSigner(t, "ES256", "k1").jwk() + `]}` })
		}, want: "not signed with a key that it publishes"},
		{name: "an access token", setup: idToken(header("typ", "at+jwt")), want: "instead of an ID token"},
		{name: "critical extension", setup: idToken(header("crit", []string{"x"})), want: "missing or malformed"},
		{name: "no ID token", setup: func(d *desk) { d.provider.set(func(p *provider) { p.raw = "x" }) }, want: "missing or malformed"},
		{name: "huge ID token", setup: idToken(claim("x", strings.Repeat("x", maxToken))), want: "missing or malformed"},
		{name: "JSON in place of a token", setup: func(d *desk) { d.provider.set(func(p *provider) { p.raw = `{"payload":"x","signatures":[]}` }) }, want: "missing or malformed"},
		{name: "address not verified", setup: idToken(claim("email", "boss@example.com"), claim("email_verified", false)), want: "has not verified your email address"},
		{name: "address not verified, in text", setup: idToken(claim("email", "boss@example.com"), claim("email_verified", "false")), want: "has not verified"},
	}
}

// hostileServices have failures of the issuer's endpoints or the store.
func hostileServices() []answer {
	return []answer{
		{name: "another person's details", setup: func(d *desk) {
			d.provider.set(func(p *provider) {
				p.info = map[string]any{"sub": "eve", "email": "boss@example.com", "email_verified": true}
			})
		}, want: "another subject"},
		{name: "details not now", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/me"] = 401 }) }, want: "is not available right now", code: cola.CodeUnavailable},
		{name: "details of nobody", setup: func(d *desk) { d.provider.set(func(p *provider) { p.info = map[string]any{"sub": nil} }) }, want: "another subject"},
		{name: "garbled details", setup: func(d *desk) { d.provider.set(func(p *provider) { p.answer["/me"] = `{"sub":"ann","sub":"eve"}` }) }, want: "cannot be read"},
		{name: "unverified details", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.info = map[string]any{"email": "boss@example.com", "email_verified": false} })
		}, want: "has not verified"},
		{name: "no details to be had", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/me"] = 502 }) }, want: "is not available right now", code: cola.CodeUnavailable},
		{name: "wrong secret", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.status["/token"], p.answer["/token"] = 401, `{"error":"invalid_client"}` })
		}, want: "is not available right now", code: cola.CodeUnavailable},
		{name: "redirected with the secret", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/token"] = 307 }) }, want: "is not available", code: cola.CodeUnavailable},
		{name: "fault of the issuer", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.status["/token"], p.answer["/token"] = 500, `{"error":"invalid_grant"}` })
		}, want: "is not available", code: cola.CodeUnavailable},
		{name: "not JSON", setup: func(d *desk) { d.provider.set(func(p *provider) { p.answer["/token"] = "<html>" }) }, want: "is not available", code: cola.CodeUnavailable},
		{name: "endless answer", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.answer["/token"] = `{"access_token":"` + strings.Repeat("x", 2<<20) + `"}` })
		}, want: "is not available", code: cola.CodeUnavailable},
		{name: "no keys to be had", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/keys"] = 500 }) }, want: "is not available", code: cola.CodeUnavailable},
		{name: "store away", later: func(d *desk, _ *browser) {
			d.store.set(func(s *browserStore) { s.fail["AccountOf"] = store.ErrUnavailable })
		}, want: "cannot answer right now", code: cola.CodeUnavailable},
		{name: "sign-in not kept", later: func(d *desk, _ *browser) {
			d.store.set(func(s *browserStore) { s.fail["CreateSignIn"] = store.ErrUnavailable })
		}, want: "cannot answer right now", code: cola.CodeUnavailable},
		{name: "session not renewed", later: func(d *desk, b *browser) {
			b.look(func(ctx context.Context) { b.Put(ctx, "notice", "so that there is a session") })
			d.store.set(func(s *browserStore) { s.fail["DeleteSession"] = store.ErrUnavailable })
		}, want: "cannot answer right now", code: cola.CodeUnavailable},
	}
}

// TestHostileAnswers checks that only a valid response signs a browser in, and that a failed one
// cannot be reused. An existing sign-in is unaffected. Values from the issuer or browser do not
// reach the page, and secrets do not reach the log.
func TestHostileAnswers(t *testing.T) {
	for _, c := range slices.Concat(hostileQueries(), hostileTokens(t), hostileServices()) {
		if c.code == "" {
			c.code = cola.CodeUnauthorized
		}
		t.Run(c.name, func(t *testing.T) { c.try(t, newDesk(t, nil).browser()) })
		t.Run(c.name+", signed in", func(t *testing.T) {
			b := newDesk(t, nil).browser()
			if err := b.use(b.store.link(store.Account{ID: 77, Email: "eve@example.com"})); err != nil {
				t.Fatal(err)
			}
			c.try(t, b)
		})
	}
}

func (c answer) try(t *testing.T, b *browser) {
	t.Helper()
	d, before := b.desk, b.caller()
	if c.setup != nil {
		c.setup(d)
	}
	good := d.provider.approve(t, b.begin(t, "0", "/keys"), "ann", "")
	if c.later != nil {
		c.later(d, b)
	}
	sent := good
	if c.query != nil {
		sent = c.query(d, good)
	}
	_, err := b.finish(sent)
	var shown *cola.Error
	if !errors.As(err, &shown) || shown.Code != c.code || !strings.Contains(shown.Message, c.want) {
		t.Fatalf("%v, want %s with %q", err, c.code, c.want)
	}
	if len(shown.Message) > 400 || strings.ContainsAny(shown.Message, "<>") {
		t.Errorf("shows %q", shown.Message)
	}
	d.store.set(func(s *browserStore) { clear(s.fail) })
	if diff := cmp.Diff(before, b.caller()); diff != "" {
		t.Errorf("signed in after it (-before +after):\n%s", diff)
	}
	for _, s := range d.store.signIns {
		if s.EndedAt.IsZero() && s.Account != before.Account {
			t.Errorf("a sign-in is left: %+v", s)
		}
	}
	d.wantNothingTold(t, good.Get("code"), good.Get("state"), "access-ann", "hush", "error_description")
	if strings.Contains(c.want, "another browser") {
		return // the attempt is still usable
	}
	d.provider.set(func(p *provider) {
		p.idToken, p.raw, p.status, p.answer = nil, "", map[string]int{}, map[string]string{}
	})
	if _, err := b.finish(good); err == nil || !strings.Contains(err.Error(), "already complete") {
		t.Errorf("the same attempt again: %v", err)
	}
}

// wantNothingTold fails the test if the log is long or contains a secret, or if a host other than
// the issuer received a request.
func (d *desk) wantNothingTold(t *testing.T, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(d.log.text(), secret) {
			t.Errorf("the log tells %q: %s", secret, d.log.text())
		}
	}
	if len(d.log.text()) > 2000 {
		t.Errorf("the log has %d bytes", len(d.log.text()))
	}
	if len(d.other.asked) > 0 {
		t.Errorf("another was asked: %v", d.other.asked)
	}
}
