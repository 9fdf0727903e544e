package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testFetchWindows(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"plan adds missing days", planAddsDays},
		{"twenty-year plan", planTwentyYears},
		{"days out of range", fetchDaysOutOfRange},
		{"claims are newest first, within a range", windowClaimOrder},
		{"failures", failWindows},
		{"ended claims write nothing", endedWindowClaims},
		{"plan reopens days completed early", planReopensEarly},
		{"plan reopens incomplete days", planReopensIncomplete},
		{"plan leaves other windows alone", planLeavesOthers},
		{"counts by state", countWindows},
		{"newest and oldest days", newestAndOldestDays},
		{"history until complete", historyWindows},
		{"history that an older version completed", replannedHistory},
		{"failure with invalid text", invalidFailureOfWindow},
	})
}

// fetchDay is a day whose labels no longer change as of epoch.
var fetchDay = cola.NewDate(2026, time.November, 2)

// never is a time for PlanWindows that reopens no complete window.
var never = time.Time{}

func mustPlan(t tb, st store.Store, first, last cola.Date, before time.Time) (pending int) {
	t.Helper()
	pending, err := st.PlanWindows(context.Background(), first, last, before, false)
	return must(t, pending, err)
}

// claimWindow claims the next window of any day.
func claimWindow(st store.Store, hold time.Duration) (store.FetchWindow, error) {
	return st.ClaimWindow(context.Background(), 1, store.LastDay, hold)
}

func mustClaimWindow(t tb, st store.Store) store.FetchWindow {
	t.Helper()
	w, err := claimWindow(st, anHour)
	if must(t, w, err); w.Hold == 0 {
		t.Errorf("ClaimWindow = %+v, want a hold number", w)
	}
	return w
}

func checkNoWindow(t tb, st store.Store, desc string) {
	t.Helper()
	if w, err := claimWindow(st, anHour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ClaimWindow %s = %+v, %v; want ErrNotFound", desc, w, err)
	}
}

func mustFetchStatus(t tb, st store.Store) store.FetchStatus {
	t.Helper()
	status, err := st.FetchStatus(context.Background())
	return must(t, status, err)
}

// checkDays checks the number of days by state.
func checkDays(t tb, st store.Store, desc string, want map[string]int) {
	t.Helper()
	checkEqual(t, "days by state "+desc, want, mustFetchStatus(t, st).Windows)
}

// storedWindows returns all windows, in order.
func storedWindows(t *testing.T, st store.Store) (all []store.StoredFetchWindow) {
	t.Helper()
	mustDo(t, st.Dump(t.Context(), func(i *store.Item) error {
		if i.Kind == store.ItemFetchWindow {
			all = append(all, i.FetchWindow)
		}
		return nil
	}))
	return all
}

func planAddsDays(t *testing.T, st store.Store, c *clock) {
	checkEqual(t, "pending windows", 3, mustPlan(t, st, fetchDay, fetchDay+2, never))
	checkEqual(t, "pending windows, again", 3, mustPlan(t, st, fetchDay, fetchDay+2, never))
	checkEqual(t, "pending windows of an overlapping range", 2, mustPlan(t, st, fetchDay-1, fetchDay, never))
	checkEqual(t, "pending windows of an empty range", 0, mustPlan(t, st, fetchDay+1, fetchDay, never))
	var want []store.StoredFetchWindow
	for day := fetchDay - 1; day <= fetchDay+2; day++ {
		w := store.FetchWindow{Day: day}
		want = append(want, store.StoredFetchWindow{
			FetchWindow: w, State: store.FetchPending, DueAt: c.now(), SettledAt: w.Settled(),
		})
	}
	checkEqual(t, "windows", want, storedWindows(t, st))
}

func planTwentyYears(t *testing.T, st store.Store, _ *clock) {
	const days = 7_300
	for range 2 {
		checkEqual(t, "pending windows", days, mustPlan(t, st, fetchDay-days+1, fetchDay, never))
	}
	checkDays(t, st, "after planning", map[string]int{store.FetchPending: days})
	checkEqual(t, "first claim", fetchDay, mustClaimWindow(t, st).Day)
}

