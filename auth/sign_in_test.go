package auth

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestIssuerSignIn checks that a person returning from the issuer is signed in to their account
// and redirected to the page that they originally requested.
func TestIssuerSignIn(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	redirect := b.begin(t, "0", "/keys?page=2")
	d.clock.advance(AttemptLifetime - time.Second)
	returnTo, err := b.finish(d.provider.approve(t, redirect, "ann", "Ann@example.com"))
	if err != nil || returnTo != "/keys?page=2" {
		t.Fatalf("Finish = %q, %v, want /keys?page=2", returnTo, err)
	}
	want := cola.Caller{
		Account: 1, Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: 500}, Channel: cola.ChannelDashboard, Scopes: cola.Scopes(),
		VerifiedEmail: "Ann@example.com",
	}
	if diff := cmp.Diff(want, b.caller(), equateAddresses); diff != "" {
		t.Errorf("caller (-want +got):\n%s", diff)
	}
	wantSignIn := store.SignIn{
		ID: 500, Account: 1, Via: ourIssuer, Browser: "Firefox", CreatedAt: d.clock.now(), ExpiresAt: d.clock.now().Add(14 * 24 * time.Hour),
	}
	if diff := cmp.Diff(wantSignIn, d.store.signIns[500]); diff != "" {
		t.Errorf("sign-in (-want +got):\n%s", diff)
	}
	if d.store.people[0].Email != "Ann@example.com" {
		t.Errorf("account = %+v, want Ann@example.com", d.store.people[0])
	}
	if !d.provider.basic || d.provider.presented != "hush" {
		t.Errorf("client secret = %q, in the header = %v, want %q, true", d.provider.presented, d.provider.basic, "hush")
	}
	if d.log.text() != "" {
		t.Errorf("unexpected log: %s", d.log.text())
	}
}

// TestClientAuthentication checks that a client without a secret sends its ID in the request body,
// and that a secret is sent there too if the issuer doesn't support the header.
func TestClientAuthentication(t *testing.T) {
	d := newBrowserFixture(t, func(d *browserFixture, _ *BrowserOptions) { d.provider.secret = "" })
	d.browser().signIn(t, "ann")
	if d.provider.basic {
		t.Error("public client used the Authorization header")
	}
	d = newBrowserFixture(t, func(d *browserFixture, _ *BrowserOptions) {
		d.provider.document = map[string]any{"token_endpoint_auth_methods_supported": []string{"private_key_jwt", "client_secret_post"}}
	})
	d.browser().signIn(t, "ann")
	if d.provider.basic || d.provider.presented != "hush" {
		t.Errorf("client secret = %q, in the header = %v, want it in the body, which the issuer supports", d.provider.presented, d.provider.basic)
	}
}

// TestSignInAgain checks that signing in as another person ends the first person's sign-in.
func TestSignInAgain(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	first := b.signIn(t, "ann")
	second := b.signIn(t, "bob")
	if first.Account == second.Account || b.store.isActive(first.Credential.ID) {
		t.Errorf("second caller = %+v, first = %+v; want different accounts and the first sign-in ended", second, first)
	}
}

// TestTabs checks that a browser's attempts are independent, that the oldest of six is dropped, and
// that each expires after ten minutes.
func TestTabs(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	var answers []url.Values
	for range 6 {
		answers = append(answers, d.provider.approve(t, b.begin(t, "0", "/"), "ann", ""))
		d.clock.advance(time.Minute)
	}
	if n := len(b.attemptCookies()); n != 5 {
		t.Errorf("%d attempt cookies, want 5", n)
	}
	expect := func(n int, want cola.Code) {
		t.Helper()
		if _, err := b.finish(answers[n]); cola.CodeOf(err) != want {
			t.Errorf("tab %d: error = %v, want code %q", n, err, want)
		}
	}
	expect(0, cola.CodeUnauthorized)
	expect(1, "")
	expect(1, cola.CodeUnauthorized)
	expect(5, "") // signs in again
	d.clock.advance(6 * time.Minute)
	expect(2, cola.CodeUnauthorized) // started ten minutes ago
	expect(3, "")
	if n := len(b.attemptCookies()); n != 1 {
		t.Errorf("%d attempt cookies, want only the unfinished one", n)
	}
}

