package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// audience is the audience of the issuer's access tokens.
const audience = "registry"

// testIssuer is an OpenID Connect issuer that signs any claims.
type testIssuer struct {
	*httptest.Server
	t        *testing.T
	signer   jose.Signer
	reads    atomic.Int32 // requests for the discovery document and the keys
	redeemed atomic.Int32 // requests to redeem a code

	mu    sync.Mutex
	codes map[string]map[string]any // ID token claims by authorization code
}

func newIssuer(t *testing.T) *testIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &testIssuer{t: t, codes: map[string]map[string]any{}}
	extra := map[jose.HeaderKey]any{"kid": "current"}
	i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key},
		&jose.SignerOptions{ExtraHeaders: extra})
	if err != nil {
		t.Fatal(err)
	}
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: key.Public(), KeyID: "current", Algorithm: "ES256", Use: "sig"},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.reads.Add(1)
		i.respond(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"jwks_uri": i.URL + "/keys",
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.reads.Add(1)
		i.respond(w, keys)
	})
	mux.HandleFunc("POST /token", i.redeem)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// respond writes JSON.
func (i *testIssuer) respond(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		i.t.Error(err)
	}
}

// redeem is the token endpoint. A code works once.
func (i *testIssuer) redeem(w http.ResponseWriter, r *http.Request) {
	i.redeemed.Add(1)
	i.mu.Lock()
	claims := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	i.mu.Unlock()
	if claims == nil {
		w.WriteHeader(http.StatusBadRequest)
		i.respond(w, map[string]string{"error": "invalid_grant"})
		return
	}
	i.respond(w, map[string]string{"access_token": "opaque", "token_type": "Bearer", "id_token": i.sign(claims)})
}

func (i *testIssuer) sign(claims map[string]any) string {
	content, err := json.Marshal(claims)
	if err != nil {
		i.t.Error(err)
		return ""
	}
	signed, err := i.signer.Sign(content)
	if err != nil {
		i.t.Error(err)
		return ""
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Error(err)
	}
	return token
}

// person returns the claims for a subject with a verified email address.
func person(subject, email string) map[string]any {
	return map[string]any{"sub": subject, "email": email, "email_verified": true}
}

// accessToken returns an access token with additional claims.
func (i *testIssuer) accessToken(claims map[string]any) string {
	now := time.Now()
	all := map[string]any{
		"iss": i.URL, "aud": audience, "client_id": "assistant", "scope": "openid",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(all, claims)
	return i.sign(all)
}

// approve signs a person in at the issuer and returns the path that the browser is redirected to.
func (i *testIssuer) approve(authorize *url.URL, claims map[string]any) (callback string) {
	q, now := authorize.Query(), time.Now()
	all := map[string]any{
		"iss": i.URL, "aud": q.Get("client_id"), "nonce": q.Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	}
	maps.Copy(all, claims)
	code := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.codes[code] = all
	return "/sign-in/callback?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
}

// flags returns the flags that make a server accept the issuer's access tokens and dashboard
// sign-ins.
func (i *testIssuer) flags() []string {
	return []string{
		"--oidc-issuer", i.URL, "--oidc-audience", audience, "--oidc-apps", "any", "--sign-in-client-id", "dashboard",
	}
}

// bearer calls the REST API with an access token.
func (s *site) bearer(token, path string) response {
	s.t.Helper()
	header := http.Header{"Authorization": {"Bearer " + token}}
	return s.send(http.DefaultClient, http.MethodGet, "/api/v1"+path, header, nil)
}

// newBrowser returns a browser without cookies.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// browserAt returns a browser without cookies whose requests carry address in X-Forwarded-For. The
// server must trust the test as a proxy.
func browserAt(t *testing.T, address string) *http.Client {
	t.Helper()
	browser := newBrowser(t)
	browser.Transport = forwarded(address)
	return browser
}

var refreshURL = regexp.MustCompile(`<meta http-equiv="refresh" content="0;url=([^"]+)">`)

// beginSignIn clicks the first issuer's button and returns the issuer URL that the browser is
// redirected to, or nil.
func (s *site) beginSignIn(browser *http.Client, returnTo string) (*url.URL, response) {
	s.t.Helper()
	form := url.Values{"issuer": {"0"}, "return": {returnTo}}.Encode()
	header := http.Header{"Origin": {s.URL}, "Content-Type": {"application/x-www-form-urlencoded"}}
	page := s.send(browser, http.MethodPost, "/sign-in", header, form)
	to := refreshURL.FindSubmatch(page.Body)
	if to == nil {
		return nil, page
	}
	authorize, err := url.Parse(html.UnescapeString(string(to[1])))
	if err != nil {
		s.t.Fatal(err)
	}
	return authorize, page
}

// signInAt signs a person in to the dashboard with the issuer, and returns the final page.
func (s *site) signInAt(browser *http.Client, i *testIssuer, claims map[string]any) response {
	s.t.Helper()
	authorize, page := s.beginSignIn(browser, "/usage")
	if authorize == nil {
		return page
	}
	return s.send(browser, http.MethodGet, i.approve(authorize, claims), nil, nil)
}

// accountOf returns the ID of the account linked to an issuer's subject, or zero.
func (s *site) accountOf(i *testIssuer, subject string) (id cola.AccountID) {
	s.t.Helper()
	all, err := s.Store.IdentitiesOf(s.t.Context(), 0)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, held := range all {
		if held.Identity == (store.Identity{Issuer: i.URL, Subject: subject}) {
			id = held.Account
		}
	}
	return id
}
