package storetest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// completeDay plans and completes one day.
func completeDay(t *testing.T, st store.Store, day cola.Date) {
	t.Helper()
	mustPlan(t, st, day, day, never)
	mustDo(t, st.CompleteWindow(t.Context(), claimDay(t, st, day), 1))
}

// planReopensEarly checks that complete days are reopened only if they were completed before both
// their settled time and the given time.
func planReopensEarly(t *testing.T, st store.Store, c *clock) {
	settled := store.FetchWindow{Day: fetchDay}.Settled()
	checkEqual(t, "settled time", time.Date(2026, time.November, 10, 0, 0, 0, 0, time.UTC), settled)
	c.set(settled.Add(-time.Microsecond))
	completeDay(t, st, fetchDay)
	completedAt := c.now()
	c.set(epoch)
	checkEqual(t, "pending windows, reopening those completed before the time of completion", 0,
		mustPlan(t, st, fetchDay, fetchDay, completedAt))
	checkEqual(t, "pending windows, reopening those completed before a later time", 1,
		mustPlan(t, st, fetchDay, fetchDay, completedAt.Add(time.Microsecond)))
	mustDo(t, st.CompleteWindow(t.Context(), claimDay(t, st, fetchDay), 2))
	checkEqual(t, "pending windows of a settled day", 0, mustPlan(t, st, fetchDay, fetchDay, c.now().Add(anHour)))

	c.set(settled)
	completeDay(t, st, fetchDay-10)
	checkEqual(t, "pending windows of a day settled when it was completed", 0,
		mustPlan(t, st, fetchDay-10, fetchDay-10, c.now().Add(anHour)))
}

func planReopensIncomplete(t *testing.T, st store.Store, c *clock) {
	mustPlan(t, st, fetchDay, fetchDay, never)
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "x", anHour))
	c.advance(anHour)
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "x", -1))
	checkEqual(t, "pending windows of another range", 1, mustPlan(t, st, fetchDay+1, fetchDay+1, c.now()))
	checkDays(t, st, "after planning another", map[string]int{store.FetchIncomplete: 1, store.FetchPending: 1})
	checkEqual(t, "pending windows", 1, mustPlan(t, st, fetchDay, fetchDay, never))
	want := store.FetchWindow{Day: fetchDay}
	checkEqual(t, "reopened window", store.StoredFetchWindow{
		FetchWindow: want, State: store.FetchPending, DueAt: c.now(), SettledAt: want.Settled(),
	}, storedWindows(t, st)[0])
	checkEqual(t, "incomplete", 0, len(mustFetchStatus(t, st).Incomplete))
}

// planLeavesOthers checks that a plan changes no window that is pending, claimed or split.
func planLeavesOthers(t *testing.T, st store.Store, c *clock) {
	mustPlan(t, st, fetchDay, fetchDay+3, never)
	split, failed, claimed := mustClaimWindow(t, st), mustClaimWindow(t, st), mustClaimWindow(t, st)
	mustDo(t, st.SplitWindow(t.Context(), split, 5, []store.ClassRange{{From: "1", To: "2"}, {From: "3", To: "4"}}))
	part := mustClaimWindow(t, st)
	mustDo(t, st.CompleteWindow(t.Context(), part, 2))
	part = mustClaimWindow(t, st)
	mustDo(t, st.FailWindow(t.Context(), failed, "x", anHour))
	before := storedWindows(t, st)
	checkEqual(t, "pending windows", 4, mustPlan(t, st, fetchDay, fetchDay+3, c.now().Add(anHour)))
	checkEqual(t, "windows", before, storedWindows(t, st))
	checkEqual(t, "next claim", fetchDay, mustClaimWindow(t, st).Day)
	mustDo(t, st.CompleteWindow(t.Context(), claimed, 1))
	mustDo(t, st.CompleteWindow(t.Context(), part, 3))
	c.advance(anHour)
	checkEqual(t, "attempts of the failed window", 1, mustClaimWindow(t, st).Attempts)
	checkDays(t, st, "at the end", map[string]int{store.FetchComplete: 2, store.FetchPending: 2})
}

