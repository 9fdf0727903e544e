package registry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

const operator = "ops@example.com"

// collections calls every operation on the collectors.
func collections(ctx context.Context, s *registry.Service, c cola.Caller) map[string]error {
	_, _, read := s.Collection(ctx, c)
	_, resume := s.ResumeCollection(ctx, c)
	_, labels := s.RetryFailedLabels(ctx, c)
	_, days := s.RetryIncompleteDays(ctx, c)
	return map[string]error{"Collection": read, "ResumeCollection": resume, "RetryFailedLabels": labels, "RetryIncompleteDays": days}
}

// TestOperator checks that a caller is an operator only in the dashboard, and only if the sign-in
// verified the account's address and that address is an operator's.
func TestOperator(t *testing.T) {
	w := mustWorldOf(t, 0, func(o *registry.Options) { o.Operators = []string{"Ops@Example.com", "nobody@example.com"} })
	ops, other := w.mustHolder(t, operator, cola.TierFree), w.mustHolder(t, "ann@example.com", cola.TierFree)
	as := func(c cola.Caller, verified string) cola.Caller { c.VerifiedEmail = verified; return c }
	key, err := w.store.CreateKey(t.Context(), store.Key{AccountID: ops.Account, Name: "k"}, store.KeyHash{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	onREST := as(keyCaller(ops.Account, key.ID), operator)
	inDashboard := onREST
	inDashboard.Channel = cola.ChannelDashboard
	signInOnMCP := as(ops, operator)
	signInOnMCP.Channel = cola.ChannelMCP
	for name, tt := range map[string]struct {
		caller cola.Caller
		want   cola.Code
	}{
		"operator":                       {as(ops, "OPS@example.com"), ""},
		"unverified address":             {as(ops, ""), cola.CodeNotFound},
		"another verified address":       {as(ops, "nobody@example.com"), cola.CodeNotFound},
		"another account":                {as(other, "ann@example.com"), cola.CodeNotFound},
		"another account, verified":      {as(other, operator), cola.CodeNotFound},
		"key of the operator":            {onREST, cola.CodeForbidden},
		"key of the operator, dashboard": {inDashboard, cola.CodeForbidden},
		"sign-in on another channel":     {signInOnMCP, cola.CodeForbidden},
		"ended sign-in": {cola.Caller{
			Account: ops.Account, Credential: cola.Credential{Kind: cola.CredentialSignIn, ID: 1 << 40},
			Channel: cola.ChannelDashboard, VerifiedEmail: operator,
		}, cola.CodeUnauthorized},
	} {
		for call, err := range collections(t.Context(), w.Service, tt.caller) {
			if code(err) != tt.want || tt.want == "" && err != nil {
				t.Errorf("%s: %s = %v, want code %q", name, call, err, tt.want)
			}
		}
		if a, _, err := w.Account(t.Context(), tt.caller); err == nil && a.Operator != (tt.want == "") {
			t.Errorf("%s: Account = %+v", name, a)
		}
	}
	if err := w.store.Suspend(t.Context(), ops.Account, "Test."); err != nil {
		t.Fatal(err)
	}
	for call, err := range collections(t.Context(), w.Service, as(ops, operator)) {
		if code(err) != cola.CodeAccountSuspended {
			t.Errorf("suspended: %s = %v, want account_suspended", call, err)
		}
	}
}

// TestNoOperators checks that no account is an operator if none is configured.
func TestNoOperators(t *testing.T) {
	w := mustWorld(t, 0)
	for call, err := range collections(t.Context(), w.Service, w.mustHolder(t, "ann@example.com", cola.TierPro)) {
		if code(err) != cola.CodeNotFound {
			t.Errorf("%s = %v, want not_found", call, err)
		}
	}
}

// TestCollectionBeforeIndex checks that the state of the collectors can be read before the index is
// built, which takes a while with millions of labels.
func TestCollectionBeforeIndex(t *testing.T) {
	w := mustWorld(t, 0)
	ops := w.mustHolder(t, operator, cola.TierFree)
	ops.VerifiedEmail = operator
	ledger := quota.New(w.store, quota.Options{})
	defer ledger.Close()
	starting := registry.New(registry.Options{
		Store: w.store, Ledger: ledger, PublicURL: publicURL, Now: w.now, Operators: []string{operator},
	})
	defer starting.Close()
	c, state, err := starting.Collection(t.Context(), ops)
	if err != nil || c.State != registry.CollectionNever || !state.Known() {
		t.Errorf("Collection = %+v, %v", c, err)
	}
}

// downCollectors is a store that can't read or change the state of the collectors.
type downCollectors struct{ registry.Store }

func (downCollectors) FetchStatus(context.Context) (store.FetchStatus, error) {
	return store.FetchStatus{}, fmt.Errorf("read: %w", store.ErrUnavailable)
}

func (downCollectors) UnblockSite(context.Context) error { return store.ErrUnavailable }

func (downCollectors) RetryFailedLabels(context.Context) error { return errors.New("disk is full") }

// TestCollectionOutage checks the errors during a database outage and after another failure.
func TestCollectionOutage(t *testing.T) {
	w := mustWorldOf(t, 0, func(o *registry.Options) { o.Store, o.Operators = downCollectors{o.Store}, []string{operator} })
	ops := w.mustHolder(t, operator, cola.TierFree)
	ops.VerifiedEmail = operator
	for call, err := range collections(t.Context(), w.Service, ops) {
		want := cola.CodeUnavailable
		if call == "RetryFailedLabels" {
			want = cola.CodeInternal
		}
		if code(err) != want {
			t.Errorf("%s = %v, want code %s", call, err, want)
		}
	}
}

// TestCollectionState checks the state of the collectors around the time limits.
func TestCollectionState(t *testing.T) {
	w := mustWorldOf(t, 0, func(o *registry.Options) { o.Operators = []string{operator} })
	ops := w.mustHolder(t, operator, cola.TierFree)
	ops.VerifiedEmail = operator
	check := func(desc string, want registry.CollectionState) {
		t.Helper()
		c, _, err := w.Collection(t.Context(), ops)
		if err != nil || c.State != want {
			t.Errorf("%s: state %q, %v, want %q", desc, c.State, err, want)
		}
	}
	advance := func(d time.Duration) { w.clock.Add(d.Microseconds()) }
	request := func(interval time.Duration) {
		t.Helper()
		if _, err := w.store.ReserveRequest(t.Context(), interval); err != nil {
			t.Fatal(err)
		}
	}
	check("no request", registry.CollectionNever)
	today := cola.DateOf(testNow)
	if _, err := w.store.PlanWindows(t.Context(), today, today, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	check("planned, no request", registry.CollectionNever)
	request(time.Second)
	advance(10 * time.Minute)
	check("ten minutes after a request", registry.CollectionRunning)
	advance(time.Microsecond)
	check("more than ten minutes after a request", registry.CollectionStopped)
	request(time.Hour)
	advance(3 * time.Hour)
	check("at one request an hour", registry.CollectionRunning)
	window, err := w.store.ClaimWindow(t.Context(), today, today, time.Minute)
	if err == nil {
		err = w.store.CompleteWindow(t.Context(), window, 5)
	}
	if err != nil {
		t.Fatal(err)
	}
	check("no work", registry.CollectionIdle)
	advance(23 * time.Hour)
	check("no request for a day", registry.CollectionStopped)
}
