package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// hostile is an invalid token.
type hostile struct{ name, token string }

// TestHostileTokens checks that each token is rejected for the expected reason, writes nothing to
// the store, and does not appear in the log.
func TestHostileTokens(t *testing.T) {
	b := newTokenFixture(t, nil)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.tokens.log = logger
	for _, i := range b.tokens.issuers {
		i.keys.log = logger
	}
	enc := newSigner(t, "RS256", "for-encryption")
	b.issuer.publish(b.key, newSigner(t, "RS256", "rsa"), enc.with(map[string]any{"use": "enc"}))
	messages := golden.Load(t, "hostile_tokens")
	for _, list := range [][]hostile{
		b.garbled(), b.forged(t), b.misused(), b.forOthers(t), b.expiredOrEarly(), b.withInvalidClaims(), b.ambiguous(),
	} {
		for _, tt := range list {
			t.Run(tt.name, func(t *testing.T) {
				_, err := b.send(t.Context(), tt.token)
				if cola.CodeOf(err) != cola.CodeUnauthorized {
					t.Fatalf("error = %v, want unauthorized", err)
				}
				messages.Check(t, tt.name, err.Error())
				if leaks(err.Error(), tt.token) {
					t.Errorf("the error contains part of the token: %v", err)
				}
				if leaks(log.String(), tt.token) {
					t.Errorf("the log contains part of the token: %s", &log)
				}
			})
		}
	}
	if len(b.store.accounts) > 0 || len(b.store.links) > 0 || b.store.called("AccountOf") > 0 {
		t.Errorf("accounts %v and links %v were created for rejected tokens", b.store.accounts, b.store.links)
	}
	if _, err := b.send(t.Context(), b.token()); err != nil {
		t.Errorf("valid token: %v", err)
	}
}

// leaks reports whether text contains part of a token, encoded or decoded.
func leaks(text, token string) bool {
	const piece = 12
	var pieces []string
	for _, part := range strings.Split(token, ".") {
		decoded, _ := base64.RawURLEncoding.DecodeString(part)
		pieces = append(pieces, part, string(decoded))
	}
	for _, p := range pieces[:min(len(pieces), 8)] {
		if len(p) >= piece && (strings.Contains(text, p[:piece]) || strings.Contains(text, p[len(p)-piece:])) {
			return true
		}
	}
	return false
}

// garbled returns strings that are not well-formed tokens.
func (b *tokenFixture) garbled() []hostile {
	good := b.token()
	parts := strings.Split(good, ".")
	part := func(n int, as string) string {
		changed := append([]string(nil), parts...)
		changed[n] = as
		return strings.Join(changed, ".")
	}
	return []hostile{
		{"word", "letmein"},
		{"dots", ".."},
		{"many dots", strings.Repeat(".", maxToken)},
		{"two parts", parts[0] + "." + parts[1]},
		{"five parts, as in JWE", good + ".a.b"},
		{"no header", part(0, "")},
		{"no signature", part(2, "")},
		{"padded", part(1, parts[1]+"=")},
		{"line break within", part(1, parts[1][:4]+"\n"+parts[1][4:])},
		{"standard base64 alphabet", part(2, strings.Repeat("+/", 43))},
		{"nonzero trailing bits", part(2, parts[2][:len(parts[2])-1]+"B")},
		{"one megabyte", strings.Repeat("A", 1<<20)},
		{"one megabyte of claims", part(1, strings.Repeat("A", 1<<20))},
		{"one byte too long", part(2, strings.Repeat("A", maxToken+1-len(parts[0])-len(parts[1])-2))},
		{"header is not JSON", part(0, encoded([]byte("alg: none")))},
		{"header is an array", part(0, encoded([]byte(`[{"alg":"ES256"}]`)))},
		{"header is not UTF-8", part(0, encoded([]byte("{\"alg\":\"\xff\"}")))},
		{"data after the header", part(0, encoded([]byte(b.header(nil)+"{}")))},
		{"truncated header", part(0, encoded([]byte(b.header(nil)[:20])))},
		{"claims are not JSON", b.key.sign(b.header(nil), "hello, it is me")},
		{"claims are null", b.key.sign(b.header(nil), "null")},
		{"data after the claims", b.key.sign(b.header(nil), b.claims(nil)+b.claims(nil))},
		{"deeply nested claims", b.key.sign(b.header(nil), strings.Repeat(`{"a":`, 2000))},
	}
}

