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
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/store"
)

// answer is an invalid authorization response.
type answer struct {
	name     string
	setup    func(*desk)                               // before the sign-in starts
	query    func(d *desk, good url.Values) url.Values // of the callback
	later    func(d *desk, b *browser)                 // after the callback
	code     cola.Code                                 // default: CodeUnauthorized
	reusable bool                                      // the attempt can still be finished
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
	return []answer{
		{name: "no state", reusable: true, query: query("state")},
		{name: "empty state", reusable: true, query: query("state", "")},
		{name: "made-up state", reusable: true, query: query("state", newSecretText())},
		{name: "two states", reusable: true, query: func(_ *desk, q url.Values) url.Values { return with(q, "state", q.Get("state"), "x") }},
		{name: "no code", query: query("code")},
		{name: "two codes", query: query("code", "a", "b")},
		{name: "long code", query: query("code", strings.Repeat("c", 5000))},
		{name: "made-up code", query: query("code", "code-x")},
		{name: "iss of another", query: query("iss", otherIssuer)},
		{name: "iss almost", query: query("iss", ourIssuer+"/")},
		{name: "two iss", query: query("iss", ourIssuer, otherIssuer)},
		{name: "no iss where promised", setup: names},
		{name: "denied", query: func(_ *desk, q url.Values) url.Values { return with(with(q, "code"), "error", "access_denied") }},
		{name: "denied, with a code", query: query("error", "access_denied")},
		{name: "login required", query: query("error", "login_required")},
		{name: "issuer's fault", query: query("error", "server_error"), code: cola.CodeUnavailable},
		{name: "script", query: func(_ *desk, q url.Values) url.Values {
			return with(with(q, "error", "<script>alert(1)</script>"), "error_description", "<b>"+strings.Repeat("x", 9000))
		}, code: cola.CodeUnavailable},
	}
}

// hostileTokens have an invalid ID token.
func hostileTokens(t *testing.T) []answer {
	return []answer{
		{name: "another service's token", setup: idToken(claim("aud", "shop"))},
		{name: "no audience", setup: idToken(claim("aud", nil))},
		{name: "audience in other letters", setup: idToken(claim("aud", nil), claim("AUD", "dashboard"))},
		{name: "issued to another", setup: idToken(claim("azp", "shop"))},
		{name: "many audiences, no party", setup: idToken(claim("aud", []string{"dashboard", "shop"}))},
		{name: "no nonce", setup: idToken(claim("nonce", nil))},
		{name: "another nonce", setup: idToken(claim("nonce", newSecretText()))},
		{name: "number as nonce", setup: idToken(claim("nonce", 5))},
		{name: "another issuer", setup: idToken(claim("iss", otherIssuer))},
		{name: "no subject", setup: idToken(claim("sub", nil))},
		{name: "empty subject", setup: idToken(claim("sub", ""))},
		{name: "NUL in the subject", setup: idToken(claim("sub", "a\x00b"))},
		{name: "long subject", setup: idToken(claim("sub", strings.Repeat("s", 300)))},
		{name: "expired", setup: func(d *desk) { idToken(claim("exp", d.clock.now().Add(-leeway).Unix()))(d) }},
		{name: "no expiry", setup: idToken(claim("exp", nil))},
		{name: "of the future", setup: func(d *desk) { idToken(claim("iat", d.clock.now().Add(time.Minute).Unix()))(d) }},
		{name: "not valid yet", setup: func(d *desk) { idToken(claim("nbf", d.clock.now().Add(time.Minute).Unix()))(d) }},
		{name: "unsigned", setup: idToken(header("alg", "none"))},
		{name: "signed with the secret", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.key.secret = []byte(p.secret) })
			idToken(header("alg", "HS256"))(d)
		}},
		{name: "another key", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.answer["/keys"] = `{"keys":[` + newSigner(t, "ES256", "k1").jwk() + `]}` })
		}},
		{name: "an access token", setup: idToken(header("typ", "at+jwt"))},
		{name: "critical extension", setup: idToken(header("crit", []string{"x"}))},
		{name: "no ID token", setup: func(d *desk) { d.provider.set(func(p *provider) { p.raw = "x" }) }},
		{name: "huge ID token", setup: idToken(claim("x", strings.Repeat("x", maxToken)))},
		{name: "JSON in place of a token", setup: func(d *desk) { d.provider.set(func(p *provider) { p.raw = `{"payload":"x","signatures":[]}` }) }},
		{name: "address not verified", setup: idToken(claim("email", "boss@example.com"), claim("email_verified", false))},
		{name: "address not verified, in text", setup: idToken(claim("email", "boss@example.com"), claim("email_verified", "false"))},
	}
}

