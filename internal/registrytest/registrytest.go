// Package registrytest runs a small registry on an embedded database, for tests that need a real
// one rather than a fake.
package registrytest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/stripetest"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/registry/billing"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// PublicURL is the registry's public URL.
const PublicURL = "https://registry.example"

// Operator is the email address of the registry's operator. New creates no account for it.
const Operator = "operator@example.com"

// StartTime is the initial time of a registry's clock.
var StartTime = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// labels is the number of demo labels in a registry.
const labels = 300

// Registry is a running registry with demo labels and no accounts.
type Registry struct {
	*registry.Service
	Store   store.Store
	Vault   *vault.Vault       // encrypts stored secrets
	Stripe  *stripetest.Server // nil unless it sells plans
	Billing *billing.Billing   // nil unless it sells plans

	Exchange registry.Exchange // recorded by Deliver for every attempt

	clock atomic.Int64
}

// template is a database file with the demo labels, created once.
var template struct {
	once sync.Once
	file []byte
	err  error
}

// mustTemplate returns the content of a database file with the demo labels.
func mustTemplate(t testing.TB) []byte {
	t.Helper()
	template.once.Do(func() {
		file := filepath.Join(t.TempDir(), "template.db")
		st, err := sqlite.Open(t.Context(), file,
			sqlite.Options{Now: func() time.Time { return StartTime }, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			err = errors.Join(demo.Load(t.Context(), st,
				demo.Options{Colas: labels, Seed: 1, AsOf: cola.DateOf(StartTime)}, nil), st.Close())
		}
		template.err = err
		if err == nil {
			template.file, template.err = os.ReadFile(file)
		}
	})
	if template.err != nil {
		t.Fatal(template.err)
	}
	return template.file
}

// New returns a registry that is closed when the test ends. Its clock is frozen; use Advance.
func New(t testing.TB) *Registry {
	t.Helper()
	return start(t, &Registry{})
}

// NewSelling is like New, but the registry sells plans through a fake Stripe server, which sends
// events to the webhook as soon as they occur.
func NewSelling(t testing.TB) *Registry {
	t.Helper()
	r := start(t, &Registry{Stripe: stripetest.Start(t)})
	r.Stripe.Now, r.Stripe.Sink = r.Now, stripetest.Handler(r.Billing.Webhook())
	return r
}

func start(t testing.TB, r *Registry) *Registry {
	t.Helper()
	r.clock.Store(StartTime.UnixMicro())
	quiet := slog.New(slog.DiscardHandler)
	file := filepath.Join(t.TempDir(), "registry.db")
	if err := os.WriteFile(file, mustTemplate(t), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), file, sqlite.Options{Now: r.Now, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	index := search.New(search.Options{Logger: quiet})
	ledger := quota.New(st, quota.Options{Rules: quota.Rules{UpgradeURL: PublicURL + "/plans"}, Logger: quiet})
	r.Store = st
	keys, err := keyring.Parse([]byte(keyring.NewKey()))
	if err != nil {
		t.Fatal(err)
	}
	r.Vault = vault.New(vault.Options{Keys: keys, Now: r.Now})
	if r.Stripe != nil {
		r.Billing = billing.New(billing.Options{
			Store: st, SecretKey: stripetest.SecretKey, WebhookSecret: stripetest.WebhookSecret, APIURL: r.Stripe.URL,
			PublicURL: PublicURL, Grace: 7 * 24 * time.Hour, Now: r.Now, Logger: quiet,
		})
	}
	r.Service = registry.New(registry.Options{
		Store: st, Index: index, Ledger: ledger, PublicURL: PublicURL,
		Now: r.Now, Logger: quiet, SendsMail: true, Vault: r.Vault, Operators: []string{Operator},
		RequestLogDays: 7, Billing: r.Billing,
	})
	built := make(chan struct{})
	follower := registry.NewFollower(r.Service, registry.FollowerOptions{Built: func(registry.Build) { close(built) }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- follower.Run(ctx) }()
	<-built
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		ledger.Close()
		r.Close()
		index.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Now returns the time of the clock that the registry and its database share.
func (r *Registry) Now() time.Time { return time.UnixMicro(r.clock.Load()).UTC() }

// Advance advances the clock.
func (r *Registry) Advance(d time.Duration) { r.clock.Add(d.Microseconds()) }

// Holder creates an account and returns a caller for its signed-in holder.
func (r *Registry) Holder(t testing.TB, email string, tier cola.Tier) cola.Caller {
	t.Helper()
	account, err := r.Store.CreateAccount(t.Context(), email, tier)
	if err != nil {
		t.Fatal(err)
	}
	return r.SignIn(t, account.ID, "Test browser", "")
}

// SignIn creates a one-year session for an account holder, with the given browser and issuer, and
// returns a caller that uses it.
func (r *Registry) SignIn(t testing.TB, account cola.AccountID, browser, issuer string) cola.Caller {
	t.Helper()
	signIn, err := r.Store.CreateSignIn(t.Context(),
		store.SignIn{Account: account, Via: issuer, Browser: browser, ExpiresAt: r.Now().AddDate(1, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return cola.Caller{
		Account: account, Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: signIn.ID},
		Channel: cola.ChannelDashboard, Scopes: cola.Scopes(),
	}
}

// Identity links an identity at an issuer to an account. If account is 0, it links the identity to
// a new account without an email address. It returns the account.
func (r *Registry) Identity(t testing.TB, account cola.AccountID, issuer, subject string) cola.AccountID {
	t.Helper()
	id := store.Identity{Issuer: issuer, Subject: subject}
	if account == 0 {
		created, err := r.Store.AccountOf(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	if err := r.Store.AddIdentity(t.Context(), account, id); err != nil {
		t.Fatal(err)
	}
	return account
}

// Key creates an API key for an account and returns a caller that uses it over REST.
func (r *Registry) Key(t testing.TB, account cola.AccountID, name string) cola.Caller {
	t.Helper()
	secret := auth.NewSecret()
	key := secret.Key()
	key.AccountID, key.Name = account, name
	key, err := r.Store.CreateKey(t.Context(), key, secret.Hash(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return cola.Caller{
		Account: account, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key.ID},
		Channel: cola.ChannelREST, Scopes: cola.Scopes(),
	}
}

// App connects an app with all scopes to an account and returns a caller that uses its token over
// MCP.
func (r *Registry) App(t testing.TB, account cola.AccountID, name string) cola.Caller {
	t.Helper()
	app, err := r.Store.RegisterApp(t.Context(),
		store.App{Issuer: "https://issuer.example", ClientID: name, Name: name, Scopes: cola.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	link, err := r.Store.Connect(t.Context(), account, app.ID, cola.Scopes())
	if err != nil {
		t.Fatal(err)
	}
	return cola.Caller{
		Account: account, Credential: cola.Credential{Kind: cola.CredentialLink, ID: link.ID},
		Channel: cola.ChannelMCP, Scopes: cola.Scopes(),
	}
}

// AddNewLabels adds n labels that saved searches can match: demo labels from another seed.
func (r *Registry) AddNewLabels(t testing.TB, n int) {
	t.Helper()
	r.AddNewLabelsAsOf(t, n, cola.DateOf(r.Now()))
}

// AddNewLabelsAsOf is like AddNewLabels, but with the given approval date for the latest label.
func (r *Registry) AddNewLabelsAsOf(t testing.TB, n int, latest cola.Date) {
	t.Helper()
	var patches []cola.Patch[cola.Cola]
	for c := range demo.Labels(demo.Options{Colas: n, Seed: 2, AsOf: latest}) {
		p := cola.Patch[cola.Cola]{Record: *c}
		for i := range cola.FieldsOf[cola.Cola]() {
			p.Fields = p.Fields.With(i)
		}
		patches = append(patches, p)
	}
	if _, err := r.Store.UpsertColas(t.Context(), patches, store.Commit); err != nil {
		t.Fatal(err)
	}
}

// RunDue runs the saved searches that are due.
func (r *Registry) RunDue(t testing.TB) {
	t.Helper()
	runner := alerts.New(alerts.Options{Store: r.Store, Logger: slog.New(slog.DiscardHandler)})
	if _, err := runner.Tick(t.Context(), r.Now()); err != nil {
		t.Fatal(err)
	}
}