// forged returns tokens without a valid signature.
func (b *tokenFixture) forged(t *testing.T) []hostile {
	good := b.token()
	cut := strings.LastIndexByte(good, '.') + 1
	der, err := x509.MarshalPKIXPublicKey(b.key.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	hmacBy := func(secret []byte) string {
		return signer{alg: "HS256", secret: secret}.sign(b.header([]change{header("alg", "HS256")}), b.claims(nil))
	}
	stranger := newSigner(t, "ES256", "k1")
	var inside any
	if err := json.Unmarshal([]byte(stranger.jwk()), &inside); err != nil {
		t.Fatal(err)
	}
	byStranger := func(c ...change) string { return stranger.sign(b.header(c), b.claims(c)) }
	unsigned := encoded([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + encoded([]byte(b.claims(nil))) + "."
	return []hostile{
		{"none", unsigned},
		{"none, with a signature", b.token(header("alg", "none"))},
		{"None", b.token(header("alg", "None"))},
		{"no alg", b.token(header("alg", nil))},
		{"alg in lower case", b.token(header("alg", "es256"))},
		{"alg is null", b.key.sign(`{"alg":null,"kid":"k1","typ":"at+jwt"}`, b.claims(nil))},
		{"alg is an array", b.token(header("alg", []string{"ES256"}))},
		{"HS256 with the public key as PEM", hmacBy(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))},
		{"HS256 with the public key as DER", hmacBy(der)},
		{"HS256 with the public key as JWK", hmacBy([]byte(b.key.jwk()))},
		{"another key with the same ID", byStranger()},
		{"another key in the header", byStranger(header("jwk", inside))},
		{"another key in the header, without an ID", byStranger(header("jwk", inside), header("kid", nil))},
		{"another key by URL", byStranger(header("jku", "https://evil.example.com/keys"), header("kid", "evil"))},
		{"another key by certificate URL", byStranger(header("x5u", "https://evil.example.com/cert"), header("kid", "evil"))},
		{"unknown key ID", b.token(header("kid", "k3"))},
		{"ID of an encryption key", b.token(header("kid", "for-encryption"))},
		{"key ID of another issuer", b.token(header("kid", "k2"))},
		{"numeric key ID", b.token(header("kid", 1))},
		{"algorithm of another key", b.token(header("kid", "rsa"))},
		{"algorithm differs from the key's", b.token(header("alg", "ES384"))},
		{"RSA padding differs from the key's", b.token(header("alg", "PS256"), header("kid", "rsa"))},
		{"truncated signature", good[:cut] + encoded(b.key.signature(good[:cut-1])[:60])},
		{"all-zero signature", good[:cut] + encoded(make([]byte, 64))},
		{"signature in DER", good[:cut] + encoded(append([]byte{0x30, 0x44}, make([]byte, 68)...))},
		{"claims changed", tampered(good, b.claims([]change{claim("sub", "somebody-else")}))},
	}
}

// tampered returns a token with changed claims under the original signature.
func tampered(token, claims string) string {
	parts := strings.Split(token, ".")
	return parts[0] + "." + encoded([]byte(claims)) + "." + parts[2]
}

// misused returns correctly signed tokens meant for other uses.
func (b *tokenFixture) misused() []hostile {
	plain := func(changes ...change) string { return b.token(append(changes, header("typ", "JWT"))...) }
	untyped := func(changes ...change) string { return b.token(append(changes, header("typ", nil))...) }
	return []hostile{
		{"ID token with a nonce", plain(claim("nonce", "n"), claim("scope", nil))},
		{"ID token without a nonce", plain(claim("scope", nil))},
		{"ID token without a type", untyped(claim("scope", nil))},
		{"ID token with an at_hash and a scope", plain(claim("at_hash", "MTIzNDU2Nzg5MDEyMzQ1Ng"))},
		{"ID token with a c_hash", untyped(claim("c_hash", "MTIz"))},
		{"ID token with an s_hash", untyped(claim("s_hash", "MTIz"))},
		{"ID token with a null nonce", b.key.sign(b.header([]change{header("typ", "JWT")}), `{"nonce":null,`+b.claims(nil)[1:])},
		{"Keycloak ID token", plain(claim("typ", "ID"))},
		{"Keycloak refresh token", plain(claim("typ", "Refresh"))},
		{"typ claim is a number", plain(claim("typ", 1))},
		{"Cognito ID token", untyped(claim("token_use", "id"))},
		{"scope claim in different case", plain(claim("scope", nil), claim("Scope", "openid"))},
		{"logout token", b.token(header("typ", "logout+jwt"))},
		{"DPoP proof", b.token(header("typ", "dpop+jwt"))},
		{"signed request", b.token(header("typ", "oauth-authz-req+jwt"))},
		{"empty type", b.token(header("typ", ""))},
		{"type is an array", b.token(header("typ", []string{"at+jwt"}))},
		{"security event", plain(claim("events", map[string]any{"e": 1}))},
		{"bound to a DPoP key", b.token(claim("cnf", map[string]any{"jkt": "abc"}))},
		{"bound to a certificate, mutual TLS", plain(claim("cnf", map[string]any{"x5t#S256": "abc"}))},
		{"critical extension", b.token(header("crit", []string{"exp"}))},
		{"payload not encoded", b.token(header("b64", false))},
	}
}

// forOthers returns correctly signed tokens from another issuer or for another audience.
func (b *tokenFixture) forOthers(t *testing.T) []hostile {
	unknown := newSigner(t, "ES256", "k1")
	theirs := newSigner(t, "ES256", "k2")
	b.other.publish(theirs)
	return []hostile{
		{"another audience", b.token(claim("aud", "https://cola.example.com/api"))},
		{"audience with an extra slash", b.token(claim("aud", ourAudience+"/"))},
		{"audience in upper case", b.token(claim("aud", strings.ToUpper(ourAudience)))},
		{"audiences in one string", b.token(claim("aud", ourAudience+" cola-api"))},
		{"several audiences, none of them ours", b.token(claim("aud", []string{"account", "a"}))},
		{"no audience", b.token(claim("aud", nil))},
		{"empty list of audiences", b.token(claim("aud", []string{}))},
		{"aud in upper case", b.token(claim("aud", "x"), claim("AUD", ourAudience))},
		{"audience is an object", b.token(claim("aud", map[string]any{"a": ourAudience}))},
		{"audiences with a number", b.token(claim("aud", []any{ourAudience, 1}))},
		{"another issuer", unknown.sign(b.header(nil), b.claims([]change{claim("iss", "https://evil.example.com")}))},
		{"our issuer with a slash", b.token(claim("iss", ourIssuer+"/"))},
		{"our issuer in upper case", b.token(claim("iss", strings.ToUpper(ourIssuer)))},
		{"prefix of our issuer", b.token(claim("iss", "https://id.example.com"))},
		{"no issuer", b.token(claim("iss", nil))},
		{"empty issuer", b.token(claim("iss", ""))},
		{"list of issuers", b.token(claim("iss", []string{ourIssuer}))},
		{"iss in different case", b.token(claim("iss", nil), claim("Iss", ourIssuer))},
		{"second issuer's key for the first issuer", theirs.sign(b.header([]change{header("kid", "k2")}), b.claims(nil))},
		{"app of the other issuer", theirs.sign(b.header([]change{header("kid", "k2")}), b.claims([]change{claim("iss", otherIssuer)}))},
	}
}

// expiredOrEarly returns tokens that are not valid now.
func (b *tokenFixture) expiredOrEarly() []hostile {
	at := func(d time.Duration) int64 { return b.now().Add(d).Unix() }
	return []hostile{
		{"expired", b.token(claim("exp", at(-time.Hour)))},
		{"expired just beyond the leeway", b.token(claim("exp", at(-leeway-time.Second)))},
		{"expired in 1970", b.token(claim("exp", 0))},
		{"never expires", b.token(claim("exp", nil))},
		{"exp in different case", b.token(claim("exp", nil), claim("Exp", at(time.Hour)))},
		{"exp is a date string", b.token(claim("exp", "2099-01-01"))},
		{"exp is a numeric string", b.token(claim("exp", "4070908800"))},
		{"exp is null", b.key.sign(b.header(nil), `{"exp":null,`+b.claims([]change{claim("exp", nil)})[1:])},
		{"exp in milliseconds", b.token(claim("exp", at(time.Hour)*1000))},
		{"exp out of range", b.token(claim("exp", json.Number("1e400")))},
		{"negative exp", b.token(claim("exp", -1))},
		{"not valid yet", b.token(claim("nbf", at(time.Minute)))},
		{"nbf is a string", b.token(claim("nbf", "now"))},
		{"issued in the future", b.token(claim("iat", at(leeway+2*time.Second)))},
		{"iat is a string", b.token(claim("iat", "now"))},
	}
}

// withInvalidClaims returns tokens with an invalid subject, client ID or scope.
func (b *tokenFixture) withInvalidClaims() []hostile {
	return []hostile{
		{"no subject", b.token(claim("sub", nil))},
		{"empty subject", b.token(claim("sub", ""))},
		{"subject of 300 characters", b.token(claim("sub", strings.Repeat("s", 300)))},
		{"subject is a number", b.token(claim("sub", 1))},
		{"subject with a NUL", b.token(claim("sub", "a\x00b"))},
		{"sub in upper case", b.token(claim("sub", nil), claim("SUB", "person-1"))},
		{"no app", b.token(claim("client_id", nil))},
		{"empty app", b.token(claim("client_id", ""))},
		{"app is a number", b.token(claim("azp", 1))},
		{"app of 300 characters", b.token(claim("client_id", strings.Repeat("c", 300)))},
		{"contradictory apps", b.token(claim("azp", "another"))},
		{"unregistered app", b.token(claim("client_id", "unheard-of"))},
		{"app in different case", b.token(claim("client_id", "Assistant"))},
		{"scope is a number", b.token(claim("scope", 1))},
		{"scopes with a number", b.token(claim("scope", nil), claim("scp", []any{"a", 1}))},
	}
}

// ambiguous returns tokens that two parsers could read differently.
func (b *tokenFixture) ambiguous() []hostile {
	duplicate := func(object, name string, value any) string {
		return strings.TrimSuffix(toJSON(map[string]any{name: value}), "}") + "," + object[1:]
	}
	return []hostile{
		{"duplicate alg", b.key.sign(duplicate(b.header(nil), "alg", "none"), b.claims(nil))},
		{"duplicate kid", b.key.sign(duplicate(b.header(nil), "kid", "k2"), b.claims(nil))},
		{"duplicate issuer", b.key.sign(b.header(nil), duplicate(b.claims(nil), "iss", otherIssuer))},
		{"duplicate audience", b.key.sign(b.header(nil), duplicate(b.claims(nil), "aud", "x"))},
		{"duplicate scope", b.key.sign(b.header(nil), duplicate(b.claims(nil), "scope", "openid"))},
		{"duplicate subject, one escaped", b.key.sign(b.header(nil), `{"\u0073ub":"x",`+b.claims(nil)[1:])},
		{"duplicate issuer in different case", b.key.sign(b.header(nil), strings.TrimSuffix(b.claims(nil), "}")+`,"Iss":"https://evil.example.com"}`)},
	}
}
