package auth

import (
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestLinkPolicies checks which addresses link for each issuer, and which policies are rejected.
func TestLinkPolicies(t *testing.T) {
	all, err := ParseLinkPolicies([]string{"verified:Example.com:example.org", ourIssuer + "=never", "https://id.example/a=b=verified"},
		[]string{ourIssuer, otherIssuer, "https://id.example/a=b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		issuer, email string
		want          bool
	}{
		{ourIssuer, "ann@example.com", false},
		{ourIssuer, "", false},
		{otherIssuer, "ann@example.com", true},
		{otherIssuer, "ann@EXAMPLE.org", true},
		{otherIssuer, "ann@sub.example.com", false},
		{otherIssuer, "ann@notexample.com", false},
		{otherIssuer, "ann@example.com.evil.example", false},
		{otherIssuer, "example.com", true}, // verifiedEmail rejects invalid addresses
		{"https://id.example/a=b", "ann@elsewhere.example", true},
	} {
		if got := all.of(tt.issuer).allows(tt.email); got != tt.want {
			t.Errorf("policy of %s: allows(%q) = %v, want %v", tt.issuer, tt.email, got, tt.want)
		}
	}
	if !(LinkPolicies{}).of(ourIssuer).allows("ann@example.com") {
		t.Error("without a policy, allows = false, want true")
	}
	for _, invalid := range [][]string{
		{""}, {"always"}, {"Never"}, {"never:example.com"}, {"verified:"}, {"verified:a:"}, {"verified:b\u00fccher.example"}, {"verified:@example.com"},
		{"verified", "never"}, {ourIssuer + "=never", ourIssuer + "=verified"}, {ourIssuer}, {ourIssuer + "/=never"}, {"=never"}, {strings.ToUpper(ourIssuer) + "=never"},
	} {
		if p, err := ParseLinkPolicies(invalid, []string{ourIssuer}); err == nil {
			t.Errorf("ParseLinkPolicies(%q) = %+v, want an error", invalid, p)
		}
	}
}

// TestTokenLinking checks that the issuer's policy determines whether the address in an access
// token links to an account.
func TestTokenLinking(t *testing.T) {
	for policy, want := range map[string]string{"verified": "ann@example.com", "never": "", "verified:example.com": "ann@example.com", "verified:example.org": ""} {
		links, err := ParseLinkPolicies([]string{ourIssuer + "=" + policy}, []string{ourIssuer})
		if err != nil {
			t.Fatal(err)
		}
		b := newTokenFixture(t, func(o *TokenOptions) { o.LinkEmail = links })
		got, err := b.send(t.Context(), b.token(claim("email", "ann@example.com"), claim("email_verified", true)))
		if email := b.store.emails[got.Account]; err != nil || email != want {
			t.Errorf("%s: email = %q, %v; want %q", policy, email, err, want)
		}
	}
}

// TestSignInLinking checks that the issuer's policy determines whether the address of a dashboard
// sign-in links to an account. An address that would not link does not have to be verified. With
// the "never" policy, the address is not even requested.
func TestSignInLinking(t *testing.T) {
	verified := map[string]any{"email": "ann@example.com", "email_verified": true}
	unverified := map[string]any{"email": "ann@example.com", "email_verified": false}
	named := ourIssuer + "#ann"
	for _, tt := range []struct {
		policy   string
		info     map[string]any
		want     string // account; empty if the sign-in fails
		requests int
	}{
		{"verified", verified, "ann@example.com", 1},
		{"verified", unverified, "", 1},
		{"never", verified, named, 0},
		{"never", unverified, named, 0},
		{"verified:example.com", verified, "ann@example.com", 1},
		{"verified:example.com", unverified, "", 1},
		{"verified:example.org", verified, named, 1},
		{"verified:example.org", unverified, named, 1},
	} {
		links, err := ParseLinkPolicies([]string{tt.policy}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.LinkEmail = links })
		d.provider.info = tt.info
		b := d.browser()
		_, err = b.finish(d.provider.approve(t, b.begin(t, "0", "/"), "ann", ""))
		account := ""
		if len(d.store.people) > 0 {
			account = d.store.people[0].Email
		}
		if account != tt.want || (tt.want == "") != (cola.CodeOf(err) == cola.CodeUnauthorized) || d.provider.requests["/me"] != tt.requests {
			t.Errorf("%s, %v: account = %q after %d userinfo requests, %v; want %q after %d",
				tt.policy, tt.info, account, d.provider.requests["/me"], err, tt.want, tt.requests)
		}
	}
}
