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
)

// hostile is an invalid token and a part of the expected error.
type hostile struct {
	name   string
	token  string
	reason string
}

// TestHostileTokens checks that each token is refused for the expected reason, writes nothing to
// the store, and does not appear in the log.
func TestHostileTokens(t *testing.T) {
	b := newBench(t, nil)
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.tokens.log = logger
	for _, i := range b.tokens.issuers {
		i.keys.log = logger
	}
	enc := newSigner(t, "RS256", "for-encryption")
	b.issuer.publish(b.key, newSigner(t, "RS256", "rsa"), enc.with(map[string]any{"use": "enc"}))
	for _, list := range [][]hostile{
		b.garbled(), b.forged(t), b.misused(), b.elsewhere(t), b.ofAnotherTime(), b.ofNobody(), b.ambiguous(),
	} {
		for _, tt := range list {
			t.Run(tt.name, func(t *testing.T) {
				_, err := b.send(t.Context(), tt.token)
				wantRefusal(t, err, tt.reason)
				if err != nil && tells(err.Error(), tt.token) {
					t.Errorf("the error tells of the token: %v", err)
				}
				if tells(log.String(), tt.token) {
					t.Errorf("the log tells of the token: %s", &log)
				}
			})
		}
	}
	if len(b.store.accounts) > 0 || len(b.store.links) > 0 || b.store.called("AccountOf") > 0 {
		t.Errorf("accounts %v and links %v were made for what was refused", b.store.accounts, b.store.links)
	}
	if _, err := b.send(t.Context(), b.token()); err != nil {
		t.Errorf("a good token beside them: %v", err)
	}
}

