package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ourIssuer   = "https://id.example.com/realms/beer"
	otherIssuer = "https://login.example.org/"
	ourAudience = "https://cola.example.com/mcp"
)

// fakeIssuer serves discovery documents and keys without a network, so that it works in a synctest
// bubble.
type fakeIssuer struct {
	url string

	mu       sync.Mutex
	keys     []string      // JWKs
	document string        // replaces the discovery document
	jwks     string        // replaces the key set
	err      error         // returned for every request
	hold     chan struct{} // blocks requests until closed
	delay    time.Duration // before every response
	requests map[string]int
}

func newFakeIssuer(url string, keys ...signer) *fakeIssuer {
	f := &fakeIssuer{url: url, requests: map[string]int{}}
	f.publish(keys...)
	return f
}

func (f *fakeIssuer) publish(keys ...signer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = nil
	for _, k := range keys {
		f.keys = append(f.keys, k.jwk())
	}
}

// set changes the issuer's behavior.
func (f *fakeIssuer) set(change func(*fakeIssuer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// fetches returns the number of key fetches, including those that failed at discovery.
func (f *fakeIssuer) fetches() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests["/.well-known/openid-configuration"]
}

func (f *fakeIssuer) answer(r *http.Request) (string, error) {
	path := strings.TrimPrefix(r.URL.String(), strings.TrimSuffix(f.url, "/"))
	f.mu.Lock()
	f.requests[path]++
	hold, delay := f.hold, f.delay
	f.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return "", r.Context().Err()
	}
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return "", r.Context().Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return "", f.err
	case path == "/.well-known/openid-configuration" && f.document != "":
		return f.document, nil
	case path == "/.well-known/openid-configuration":
		return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, f.url, strings.TrimSuffix(f.url, "/")+"/keys"), nil
	case path == "/keys" && f.jwks != "":
		return f.jwks, nil
	case path == "/keys":
		return `{"keys":[` + strings.Join(f.keys, ",") + `]}`, nil
	}
	return "", fmt.Errorf("no page at %s", path)
}

// fakeNetwork is a network that contains only these issuers.
type fakeNetwork []*fakeIssuer

func (n fakeNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, f := range n {
		if strings.HasPrefix(r.URL.String(), f.url) {
			body, err := f.answer(r)
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}
	}
	return nil, errors.New("no such host")
}

func (n fakeNetwork) client() *http.Client { return &http.Client{Transport: n} }

// fakeStore is an in-memory TokenStore.
type fakeStore struct {
	mu       sync.Mutex
	apps     map[string]store.App // by issuer and client ID
	accounts map[store.Identity]cola.AccountID
	emails   map[cola.AccountID]string
	links    map[[2]int64]store.Link
	calls    map[string]int
	err      error         // returned by every call
	hold     chan struct{} // blocks calls until closed
}

func newFakeStore(apps ...store.App) *fakeStore {
	s := &fakeStore{
		apps: map[string]store.App{}, accounts: map[store.Identity]cola.AccountID{}, emails: map[cola.AccountID]string{},
		links: map[[2]int64]store.Link{}, calls: map[string]int{},
	}
	for _, a := range apps {
		s.put(a)
	}
	return s
}

func (s *fakeStore) put(a store.App) store.App {
	if a.ID == 0 {
		a.ID = int64(100 + len(s.apps))
	}
	s.apps[a.Issuer+" "+a.ClientID] = a
	return a
}

// begin counts a call, then blocks or fails if set up to do so.
func (s *fakeStore) begin(ctx context.Context, name string) error {
	s.mu.Lock()
	s.calls[name]++
	hold, err := s.hold, s.err
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (s *fakeStore) AppByClient(ctx context.Context, issuer, clientID string) (store.App, error) {
	if err := s.begin(ctx, "AppByClient"); err != nil {
		return store.App{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.apps[issuer+" "+clientID]
	if !ok {
		return a, store.ErrNotFound
	}
	return a, nil
}

func (s *fakeStore) EnsureApp(ctx context.Context, app store.App) (store.App, error) {
	if err := s.begin(ctx, "EnsureApp"); err != nil {
		return store.App{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(app), nil
}

func (s *fakeStore) AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error) {
	if err := s.begin(ctx, "AccountOf"); err != nil {
		return store.Account{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.accounts[who]
	if !ok {
		id = cola.AccountID(len(s.accounts) + 1)
		s.accounts[who], s.emails[id] = id, verified
	}
	return store.Account{ID: id, Email: s.emails[id]}, nil
}

func (s *fakeStore) Connect(ctx context.Context, account cola.AccountID, app int64, scopes []cola.Scope) (store.Link, error) {
	if err := s.begin(ctx, "Connect"); err != nil {
		return store.Link{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	between := [2]int64{int64(account), app}
	l, ok := s.links[between]
	if !ok {
		l = store.Link{ID: int64(1000 + len(s.links)), Account: account}
	}
	l.Scopes = scopes
	s.links[between] = l
	return l, nil
}

// change changes the store, as a concurrent operator or account holder would.
func (s *fakeStore) change(f func(*fakeStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *fakeStore) called(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[name]
}

// ourApp is the app in valid tokens.
func ourApp() store.App {
	return store.App{Issuer: ourIssuer, ClientID: "assistant", Name: "Assistant", Scopes: cola.Scopes()}
}

// tokenFixture is an Authenticator with all its dependencies.
type tokenFixture struct {
	*Authenticator
	issuer *fakeIssuer
	other  *fakeIssuer
	store  *fakeStore
	key    signer
	now    func() time.Time
}

// newTokenFixture returns a tokenFixture whose issuer has its own signing key. In a synctest bubble
// it uses the bubble's clock.
func newTokenFixture(t testing.TB, change func(*TokenOptions)) *tokenFixture {
	t.Helper()
	b := &tokenFixture{key: newSigner(t, "ES256", "k1"), store: newFakeStore(ourApp()), now: time.Now}
	b.issuer = newFakeIssuer(ourIssuer, b.key)
	b.other = newFakeIssuer(otherIssuer, newSigner(t, "ES256", "k2"))
	o := TokenOptions{
		Issuers: []string{ourIssuer, otherIssuer}, Audiences: []string{ourAudience, "cola-api"},
		Client: fakeNetwork{b.issuer, b.other}.client(),
	}
	if change != nil {
		change(&o)
	}
	tokens, err := NewTokens(b.store, o)
	if err != nil {
		t.Fatal(err)
	}
	b.Authenticator = New(&finder{}, tokens, nil)
	return b
}

// send authenticates a request with a token.
func (b *tokenFixture) send(ctx context.Context, token string) (cola.Caller, error) {
	return b.Authenticate(ctx, http.Header{"Authorization": {"Bearer " + token}}, cola.ChannelMCP)
}

// token returns a valid token with the given changes.
func (b *tokenFixture) token(changes ...change) string {
	return b.key.sign(b.header(changes), b.claims(changes))
}
