package auth

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/store"
)

const ourURL = "https://cola.example.com"

// browserStore is an in-memory BrowserStore.
type browserStore struct {
	now cola.Clock

	mu       sync.Mutex
	accounts map[store.Identity]store.Account
	people   []store.Account // in order of creation
	signIns  map[int64]store.SignIn
	links    map[store.SignInLinkHash]store.Account
	emailed  map[string]int // number of links by address
	sessions map[string]sessionRow
	calls    map[string]int
	fail     map[string]error // errors by method name
}

type sessionRow struct {
	data  []byte
	until time.Time
}

func newBrowserStore(now cola.Clock) *browserStore {
	return &browserStore{
		now: now, accounts: map[store.Identity]store.Account{}, signIns: map[int64]store.SignIn{},
		links: map[store.SignInLinkHash]store.Account{}, emailed: map[string]int{}, sessions: map[string]sessionRow{}, calls: map[string]int{}, fail: map[string]error{},
	}
}

// begin counts a call and returns its injected error. It locks; the caller unlocks.
func (s *browserStore) begin(ctx context.Context, name string) error {
	s.mu.Lock()
	s.calls[name]++
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.fail[name]
}

// set changes the store, as a concurrent client would.
func (s *browserStore) set(change func(*browserStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// called returns the number of calls to a method and resets it.
func (s *browserStore) called(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls[name]
	delete(s.calls, name)
	return n
}

// isActive reports whether a sign-in is active, by the same rules as the ledger.
func (s *browserStore) isActive(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	signIn, ok := s.signIns[id]
	return ok && signIn.EndedAt.IsZero() && s.now().Before(signIn.ExpiresAt)
}

// link creates a sign-in link for an account and returns its token.
func (s *browserStore) link(account store.Account) string {
	token, hash := NewSignInLink()
	s.set(func(s *browserStore) { s.links[hash] = account })
	return token
}

func (s *browserStore) AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "AccountOf"); err != nil {
		return store.Account{}, err
	}
	if err := who.Check(verified); err != nil {
		return store.Account{}, err
	}
	if account, ok := s.accounts[who]; ok {
		return account, nil
	}
	account := store.Account{ID: cola.AccountID(len(s.people) + 1), Email: verified}
	if verified == "" {
		account.Email = who.Name()
	}
	for _, p := range s.people {
		if p.Email == account.Email {
			account = p
		}
	}
	s.accounts[who] = account
	s.people = append(s.people, account)
	return account, nil
}

func (s *browserStore) CreateSignIn(ctx context.Context, signIn store.SignIn) (store.SignIn, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "CreateSignIn"); err != nil {
		return store.SignIn{}, err
	}
	signIn.ID, signIn.CreatedAt = int64(500+len(s.signIns)), s.now()
	s.signIns[signIn.ID] = signIn
	return signIn, nil
}

func (s *browserStore) EndSignIn(ctx context.Context, account cola.AccountID, id int64) error {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "EndSignIn"); err != nil {
		return err
	}
	signIn, ok := s.signIns[id]
	if !ok || signIn.Account != account {
		return store.ErrNotFound
	}
	if signIn.EndedAt.IsZero() {
		signIn.EndedAt = s.now()
		s.signIns[id] = signIn
	}
	return nil
}

func (s *browserStore) SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "SignInLink"); err != nil {
		return store.Account{}, err
	}
	account, ok := s.links[hash]
	if !ok {
		return store.Account{}, store.ErrNotFound
	}
	return account, nil
}

func (s *browserStore) UseSignInLink(
	ctx context.Context, hash store.SignInLinkHash, signUp bool,
) (store.Account, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "UseSignInLink"); err != nil {
		return store.Account{}, err
	}
	account, ok := s.links[hash]
	if !ok || account.ID == 0 && !signUp {
		return store.Account{}, store.ErrNotFound
	}
	delete(s.links, hash)
	if account.ID == 0 {
		account = store.Account{ID: cola.AccountID(1000 + len(s.people)), Email: account.Email, NewAccount: true}
		s.people = append(s.people, account)
	}
	return account, nil
}

func (s *browserStore) CreateEmailedLink(
	ctx context.Context, l store.EmailedLink, signUp bool, limits store.EmailedLinkLimits,
) (bool, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "CreateEmailedLink"); err != nil {
		return false, err
	}
	account := store.Account{Email: l.Email}
	for _, p := range s.people {
		if store.FoldEmail(p.Email) == store.FoldEmail(l.Email) {
			account = p
		}
	}
	switch {
	case account.ID == 0 && !signUp:
		return false, store.ErrNotFound
	case s.emailed[l.Email] == limits.PerHour:
		return false, store.ErrLimit
	}
	s.emailed[l.Email]++
	s.links[l.Hash] = account
	return account.ID == 0, nil
}

func (s *browserStore) DeleteOldEmailedLinks(ctx context.Context) error {
	defer s.mu.Unlock()
	return s.begin(ctx, "DeleteOldEmailedLinks")
}

func (s *browserStore) Session(ctx context.Context, name string) ([]byte, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "Session"); err != nil {
		return nil, err
	}
	row, ok := s.sessions[name]
	if !ok || !s.now().Before(row.until) {
		return nil, store.ErrNotFound
	}
	return bytes.Clone(row.data), nil
}

func (s *browserStore) SaveSession(ctx context.Context, name string, data []byte, until time.Time) error {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "SaveSession"); err != nil {
		return err
	}
	s.sessions[name] = sessionRow{bytes.Clone(data), until}
	return nil
}

