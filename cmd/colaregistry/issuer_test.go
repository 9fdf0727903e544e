package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	jose "github.com/go-jose/go-jose/v4"
)

// issuer is an OpenID Connect issuer on this machine.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

// issuerKey is generated once because generation is slow.
var issuerKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func startIssuer(t *testing.T) issuer {
	t.Helper()
	key, err := issuerKey()
	if err != nil {
		t.Fatal(err)
	}
	published := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{
		PublicKey: key.Public(),
		KeyID:     "current",
		Algorithm: oidc.RS256,
	}}}
	i := issuer{httptest.NewUnstartedServer(published), key}
	published.SetIssuer("http://" + i.Listener.Addr().String())
	i.Start()
	t.Cleanup(i.Close)
	return i
}

// claims returns the claims of a valid token for a server, with changes applied. A nil value
// removes a claim.
func (i issuer) claims(s *serverProcess, changes map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": i.URL, "aud": s.endpoint(), "sub": "somebody", "client_id": "assistant",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "scope": "openid",
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// token returns a signed access token for a server, with changes applied to valid claims.
func (i issuer) token(t *testing.T, s *serverProcess, changes map[string]any) string {
	t.Helper()
	return sign(t, jose.RS256, i.key, "current", "at+jwt", i.claims(s, changes))
}

// sign returns a token with the given claims, signed with key.
func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, id, typ string, claims map[string]any) string {
	t.Helper()
	extra := map[jose.HeaderKey]any{"kid": id}
	if typ != "" {
		extra["typ"] = typ
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, &jose.SignerOptions{ExtraHeaders: extra})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