// with returns a query with one parameter replaced, or removed if there are no values.
func with(query url.Values, name string, values ...string) url.Values {
	changed := url.Values{}
	for n, v := range query {
		changed[n] = v
	}
	changed[name] = values
	if len(values) == 0 {
		delete(changed, name)
	}
	return changed
}

// TestValidResponses checks that valid differences between issuers' responses are accepted.
func TestValidResponses(t *testing.T) {
	for name, setup := range map[string]func(*browserFixture){
		"audience in an array":  idToken(claim("aud", []string{"dashboard"})),
		"two audiences, azp":    idToken(claim("aud", []string{"shop", "dashboard"}), claim("azp", "dashboard")),
		"clock slightly ahead":  func(d *browserFixture) { idToken(claim("iat", d.clock.now().Add(20*time.Second).Unix()))(d) },
		"clock slightly behind": func(d *browserFixture) { idToken(claim("exp", d.clock.now().Add(-20*time.Second).Unix()))(d) },
		"typ JWT":               idToken(header("typ", "JWT")),
		"no key ID":             idToken(header("kid", nil)),
		"no userinfo endpoint": func(d *browserFixture) {
			d.provider.document = map[string]any{"userinfo_endpoint": nil, "end_session_endpoint": nil}
		},
		"user info refused": func(d *browserFixture) { d.provider.status["/me"] = 403 },
		"user info signed":  func(d *browserFixture) { d.provider.infoKind = "application/jwt" },
		"advertises iss": func(d *browserFixture) {
			d.provider.document = map[string]any{"authorization_response_iss_parameter_supported": true}
		},
	} {
		d := newBrowserFixture(t, nil)
		setup(d)
		b := d.browser()
		good := with(d.provider.approve(t, b.begin(t, "0", ""), "ann", ""), "iss", ourIssuer)
		if returnTo, err := b.finish(good); err != nil || returnTo != "/" {
			t.Errorf("%s: Finish = %q, %v, want /", name, returnTo, err)
			continue
		}
		if b.caller().Account != 1 || d.store.people[0].Email != ourIssuer+"#ann" {
			t.Errorf("%s: caller = %+v, accounts = %+v", name, b.caller(), d.store.people)
		}
	}
}

// TestAddresses checks that a verified address, from the ID token or the userinfo response,
// determines the account.
func TestAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		token []change
		info  map[string]any
		want  string
	}{
		"in the token": {
			[]change{claim("email", "ann@example.com"), claim("email_verified", true)},
			map[string]any{"email": "x@example.com", "email_verified": true}, "ann@example.com",
		},
		"from user info": {nil, map[string]any{"email": "ann@example.com", "email_verified": true}, "ann@example.com"},
		"email_verified is the string true": {
			nil, map[string]any{"email": "ann@example.com", "email_verified": "true"}, "ann@example.com",
		},
		"no email_verified": {
			[]change{claim("email", "ann@example.com")},
			map[string]any{"email": "ann@example.com", "email_verified": true}, ourIssuer + "#ann",
		},
		"no email_verified, from user info": {nil, map[string]any{"email": "ann@example.com"}, ourIssuer + "#ann"},
		"address with a display name": {
			[]change{claim("email", "Ann <ann@example.com>"), claim("email_verified", true)}, nil, ourIssuer + "#ann",
		},
		"like an identity name": {
			[]change{claim("email", "x://y#z@example.com"), claim("email_verified", true)}, nil, ourIssuer + "#ann",
		},
	} {
		d := newBrowserFixture(t, nil)
		d.provider.idToken, d.provider.info = c.token, c.info
		b := d.browser()
		if _, err := b.finish(d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := d.store.people[0].Email; got != c.want {
			t.Errorf("%s: account = %q, want %q", name, got, c.want)
		}
		verified := c.want
		if store.IsIdentityName(verified) {
			verified = ""
		}
		if got := b.caller().VerifiedEmail; got != verified {
			t.Errorf("%s: verified address %q, want %q", name, got, verified)
		}
	}
}

// TestSignInEmail checks that a sign-in records the address verified in that sign-in, not one from
// an earlier sign-in or from the account.
func TestSignInEmail(t *testing.T) {
	d := newBrowserFixture(t, nil)
	for _, email := range []string{"ann@example.com", "", "other@example.com"} {
		b := d.browser()
		if _, err := b.finish(d.provider.approve(t, b.begin(t, "0", "/"), "ann", email)); err != nil {
			t.Fatal(err)
		}
		if got := b.caller(); got.Account != 1 || got.VerifiedEmail != email {
			t.Errorf("caller = %+v, want account 1 with %q", got, email)
		}
	}
}

