package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
)

// maxToken is the maximum length of an access token in bytes. Typical tokens are one to four KiB
// long.
const maxToken = 16 << 10

// accessToken is a well-formed but unverified token.
type accessToken struct {
	raw    string
	alg    jose.SignatureAlgorithm // one of algorithms
	kid    string                  // ID of the signing key; may be empty
	typed  bool                    // the header declares an access token
	issuer string                  // claimed issuer
}

// algorithms returns the accepted signature algorithms. All are asymmetric: a key that verifies
// a signature can't create one.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// parseToken parses a token of up to maxToken bytes without verifying it.
func parseToken(raw string) (accessToken, error) {
	if len(raw) > maxToken {
		return accessToken{}, unauthorized("The access token is too long; the limit is %d bytes.", maxToken)
	}
	parts := strings.SplitN(raw, ".", 4)
	if len(parts) != 3 {
		return accessToken{}, unauthorized("The credential is neither an API key for this service (%s…) nor a signed "+
			"access token (a JWT). Request a token for this service's audience.", KeyPrefix)
	}
	t := accessToken{raw: raw}
	header, err := decodePart(parts, 0)
	if err != nil {
		return accessToken{}, err
	}
	if err := t.readHeader(header); err != nil { // first, because it shows whether the token is unsigned
		return accessToken{}, err
	}
	payload, err := decodePart(parts, 1)
	if err != nil {
		return accessToken{}, err
	}
	if _, err := decodePart(parts, 2); err != nil {
		return accessToken{}, err
	}
	c, err := parseClaims(payload)
	if err != nil {
		return accessToken{}, unreadableClaims(err)
	}
	if t.issuer, err = c.text("iss"); err != nil || t.issuer == "" {
		return accessToken{}, unauthorized("The access token has no issuer (iss).")
	}
	return t, nil
}

// decodePart decodes a part of a token. It accepts only the canonical encoding.
func decodePart(parts []string, i int) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
	if err != nil || parts[i] == "" || strings.ContainsAny(parts[i], "\r\n") { // the decoder skips line breaks
		return nil, unauthorized("The access token is truncated or malformed: part %d is not base64url.", i+1)
	}
	return b, nil
}

// readHeader reads the algorithm, key ID and type. It ignores keys in the header (jwk, jku, x5c,
// x5u): a token must not choose its own key.
func (t *accessToken) readHeader(data []byte) error {
	header, err := parseClaims(data)
	if err != nil {
		return unauthorized("The access token's header cannot be read: %v.", err)
	}
	for _, name := range []string{"crit", "b64"} {
		if _, ok := header[name]; ok {
			return unauthorized("The access token's header has the unsupported parameter %q.", name)
		}
	}
	alg, err := header.text("alg")
	if strings.EqualFold(alg, "none") {
		return unauthorized("The access token is unsigned (alg none).")
	}
	t.alg = jose.SignatureAlgorithm(alg)
	if err != nil || !slices.Contains(algorithms(), t.alg) {
		return unauthorized("The access token must be signed with RS, PS or ES (256, 384 or 512) or EdDSA.")
	}
	if t.kid, err = header.text("kid"); err != nil {
		return unauthorized("The access token's header cannot be read: %v.", err)
	}
	return t.readType(header)
}

func (t *accessToken) readType(header claims) error {
	if _, ok := header["typ"]; !ok {
		return nil
	}
	typ, err := header.text("typ")
	switch {
	case err != nil:
	case strings.EqualFold(typ, "at+jwt"), strings.EqualFold(typ, "application/at+jwt"):
		t.typed = true
		return nil
	case strings.EqualFold(typ, "JWT"):
		return nil
	}
	return unauthorized("The token is not an access token: the type in its header (typ) must be at+jwt or JWT.")
}

func unreadableClaims(err error) error {
	return unauthorized("The access token's payload cannot be read: %v.", err)
}

const (
	// minRSABits is the minimum size of an RSA key in bits (RFC 7518).
	minRSABits = 2048
	// maxSignatureChecks is the maximum number of keys tried for one token.
	maxSignatureChecks = 5
)

// Errors from keySet.verify.
var (
	errNoKey     = errors.New("no such key")
	errAlgorithm = errors.New("the key is not for this algorithm")
	errSignature = errors.New("the signature is wrong")
)

// keySet holds an issuer's public keys.
type keySet []signingKey

// signingKey is a public key that verifies signatures.
type signingKey struct {
	id     string
	alg    string           // its algorithm, if the issuer states one
	public crypto.PublicKey // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// parseKeySet parses a JWK Set. It skips malformed keys, keys of unknown types, keys that don't
// verify signatures, and RSA keys shorter than minRSABits.
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

// parseKey parses a JWK; ok is false if it is not a public key that verifies signatures, or is an
// RSA key shorter than minRSABits.
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
		ok = public.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		ok = true
	}
	return signingKey{id: jwk.KeyID, alg: jwk.Algorithm, public: jwk.Key}, ok
}

// fits reports whether the key is valid for an algorithm.
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

// verify returns the payload of a token that was signed with a key in the set: the key that the
// token names or, if it has no key ID, any that fits. It fails with errNoKey if a newer set may
// have the key.
func (s keySet) verify(ctx context.Context, t accessToken) ([]byte, error) {
	named := false
	var fitting []crypto.PublicKey
	for _, k := range s {
		if t.kid != "" && t.kid != k.id {
			continue
		}
		named = true
		if len(fitting) < maxSignatureChecks && k.fits(t.alg) {
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
