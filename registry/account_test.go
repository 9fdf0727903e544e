package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// mustHolder creates an account and signs its holder in with a browser.
func (w *world) mustHolder(t testing.TB, email string, tier cola.Tier) cola.Caller {
	t.Helper()
	account, err := w.store.CreateAccount(t.Context(), email, tier)
	if err != nil {
		t.Fatal(err)
	}
	return w.mustSignIn(t, account.ID, "Firefox")
}

// mustSignIn signs an account holder in with a browser.
func (w *world) mustSignIn(t testing.TB, account cola.AccountID, browser string) cola.Caller {
	t.Helper()
	s, err := w.store.CreateSignIn(t.Context(), store.SignIn{Account: account, Via: "https://issuer.example", Browser: browser, ExpiresAt: w.now().AddDate(0, 0, 14)})
	if err != nil {
		t.Fatal(err)
	}
	return cola.Caller{
		Account: account, Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: s.ID}, Channel: cola.ChannelDashboard, Scopes: cola.Scopes(),
	}
}

// mustConnect connects an app to an account and returns the app's ID and its caller.
func (w *world) mustConnect(t testing.TB, account cola.AccountID, app string) (int64, cola.Caller) {
	t.Helper()
	created, err := w.store.EnsureApp(t.Context(), store.App{Issuer: "https://issuer.example", ClientID: "client-" + app, Name: app, Scopes: cola.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.store.Connect(t.Context(), account, created.ID, cola.Scopes())
	if err != nil {
		t.Fatal(err)
	}
	return created.ID, cola.Caller{
		Account: account, Credential: cola.Credential{Kind: cola.CredentialLink, ID: link.ID}, Channel: cola.ChannelMCP, Scopes: cola.Scopes(),
	}
}

// keyCaller returns a caller that authenticates with an API key.
func keyCaller(account cola.AccountID, id int64) cola.Caller {
	return cola.Caller{Account: account, Credential: cola.Credential{Kind: cola.CredentialKey, ID: id}, Channel: cola.ChannelREST, Scopes: cola.Scopes()}
}

// target identifies the key, connection, sign-in and identity that account management calls act on.
type target struct {
	key, link, signIn int64
	identity          string // subject
}

// managing calls account management methods and returns their results.
func managing(ctx context.Context, s *registry.Service, c cola.Caller, on target) map[string]outcome {
	result := map[string]outcome{}
	note := func(name string, state cola.QuotaState, err error) { result[name] = outcome{state, err} }
	_, state, err := s.Account(ctx, c)
	note("account", state, err)
	_, state, err = s.Keys(ctx, c)
	note("keys", state, err)
	_, state, err = s.CreateKey(ctx, c, registry.KeyParams{Name: "made"})
	note("create key", state, err)
	_, state, err = s.RotateKey(ctx, c, on.key, registry.KeyRotationParams{Overlap: "1 day"})
	note("rotate key", state, err)
	state, err = s.RevokeKey(ctx, c, on.key)
	note("revoke key", state, err)
	_, state, err = s.Connections(ctx, c)
	note("connections", state, err)
	state, err = s.RevokeConnection(ctx, c, on.link)
	note("revoke connection", state, err)
	state, err = s.RestoreConnection(ctx, c, on.link)
	note("restore connection", state, err)
	_, state, err = s.SignIns(ctx, c)
	note("sign-ins", state, err)
	_, state, err = s.UsageReport(ctx, c, registry.Last30Days)
	note("usage report", state, err)
	_, state, err = s.LatestMatches(ctx, c, 5)
	note("latest matches", state, err)
	_, state, err = s.Identities(ctx, c)
	note("identities", state, err)
	state, err = s.ExportAccount(ctx, c, io.Discard)
	note("export", state, err)
	state, err = s.EndSignIn(ctx, c, on.signIn)
	note("end sign-in", state, err)
	_, state, err = s.EndOtherSignIns(ctx, c)
	note("end other sign-ins", state, err)
	state, err = s.RemoveIdentity(ctx, c, registry.Identity{Issuer: "https://issuer.example", Subject: on.identity})
	note("remove identity", state, err)
	return result
}

type outcome struct {
	state cola.QuotaState
	err   error
}

// managed creates an account with a key, a connection and two signed-in browsers.
func managed(t *testing.T, w *world, email string) (holder, second cola.Caller, on target) {
	t.Helper()
	holder = w.mustHolder(t, email, cola.TierPro)
	second = w.mustSignIn(t, holder.Account, "Chromium")
	created, _, err := w.CreateKey(t.Context(), holder, registry.KeyParams{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	_, link := w.mustConnect(t, holder.Account, "Assistant")
	if err := w.store.AddIdentity(t.Context(), holder.Account, store.Identity{Issuer: "https://issuer.example", Subject: email}); err != nil {
		t.Fatal(err)
	}
	return holder, second, target{key: created.ID, link: link.Credential.ID, signIn: second.Credential.ID, identity: email}
}

// checkIntact checks that an account has one key, one connection and two sign-ins, all active.
func (w *world) checkIntact(t *testing.T, holder cola.Caller, why string) {
	t.Helper()
	keys, _, err := w.Keys(t.Context(), holder)
	if err != nil || len(keys) != 1 || !keys[0].IsActive(w.now()) {
		t.Errorf("%s: keys = %+v, %v, want one key", why, keys, err)
	}
	links, _, err := w.Connections(t.Context(), holder)
	if err != nil || len(links) != 1 || !links[0].IsActive() {
		t.Errorf("%s: connections = %+v, %v, want one connection", why, links, err)
	}
	signIns, _, err := w.SignIns(t.Context(), holder)
	if err != nil || len(signIns) != 2 {
		t.Errorf("%s: sign-ins = %+v, %v, want two", why, signIns, err)
	}
}

// TestManagementChannel checks that API keys and apps with any scopes cannot create keys or end
// access, and that the error says where to do so.
func TestManagementChannel(t *testing.T) {
	w := mustWorld(t, 0)
	holder, _, on := managed(t, w, "holder@example.com")
	via := func(c cola.Caller, channel cola.Channel) cola.Caller { c.Channel = channel; return c }
	_, link := w.mustConnect(t, holder.Account, "Assistant")
	for name, c := range map[string]cola.Caller{
		"a key":                      keyCaller(holder.Account, on.key),
		"a key used over MCP":        via(keyCaller(holder.Account, on.key), cola.ChannelMCP),
		"a key posing as a browser":  via(keyCaller(holder.Account, on.key), cola.ChannelDashboard),
		"an app":                     link,
		"an app posing as a browser": via(link, cola.ChannelDashboard),
		"a sign-in used over REST":   via(holder, cola.ChannelREST),
		"a sign-in used over MCP":    via(holder, cola.ChannelMCP),
	} {
		for call, result := range managing(t.Context(), w.Service, c, on) {
			if code(result.err) != cola.CodeForbidden || !strings.Contains(result.err.Error(), "dashboard") || !result.state.Known() {
				t.Errorf("%s: %s = %v, %+v, want forbidden", name, call, result.err, result.state)
			}
		}
	}
	w.checkIntact(t, holder, "afterward")
}

// TestManagementAccess checks that a caller who is signed out, suspended, or using another
// account's sign-in cannot change anything.
func TestManagementAccess(t *testing.T) {
	w := mustWorld(t, 0)
	holder, second, on := managed(t, w, "holder@example.com")
	other := w.mustHolder(t, "other@example.com", cola.TierFree)
	foreign := other
	foreign.Account = holder.Account
	ended := w.mustSignIn(t, holder.Account, "Lynx")
	if _, err := w.EndSignIn(t.Context(), ended, ended.Credential.ID); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]cola.Caller{"signed out": ended, "another account's sign-in": foreign} {
		for call, result := range managing(t.Context(), w.Service, c, on) {
			if code(result.err) != cola.CodeUnauthorized {
				t.Errorf("%s: %s = %v, want unauthorized", name, call, result.err)
			}
		}
	}
	if err := w.store.Suspend(t.Context(), holder.Account, "Invoices are unpaid"); err != nil {
		t.Fatal(err)
	}
	for call, result := range managing(t.Context(), w.Service, second, on) {
		if code(result.err) != cola.CodeAccountSuspended || !strings.Contains(result.err.Error(), "Invoices are unpaid.") || !result.state.Known() {
			t.Errorf("suspended: %s = %v, %+v, want account_suspended with the reason", call, result.err, result.state)
		}
	}
	if err := w.store.Restore(t.Context(), holder.Account); err != nil {
		t.Fatal(err)
	}
	w.checkIntact(t, holder, "afterward")
	w.advance(14 * 24 * time.Hour)
	if _, _, err := w.Keys(t.Context(), holder); code(err) != cola.CodeUnauthorized {
		t.Errorf("after two weeks: error = %v, want unauthorized", err)
	}
}

// TestForeignIDs checks that the IDs of another account's records return "not found" and leave the
// records unchanged.
func TestForeignIDs(t *testing.T) {
	w := mustWorld(t, 0)
	victim, _, on := managed(t, w, "victim@example.com")
	thief := w.mustHolder(t, "thief@example.com", cola.TierPro)
	missing := target{key: 1 << 40, link: -1, signIn: 0}
	for name, on := range map[string]target{"another account": on, "no account": missing} {
		result := managing(t.Context(), w.Service, thief, on)
		for _, call := range []string{"rotate key", "revoke key", "revoke connection", "restore connection", "end sign-in", "remove identity"} {
			if code(result[call].err) != cola.CodeNotFound || !result[call].state.Known() {
				t.Errorf("%s of %s = %v, %+v, want not_found", call, name, result[call].err, result[call].state)
			}
		}
	}
	if n, _, err := w.EndOtherSignIns(t.Context(), thief); n != 0 || err != nil {
		t.Errorf("EndOtherSignIns = %d, %v, want 0", n, err)
	}
	w.checkIntact(t, victim, "afterward")
}

// TestManagementIsFree checks that account management works when the rate limit and quota are
// exhausted, and before the index is built.
func TestManagementIsFree(t *testing.T) {
	w := mustWorld(t, 0)
	holder, _, on := managed(t, w, "holder@example.com")
	caller := keyCaller(holder.Account, on.key)
	for range cola.TierPro.Limits().PerMinute {
		if _, err := w.Admit(t.Context(), caller); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Admit(t.Context(), caller); code(err) != cola.CodeQuotaExceeded {
		t.Fatalf("request beyond the limit: error = %v, want quota_exceeded", err)
	}
	ledger := quota.New(w.store, quota.Options{})
	defer ledger.Close()
	starting := registry.New(registry.Options{Store: w.store, Ledger: ledger, PublicURL: publicURL, Now: w.now})
	defer starting.Close()
	for call, result := range managing(t.Context(), starting, holder, on) {
		if result.err != nil || !result.state.Known() || result.state.Charged != 0 {
			t.Errorf("%s = %v, %+v, want success without a charge", call, result.err, result.state)
		}
	}
	days, err := w.store.DailyUsage(t.Context(), holder.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if err != nil || len(days) != 1 || days[0].Requests != cola.TierPro.Limits().PerMinute || days[0].Credential.Kind != cola.CredentialKey {
		t.Errorf("the day's usage = %+v, %v, want only the key's requests", days, err)
	}
}

// failing is a store whose account management methods fail with an error chosen by the test.
type failing struct {
	registry.Store
	err atomic.Pointer[error]
}

func (f *failing) fault() error {
	if err := f.err.Load(); err != nil {
		return fmt.Errorf("disk: %w", *err)
	}
	return nil
}

func (f *failing) Account(ctx context.Context, id cola.AccountID) (store.Account, error) {
	return unlessFailing(f, func() (store.Account, error) { return f.Store.Account(ctx, id) })
}

func (f *failing) Keys(ctx context.Context, id cola.AccountID) ([]store.Key, error) {
	return unlessFailing(f, func() ([]store.Key, error) { return f.Store.Keys(ctx, id) })
}

func (f *failing) IdentitiesOf(ctx context.Context, id cola.AccountID) ([]store.LinkedIdentity, error) {
	return unlessFailing(f, func() ([]store.LinkedIdentity, error) { return f.Store.IdentitiesOf(ctx, id) })
}

func (f *failing) RemoveIdentity(context.Context, cola.AccountID, store.Identity, int64) error {
	return f.fault()
}

func (f *failing) CreateKey(ctx context.Context, k store.Key, hash store.KeyHash, maxKeys int) (store.Key, error) {
	return unlessFailing(f, func() (store.Key, error) { return f.Store.CreateKey(ctx, k, hash, maxKeys) })
}

func (f *failing) RevokeKey(context.Context, cola.AccountID, int64) error { return f.fault() }

func (f *failing) Links(ctx context.Context, id cola.AccountID) ([]store.Link, error) {
	return unlessFailing(f, func() ([]store.Link, error) { return f.Store.Links(ctx, id) })
}

func (f *failing) RevokeLink(context.Context, cola.AccountID, int64) error { return f.fault() }

func (f *failing) SignIns(ctx context.Context, id cola.AccountID) ([]store.SignIn, error) {
	return unlessFailing(f, func() ([]store.SignIn, error) { return f.Store.SignIns(ctx, id) })
}

func (f *failing) EndSignIn(context.Context, cola.AccountID, int64) error { return f.fault() }

func (f *failing) EndOtherSignIns(context.Context, cola.AccountID, int64) (int, error) {
	return 0, f.fault()
}

func (f *failing) MonthlyUsage(ctx context.Context, id cola.AccountID, first, last cola.Period) ([]store.MonthUsage, error) {
	return unlessFailing(f, func() ([]store.MonthUsage, error) { return f.Store.MonthlyUsage(ctx, id, first, last) })
}

func (f *failing) LatestMatches(ctx context.Context, id cola.AccountID, limit int) ([]store.MatchedRun, error) {
	return unlessFailing(f, func() ([]store.MatchedRun, error) { return f.Store.LatestMatches(ctx, id, limit) })
}

func unlessFailing[T any](f *failing, work func() (T, error)) (T, error) {
	if err := f.fault(); err != nil {
		var none T
		return none, err
	}
	return work()
}

// TestManagementOutage checks that an unreachable database is reported as such, without
// claiming that the change was not made, and that other faults are internal errors.
func TestManagementOutage(t *testing.T) {
	bad := &failing{}
	w := mustWorldOf(t, 0, func(o *registry.Options) { bad.Store, o.Store = o.Store, bad })
	holder, _, on := managed(t, w, "holder@example.com")
	messages := golden.Load(t, "outcome_unknown")
	unavailable, unexpected := store.ErrUnavailable, errors.New("a column is gone")
	bad.err.Store(&unavailable)
	for call, result := range managing(t.Context(), w.Service, holder, on) {
		if code(result.err) != cola.CodeUnavailable || !result.state.Known() {
			t.Errorf("%s during an outage = %v, want unavailable", call, result.err)
		}
		messages.Check(t, call, fmt.Sprint(result.err))
	}
	bad.err.Store(&unexpected)
	for call, result := range managing(t.Context(), w.Service, holder, on) {
		if code(result.err) != cola.CodeInternal || !errors.Is(result.err, unexpected) {
			t.Errorf("%s with an unexpected error = %v, want internal_error wrapping it", call, result.err)
		}
	}
	bad.err.Store(nil)
	w.checkIntact(t, holder, "afterward")
}

// TestAccount checks the account view, which must not show an identity name as an email address.
func TestAccount(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "Holder@example.com", cola.TierStarter)
	if err := w.store.SetActiveLimit(t.Context(), holder.Account, 3); err != nil {
		t.Fatal(err)
	}
	got, state, err := w.Account(t.Context(), holder)
	want := registry.Account{Email: "Holder@example.com", Tier: cola.TierStarter, CreatedAt: testNow, ActiveLimit: 3, QuotaEmails: true}
	if err != nil || got != want || state.Tier != cola.TierStarter {
		t.Errorf("Account = %+v, %+v, %v, want %+v", got, state, err, want)
	}
	nameless, err := w.store.AccountOf(t.Context(), store.Identity{Issuer: "https://issuer.example", Subject: "u1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err = w.Account(t.Context(), w.mustSignIn(t, nameless.ID, "Firefox"))
	if err != nil || got.Email != "" || got.Tier != cola.TierFree {
		t.Errorf("without an email address: Account = %+v, %v, want no address", got, err)
	}
}

// TestSignIns checks that account holders see their signed-in browsers, with the current one
// marked, and can sign out any of them.
func TestSignIns(t *testing.T) {
	w := mustWorld(t, 0)
	first := w.mustHolder(t, "browsers@example.com", cola.TierFree)
	w.advance(time.Hour)
	second := w.mustSignIn(t, first.Account, "<b>Chromium</b>")
	got, state, err := w.SignIns(t.Context(), first)
	want := []registry.SignIn{
		{ID: second.Credential.ID, Via: "https://issuer.example", Browser: "<b>Chromium</b>", CreatedAt: w.now(), ExpiresAt: w.now().AddDate(0, 0, 14)},
		{ID: first.Credential.ID, Via: "https://issuer.example", Browser: "Firefox", CreatedAt: testNow, ExpiresAt: testNow.AddDate(0, 0, 14), Current: true},
	}
	for i := range got {
		got[i].LastUsedAt = time.Time{}
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !state.Known() {
		t.Fatalf("SignIns: %v (-want +got):\n%s", err, diff)
	}
	for range 2 {
		if _, err := w.EndSignIn(t.Context(), first, second.Credential.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Account(t.Context(), second); code(err) != cola.CodeUnauthorized {
		t.Errorf("ended sign-in: error = %v, want unauthorized", err)
	}
	if got, _, err = w.SignIns(t.Context(), first); err != nil || len(got) != 1 || got[0].ID != first.Credential.ID {
		t.Errorf("SignIns = %+v, %v, want only the first", got, err)
	}
	if _, err := w.EndSignIn(t.Context(), first, first.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Account(t.Context(), first); code(err) != cola.CodeUnauthorized {
		t.Errorf("after sign-out: error = %v, want unauthorized", err)
	}
}

// TestEndOtherSignIns checks that the requesting browser and other accounts' browsers stay signed
// in.
func TestEndOtherSignIns(t *testing.T) {
	w := mustWorld(t, 0)
	holder, other := w.mustHolder(t, "others@example.com", cola.TierFree), w.mustHolder(t, "other@example.com", cola.TierFree)
	for _, browser := range []string{"a", "b", "c"} {
		w.mustSignIn(t, holder.Account, browser)
	}
	for _, want := range []int{3, 0} {
		if n, state, err := w.EndOtherSignIns(t.Context(), holder); n != want || err != nil || !state.Known() {
			t.Errorf("EndOtherSignIns = %d, %v, want %d", n, err, want)
		}
	}
	for _, c := range []cola.Caller{holder, other} {
		if got, _, err := w.SignIns(t.Context(), c); err != nil || len(got) != 1 || !got[0].Current {
			t.Errorf("SignIns = %+v, %v, want only the current one", got, err)
		}
	}
}
