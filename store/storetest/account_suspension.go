package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSuspension(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a suspended account comes back", suspendedComesBack},
		{"the ledger tells that an account is suspended", ledgerTellsSuspension},
		{"searches of a suspended account do not run, and lose nothing", suspendedSearchesPause},
		{"a search that is claimed when its account is suspended is let go", claimedIsLetGo},
		{"what is done to searches of a suspended account keeps them paused", suspendedSearchesChange},
		{"searches above the limit are paused, the last made first", downgradedSearchesPause},
		{"a limit is kept when a search is created or resumed", limitOfAccountIsKept},
		{"a search is paused for the gravest reason", gravestReason},
		{"what somebody asks for outlasts changes", askedOutlastsChanges},
		{"searches are settled whatever happens at once", settledAtOnce},
	})
}

func suspendedComesBack(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	suspended := epoch.Add(time.Hour)
	c.set(suspended.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	check := func(what string, reason string, want store.Account) {
		t.Helper()
		mustHaveAccounts(t, st, want, b)
		found, err := st.AccountByEmail(t.Context(), "a@example.com")
		same(t, what, want, must(t, found, err))
		same(t, what+": reason", reason, want.Suspended())
		same(t, what+", as its identity finds it", want, mustAccountOf(t, st, anIssuer, "1", "a@example.com"))
	}
	check("before", "", a)
	for _, because := range []string{"Unpaid since May. \"ünïcode\" 100%_", "", "Mail bounces."} { // suspending again changes the reason, not the time
		mustDo(t, st.Suspend(t.Context(), a.ID, because))
		a.SuspendedAt, a.SuspendedReason = suspended, because
		reason := because
		if because == "" {
			reason = "No reason was given."
		}
		check(because, reason, a)
		c.advance(time.Hour)
	}
	a.SuspendedAt, a.SuspendedReason = time.Time{}, ""
	for range 2 {
		mustDo(t, st.Restore(t.Context(), a.ID))
		check("restored", "", a)
	}
	a.ActiveLimit = 3
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, a.ActiveLimit))
	check("limited", "", a)
	for method, err := range map[string]error{
		"Suspend": st.Suspend(t.Context(), b.ID+100, "x"), "Restore": st.Restore(t.Context(), b.ID+100), "SetActiveLimit": st.SetActiveLimit(t.Context(), b.ID+100, 1),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of nobody: %v, want ErrNotFound", method, err)
		}
	}
	for _, because := range []string{"\x00", "\xff"} {
		if err := st.Suspend(t.Context(), a.ID, because); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("suspended because of %q: %v, want ErrMalformed", because, err)
		}
	}
	check("in the end", "", a)
}

func ledgerTellsSuspension(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	key := mustKey(t, st, a.ID, 1)
	for _, k := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { return st.Suspend(t.Context(), a.ID, "Unpaid.") }, "Unpaid."},
		{func() error { return st.Suspend(t.Context(), a.ID, "") }, "No reason was given."},
		{func() error { return st.Restore(t.Context(), a.ID) }, ""},
	} {
		mustDo(t, k.do())
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{a.ID, b.ID}, Credentials: []cola.Credential{keyCredential(key.ID)}}
		err := st.Settle(t.Context(), batch, func(_ time.Time, states []store.AccountState) []store.Entry {
			same(t, "suspended", []string{k.want, ""}, []string{states[0].Suspended, states[1].Suspended})
			if !states[0].Valid[keyCredential(key.ID)] || !states[0].Exists { // the key still belongs to the account
				t.Errorf("%q: the state %+v has lost the key", k.want, states[0])
			}
			return nil
		})
		mustDo(t, err)
		same(t, "usage", k.want, mustUsage(t, st, a.ID).Suspended)
	}
}

// pauses maps the name of each scheduled search to its pause reason, which is empty if the search
// is not paused.
func pauses(t tb, st store.Store, account cola.AccountID) map[string]string {
	t.Helper()
	reasons := map[string]string{}
	for _, s := range mustSearches(t, st, account) {
		if s.Schedule != nil {
			reasons[s.Name] = s.Schedule.PausedBecause.V
		}
	}
	return reasons
}

