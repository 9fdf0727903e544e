package auth

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// vendorToken is an access token in the format of a real issuer. The test adds the time claims.
type vendorToken struct {
	name     string
	header   string // %s is the key ID
	claims   string // %s is the issuer
	client   string
	identity string // the subject
	email    string // verified address
	scopes   []cola.Scope
}

// vendorTokensJWT returns tokens that follow the issuers' documentation, reduced to the relevant
// claims. The type in their header is JWT or missing.
func vendorTokensJWT() []vendorToken {
	write := []cola.Scope{cola.ScopeWriteSavedSearches}
	return []vendorToken{
		{
			name:   "Keycloak",
			header: `{"alg":"ES256","typ":"JWT","kid":%q}`,
			claims: `{"jti":"jti-1","iss":%q,"aud":["cola-api","account"],"sub":"person-in-realm-7","typ":"Bearer",
				"azp":"assistant","sid":"s-1","acr":"1","allowed-origins":["https://app.example.com"],"realm_access":{"roles":["offline_access"]},
				"resource_access":{"account":{"roles":["view-profile"]}},"scope":"openid email saved_searches:write","email_verified":true,
				"name":"Ann Oak","preferred_username":"ann","email":"ann@example.com"`,
			client: "assistant", identity: "person-in-realm-7", email: "ann@example.com", scopes: write,
		},
		{
			name:   "Auth0",
			header: `{"alg":"ES256","typ":"JWT","kid":%q}`,
			claims: `{"iss":%q,"sub":"auth0|ann","aud":["https://cola.example.com/mcp","https://tenant.example.com/userinfo"],
				"azp":"my_client_id","scope":"openid profile saved_searches:write","permissions":["saved_searches:write"]`,
			client: "my_client_id", identity: "auth0|ann", scopes: write,
		},
		{
			name:   "Entra ID v2",
			header: `{"typ":"JWT","alg":"ES256","x5t":"dGh1bWJwcmludA","kid":%q}`,
			claims: `{"aud":"cola-api","iss":%q,"azp":"00000000-1111-2222-3333-444444444444","azpacr":"0",
				"name":"Ann Oak","oid":"o-1","preferred_username":"ann@example.com","scp":"access_as_user saved_searches:write",
				"sub":"cGFpcndpc2Utc3ViamVjdA","tid":"t-1","uti":"u-1","ver":"2.0","email":"ann@example.com"`,
			client: "00000000-1111-2222-3333-444444444444", identity: "cGFpcndpc2Utc3ViamVjdA", scopes: write,
		},
		{
			name:   "Entra ID v1",
			header: `{"typ":"JWT","alg":"ES256","kid":%q}`,
			claims: `{"aud":"https://cola.example.com/mcp","iss":%q,"appid":"v1-client","appidacr":"0","scp":"user_impersonation","sub":"AAAA","ver":"1.0"`,
			client: "v1-client", identity: "AAAA",
		},
		{
			name:   "Okta",
			header: `{"kid":%q,"alg":"ES256"}`,
			claims: `{"ver":1,"jti":"AT.1","iss":%q,"aud":"https://cola.example.com/mcp","cid":"0oaclient","uid":"00uperson",
				"scp":["openid","saved_searches:write"],"sub":"mia@example.com","auth_time":1800000000`,
			client: "0oaclient", identity: "mia@example.com", scopes: write,
		},
		{
			name:   "Cognito, bound to a resource",
			header: `{"kid":%q,"alg":"ES256"}`,
			claims: `{"sub":"pool-person","iss":%q,"version":2,"client_id":"pool-client","origin_jti":"a","aud":"https://cola.example.com/mcp",
				"event_id":"b","token_use":"access","scope":"openid email","jti":"c","username":"ann"`,
			client: "pool-client", identity: "pool-person",
		},
	}
}

// vendorTokensTyped returns tokens with an access token type in their header.
func vendorTokensTyped() []vendorToken {
	write := []cola.Scope{cola.ScopeWriteSavedSearches}
	return []vendorToken{
		{
			name:   "Auth0, RFC 9068 profile",
			header: `{"alg":"ES256","typ":"at+jwt","kid":%q}`,
			claims: `{"iss":%q,"sub":"google-oauth2|1","aud":"cola-api","client_id":"my_client_id","jti":"1","scope":"openid"`,
			client: "my_client_id", identity: "google-oauth2|1",
		},
		{
			name:   "oidc-provider",
			header: `{"alg":"ES256","typ":"at+jwt","kid":%q}`,
			claims: `{"jti":"jti-2","sub":"acc-1","iss":%q,"client_id":"dynamic-client","aud":"https://cola.example.com/mcp","scope":"saved_searches:write"`,
			client: "dynamic-client", identity: "acc-1", scopes: write,
		},
		{
			name:   "oidc-provider, no scope granted",
			header: `{"alg":"ES256","typ":"at+jwt","kid":%q}`,
			claims: `{"jti":"jti-2","sub":"acc-1","iss":%q,"client_id":"dynamic-client","aud":"https://cola.example.com/mcp"`,
			client: "dynamic-client", identity: "acc-1",
		},
		{
			name:   "full media type, scope array, email_verified as a string",
			header: `{"alg":"ES256","typ":"application/AT+JWT","kid":%q}`,
			claims: `{"iss":%q,"sub":"1","aud":"cola-api","client_id":"c","azp":"c","scope":["saved_searches:write","a b"],"email":"Ann@Example.com","email_verified":"true","nonce":"n"`,
			client: "c", identity: "1", email: "Ann@Example.com", scopes: write,
		},
	}
}