func fetchDaysOutOfRange(t *testing.T, st store.Store, _ *clock) {
	for _, days := range [][2]cola.Date{{0, 1}, {-1, 1}, {store.LastDay, store.LastDay + 1}} {
		if n, err := st.PlanWindows(t.Context(), days[0], days[1], never, false); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("PlanWindows(%d to %d) = %d, %v; want ErrMalformed", days[0], days[1], n, err)
		}
	}
	for _, day := range []cola.Date{1, store.LastDay} {
		checkEqual(t, "pending windows", 1, mustPlan(t, st, day, day, never))
	}
	for _, want := range []cola.Date{store.LastDay, 1} {
		w, err := st.ClaimWindow(t.Context(), -1, store.LastDay+1, anHour)
		checkEqual(t, "claimed day", want, must(t, w, err).Day)
		mustDo(t, st.CompleteWindow(t.Context(), w, 1))
	}
	status := mustFetchStatus(t, st)
	checkEqual(t, "complete days", []cola.Date{1, store.LastDay}, []cola.Date{status.FirstDay, status.LastDay})
}

func windowClaimOrder(t *testing.T, st store.Store, _ *clock) {
	checkNoWindow(t, st, "without windows")
	mustPlan(t, st, fetchDay, fetchDay+4, never)
	var claimed []cola.Date
	for range 3 {
		w, err := st.ClaimWindow(t.Context(), fetchDay+1, fetchDay+3, anHour)
		claimed = append(claimed, must(t, w, err).Day)
	}
	checkEqual(t, "claimed days", []cola.Date{fetchDay + 3, fetchDay + 2, fetchDay + 1}, claimed)
	if w, err := st.ClaimWindow(t.Context(), fetchDay+1, fetchDay+3, anHour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ClaimWindow with all claimed = %+v, %v; want ErrNotFound", w, err)
	}
	checkEqual(t, "next claim of any day", fetchDay+4, mustClaimWindow(t, st).Day)
}

func failWindows(t *testing.T, st store.Store, c *clock) {
	mustPlan(t, st, fetchDay, fetchDay, never)
	for n := range 3 {
		w := mustClaimWindow(t, st)
		checkEqual(t, "attempts", n, w.Attempts)
		mustDo(t, st.FailWindow(t.Context(), w, "timeout", time.Minute))
		c.advance(time.Minute - time.Microsecond)
		checkNoWindow(t, st, "before it is due")
		c.advance(time.Microsecond)
	}
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "timeout", 0))
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "export has 9 rows of 10", -1))
	c.advance(1000 * time.Hour)
	checkNoWindow(t, st, "of an incomplete day")
	status := mustFetchStatus(t, st)
	checkEqual(t, "days by state", map[string]int{store.FetchIncomplete: 1}, status.Windows)
	checkEqual(t, "incomplete", []store.IncompleteWindow{{Day: fetchDay, Failure: "export has 9 rows of 10"}},
		status.Incomplete)
}

// claimDay claims the next window of one day.
func claimDay(t tb, st store.Store, day cola.Date) store.FetchWindow {
	t.Helper()
	w, err := st.ClaimWindow(context.Background(), day, day, anHour)
	return must(t, w, err)
}

// endedWindowClaims checks claims that end or are invalid in ways that apply only to windows.
func endedWindowClaims(t *testing.T, st store.Store, _ *clock) {
	mustPlan(t, st, fetchDay, fetchDay, never)
	w := mustClaimWindow(t, st)
	mustDo(t, st.FailWindow(t.Context(), w, "x", -1))
	mustPlan(t, st, fetchDay, fetchDay, never)
	second := mustClaimWindow(t, st)
	checkEndedClaim(t, st, "planning and claiming again", claimOfWindow(st, w))
	second.Class = store.ClassRange{From: "1\x00", To: "\xff"}
	checkEndedClaim(t, st, "a class that can't be stored", claimOfWindow(st, second))
	mustDo(t, st.ReleaseWindow(t.Context(), store.FetchWindow{Day: fetchDay + 1, Hold: 1}))
}