// TestPossibleDuplicateAccount checks that the log reports a person who may have two accounts, as
// it does for access tokens.
func TestPossibleDuplicateAccount(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	for _, email := range []string{"", "ann@example.com"} {
		if _, err := b.finish(d.provider.approve(t, b.begin(t, "0", "/"), "ann", email)); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.log.text(); strings.Count(got, "account add-identity") != 1 || !strings.Contains(got, "account=1") || strings.Contains(got, "ann") {
		t.Errorf("log = %s, want one line with account=1 and without the address", got)
	}
}

// TestMixUp checks that a code is sent only to the issuer that the attempt started with, and to no
// issuer if the response names another one.
func TestMixUp(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	ours, theirs := b.begin(t, "0", "/"), b.begin(t, "1", "/")
	u, err := url.Parse(theirs)
	if err != nil {
		t.Fatal(err)
	}
	good := d.provider.approve(t, ours, "ann", "")
	mixed := with(good, "state", u.Query().Get("state"))
	if _, err := b.finish(mixed); err == nil {
		t.Error("Finish accepted a code from one issuer for an attempt with another")
	}
	if len(d.provider.codes) != 1 || d.other.requests["/token"] != 1 || d.provider.requests["/token"] != 0 {
		t.Error("want exactly one token request, to the issuer of the attempt")
	}
	if _, err := b.finish(with(good, "iss", otherIssuer)); err == nil || b.caller().Account != 0 {
		t.Errorf("response with the iss of another issuer: error = %v, caller = %+v", err, b.caller())
	}
	if d.provider.requests["/token"] != 0 {
		t.Error("code was redeemed despite the iss of another issuer")
	}
}

// TestForgedSignIn checks that a response for another browser's attempt signs no one in, which
// prevents login CSRF.
func TestForgedSignIn(t *testing.T) {
	d := newBrowserFixture(t, nil)
	attacker, victim := d.browser(), d.browser()
	answer := d.provider.approve(t, attacker.begin(t, "0", "/"), "eve", "")
	victim.begin(t, "0", "/")
	if _, err := victim.finish(answer); cola.CodeOf(err) != cola.CodeUnauthorized || victim.caller().Account != 0 {
		t.Errorf("victim is signed in as %+v, %v", victim.caller(), err)
	}
	if _, err := attacker.finish(answer); err != nil {
		t.Errorf("browser that started the attempt: %v", err)
	}
}

// TestUnknownIssuers checks that Begin rejects an unknown issuer key and sets no cookie.
func TestUnknownIssuers(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	for _, key := range []string{"", "2", "-1", "00", ourIssuer, "0 "} {
		err := b.do(func(ctx context.Context) error { _, err := b.Begin(ctx, key, "/"); return err })
		if cola.CodeOf(err) != cola.CodeValidation || b.cookie() != "" {
			t.Errorf("Begin(%q) = %v, want a validation error and no cookie", key, err)
		}
	}
}

// TestRemovedIssuer checks the error for a person returning from an issuer that is no longer
// configured.
func TestRemovedIssuer(t *testing.T) {
	keys := newKeys(t)
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.Attempts = sealer(keys) })
	b := d.browser()
	answer := d.provider.approve(t, b.begin(t, "0", "/"), "ann", "")
	b.browserFixture = newBrowserFixture(t, func(new *browserFixture, o *BrowserOptions) {
		o.Store, o.Attempts, o.Issuers = d.store, sealer(keys), []SignInIssuer{new.other.settings()}
	})
	if _, err := b.finish(answer); cola.CodeOf(err) != cola.CodeUnauthorized || !strings.Contains(err.Error(), "no longer") {
		t.Error(err)
	}
}

// TestOutsideLoad checks that outside Load, Caller returns no caller and Put panics.
func TestOutsideLoad(t *testing.T) {
	d := newBrowserFixture(t, nil)
	if _, ok := d.Caller(t.Context()); ok {
		t.Error("Caller outside Load = true, want false")
	}
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "Browsers.Load") {
			t.Errorf("panic = %q, want one that mentions Browsers.Load", p)
		}
	}()
	d.Put(t.Context(), "notice", http.StatusText(200))
}
