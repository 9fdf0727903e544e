package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
)

// TestParseKeySet checks which JWKs are accepted as signing keys.
func TestParseKeySet(t *testing.T) {
	ec := newSigner(t, "ES256", "k1")
	without := func(names ...string) string {
		members := map[string]any{}
		for _, n := range names {
			members[n] = nil
		}
		return ec.with(members).jwk()
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	private, err := jose.JSONWebKey{Key: ec.key, KeyID: "private"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		key  string
		want bool
	}{
		{"all optional members", ec.jwk(), true},
		{"no optional members", without("alg", "use", "kid"), true},
		{"RSA", newSigner(t, "RS256", "r").jwk(), true},
		{"Ed25519", newSigner(t, "EdDSA", "e").jwk(), true},
		{"key_ops verify", ec.with(map[string]any{"use": nil, "key_ops": []string{"verify"}}).jwk(), true},
		{"use enc", ec.with(map[string]any{"use": "enc"}).jwk(), false},
		{"key_ops deriveKey", ec.with(map[string]any{"use": nil, "key_ops": []string{"deriveKey"}}).jwk(), false},
		{"unknown use", ec.with(map[string]any{"use": "SIG"}).jwk(), false},
		{"RSA too short", signer{alg: "RS256", kid: "short", key: short}.jwk(), false},
		{"private", string(private), false},
		{"symmetric", `{"kty":"oct","k":"c2VjcmV0","kid":"k1","alg":"HS256"}`, false},
		{"unknown curve", ec.with(map[string]any{"crv": "P-999"}).jwk(), false},
		{"point not on the curve", ec.with(map[string]any{"x": strings.Repeat("A", 43)}).jwk(), false},
		{"Ed448", `{"kty":"OKP","crv":"Ed448","x":"AAAA","kid":"k1"}`, false},
		{"unknown key type", `{"kty":"AKP","kid":"k1"}`, false},
		{"no type", without("kty"), false},
		{"numeric kid", ec.with(map[string]any{"kid": 1}).jwk(), false},
		{"null", "null", false},
		{"string", `"key"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := newSigner(t, "ES256", "good")
			keys, err := parseKeySet([]byte(`{"keys":[` + tt.key + `,` + good.jwk() + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(keys) == 2; got != tt.want || keys[len(keys)-1].id != "good" {
				t.Errorf("parsed %d of 2 keys; want key accepted = %v, and the valid key last", len(keys), tt.want)
			}
		})
	}
}

// TestKeyAlgorithms checks that each kind of key is accepted only for its own algorithms,
// whether or not its JWK has an alg.
func TestKeyAlgorithms(t *testing.T) {
	kinds := map[string][]jose.SignatureAlgorithm{
		"RS256": {jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512},
		"ES256": {jose.ES256}, "ES384": {jose.ES384}, "ES512": {jose.ES512}, "EdDSA": {jose.EdDSA},
	}
	for kind, fitting := range kinds {
		public := newSigner(t, kind, "k").key.Public()
		for _, alg := range append(algorithms(), jose.HS256, jose.HS512, "none", "ES256K") {
			if got, want := (signingKey{public: public}).fits(alg), slices.Contains(fitting, alg); got != want {
				t.Errorf("%s key: fits(%s) = %v, want %v", kind, alg, got, want)
			}
			if got, want := (signingKey{public: public, alg: kind}).fits(alg), string(alg) == kind; got != want {
				t.Errorf("key restricted to %s: fits(%s) = %v, want %v", kind, alg, got, want)
			}
		}
	}
}

// TestSignatureCheckLimit checks that a token with no key ID, or with one that many keys share,
// needs only a few signature checks.
func TestSignatureCheckLimit(t *testing.T) {
	b := newTokenFixture(t, nil)
	var others []signer
	for range maxSignatureChecks {
		others = append(others, newSigner(t, "ES256", b.key.kid))
	}
	b.issuer.publish(append(others, b.key)...)
	_, err := b.send(t.Context(), b.token(header("kid", nil)))
	wantUnauthorized(t, err, "not signed with a key")
	_, err = b.send(t.Context(), b.token())
	wantUnauthorized(t, err, "signature is invalid")

	c := newTokenFixture(t, nil)
	c.issuer.publish(append(others[1:], c.key)...)
	if _, err := c.send(t.Context(), c.token(header("kid", nil))); err != nil {
		t.Errorf("with maxSignatureChecks keys: %v", err)
	}
}