// hostileServices have failures of the issuer's endpoints or the store.
func hostileServices() []answer {
	return []answer{
		{name: "another person's details", setup: func(d *desk) {
			d.provider.set(func(p *provider) {
				p.info = map[string]any{"sub": "eve", "email": "boss@example.com", "email_verified": true}
			})
		}},
		{name: "details not now", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/me"] = 401 }) }, code: cola.CodeUnavailable},
		{name: "user info without a subject", setup: func(d *desk) { d.provider.set(func(p *provider) { p.info = map[string]any{"sub": nil} }) }},
		{name: "garbled details", setup: func(d *desk) { d.provider.set(func(p *provider) { p.answer["/me"] = `{"sub":"ann","sub":"eve"}` }) }},
		{name: "unverified details", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.info = map[string]any{"email": "boss@example.com", "email_verified": false} })
		}},
		{name: "no details to be had", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/me"] = 502 }) }, code: cola.CodeUnavailable},
		{name: "wrong secret", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.status["/token"], p.answer["/token"] = 401, `{"error":"invalid_client"}` })
		}, code: cola.CodeUnavailable},
		{name: "redirected with the secret", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/token"] = 307 }) }, code: cola.CodeUnavailable},
		{name: "fault of the issuer", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.status["/token"], p.answer["/token"] = 500, `{"error":"invalid_grant"}` })
		}, code: cola.CodeUnavailable},
		{name: "not JSON", setup: func(d *desk) { d.provider.set(func(p *provider) { p.answer["/token"] = "<html>" }) }, code: cola.CodeUnavailable},
		{name: "endless answer", setup: func(d *desk) {
			d.provider.set(func(p *provider) { p.answer["/token"] = `{"access_token":"` + strings.Repeat("x", 2<<20) + `"}` })
		}, code: cola.CodeUnavailable},
		{name: "no keys to be had", setup: func(d *desk) { d.provider.set(func(p *provider) { p.status["/keys"] = 500 }) }, code: cola.CodeUnavailable},
		{name: "store away", later: func(d *desk, _ *browser) {
			d.store.set(func(s *browserStore) { s.fail["AccountOf"] = store.ErrUnavailable })
		}, code: cola.CodeUnavailable},
		{name: "sign-in not kept", later: func(d *desk, _ *browser) {
			d.store.set(func(s *browserStore) { s.fail["CreateSignIn"] = store.ErrUnavailable })
		}, code: cola.CodeUnavailable},
		{name: "session not renewed", later: func(d *desk, b *browser) {
			b.look(func(ctx context.Context) { b.Put(ctx, "notice", "creates a session") })
			d.store.set(func(s *browserStore) { s.fail["DeleteSession"] = store.ErrUnavailable })
		}, code: cola.CodeUnavailable},
	}
}

// TestHostileAnswers checks that only a valid response signs a browser in, and that a failed one
// cannot be reused. An existing sign-in is unaffected. Values from the issuer or browser do not
// reach the page, and secrets do not reach the log.
func TestHostileAnswers(t *testing.T) {
	messages := golden.Load(t, "hostile_answers")
	for _, c := range slices.Concat(hostileQueries(), hostileTokens(t), hostileServices()) {
		if c.code == "" {
			c.code = cola.CodeUnauthorized
		}
		t.Run(c.name, func(t *testing.T) { c.try(t, newDesk(t, nil).browser(), messages) })
		t.Run(c.name+", signed in", func(t *testing.T) {
			b := newDesk(t, nil).browser()
			if err := b.use(b.store.link(store.Account{ID: 77, Email: "eve@example.com"})); err != nil {
				t.Fatal(err)
			}
			c.try(t, b, messages)
		})
	}
}

func (c answer) try(t *testing.T, b *browser, messages *golden.Cases) {
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
	if !errors.As(err, &shown) || shown.Code != c.code {
		t.Fatalf("error = %v, want %s", err, c.code)
	}
	messages.Check(t, strings.TrimPrefix(t.Name(), "TestHostileAnswers/"), shown.Message)
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
	d.wantNoLeak(t, good.Get("code"), good.Get("state"), "access-ann", "hush", "error_description")
	if c.reusable {
		return // the attempt is still usable
	}
	d.provider.set(func(p *provider) {
		p.idToken, p.raw, p.status, p.answer = nil, "", map[string]int{}, map[string]string{}
	})
	if _, err := b.finish(good); err == nil || !strings.Contains(err.Error(), "already complete") {
		t.Errorf("the same attempt again: %v", err)
	}
}

// wantNoLeak fails the test if the log is long or contains a secret, or if a host other than
// the issuer received a request.
func (d *desk) wantNoLeak(t *testing.T, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(d.log.text(), secret) {
			t.Errorf("the log contains %q: %s", secret, d.log.text())
		}
	}
	if len(d.log.text()) > 2000 {
		t.Errorf("the log has %d bytes", len(d.log.text()))
	}
	if len(d.other.asked) > 0 {
		t.Errorf("another host got requests: %v", d.other.asked)
	}
}