func (s *browserStore) DeleteSession(ctx context.Context, name string) (bool, error) {
	defer s.mu.Unlock()
	if err := s.begin(ctx, "DeleteSession"); err != nil {
		return false, err
	}
	row, ok := s.sessions[name]
	delete(s.sessions, name)
	return ok && s.now().Before(row.until), nil
}

// fakeClock is a manually set clock.
type fakeClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// browserFixture is a Browsers with all its dependencies.
type browserFixture struct {
	*Browsers
	clock    *fakeClock
	store    *browserStore
	provider *provider
	other    *provider
	log      *lockedBuffer
	keys     *keyring.Keyring // encrypts attempts, unless the test sets other keys
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// newKeys returns a keyring with the keys in the given key file lines, or with one new key.
func newKeys(t testing.TB, lines ...string) *keyring.Keyring {
	t.Helper()
	if len(lines) == 0 {
		lines = []string{keyring.NewKey()}
	}
	keys, err := keyring.Parse([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func sealer(keys *keyring.Keyring) Sealer { return keys.Box("sign-in attempt") }

func newBrowserFixture(t testing.TB, change func(*browserFixture, *BrowserOptions)) *browserFixture {
	t.Helper()
	d := &browserFixture{clock: &fakeClock{at: time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC)}, log: &lockedBuffer{}, keys: newKeys(t)}
	d.store = newBrowserStore(d.clock.now)
	d.provider, d.other = newProvider(t, ourIssuer, d.clock.now), newProvider(t, otherIssuer, d.clock.now)
	d.provider.secret = "hush"
	o := BrowserOptions{
		Store: d.store, Attempts: sealer(d.keys), PublicURL: ourURL, Now: d.clock.now, Client: &http.Client{Transport: providers{d.provider, d.other}},
		Logger: slog.New(slog.NewTextHandler(d.log, nil)),
	}
	if change != nil {
		change(d, &o)
	}
	if o.Issuers == nil {
		o.Issuers = []SignInIssuer{d.provider.settings(), d.other.settings()}
	}
	var err error
	if d.Browsers, err = NewBrowsers(o); err != nil {
		t.Fatal(err)
	}
	return d
}

// browser simulates a browser with a cookie jar.
type browser struct {
	*browserFixture
	cookies map[string]*http.Cookie
}

func (d *browserFixture) browser() *browser { return &browser{d, map[string]*http.Cookie{}} }

// visit requests a page with the browser's cookies, and applies the cookies in the response.
func (b *browser) visit(page http.HandlerFunc) *http.Response {
	r := httptest.NewRequest(http.MethodGet, ourURL+"/", nil)
	for _, c := range b.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	w := httptest.NewRecorder()
	b.Load(page).ServeHTTP(w, r)
	response := w.Result()
	for _, c := range response.Cookies() {
		b.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return response
}

// do runs a function inside a request and returns its error.
func (b *browser) do(action func(context.Context) error) (err error) {
	b.visit(func(w http.ResponseWriter, r *http.Request) {
		err = action(r.Context())
		w.WriteHeader(http.StatusNoContent)
	})
	return err
}

// look is like do, for functions that return no error.
func (b *browser) look(action func(context.Context)) {
	_ = b.do(func(ctx context.Context) error { action(ctx); return nil })
}

// caller returns the signed-in caller if the ledger would admit it, or the zero caller.
func (b *browser) caller() (c cola.Caller) {
	b.look(func(ctx context.Context) { c, _ = b.Caller(ctx) })
	if !b.store.isActive(c.Credential.ID) {
		return cola.Caller{}
	}
	return c
}

func (b *browser) begin(t testing.TB, key, returnTo string) (redirect string) {
	t.Helper()
	if err := b.do(func(ctx context.Context) (err error) {
		redirect, err = b.Begin(ctx, key, returnTo)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return redirect
}

func (b *browser) finish(query url.Values) (returnTo string, err error) {
	err = b.do(func(ctx context.Context) (err error) {
		returnTo, err = b.Finish(ctx, query, "Firefox")
		return err
	})
	return returnTo, err
}

// signIn signs a person in through the first issuer.
func (b *browser) signIn(t testing.TB, subject string) cola.Caller {
	t.Helper()
	if _, err := b.finish(b.provider.approve(t, b.begin(t, "0", "/"), subject, subject+"@example.com")); err != nil {
		t.Fatal(err)
	}
	c := b.caller()
	if c.Account == 0 {
		t.Fatal("Finish succeeded, but no account is signed in")
	}
	return c
}

func (b *browser) signOut(t testing.TB) (redirect string) {
	t.Helper()
	if err := b.do(func(ctx context.Context) (err error) {
		redirect, err = b.SignOut(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return redirect
}

// session returns the browser's stored session, decrypted.
func (b *browser) session(t testing.TB) string {
	t.Helper()
	data, ok := unseal(b.cookie(), b.store.sessions[sessionName(b.cookie())].data)
	if !ok {
		t.Fatal("no stored session, or the cookie does not decrypt it")
	}
	return string(data)
}

// cookie returns the value of the session cookie, or "".
func (b *browser) cookie() string {
	for name, c := range b.cookies {
		if !strings.HasPrefix(name, b.attempts.prefix()) {
			return c.Value
		}
	}
	return ""
}

// attemptCookies returns the cookies of the browser's pending sign-ins.
func (b *browser) attemptCookies() (all []*http.Cookie) {
	for name, c := range b.cookies {
		if strings.HasPrefix(name, b.attempts.prefix()) {
			all = append(all, c)
		}
	}
	return all
}