// countWindows checks that CountWindows counts days by state, but not their parts, and that Stale
// counts the days that a plan would reopen.
func countWindows(t *testing.T, st store.Store, c *clock) {
	count := func(first, last cola.Date, before time.Time) store.WindowCounts {
		t.Helper()
		counts, err := st.CountWindows(t.Context(), first, last, before)
		return must(t, counts, err)
	}
	checkEqual(t, "counts without windows", store.WindowCounts{}, count(0, store.LastDay+1, c.now()))
	c.set(store.FetchWindow{Day: fetchDay + 3}.Settled().Add(-anHour)) // the day before has settled
	mustPlan(t, st, fetchDay, fetchDay+3, never)
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 1))
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 1))
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "x", -1))
	mustDo(t, st.SplitWindow(t.Context(), mustClaimWindow(t, st), len(testParts), testParts))
	all := store.WindowCounts{Pending: 1, Complete: 2, Incomplete: 1}
	checkEqual(t, "counts", all, count(fetchDay, fetchDay+3, c.now()))
	checkEqual(t, "counts of a range", store.WindowCounts{Complete: 1, Incomplete: 1}, count(fetchDay+1, fetchDay+2, never))
	all.Stale = 1
	checkEqual(t, "counts with a later time", all, count(fetchDay, fetchDay+3, c.now().Add(anHour)))
	checkEqual(t, "pending days with that time", 1, mustPlan(t, st, fetchDay+3, fetchDay+3, c.now().Add(anHour)))
}

func invalidFailureOfWindow(t *testing.T, st store.Store, _ *clock) {
	mustPlan(t, st, fetchDay, fetchDay, never)
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "a\x00b\xffc", -1))
	status := mustFetchStatus(t, st)
	checkEqual(t, "last failure", "a\uFFFDb\uFFFDc", status.LastFailure)
	checkEqual(t, "incomplete", []store.IncompleteWindow{{Day: fetchDay, Failure: "a\uFFFDb\uFFFDc"}}, status.Incomplete)
}

// newestAndOldestDays checks the oldest pending day and the newest day with labels. Empty days and
// split days don't count as the newest.
func newestAndOldestDays(t *testing.T, st store.Store, c *clock) {
	check := func(desc string, newest, oldest cola.Date) {
		t.Helper()
		status := mustFetchStatus(t, st)
		checkEqual(t, "newest day, "+desc, newest, status.NewestDay)
		checkEqual(t, "oldest pending day, "+desc, oldest, status.OldestPending)
	}
	check("no day", 0, 0)
	c.set(store.FetchWindow{Day: fetchDay - 3}.Settled().Add(-time.Hour))
	mustPlan(t, st, fetchDay-3, fetchDay, never)
	check("planned", 0, fetchDay-3)
	for i, labels := range []int{0, 7} { // the latest day is claimed first
		mustDo(t, st.CompleteWindow(t.Context(), claimDay(t, st, fetchDay-cola.Date(i)), labels))
	}
	check("an empty day and one with labels", fetchDay-1, fetchDay-3)
	mustDo(t, st.CompleteWindow(t.Context(), claimDay(t, st, fetchDay-3), 1))
	mustDo(t, st.SplitWindow(t.Context(), claimDay(t, st, fetchDay-2), 9, testParts[:2]))
	check("a split day", fetchDay-1, fetchDay-2)
	for range 2 {
		mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "x", -1))
	}
	check("no pending day", fetchDay-1, 0)
	c.advance(time.Minute)
	mustPlan(t, st, fetchDay-3, fetchDay, c.now())
	check("queried again", fetchDay-1, fetchDay-3)

	mustPlan(t, st, fetchDay+5, fetchDay+5, never)
	mustDo(t, st.SplitWindow(t.Context(), claimDay(t, st, fetchDay+5), 9, testParts[:2]))
	check("a newer split day", fetchDay-1, fetchDay-3)
}
