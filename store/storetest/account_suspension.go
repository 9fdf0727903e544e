package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSuspension(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"suspend and restore", suspendRestore},
		{"Settle reports the suspension", settleReportsSuspension},
		{"suspended searches are not due", suspendedSearchesNotDue},
		{"suspension ends claims", suspensionEndsClaims},
		{"changes to suspended searches", changeSuspendedSearches},
		{"downgrade pauses the newest searches first", downgradePausesNewest},
		{"active limit on create and resume", activeLimitOnCreateAndResume},
		{"pause reason precedence", pauseReasonPrecedence},
		{"requested run survives changes", requestedRunSurvivesChanges},
		{"concurrent account changes", concurrentAccountChanges},
	})
}

func suspendRestore(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	suspended := epoch.Add(time.Hour)
	c.set(suspended.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	check := func(desc string, reason string, want store.Account) {
		t.Helper()
		checkAccounts(t, st, want, b)
		found, err := st.AccountByEmail(t.Context(), "a@example.com")
		checkEqual(t, desc+": AccountByEmail", want, must(t, found, err))
		checkEqual(t, desc+": Suspended", reason, want.Suspended())
		checkEqual(t, desc+": account by identity", want, mustAccountOf(t, st, testIssuer, "1", "a@example.com"))
	}
	check("before Suspend", "", a)
	// Suspending again changes the reason, not the time.
	for _, because := range []string{"Unpaid since May. \"ünïcode\" 100%_", "", "Email bounces."} {
		mustDo(t, st.Suspend(t.Context(), a.ID, because))
		a.SuspendedAt, a.SuspendedReason = suspended, because
		reason := because
		if because == "" {
			reason = "No reason was given."
		}
		check(fmt.Sprintf("Suspend(%q)", because), reason, a)
		c.advance(time.Hour)
	}
	a.SuspendedAt, a.SuspendedReason = time.Time{}, ""
	for range 2 {
		mustDo(t, st.Restore(t.Context(), a.ID))
		check("after Restore", "", a)
	}
	a.ActiveLimit = 3
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, a.ActiveLimit))
	check("after SetActiveLimit", "", a)
	for method, err := range map[string]error{
		"Suspend": st.Suspend(t.Context(), b.ID+100, "x"), "Restore": st.Restore(t.Context(), b.ID+100),
		"SetActiveLimit": st.SetActiveLimit(t.Context(), b.ID+100, 1),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s(unknown account) error = %v, want ErrNotFound", method, err)
		}
	}
	for _, because := range []string{"\x00", "\xff"} {
		if err := st.Suspend(t.Context(), a.ID, because); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("Suspend(%q) error = %v, want ErrMalformed", because, err)
		}
	}
	check("after rejected calls", "", a)
}

func settleReportsSuspension(t *testing.T, st store.Store, _ *clock) {
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
		batch := store.Batch{
			ID:          NewBatchID(),
			Accounts:    []cola.AccountID{a.ID, b.ID},
			Credentials: []cola.Credential{keyCredential(key.ID)},
		}
		err := st.Settle(t.Context(), batch, func(_ time.Time, states []store.AccountState) []store.Entry {
			checkEqual(t, "Suspended in the account states", []string{k.want, ""},
				[]string{states[0].Suspended, states[1].Suspended})
			if !states[0].Valid[keyCredential(key.ID)] || !states[0].Exists { // suspension does not revoke keys
				t.Errorf("suspension %q: account state = %+v, want key %d valid", k.want, states[0], key.ID)
			}
			return nil
		})
		mustDo(t, err)
		checkEqual(t, "AccountUsage.Suspended", k.want, mustUsage(t, st, a.ID).Suspended)
	}
}

// pauses returns the pause reason of each scheduled search, by name. The reason is empty if the
// search is not paused.
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
	claimed := mustClaim(t, st, noLimit, anHour)
	mustDo(t, st.ReleaseDue(context.Background(), claimed))
	list := names(claimed)
	slices.Sort(list)
	return list
}