// TestVendorTokens checks that access tokens with the headers and claims of real issuers are
// accepted and understood.
func TestVendorTokens(t *testing.T) {
	for _, tt := range append(vendorTokensJWT(), vendorTokensTyped()...) {
		t.Run(tt.name, func(t *testing.T) {
			b := newTokenFixture(t, nil)
			b.store.put(store.App{Issuer: ourIssuer, ClientID: tt.client, Scopes: cola.Scopes()})
			now := time.Now().Unix()
			claims := fmt.Sprintf(tt.claims, ourIssuer) + fmt.Sprintf(`,"iat":%d,"nbf":%d,"exp":%d}`, now, now, now+300)
			got, err := b.send(t.Context(), b.key.sign(fmt.Sprintf(tt.header, "k1"), claims))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.scopes, got.Scopes); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
			who := store.Identity{Issuer: ourIssuer, Subject: tt.identity}
			if account, ok := b.store.accounts[who]; !ok || account != got.Account || b.store.emails[account] != tt.email {
				t.Errorf("account = %d of %v with emails %v, want email %q", got.Account, b.store.accounts, b.store.emails, tt.email)
			}
		})
	}
}

// TestClockLeeway checks that tokens are accepted if clocks differ by less than half a minute, and
// that fractions of a second, a missing iat and the latest possible expiry are accepted too.
func TestClockLeeway(t *testing.T) {
	b := newTokenFixture(t, nil)
	at := func(d time.Duration) float64 { return float64(b.now().Add(d).UnixMilli()) / 1000 }
	for name, c := range map[string]change{
		"just expired":          claim("exp", at(-leeway+5*time.Second)),
		"fraction of a second":  claim("exp", at(time.Minute)+0.123),
		"valid soon":            claim("nbf", at(leeway-5*time.Second)),
		"issued slightly ahead": claim("iat", at(leeway-5*time.Second)),
		"no iat":                claim("iat", nil),
		"maximum expiry":        claim("exp", int64(lastSecond)),
	} {
		if _, err := b.send(t.Context(), b.token(c)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokenScopes(t *testing.T) {
	write := []cola.Scope{cola.ScopeWriteSavedSearches}
	tests := []struct {
		name       string
		scope, scp any
		want       []cola.Scope
	}{
		{"one", "saved_searches:write", nil, write},
		{"twice", "saved_searches:write saved_searches:write", nil, write},
		{"among others", "a  saved_searches:write\tb", nil, write},
		{"scp", nil, "openid saved_searches:write", write},
		{"scp as an array", nil, []string{"saved_searches:write"}, write},
		{"scope overrides scp", "openid", "saved_searches:write", nil},
		{"none", "", nil, nil},
		{"empty array", nil, []string{}, nil},
		{"similar names", "saved_searches:write: Saved_Searches:write saved_searches saved_searches:*", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newTokenFixture(t, nil)
			got, err := b.send(t.Context(), b.token(claim("scope", tt.scope), claim("scp", tt.scp), claim("Scope", "saved_searches:write")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Scopes); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerifiedEmail checks that an address, which can link to an account, counts only if the issuer
// states that it is verified.
func TestVerifiedEmail(t *testing.T) {
	const ann = "ann@example.com"
	tests := []struct {
		name            string
		email, verified any
		want            string
	}{
		{"verified", ann, true, ann},
		{"string true", ann, "true", ann},
		{"not verified", ann, false, ""},
		{"string false", ann, "false", ""},
		{"no email_verified", ann, nil, ""},
		{"number", ann, 1, ""},
		{"string True", ann, "True", ""},
		{"no address", nil, true, ""},
		{"address is a list", []string{ann}, true, ""},
		{"not an address", "ann", true, ""},
		{"display name", "Ann <ann@example.com>", true, ""},
		{"comment", "ann@example.com (Ann)", true, ""},
		{"two addresses", "ann@example.com, bob@example.com", true, ""},
		{"leading space", " " + ann, true, ""},
		{"NUL", "ann\x00@example.com", true, ""},
		{"too long", strings.Repeat("a", 250) + "@example.com", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newTokenFixture(t, nil)
			got, err := b.send(t.Context(), b.token(claim("email", tt.email), claim("email_verified", tt.verified)))
			if err != nil {
				t.Fatal(err)
			}
			if email := b.store.emails[got.Account]; email != tt.want {
				t.Errorf("email = %q, want %q", email, tt.want)
			}
		})
	}
}

// TestScopePrefix checks that scopes may have the issuer's configured prefix or none.
func TestScopePrefix(t *testing.T) {
	for _, tt := range []struct {
		prefix, scope string
		want          bool
	}{
		{"api://registry/", "api://registry/saved_searches:write openid", true},
		{"api://registry/", "saved_searches:write", true},
		{"api://registry/", "api://elsewhere/saved_searches:write", false},
		{"", "api://registry/saved_searches:write", false},
	} {
		b := newTokenFixture(t, func(o *TokenOptions) { o.ScopePrefix = tt.prefix })
		got, err := b.send(t.Context(), b.token(claim("scope", tt.scope)))
		if err != nil || got.Has(cola.ScopeWriteSavedSearches) != tt.want {
			t.Errorf("prefix %q, scope %q: scopes = %v, %v, want write access = %v", tt.prefix, tt.scope, got.Scopes, err, tt.want)
		}
	}
}

// TestAddressLikeIdentityName checks that an address that looks like an identity name is ignored.
func TestAddressLikeIdentityName(t *testing.T) {
	b := newTokenFixture(t, nil)
	got, err := b.send(t.Context(), b.token(claim("email", `"https://x#y"@example.com`), claim("email_verified", true)))
	if err != nil || b.store.emails[got.Account] != "" {
		t.Errorf("email = %q, %v, want none", b.store.emails[got.Account], err)
	}
}
