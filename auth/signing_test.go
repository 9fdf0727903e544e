package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// signer signs any content, including tokens that a library would not create.
type signer struct {
	alg, kid string
	key      crypto.Signer
	secret   []byte         // replaces the key, for HS256
	changes  map[string]any // changed members of its JWK; nil removes a member
}

// rsaKey is generated once because generation is slow.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newSigner(t testing.TB, alg, kid string) signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch alg {
	case "ES256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		key, err = rsaKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer{alg: alg, kid: kid, key: key}
}

// with returns the same key with changed JWK members. A nil value removes a member.
func (s signer) with(members map[string]any) signer {
	s.changes = members
	return s
}

// jwk returns the public key in the format that issuers publish.
func (s signer) jwk() string {
	plain, err := jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Algorithm: s.alg, Use: "sig"}.MarshalJSON()
	if err != nil {
		panic(err)
	}
	var members map[string]any
	if err := json.Unmarshal(plain, &members); err != nil {
		panic(err)
	}
	return toJSON(changed(members, s.changes))
}

// sign returns a token with a header and a payload.
func (s signer) sign(header, payload string) string {
	input := encoded([]byte(header)) + "." + encoded([]byte(payload))
	return input + "." + encoded(s.signature(input))
}

func (s signer) signature(input string) []byte {
	if s.secret != nil {
		mac := hmac.New(crypto.SHA256.New, s.secret)
		mac.Write([]byte(input))
		return mac.Sum(nil)
	}
	hash := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[s.alg[2:]]
	digest := []byte(input)
	if hash != 0 {
		h := hash.New()
		h.Write(digest)
		digest = h.Sum(nil)
	}
	var signed []byte
	var err error
	switch key := s.key.(type) {
	case *rsa.PrivateKey:
		if s.alg[:2] == "PS" {
			signed, err = rsa.SignPSS(rand.Reader, key, hash, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		} else {
			signed, err = rsa.SignPKCS1v15(rand.Reader, key, hash, digest)
		}
	case *ecdsa.PrivateKey:
		size := (key.Params().BitSize + 7) / 8
		r, v, failed := ecdsa.Sign(rand.Reader, key, digest)
		if err = failed; err == nil {
			signed = append(r.FillBytes(make([]byte, size)), v.FillBytes(make([]byte, size))...)
		}
	default:
		signed, err = key.Sign(rand.Reader, digest, crypto.Hash(0))
	}
	if err != nil {
		panic(err)
	}
	return signed
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func toJSON(v any) string {
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(v); err != nil {
		panic(err)
	}
	return string(bytes.TrimSpace(out.Bytes()))
}

// change changes members of a valid token. A nil value removes a member.
type change struct {
	header, claims map[string]any
}

func header(name string, value any) change { return change{header: map[string]any{name: value}} }
func claim(name string, value any) change  { return change{claims: map[string]any{name: value}} }

func changed(members, by map[string]any) map[string]any {
	maps.Copy(members, by)
	maps.DeleteFunc(members, func(_ string, v any) bool { return v == nil })
	return members
}

// header returns the changed header of a valid token.
func (b *tokenFixture) header(changes []change) string {
	members := map[string]any{"alg": b.key.alg, "kid": b.key.kid, "typ": "at+jwt"}
	for _, c := range changes {
		members = changed(members, c.header)
	}
	return toJSON(members)
}

// claims returns the changed claims of a valid token.
func (b *tokenFixture) claims(changes []change) string {
	now := b.now()
	members := map[string]any{
		"iss": ourIssuer, "aud": ourAudience, "sub": "person-1", "client_id": "assistant",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "scope": "openid saved_searches:write",
	}
	for _, c := range changes {
		members = changed(members, c.claims)
	}
	return toJSON(members)
}
