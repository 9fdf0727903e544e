package dashboard

import (
	"context"
	"crypto/rand"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
)

// fakeBrowsers is a Browsers that takes the caller from a request header. Stored values are
// available to the next request.
type fakeBrowsers struct {
	mu      sync.Mutex
	callers map[string]cola.Caller
	put     map[string]string
	ended   []string

	issuers      []auth.IssuerChoice
	requested    []string // addresses of requested sign-in links
	requestFault error    // returned by RequestLink
}

// asHeader is the request header that identifies the caller.
const asHeader = "X-Test-As"

type asKey struct{}

func (f *fakeBrowsers) Load(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asKey{}, r.Header.Get(asHeader))))
	})
}

func (f *fakeBrowsers) Caller(ctx context.Context) (cola.Caller, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.callers[ctx.Value(asKey{}).(string)]
	return c, ok
}

func (f *fakeBrowsers) Issuers() []auth.IssuerChoice { return f.issuers }

func (f *fakeBrowsers) Begin(context.Context, string, string) (string, error) {
	return "", cola.Errorf(cola.CodeValidation, "No such issuer.")
}

func (f *fakeBrowsers) Finish(_ context.Context, query url.Values, _ string) (string, error) {
	if query.Get("code") == "good" {
		return "/keys", nil
	}
	return "", cola.Errorf(cola.CodeUnauthorized, "No sign-in started.")
}

func (f *fakeBrowsers) RequestLink(_ context.Context, email string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requested = append(f.requested, email)
	if cola.CheckEmail(email) != nil {
		return &cola.Error{Code: cola.CodeValidation, Message: "Invalid.", Details: map[string]any{"email": []string{"Invalid address."}}}
	}
	return f.requestFault
}

func (f *fakeBrowsers) LinkAccount(_ context.Context, token string) (auth.LinkTarget, error) {
	switch token {
	case "good":
		return auth.LinkTarget{Email: "ann@example.com"}, nil
	case "new":
		return auth.LinkTarget{Email: "new@example.com", New: true}, nil
	}
	return auth.LinkTarget{}, cola.Errorf(cola.CodeUnauthorized, "This link was used or has expired.")
}

func (f *fakeBrowsers) UseLink(ctx context.Context, token, _ string) (bool, error) {
	target, err := f.LinkAccount(ctx, token)
	return target.New, err
}

func (f *fakeBrowsers) SignOut(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, ctx.Value(asKey{}).(string))
	return "", nil
}

func (f *fakeBrowsers) Put(ctx context.Context, key, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put[ctx.Value(asKey{}).(string)+" "+key] = value
}

func (f *fakeBrowsers) Pop(ctx context.Context, key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := ctx.Value(asKey{}).(string) + " " + key
	value := f.put[name]
	delete(f.put, name)
	return value
}

func (f *fakeBrowsers) OpenForm(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	token := rand.Text()
	f.put[ctx.Value(asKey{}).(string)+" form "+token] = "open"
	return token, nil
}

func (f *fakeBrowsers) TakeForm(ctx context.Context, token string) (bool, error) {
	return f.Pop(ctx, "form "+token) == "open", nil
}

// site is a dashboard backed by a real registry. The default visitor is ann, who has an account on
// the pro tier.
type site struct {
	t        *testing.T
	registry *registrytest.Registry
	browsers *fakeBrowsers
	handler  http.Handler
	as       string
}

const ann = "ann@example.com"

var quiet = slog.New(slog.DiscardHandler)

func mustSite(t *testing.T) *site {
	t.Helper()
	s := &site{
		t:        t,
		registry: registrytest.New(t),
		browsers: &fakeBrowsers{callers: map[string]cola.Caller{}, put: map[string]string{}},
		as:       ann,
	}
	s.join(ann, cola.TierPro)
	s.handler = New(s.registry.Service, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Closed: true, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
	return s
}

// mustSell returns a site that sells plans through a fake Stripe. Ann is on the free tier.
func mustSell(t *testing.T) *site {
	t.Helper()
	s := &site{
		t: t, registry: registrytest.NewSelling(t), as: ann,
		browsers: &fakeBrowsers{callers: map[string]cola.Caller{}, put: map[string]string{}},
	}
	s.join(ann, cola.TierFree)
	s.handler = New(s.registry.Service, s.browsers,
		Options{PublicURL: registrytest.PublicURL, SellsPlans: true, Logger: quiet, Now: s.registry.Now})
	return s
}

// join creates an account and returns its holder as a caller.
func (s *site) join(email string, tier cola.Tier) cola.Caller {
	s.t.Helper()
	c := s.registry.Holder(s.t, email, tier)
	s.browsers.callers[email] = c
	return c
}

// by returns the site as seen by another visitor; "" means signed out.
func (s *site) by(email string) *site {
	other := *s
	other.as = email
	return &other
}

// response is a response with its body.
type response struct {
	*http.Response
	body string // as sent
	text string // with HTML entities decoded, for searching
}

func (s *site) send(r *http.Request) response {
	s.t.Helper()
	r.Header.Set(asHeader, s.as)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	resp := w.Result()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{resp, string(body), html.UnescapeString(string(body))}
}

func (s *site) get(target string) response {
	s.t.Helper()
	return s.send(httptest.NewRequest(http.MethodGet, target, nil))
}

func (s *site) post(target string, form url.Values) response {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(r)
}

// shows fails the test unless the response has the status and contains all the texts.
func (a response) shows(t *testing.T, status int, texts ...string) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("status %d, want %d:\n%s", a.StatusCode, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			t.Errorf("page lacks %q:\n%s", text, a.body)
		}
	}
}

// redirects fails the test unless the response is a redirect, and returns its target.
func (a response) redirects(t *testing.T) string {
	t.Helper()
	if a.StatusCode != http.StatusSeeOther {
		t.Fatalf("status %d, want %d:\n%s", a.StatusCode, http.StatusSeeOther, a.body)
	}
	return a.Header.Get("Location")
}