func suspendedSearchesNotDue(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne))
	mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	mustCreatePaused(t, st, a.ID, 2)
	unscheduled := newSearch(a.ID, 3)
	unscheduled.Search.Schedule = nil
	mustCreate(t, st, unscheduled)
	mustCreate(t, st, dueSearch(b.ID, 4, duePast))
	before := mustClaim(t, st, noLimit, anHour)
	mustDo(t, st.ReleaseDue(t.Context(), before))

	mustDo(t, st.Suspend(t.Context(), a.ID, "Unpaid."))
	checkEqual(t, "pause reasons after Suspend",
		map[string]string{"search 1": cola.PausedSuspended, "search 2": cola.PausedSuspended}, pauses(t, st, a.ID))
	checkEqual(t, "pause reasons of another account", map[string]string{"search 4": ""}, pauses(t, st, b.ID))
	checkEqual(t, "due searches", []string{"search 4"}, claimable(t, st))
	if due, err := st.NextDue(t.Context()); !must(t, due, err).Equal(duePast) {
		t.Errorf("NextDue = %v, want the other account's %v", due, duePast)
	}
	for n := range 3 {
		_, err := st.RequestRun(t.Context(), a.ID, newSearch(a.ID, n+1).Search.UUID, epoch, noLimit)
		if !errors.Is(err, store.ErrNotActive) {
			t.Errorf("RequestRun(search %d) error = %v, want ErrNotActive", n+1, err)
		}
	}
	mustAddColas(t, st, dated(2, dayOne))
	mustDo(t, st.Restore(t.Context(), a.ID))
	checkEqual(t, "pause reasons after Restore", map[string]string{"search 1": "", "search 2": ""}, pauses(t, st, a.ID))
	after := mustClaim(t, st, noLimit, anHour)
	checkEqual(t, "due searches and their marks after Restore", before, withHolds(after, before))
}

func suspensionEndsClaims(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	d := mustClaimOne(t, st)
	mustDo(t, st.Suspend(t.Context(), a.ID, ""))
	checkRunRejected(t, st, "run of a suspended account", runOf(t, st, d, 1))
	mustDo(t, st.Restore(t.Context(), a.ID))
	d = mustClaimOne(t, st)
	mustDo(t, st.SetActiveLimit(t.Context(), a.ID, 5)) // pauses no searches
	if o := mustRecord(t, st, runOf(t, st, d, 1)); o.New != 1 {
		t.Errorf("RecordRuns after Restore = %+v, want 1 new match", o)
	}
}

func changeSuspendedSearches(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	first := mustCreate(t, st, newSearch(a.ID, 1))
	mustDo(t, st.Suspend(t.Context(), a.ID, ""))
	because := cola.Some(cola.PausedSuspended)
	checkEqual(t, "PausedBecause of a created search", because,
		mustCreate(t, st, withKey(newSearch(a.ID, 2), "key", 1)).Schedule.PausedBecause)
	checkEqual(t, "PausedBecause of a repeated creation", because,
		mustRepeat(t, st, withKey(newSearch(a.ID, 2), "key", 1)).Schedule.PausedBecause)
	paused := mustCreatePaused(t, st, a.ID, 3)
	checkEqual(t, "PausedBecause of an inactive search", because, paused.Schedule.PausedBecause)
	for _, change := range []change{
		rename("x"), setActive(false), setActive(true),
		func(s cola.SavedSearch) (cola.SavedSearch, error) {
			checkEqual(t, "PausedBecause passed to the change", because, s.Schedule.PausedBecause)
			s.Schedule.PausedBecause = cola.Opt[string]{} // ignored: a change cannot set the reason
			return s, nil
		},
	} {
		checkEqual(t, "PausedBecause after the change", because,
			mustChange(t, st, a.ID, first.UUID, change).Schedule.PausedBecause)
	}
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, paused.UUID))
	checkEqual(t, "due searches", []string{}, claimable(t, st))
	mustDo(t, st.Restore(t.Context(), a.ID))
	checkEqual(t, "pause reasons after Restore", map[string]string{"x": "", "search 2": ""}, pauses(t, st, a.ID))
}
