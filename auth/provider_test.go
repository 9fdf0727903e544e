package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// provider is an OpenID provider with its pages and endpoints.
type provider struct {
	url, clientID, secret string
	key                   signer
	now                   cola.Clock

	mu        sync.Mutex
	codes     map[string]ticket
	document  map[string]any           // overrides for the discovery document
	idToken   []change                 // changes to ID tokens
	raw       string                   // replaces the ID token
	info      map[string]any           // extra claims in the userinfo response
	infoKind  string                   // Content-Type of the userinfo response
	status    map[string]int           // response status by path
	answer    map[string]string        // response body by path
	err       error                    // returned for every request
	delay     map[string]time.Duration // response delay by path
	requests  map[string]int
	basic     bool   // the last client secret was in the Authorization header
	presented string // the last client secret
}

// ticket is the authorization behind a code.
type ticket struct{ nonce, challenge, redirect, subject, email string }

func newProvider(t testing.TB, url string, now cola.Clock) *provider {
	p := &provider{
		url: url, clientID: "dashboard", key: newSigner(t, "ES256", "k1"), now: now, codes: map[string]ticket{}, requests: map[string]int{},
		status: map[string]int{}, answer: map[string]string{}, infoKind: "application/json",
		delay: map[string]time.Duration{},
	}
	return p
}

func (p *provider) set(change func(*provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *provider) settings() SignInIssuer {
	return SignInIssuer{URL: p.url, ClientID: p.clientID, ClientSecret: p.secret}
}

func (p *provider) at(path string) string { return strings.TrimSuffix(p.url, "/") + path }

// approve signs a person in at the issuer, given the URL of the redirect, and returns the callback
// query.
func (p *provider) approve(t testing.TB, redirect, subject, email string) url.Values {
	t.Helper()
	u, err := url.Parse(redirect)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, want := range map[string]string{
		"client_id": p.clientID, "response_type": "code", "redirect_uri": ourURL + "/sign-in/callback", "scope": "openid email", "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			t.Fatalf("authorization request: %s = %q, want %q", name, q.Get(name), want)
		}
	}
	if !strings.HasPrefix(redirect, p.at("/authorize?")) || len(q.Get("nonce")) < 43 || len(q.Get("state")) < 43 || len(q.Get("code_challenge")) != 43 {
		t.Fatalf("authorization request = %s, want the endpoint with nonce, state and code challenge", redirect)
	}
	code := "code-" + newSecretText()
	p.set(func(p *provider) {
		p.codes[code] = ticket{q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri"), subject, email}
	})
	return url.Values{"code": {code}, "state": {q.Get("state")}}
}

// RoundTrip responds to the service's requests.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	path := strings.TrimPrefix(r.URL.String(), strings.TrimSuffix(p.url, "/"))
	p.mu.Lock()
	delay := p.delay[path]
	p.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[path]++
	if p.err != nil {
		return nil, p.err
	}
	w.Header().Set("Content-Type", "application/json")
	switch status, body := p.status[path], p.answer[path]; {
	case status != 0:
		w.Header().Set("Location", otherIssuer+"token")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	case body != "":
		_, _ = io.WriteString(w, body)
	default:
		p.serve(w, r, path)
	}
	response := w.Result()
	response.Request = r
	return response, nil
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request, path string) {
	switch path {
	case "/.well-known/openid-configuration":
		_, _ = io.WriteString(w, toJSON(changed(map[string]any{
			"issuer": p.url, "authorization_endpoint": p.at("/authorize"), "token_endpoint": p.at("/token"), "jwks_uri": p.at("/keys"),
			"userinfo_endpoint": p.at("/me"), "end_session_endpoint": p.at("/bye?theme=dark"),
		}, p.document)))
	case "/keys":
		_, _ = io.WriteString(w, `{"keys":[`+p.key.jwk()+`]}`)
	case "/token":
		p.serveToken(w, r)
	case "/me":
		w.Header().Set("Content-Type", p.infoKind)
		_, _ = io.WriteString(w, toJSON(changed(map[string]any{"sub": strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer access-")}, p.info)))
	default:
		http.NotFound(w, r)
	}
}

func (p *provider) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	client, secret, basic := r.BasicAuth()
	if !basic {
		client, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	p.basic, p.presented = basic, secret
	code := r.PostForm.Get("code")
	tk, ok := p.codes[code]
	delete(p.codes, code)
	proof := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !ok || client != p.clientID || secret != p.secret ||
		base64.RawURLEncoding.EncodeToString(proof[:]) != tk.challenge || r.PostForm.Get("redirect_uri") != tk.redirect {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"<script>alert(1)</script>"}`)
		return
	}
	_, _ = io.WriteString(w, toJSON(map[string]any{"access_token": "access-" + tk.subject, "token_type": "Bearer", "id_token": p.token(tk)}))
}

// token returns the ID token for a ticket.
func (p *provider) token(tk ticket) string {
	if p.raw != "" {
		return p.raw
	}
	head := map[string]any{"alg": p.key.alg, "kid": p.key.kid}
	claims := map[string]any{
		"iss": p.url, "aud": p.clientID, "sub": tk.subject, "nonce": tk.nonce, "iat": p.now().Unix(), "exp": p.now().Add(time.Minute).Unix(),
	}
	if tk.email != "" {
		claims["email"], claims["email_verified"] = tk.email, true
	}
	for _, c := range p.idToken {
		head, claims = changed(head, c.header), changed(claims, c.claims)
	}
	return p.key.sign(toJSON(head), toJSON(claims))
}

// providers is a network that contains only these providers.
type providers []*provider

func (all providers) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, p := range all {
		if strings.HasPrefix(r.URL.String(), strings.TrimSuffix(p.url, "/")+"/") {
			return p.RoundTrip(r)
		}
	}
	return nil, errors.New("no such host: " + r.URL.Host)
}
