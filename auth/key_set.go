package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
)

const (
	// leastRSA is the minimum size of an RSA key in bits (RFC 7518).
	leastRSA = 2048
	// mostTries is how many keys are tried for one token.
	mostTries = 5
)

// Errors of keySet.verify.
var (
	errNoKey     = errors.New("no such key")
	errAlgorithm = errors.New("the key is not for this algorithm")
	errSignature = errors.New("the signature is wrong")
)

// keySet holds the public keys of an issuer.
type keySet []signingKey

// signingKey is a public key that verifies signatures.
type signingKey struct {
	id     string
	alg    string           // the only algorithm it is for; empty when the issuer does not say
	public crypto.PublicKey // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// parseKeySet parses a JWK Set. It skips keys that are not for signatures or of an unknown kind.
func parseKeySet(data []byte) (keys keySet, err error) {
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("not a key set: %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New("not a key set: it has no keys")
	}
	for _, raw := range *set.Keys {
		if k, ok := parseKey(raw); ok {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// parseKey parses a JWK; ok is false if it is not a public key for signatures.
func parseKey(raw json.RawMessage) (k signingKey, ok bool) {
	var jwk jose.JSONWebKey
	var permits struct {
		Operations []string `json:"key_ops"`
	}
	if json.Unmarshal(raw, &jwk) != nil || json.Unmarshal(raw, &permits) != nil {
		return signingKey{}, false
	}
	if jwk.Use != "" && jwk.Use != "sig" {
		return signingKey{}, false
	}
	if permits.Operations != nil && !slices.Contains(permits.Operations, "verify") {
		return signingKey{}, false
	}
	switch public := jwk.Key.(type) {
	case *rsa.PublicKey:
		ok = public.N.BitLen() >= leastRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		ok = true
	}
	return signingKey{id: jwk.KeyID, alg: jwk.Algorithm, public: jwk.Key}, ok
}

// fits reports whether the key may verify signatures of an algorithm.
func (k signingKey) fits(alg jose.SignatureAlgorithm) bool {
	if k.alg != "" && k.alg != string(alg) {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return alg[:2] == "RS" || alg[:2] == "PS"
	case *ecdsa.PublicKey:
		curves := map[jose.SignatureAlgorithm]string{jose.ES256: "P-256", jose.ES384: "P-384", jose.ES512: "P-521"}
		return curves[alg] == public.Params().Name
	case ed25519.PublicKey:
		return alg == jose.EdDSA
	}
	return false
}

// verify returns the payload of a token that a key of the set has signed: the key that the token names
// or, if it names none, any that fits. It fails with errNoKey if a later set may have the key.
func (s keySet) verify(ctx context.Context, t accessToken) ([]byte, error) {
	named := false
	var fitting []crypto.PublicKey
	for _, k := range s {
		if t.kid != "" && t.kid != k.id {
			continue
		}
		named = true
		if len(fitting) < mostTries && k.fits(t.alg) {
			fitting = append(fitting, k.public)
		}
	}
	payload, err := (&oidc.StaticKeySet{PublicKeys: fitting}).VerifySignature(ctx, t.raw)
	switch {
	case err == nil:
		return payload, nil
	case t.kid == "" || !named:
		return nil, errNoKey
	case len(fitting) == 0:
		return nil, errAlgorithm
	}
	return nil, errSignature
}