// tells reports whether text contains part of a token, encoded or decoded.
func tells(text, token string) bool {
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

// garbled returns texts without the syntax of a token.
func (b *bench) garbled() []hostile {
	good := b.token()
	parts := strings.Split(good, ".")
	part := func(n int, as string) string {
		changed := append([]string(nil), parts...)
		changed[n] = as
		return strings.Join(changed, ".")
	}
	const noJWT, cut = "neither an API key", "truncated or malformed"
	return []hostile{
		{"a word", "letmein", noJWT},
		{"dots", "..", cut},
		{"many dots", strings.Repeat(".", maxToken), noJWT},
		{"two parts", parts[0] + "." + parts[1], noJWT},
		{"five parts, encrypted", good + ".a.b", noJWT},
		{"no header", part(0, ""), cut},
		{"no signature", part(2, ""), cut},
		{"padded", part(1, parts[1]+"="), cut},
		{"line break within", part(1, parts[1][:4]+"\n"+parts[1][4:]), cut},
		{"ordinary base64", part(2, strings.Repeat("+/", 43)), cut},
		{"bits beyond the end", part(2, parts[2][:len(parts[2])-1]+"B"), cut},
		{"one megabyte", strings.Repeat("A", 1<<20), "too long"},
		{"one megabyte in form", part(1, strings.Repeat("A", 1<<20)), "too long"},
		{"a byte too long", part(2, strings.Repeat("A", maxToken+1-len(parts[0])-len(parts[1])-2)), "too long"},
		{"header is no JSON", part(0, encoded([]byte("alg: none"))), "header cannot be read: it is not a JSON object"},
		{"header is an array", part(0, encoded([]byte(`[{"alg":"ES256"}]`))), "header cannot be read: it is not a JSON object"},
		{"header is not UTF-8", part(0, encoded([]byte("{\"alg\":\"\xff\"}"))), "header cannot be read: it is not valid UTF-8"},
		{"header goes on", part(0, encoded([]byte(b.header(nil)+"{}"))), "header cannot be read: it is not a JSON object"},
		{"header is cut", part(0, encoded([]byte(b.header(nil)[:20]))), "header cannot be read: it is not a JSON object"},
		{"claims are no JSON", b.key.sign(b.header(nil), "hello, it is me"), "claims cannot be read: it is not a JSON object"},
		{"claims are null", b.key.sign(b.header(nil), "null"), "claims cannot be read: it is not a JSON object"},
		{"claims go on", b.key.sign(b.header(nil), b.claims(nil)+b.claims(nil)), "claims cannot be read: it is not a JSON object"},
		{"claims nested deeply", b.key.sign(b.header(nil), strings.Repeat(`{"a":`, 2000)), "claims cannot be read"},
	}
}

// forged returns tokens without an issuer's signature.
func (b *bench) forged(t *testing.T) []hostile {
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
	const algorithm, wrong, unknown = "must be signed with", "signature is invalid", "not signed with a key that its issuer currently publishes"
	return []hostile{
		{"none", unsigned, "is unsigned (alg none)"},
		{"none, with a signature", b.token(header("alg", "none")), "is unsigned"},
		{"None", b.token(header("alg", "None")), "is unsigned"},
		{"no alg", b.token(header("alg", nil)), algorithm},
		{"alg in lower case", b.token(header("alg", "es256")), algorithm},
		{"alg is null", b.key.sign(`{"alg":null,"kid":"k1","typ":"at+jwt"}`, b.claims(nil)), algorithm},
		{"alg is an array", b.token(header("alg", []string{"ES256"})), algorithm},
		{"HS256 with the public key as PEM", hmacBy(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), algorithm},
		{"HS256 with the public key as DER", hmacBy(der), algorithm},
		{"HS256 with the public key as JWK", hmacBy([]byte(b.key.jwk())), algorithm},
		{"another key by that name", byStranger(), wrong},
		{"another key, in the header", byStranger(header("jwk", inside)), wrong},
		{"another key, in the header, unnamed", byStranger(header("jwk", inside), header("kid", nil)), unknown},
		{"another key, linked to", byStranger(header("jku", "https://evil.example.com/keys"), header("kid", "evil")), unknown},
		{"another key, by certificate", byStranger(header("x5u", "https://evil.example.com/cert"), header("kid", "evil")), unknown},
		{"no key by that name", b.token(header("kid", "k3")), unknown},
		{"key by the name of an encryption key", b.token(header("kid", "for-encryption")), unknown},
		{"key of another issuer", b.token(header("kid", "k2")), unknown},
		{"key name is a number", b.token(header("kid", 1)), "kid is not a string"},
		{"algorithm of another key", b.token(header("kid", "rsa")), "does not match its key"},
		{"another algorithm than the key's", b.token(header("alg", "ES384")), "does not match its key"},
		{"RSA padding other than the key's", b.token(header("alg", "PS256"), header("kid", "rsa")), "does not match its key"},
		{"signature cut", good[:cut] + encoded(b.key.signature(good[:cut-1])[:60]), wrong},
		{"signature of zeros", good[:cut] + encoded(make([]byte, 64)), wrong},
		{"signature in DER", good[:cut] + encoded(append([]byte{0x30, 0x44}, make([]byte, 68)...)), wrong},
		{"claims changed", tampered(good, b.claims([]change{claim("sub", "somebody-else")})), wrong},
	}
}

// tampered returns a token with changed claims under the original signature.
func tampered(token, claims string) string {
	parts := strings.Split(token, ".")
	return parts[0] + "." + encoded([]byte(claims)) + "." + parts[2]
}

// misused returns correctly signed tokens for another use.
func (b *bench) misused() []hostile {
	plain := func(changes ...change) string { return b.token(append(changes, header("typ", "JWT"))...) }
	untyped := func(changes ...change) string { return b.token(append(changes, header("typ", nil))...) }
	const idToken, unshown = "The token is an ID token", "is not recognizable as an access token"
	return []hostile{
		{"ID token with a nonce", plain(claim("nonce", "n"), claim("scope", nil)), idToken + " (it has nonce)"},
		{"ID token without one", plain(claim("scope", nil)), unshown},
		{"ID token without a type", untyped(claim("scope", nil)), unshown},
		{"ID token with an at_hash and a scope", plain(claim("at_hash", "MTIzNDU2Nzg5MDEyMzQ1Ng")), idToken + " (it has at_hash)"},
		{"ID token with a c_hash", untyped(claim("c_hash", "MTIz")), idToken + " (it has c_hash)"},
		{"ID token with an s_hash", untyped(claim("s_hash", "MTIz")), idToken + " (it has s_hash)"},
		{"ID token with a null nonce", b.key.sign(b.header([]change{header("typ", "JWT")}), `{"nonce":null,`+b.claims(nil)[1:]), idToken},
		{"ID token of Keycloak", plain(claim("typ", "ID")), `its typ claim must be "Bearer"`},
		{"refresh token of Keycloak", plain(claim("typ", "Refresh")), `its typ claim must be "Bearer"`},
		{"typ claim is a number", plain(claim("typ", 1)), `its typ claim must be "Bearer"`},
		{"ID token of Cognito", untyped(claim("token_use", "id")), `its token_use claim must be "access"`},
		{"scope in another case", plain(claim("scope", nil), claim("Scope", "openid")), unshown},
		{"logout token", b.token(header("typ", "logout+jwt")), "the type in its header (typ)"},
		{"DPoP proof", b.token(header("typ", "dpop+jwt")), "the type in its header (typ)"},
		{"signed request", b.token(header("typ", "oauth-authz-req+jwt")), "the type in its header (typ)"},
		{"empty type", b.token(header("typ", "")), "the type in its header (typ)"},
		{"type is an array", b.token(header("typ", []string{"at+jwt"})), "the type in its header (typ)"},
		{"security event", plain(claim("events", map[string]any{"e": 1})), "security event token"},
		{"bound to a key, DPoP", b.token(claim("cnf", map[string]any{"jkt": "abc"})), "bound to a key"},
		{"bound to a certificate, mutual TLS", plain(claim("cnf", map[string]any{"x5t#S256": "abc"})), "bound to a key"},
		{"critical extension", b.token(header("crit", []string{"exp"})), `unknown parameter "crit"`},
		{"payload not encoded", b.token(header("b64", false)), `unknown parameter "b64"`},
	}
}

// elsewhere returns correctly signed tokens from another issuer or for another audience.
func (b *bench) elsewhere(t *testing.T) []hostile {
	unknown := newSigner(t, "ES256", "k1")
	theirs := newSigner(t, "ES256", "k2")
	b.other.publish(theirs)
	const audience, issuer, none = "another audience: it must be for \"https://cola.example.com/mcp\" or \"cola-api\"", "Unknown issuer", "names no issuer"
	return []hostile{
		{"another audience", b.token(claim("aud", "https://cola.example.com/api")), audience},
		{"audience with a slash more", b.token(claim("aud", ourAudience+"/")), audience},
		{"audience in upper case", b.token(claim("aud", strings.ToUpper(ourAudience))), audience},
		{"audiences in one string", b.token(claim("aud", ourAudience+" cola-api")), audience},
		{"several, all others", b.token(claim("aud", []string{"account", "a"})), audience},
		{"no audience", b.token(claim("aud", nil)), audience},
		{"empty list of audiences", b.token(claim("aud", []string{})), audience},
		{"audience under another name", b.token(claim("aud", "x"), claim("AUD", ourAudience)), audience},
		{"audience is an object", b.token(claim("aud", map[string]any{"a": ourAudience})), "aud is neither"},
		{"audiences with a number", b.token(claim("aud", []any{ourAudience, 1})), "aud holds something other than strings"},
		{"another issuer", unknown.sign(b.header(nil), b.claims([]change{claim("iss", "https://evil.example.com")})), issuer},
		{"our issuer with a slash", b.token(claim("iss", ourIssuer+"/")), issuer},
		{"our issuer in upper case", b.token(claim("iss", strings.ToUpper(ourIssuer))), issuer},
		{"our issuer's start", b.token(claim("iss", "https://id.example.com")), issuer},
		{"no issuer", b.token(claim("iss", nil)), none},
		{"empty issuer", b.token(claim("iss", "")), none},
		{"list of issuers", b.token(claim("iss", []string{ourIssuer})), none},
		{"issuer under another name", b.token(claim("iss", nil), claim("Iss", ourIssuer)), none},
		{"second issuer's key under the first one's name", theirs.sign(b.header([]change{header("kid", "k2")}), b.claims(nil)), "not signed with a key that its issuer currently publishes"},
		{"app of the other issuer", theirs.sign(b.header([]change{header("kid", "k2")}), b.claims([]change{claim("iss", otherIssuer)})), `The app "assistant" is not registered`},
	}
}

// ofAnotherTime returns tokens that are not valid now.
func (b *bench) ofAnotherTime() []hostile {
	at := func(d time.Duration) int64 { return b.now().Add(d).Unix() }
	const expired, future, noTime = "has expired", "is not valid yet", "is not a time in seconds"
	return []hostile{
		{"expired", b.token(claim("exp", at(-time.Hour))), expired},
		{"expired just beyond the leeway", b.token(claim("exp", at(-leeway-time.Second))), expired},
		{"expired in 1970", b.token(claim("exp", 0)), expired},
		{"never expires", b.token(claim("exp", nil)), "has no expiry"},
		{"expiry under another name", b.token(claim("exp", nil), claim("Exp", at(time.Hour))), "has no expiry"},
		{"expiry is text", b.token(claim("exp", "2099-01-01")), "exp " + noTime},
		{"expiry is a number as text", b.token(claim("exp", "4070908800")), "exp " + noTime},
		{"expiry is null", b.key.sign(b.header(nil), `{"exp":null,`+b.claims([]change{claim("exp", nil)})[1:]), "exp " + noTime},
		{"expiry in milliseconds", b.token(claim("exp", at(time.Hour)*1000)), "exp " + noTime},
		{"expiry beyond all numbers", b.token(claim("exp", json.Number("1e400"))), "exp " + noTime},
		{"expiry before 1970", b.token(claim("exp", -1)), "exp " + noTime},
		{"not valid yet", b.token(claim("nbf", at(time.Minute))), future + " (nbf)"},
		{"validity is text", b.token(claim("nbf", "now")), "nbf " + noTime},
		{"issued in the future", b.token(claim("iat", at(leeway+2*time.Second))), future + " (iat)"},
		{"issue is text", b.token(claim("iat", "now")), "iat " + noTime},
	}
}

// ofNobody returns tokens without a valid subject.
func (b *bench) ofNobody() []hostile {
	const subject, noApp, badApp = "needs a subject (sub)", "does not name its client", "is not a client ID"
	return []hostile{
		{"no subject", b.token(claim("sub", nil)), subject},
		{"empty subject", b.token(claim("sub", "")), subject},
		{"subject of 300 characters", b.token(claim("sub", strings.Repeat("s", 300))), subject},
		{"subject is a number", b.token(claim("sub", 1)), subject},
		{"subject with a NUL", b.token(claim("sub", "a\x00b")), subject},
		{"subject under another name", b.token(claim("sub", nil), claim("SUB", "person-1")), subject},
		{"no app", b.token(claim("client_id", nil)), noApp},
		{"empty app", b.token(claim("client_id", "")), "client_id " + badApp},
		{"app is a number", b.token(claim("azp", 1)), "azp " + badApp},
		{"app of 300 characters", b.token(claim("client_id", strings.Repeat("c", 300))), "client_id " + badApp},
		{"two apps", b.token(claim("azp", "another")), "more than one client"},
		{"app that is not registered", b.token(claim("client_id", "unheard-of")), `The app "unheard-of" is not registered with this service`},
		{"app in another case", b.token(claim("client_id", "Assistant")), "is not registered"},
		{"scope is a number", b.token(claim("scope", 1)), "scope is neither"},
		{"scopes with a number", b.token(claim("scope", nil), claim("scp", []any{"a", 1})), "scp holds something other"},
	}
}

// ambiguous returns tokens that two parsers could read differently.
func (b *bench) ambiguous() []hostile {
	twice := func(object, name string, value any) string {
		return strings.TrimSuffix(toJSON(map[string]any{name: value}), "}") + "," + object[1:]
	}
	const claimTwice = "claims cannot be read: it has a duplicate name"
	return []hostile{
		{"alg twice", b.key.sign(twice(b.header(nil), "alg", "none"), b.claims(nil)), "header cannot be read: it has a duplicate name"},
		{"kid twice", b.key.sign(twice(b.header(nil), "kid", "k2"), b.claims(nil)), "header cannot be read: it has a duplicate name"},
		{"issuer twice", b.key.sign(b.header(nil), twice(b.claims(nil), "iss", otherIssuer)), claimTwice},
		{"audience twice", b.key.sign(b.header(nil), twice(b.claims(nil), "aud", "x")), claimTwice},
		{"scope twice, alike", b.key.sign(b.header(nil), twice(b.claims(nil), "scope", "openid")), claimTwice},
		{"subject twice, once escaped", b.key.sign(b.header(nil), `{"\u0073ub":"x",`+b.claims(nil)[1:]), claimTwice},
		{"issuer twice, in two cases", b.key.sign(b.header(nil), strings.TrimSuffix(b.claims(nil), "}")+`,"Iss":"https://evil.example.com"}`), "header or claims cannot be read"},
	}
}
