package quota

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

var (
	key1    = cola.Credential{Kind: cola.CredentialKey, ID: 1}
	key2    = cola.Credential{Kind: cola.CredentialKey, ID: 2}
	session = cola.Credential{Kind: cola.CredentialSignIn, ID: 1}
	noon    = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
)

func request(c cola.Credential, m cola.Meter, units int) Request {
	return Request{Caller: cola.Caller{Account: 7, Credential: c, Channel: cola.ChannelREST}, Meter: m, Units: units}
}

// fromDashboard returns the request as a dashboard session sends it.
func fromDashboard(q Request) Request {
	q.Caller.Channel, q.Caller.Credential = cola.ChannelDashboard, session
	return q
}

func account(tier cola.Tier, used cola.Used, grants ...store.Grant) store.AccountState {
	return store.AccountState{
		Account: 7, Exists: true, Tier: tier, Used: used, Grants: grants,
		Valid: map[cola.Credential]bool{key1: true, session: true},
	}
}

func reason(err error) string {
	var e *cola.Error
	if !errors.As(err, &e) {
		return ""
	}
	if r, ok := e.Details["reason"].(string); ok {
		return r
	}
	return string(e.Code)
}

func TestDecide(t *testing.T) {
	type outcome struct {
		Units  int
		Reason string
	}
	list := func(n int) Request { return request(key1, cola.MeterListRecords, n) }
	detail := request(key1, cola.MeterDetailViews, 1)
	free := request(key1, cola.MeterNone, 0)
	tests := []struct {
		name     string
		state    store.AccountState
		requests []Request
		want     []outcome
		charged  store.Entry
	}{
		{
			"granted in order", account(cola.TierFree, cola.Used{}),
			[]Request{list(20), detail, free},
			[]outcome{{20, ""}, {1, ""}, {0, ""}},
			store.Entry{Account: 7, Requests: 3, Units: []store.Units{
				{Channel: "rest", Credential: key1, Meter: cola.MeterListRecords, Units: 20, Requests: 1},
				{Channel: "rest", Credential: key1, Meter: cola.MeterDetailViews, Units: 1, Requests: 1},
				{Channel: "rest", Credential: key1, Requests: 1},
			}},
		},
		{
			"page truncated to the remaining quota, then rejected", account(cola.TierFree, cola.Used{ListRecords: 9_975}),
			[]Request{list(20), list(20), list(20), list(0)},
			[]outcome{{20, ""}, {5, ""}, {0, "list_records"}, {0, ""}},
			store.Entry{Account: 7, Requests: 4, Units: []store.Units{
				{Channel: "rest", Credential: key1, Meter: cola.MeterListRecords, Units: 25, Requests: 4},
			}},
		},
		{
			"last detail view", account(cola.TierFree, cola.Used{DetailViews: 199}),
			[]Request{detail, detail},
			[]outcome{{1, ""}, {0, "detail_views"}},
			store.Entry{Account: 7, Requests: 2, Units: []store.Units{
				{Channel: "rest", Credential: key1, Meter: cola.MeterDetailViews, Units: 1, Requests: 2},
			}},
		},
		{
			"window full after ten requests", account(cola.TierFree, cola.Used{},
				store.Grant{At: noon.Add(-30 * time.Second), Requests: 9}),
			[]Request{free, free},
			[]outcome{{0, ""}, {0, "burst"}},
			store.Entry{Account: 7, Requests: 1,
				Units: []store.Units{{Channel: "rest", Credential: key1, Requests: 1}}},
		},
		{
			"dashboard pages are charged in a full window", account(cola.TierFree, cola.Used{DetailViews: 199},
				store.Grant{At: noon, Requests: 10}),
			[]Request{fromDashboard(list(20)), free, fromDashboard(detail), fromDashboard(detail)},
			[]outcome{{20, ""}, {0, "burst"}, {1, ""}, {0, "detail_views"}},
			store.Entry{Account: 7, Units: []store.Units{
				{Channel: "dashboard", Credential: session, Meter: cola.MeterListRecords, Units: 20, Requests: 1},
				{Channel: "dashboard", Credential: session, Meter: cola.MeterDetailViews, Units: 1, Requests: 2},
			}},
		},
		{
			"dashboard pages don't fill the window", account(cola.TierFree, cola.Used{},
				store.Grant{At: noon, Requests: 8}),
			[]Request{free, fromDashboard(list(1)), fromDashboard(list(1)), fromDashboard(list(1)), free, free},
			[]outcome{{0, ""}, {1, ""}, {1, ""}, {1, ""}, {0, ""}, {0, "burst"}},
			store.Entry{Account: 7, Requests: 2, Units: []store.Units{
				{Channel: "rest", Credential: key1, Requests: 2},
				{Channel: "dashboard", Credential: session, Meter: cola.MeterListRecords, Units: 3, Requests: 3},
			}},
		},
		{
			"API calls with a session count", account(cola.TierFree, cola.Used{},
				store.Grant{At: noon, Requests: 9}),
			[]Request{request(session, cola.MeterListRecords, 1), request(session, cola.MeterListRecords, 1)},
			[]outcome{{1, ""}, {0, "burst"}},
			store.Entry{Account: 7, Requests: 1, Units: []store.Units{
				{Channel: "rest", Credential: session, Meter: cola.MeterListRecords, Units: 1, Requests: 1},
			}},
		},
		{
			"revoked credential is not charged", account(cola.TierFree, cola.Used{}),
			[]Request{request(key2, cola.MeterDetailViews, 1)},
			[]outcome{{0, "unauthorized"}},
			store.Entry{Account: 7},
		},
		{
			"over the limit after a downgrade",
			account(cola.TierFree, cola.Used{DetailViews: 5_000, ListRecords: 50_000}),
			[]Request{detail, list(1)},
			[]outcome{{0, "detail_views"}, {0, "list_records"}},
			store.Entry{Account: 7, Requests: 2, Units: []store.Units{
				{Channel: "rest", Credential: key1, Meter: cola.MeterDetailViews, Requests: 1},
				{Channel: "rest", Credential: key1, Meter: cola.MeterListRecords, Requests: 1},
			}},
		},
		{"unknown account", store.AccountState{Account: 7}, []Request{free}, []outcome{{0, "unauthorized"}},
			store.Entry{Account: 7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outcomes, entry := Rules{}.decide(noon, tt.state, tt.requests)
			got := make([]outcome, len(outcomes))
			for i, o := range outcomes {
				got[i] = outcome{o.grant.Units, reason(o.err)}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.charged, entry); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecidePages checks that rows of a page that the session has already paid for are granted
// without a charge, and that nothing else is.
func TestDecidePages(t *testing.T) {
	load := func(page string, units int) Request {
		r := fromDashboard(request(session, cola.MeterListRecords, units))
		r.Page = page
		return r
	}
	one := store.PageKey{SignIn: 1, Page: "one"}
	byKey := load("one", 20)
	byKey.Caller.Credential = key1
	detail := load("one", 1)
	detail.Meter = cola.MeterDetailViews
	for name, tt := range map[string]struct {
		used, paid int
		requests   []Request
		granted    []int
		charged    []int
		pages      []store.PagePayment
	}{
		"first load":            {0, 0, []Request{load("one", 20)}, []int{20}, []int{20}, []store.PagePayment{{PageKey: one, Units: 20}}},
		"reload":                {0, 20, []Request{load("one", 20)}, []int{20}, []int{0}, []store.PagePayment{{PageKey: one, Reloaded: true}}},
		"reload, quota used up": {10_000, 20, []Request{load("one", 20)}, []int{20}, []int{0}, []store.PagePayment{{PageKey: one, Reloaded: true}}},
		"twice in a batch":      {0, 0, []Request{load("one", 20), load("one", 20)}, []int{20, 20}, []int{20, 0}, []store.PagePayment{{PageKey: one, Units: 20}}},
		"more rows than paid":   {0, 7, []Request{load("one", 20)}, []int{20}, []int{13}, []store.PagePayment{{PageKey: one, Units: 13, Reloaded: true}}},
		"truncated again":       {10_000, 7, []Request{load("one", 20)}, []int{7}, []int{0}, []store.PagePayment{{PageKey: one, Reloaded: true}}},
		"truncated later":       {9_995, 7, []Request{load("one", 20)}, []int{12}, []int{5}, []store.PagePayment{{PageKey: one, Units: 5, Reloaded: true}}},
		"fewer rows than paid":  {0, 20, []Request{load("one", 5)}, []int{5}, []int{0}, []store.PagePayment{{PageKey: one, Reloaded: true}}},
		"other page":            {0, 20, []Request{load("two", 5)}, []int{5}, []int{5}, []store.PagePayment{{PageKey: store.PageKey{SignIn: 1, Page: "two"}, Units: 5}}},
		"used up":               {10_000, 0, []Request{load("one", 5)}, []int{0}, []int{0}, nil},
		"no page":               {0, 20, []Request{load("", 5)}, []int{5}, []int{5}, nil},
		"a key":                 {0, 20, []Request{byKey}, []int{20}, []int{20}, nil},
		"a detail view":         {0, 20, []Request{detail}, []int{1}, []int{1}, nil},
		"no rows":               {0, 0, []Request{load("one", 0)}, []int{0}, []int{0}, nil},
	} {
		state := account(cola.TierFree, cola.Used{ListRecords: tt.used})
		if tt.paid > 0 {
			state.Paid = map[store.PageKey]int{one: tt.paid}
		}
		outcomes, entry := Rules{}.decide(noon, state, tt.requests)
		var granted, charged []int
		for _, o := range outcomes {
			granted, charged = append(granted, o.grant.Units), append(charged, o.grant.State.Charged)
		}
		if diff := cmp.Diff([][]int{tt.granted, tt.charged}, [][]int{granted, charged}); diff != "" {
			t.Errorf("%s: granted and charged (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.pages, entry.Pages); diff != "" {
			t.Errorf("%s: pages (-want +got):\n%s", name, diff)
		}
		if len(entry.Units) != 1 || entry.Units[0].Requests != len(tt.requests) || entry.Check() != nil {
			t.Errorf("%s: entry = %+v", name, entry)
		}
		if len(state.Paid) > 1 || state.Paid[one] != tt.paid {
			t.Errorf("%s: decide changed the state: %v", name, state.Paid)
		}
	}
}

func TestRejectionDetails(t *testing.T) {
	rules := Rules{UpgradeURL: "https://registry.example/upgrade"}
	full := account(cola.TierFree, cola.Used{DetailViews: 200},
		store.Grant{At: noon.Add(-50 * time.Second), Requests: 4},
		store.Grant{At: noon.Add(-20 * time.Second), Requests: 6})
	outcomes, _ := rules.decide(noon, full, []Request{request(key1, cola.MeterNone, 0)})
	var burst *cola.Error
	if !errors.As(outcomes[0].err, &burst) {
		t.Fatalf("error = %v, want a rate-limit error", outcomes[0].err)
	}
	if burst.RetryAfter != 10*time.Second || burst.UpgradeURL != "" {
		t.Errorf("burst: RetryAfter = %v, UpgradeURL = %q; want 10s and none", burst.RetryAfter, burst.UpgradeURL)
	}

	full.Grants = nil
	outcomes, _ = rules.decide(noon, full, []Request{request(key1, cola.MeterDetailViews, 1)})
	var used *cola.Error
	if !errors.As(outcomes[0].err, &used) {
		t.Fatalf("error = %v, want a quota error", outcomes[0].err)
	}
	if used.RetryAfter != 0 || used.UpgradeURL != rules.UpgradeURL {
		t.Errorf("quota: RetryAfter = %v, UpgradeURL = %q; want none and %q", used.RetryAfter, used.UpgradeURL,
			rules.UpgradeURL)
	}
	if got := used.Details["reset"]; got != "2026-12-01T00:00:00Z" {
		t.Errorf("reset = %v, want the first of the next month", got)
	}
}

// TestQuotaErrorLargerPlan checks that quota errors mention a larger plan, and contain the upgrade
// URL, only if a larger plan exists.
func TestQuotaErrorLargerPlan(t *testing.T) {
	rules := Rules{UpgradeURL: "https://registry.example/upgrade"}
	for i, tier := range cola.Tiers() {
		limits := tier.Limits()
		spent := account(tier, cola.Used{DetailViews: limits.DetailViews, ListRecords: limits.ListRecords})
		outcomes, _ := rules.decide(noon, spent,
			[]Request{request(key1, cola.MeterDetailViews, 1), request(key1, cola.MeterListRecords, 1)})
		for _, o := range outcomes {
			var rejection *cola.Error
			if !errors.As(o.err, &rejection) {
				t.Fatalf("tier %s: error = %v, want a quota error", tier, o.err)
			}
			larger := i < len(cola.Tiers())-1
			if (rejection.UpgradeURL == rules.UpgradeURL) != larger || (rejection.UpgradeURL == "") == larger {
				t.Errorf("tier %s: upgrade URL = %q, want it set: %v", tier, rejection.UpgradeURL, larger)
			}
			if strings.Contains(rejection.Message, "larger plan") != larger ||
				!strings.HasSuffix(rejection.Message, ".") {
				t.Errorf("tier %s: message = %q, want larger plan mentioned: %v", tier, rejection.Message, larger)
			}
		}
	}
}

// TestExactRetryAfter checks that a request succeeds after the advised wait and not earlier, for
// any window.
func TestExactRetryAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tier := rapid.SampledFrom(cola.Tiers()).Draw(t, "tier")
		limit, state := tier.Limits().PerMinute, account(tier, cola.Used{})
		at := noon.Add(-Window)
		for n := 0; n < limit; {
			gap := rapid.Int64Range(1, Window.Microseconds()/int64(limit)).Draw(t, "gap µs")
			at = at.Add(time.Duration(gap) * time.Microsecond)
			g := store.Grant{At: at, Requests: rapid.IntRange(1, 5).Draw(t, "requests")}
			state.Grants, n = append(state.Grants, g), n+g.Requests
		}
		one := []Request{request(key1, cola.MeterNone, 0)}
		outcomes, _ := Rules{}.decide(noon, state, one)
		var e *cola.Error
		if !errors.As(outcomes[0].err, &e) || e.RetryAfter <= 0 {
			t.Fatalf("window %v: error = %v, want a rate-limit error", state.Grants, outcomes[0].err)
		}
		try := func(now time.Time) error {
			laterState := state
			laterState.Grants = nil
			for _, g := range state.Grants {
				if g.At.After(now.Add(-Window)) {
					laterState.Grants = append(laterState.Grants, g)
				}
			}
			o, _ := Rules{}.decide(now, laterState, one)
			return o[0].err
		}
		if err := try(noon.Add(e.RetryAfter)); err != nil {
			t.Fatalf("error after waiting %v = %v, want nil", e.RetryAfter, err)
		}
		if try(noon.Add(e.RetryAfter-time.Microsecond)) == nil {
			t.Fatalf("a request was granted %v before RetryAfter elapsed", time.Microsecond)
		}
	})
}

// TestPeek checks that a peek ignores a full window, is not counted, and needs a valid credential.
func TestPeek(t *testing.T) {
	full := account(cola.TierFree, cola.Used{DetailViews: 3}, store.Grant{At: noon, Requests: 10})
	peek := request(key1, cola.MeterNone, 0)
	peek.Peek = true
	revoked := peek
	revoked.Caller.Credential = key2
	outcomes, entry := Rules{}.decide(noon, full, []Request{peek, request(key1, cola.MeterNone, 0), revoked, peek})
	for i, want := range []string{"", "burst", "unauthorized", ""} {
		if got := reason(outcomes[i].err); got != want {
			t.Errorf("request %d: reason = %q, want %q", i, got, want)
		}
	}
	if got := outcomes[3].grant.State; got.Used.DetailViews != 3 || got.Charged != 0 {
		t.Errorf("state of a peek = %+v, want 3 detail views used and no charge", got)
	}
	if diff := cmp.Diff(store.Entry{Account: 7}, entry); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

// TestSuspended checks that all requests from a suspended account, including peeks, fail with the
// reason and are not counted. A caller with an invalid credential does not learn of the suspension.
func TestSuspended(t *testing.T) {
	state := account(cola.TierStarter, cola.Used{DetailViews: 3}, store.Grant{At: noon, Requests: 60})
	state.Suspended = "The invoice is not paid."
	peek := request(key1, cola.MeterNone, 0)
	peek.Peek = true
	outcomes, entry := Rules{}.decide(noon, state, []Request{
		request(key1, cola.MeterListRecords, 5), request(key1, cola.MeterNone, 0), peek,
		request(key2, cola.MeterNone, 0),
	})
	for i, o := range outcomes[:3] {
		var rejection *cola.Error
		if !errors.As(o.err, &rejection) || rejection.Code != cola.CodeAccountSuspended ||
			rejection.Details["reason"] != state.Suspended || !strings.Contains(rejection.Message, state.Suspended) {
			t.Errorf("request %d: error = %v, want account_suspended with the reason", i, o.err)
		}
		if got := o.grant; got.Units != 0 || !got.State.Known() || got.State.Used != state.Used ||
			got.State.Charged != 0 {
			t.Errorf("request %d: grant = %+v, want no units and the unchanged state", i, got)
		}
	}
	if last := outcomes[3]; reason(last.err) != string(cola.CodeUnauthorized) || last.grant.State.Known() {
		t.Errorf("invalid credential: outcome = %+v, want unauthorized without a state", last)
	}
	if diff := cmp.Diff(store.Entry{Account: 7}, entry); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
}

// TestDeletionRequested checks that requests from an account that will be deleted fail, and that
// the error has the deletion time.
func TestDeletionRequested(t *testing.T) {
	state := account(cola.TierStarter, cola.Used{})
	state.Suspended, state.DeletesAt = "It will be deleted.", noon.Add(time.Hour)
	outcomes, entry := Rules{}.decide(noon, state, []Request{request(key1, cola.MeterListRecords, 5)})
	var rejection *cola.Error
	if !errors.As(outcomes[0].err, &rejection) || !cola.IsDeletionRequested(rejection) ||
		rejection.Details[cola.DetailDeletesAt] != state.DeletesAt.Format(time.RFC3339) || rejection.Details["reason"] == nil {
		t.Errorf("error = %#v, want account_suspended with the deletion time", outcomes[0].err)
	}
	if diff := cmp.Diff(store.Entry{Account: 7}, entry); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	if cola.IsDeletionRequested(suspended(store.AccountState{Suspended: "Unpaid."})) || cola.IsDeletionRequested(nil) {
		t.Error("IsDeletionRequested = true for another error")
	}
}

// TestSuspensionMessage checks that the reason is followed by exactly one punctuation mark.
func TestSuspensionMessage(t *testing.T) {
	for reason, want := range map[string]string{
		"unpaid":       ": unpaid. ",
		"Pay up!":      ": Pay up! ",
		"Not paid yet": ": Not paid yet. ",
	} {
		if got := suspended(store.AccountState{Suspended: reason}).Error(); !strings.Contains(got, want) {
			t.Errorf("suspended(%q) = %q, want it to contain %q", reason, got, want)
		}
	}
}

// TestKeyNetworks checks that a request from outside its key's networks is rejected without a
// state, is not counted, and does not count as a use of the key.
func TestKeyNetworks(t *testing.T) {
	var networks cola.Networks
	networks.SetString("203.0.113.0/24,2001:db8::1")
	send := func(client string, peek bool) (outcome, store.Entry, bool) {
		state := account(cola.TierFree, cola.Used{})
		state.Suspended = map[bool]string{true: "Unpaid."}[client == "suspended"]
		state.Keys = map[cola.Credential]store.KeyAccess{key1: {Networks: networks}}
		q := request(key1, cola.MeterDetailViews, 1)
		q.Peek = peek
		q.Caller.Client, _ = netip.ParseAddr(client)
		outcomes, entry := Rules{}.decide(noon, state, []Request{q})
		return outcomes[0], entry, state.Valid[key1]
	}
	for _, peek := range []bool{false, true} {
		for _, client := range []string{"203.0.113.9", "::ffff:203.0.113.9", "2001:db8::1"} {
			if o, _, used := send(client, peek); o.err != nil || !used {
				t.Errorf("%s: error = %v, used = %t, want nil, true", client, o.err, used)
			}
		}
		for _, client := range []string{"203.0.114.1", "2001:db8::2", "::1", "", "suspended"} {
			o, entry, used := send(client, peek)
			if got := reason(o.err); got != cola.NetworkNotAllowed || cola.CodeOf(o.err) != cola.CodeForbidden || o.grant.State.Known() {
				t.Errorf("%s: outcome = %+v, want %s without a state", client, o, cola.NetworkNotAllowed)
			}
			if entry.Requests != 0 || len(entry.Units) != 0 || used {
				t.Errorf("%s: entry = %+v, used = %t, want no charge and no use", client, entry, used)
			}
		}
	}
}

// TestMissingScope checks that the required scope must be among the caller's scopes or, for an API
// key, the stored key's, and that the grant has those scopes. A request without the required scope
// counts only toward the rate limit.
func TestMissingScope(t *testing.T) {
	link := cola.Credential{Kind: cola.CredentialLink, ID: 1}
	for _, tt := range []struct {
		name       string
		credential cola.Credential
		scopes     []cola.Scope // the caller's scopes
		key        []cola.Scope // the stored key's scopes
		granted    bool
	}{
		{"key", key1, cola.Scopes(), cola.Scopes(), true},
		{"read-only key", key1, cola.Scopes(), nil, false},
		{"app", link, cola.Scopes(), nil, true},
		{"read-only app", link, nil, nil, false},
	} {
		state := account(cola.TierFree, cola.Used{}, store.Grant{At: noon, Requests: 8})
		state.Valid[link] = true
		state.Keys = map[cola.Credential]store.KeyAccess{key1: {Scopes: tt.key}}
		read := request(tt.credential, cola.MeterListRecords, 1)
		read.Caller.Scopes = tt.scopes
		write, peek := read, read
		write.Meter, write.Units, write.Caller.Needs = cola.MeterNone, 0, cola.ScopeWriteSavedSearches
		peek.Caller.Needs, peek.Peek = cola.ScopeWriteSavedSearches, true
		outcomes, entry := Rules{}.decide(noon, state, []Request{read, write, peek, write})
		want := []string{"", "insufficient_scope", "insufficient_scope", "burst"}
		if tt.granted {
			want = []string{"", "", "", "burst"}
		}
		for i, o := range outcomes {
			if got := reason(o.err); got != want[i] || !o.grant.State.Known() {
				t.Errorf("%s: request %d: outcome = %+v, want %q", tt.name, i, o, want[i])
			}
			if slices.Contains(o.grant.Scopes, cola.ScopeWriteSavedSearches) != tt.granted {
				t.Errorf("%s: request %d: scopes %q", tt.name, i, o.grant.Scopes)
			}
		}
		if entry.Requests != 2 {
			t.Errorf("%s: %d requests counted, want 2", tt.name, entry.Requests)
		}
	}
}