// claimable returns the sorted names of the due searches. It releases its claims.
func claimable(t tb, st store.Store) []string {
	t.Helper()
	claimed := mustClaim(t, st, everyID, anHour)
	mustDo(t, st.ReleaseDue(context.Background(), claimed))
	list := names(claimed)
	slices.Sort(list)
	return list
}

func suspendedSearchesPause(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustKeep(t, st, dated(1, dayOne))
	mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	mustPause(t, st, a.ID, 2)
	unscheduled := newSearch(a.ID, 3)
	unscheduled.Search.Schedule = nil
	mustCreate(t, st, unscheduled)
	mustCreate(t, st, dueSearch(b.ID, 4, duePast))
	before := mustClaim(t, st, everyID, anHour)
	mustDo(t, st.ReleaseDue(t.Context(), before))

	mustDo(t, st.Suspend(t.Context(), a.ID, "Unpaid."))
	same(t, "paused", map[string]string{"search 1": cola.PausedSuspended, "search 2": cola.PausedSuspended}, pauses(t, st, a.ID))
	same(t, "paused of another account", map[string]string{"search 4": ""}, pauses(t, st, b.ID))
	same(t, "due", []string{"search 4"}, claimable(t, st))
	if due, err := st.NextDue(t.Context()); !must(t, due, err).Equal(duePast) {
		t.Errorf("due next at %v, want %v, of the other account", due, duePast)
	}
	for n := range 3 {
		if _, err := st.RequestRun(t.Context(), a.ID, newSearch(a.ID, n+1).Search.UUID, epoch, everyID); !errors.Is(err, store.ErrNotActive) {
			t.Errorf("a run of search %d was asked for: %v, want ErrNotActive", n+1, err)
		}
	}
	mustKeep(t, st, dated(2, dayOne))
	mustDo(t, st.Restore(t.Context(), a.ID))
	same(t, "restored", map[string]string{"search 1": "", "search 2": ""}, pauses(t, st, a.ID))
	after := mustClaim(t, st, everyID, anHour)
	same(t, "due again, with the marks they had", before, withHolds(after, before))
}

func claimedIsLetGo(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	d := mustClaimOne(t, st)
	mustDo(t, st.Suspend(t.Context(), a.ID, ""))
	mustNotRecord(t, st, "a run of a suspended account", runOf(t, st, d, 1))
	mustDo(t, st.Restore(t.Context(), a.ID))
	d = mustClaimOne(t, st)
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 5)) // pauses no search
	if o := mustRecord(t, st, runOf(t, st, d, 1)); o.New != 1 {
		t.Errorf("the run after the suspension: %+v, want the label", o)
	}
}

func suspendedSearchesChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first := mustCreate(t, st, newSearch(a.ID, 1))
	mustDo(t, st.Suspend(t.Context(), a.ID, ""))
	because := cola.Some(cola.PausedSuspended)
	same(t, "made", because, mustCreate(t, st, once(newSearch(a.ID, 2), "key", 1)).Schedule.PausedBecause)
	same(t, "made before", because, mustRepeat(t, st, once(newSearch(a.ID, 2), "key", 1)).Schedule.PausedBecause)
	paused := mustPause(t, st, a.ID, 3)
	same(t, "made without being active", because, paused.Schedule.PausedBecause)
	for _, change := range []change{renamed("x"), activated(false), activated(true), func(s cola.SavedSearch) (cola.SavedSearch, error) {
		same(t, "what is changed", because, s.Schedule.PausedBecause)
		s.Schedule.PausedBecause = cola.Opt[string]{} // ignored: a change cannot set the reason
		return s, nil
	}} {
		same(t, "changed", because, mustChange(t, st, a.ID, first.UUID, change).Schedule.PausedBecause)
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, paused.UUID))
	same(t, "due", []string{}, claimable(t, st))
	mustDo(t, st.Restore(t.Context(), a.ID))
	same(t, "paused in the end", map[string]string{"x": "", "search 2": ""}, pauses(t, st, a.ID))
}
