package storetest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func mustPlanHistory(t *testing.T, st store.Store, first, last cola.Date) {
	t.Helper()
	pending, err := st.PlanWindows(t.Context(), first, last, never, true)
	must(t, pending, err)
}

// historyDays returns the days whose windows are history.
func historyDays(t *testing.T, st store.Store) (days []cola.Date) {
	t.Helper()
	for _, w := range storedWindows(t, st) {
		if w.History && w.Class == (store.ClassRange{}) {
			days = append(days, w.Day)
		}
	}
	return days
}

// historyWindows checks that windows planned as history are history until they are complete.
func historyWindows(t *testing.T, st store.Store, _ *clock) {
	mustPlan(t, st, fetchDay, fetchDay+2, never)
	mustDo(t, st.CompleteWindow(t.Context(), claimDay(t, st, fetchDay+2), 1))
	mustPlanHistory(t, st, fetchDay+1, fetchDay+3)
	checkEqual(t, "history after planning", []cola.Date{fetchDay + 1, fetchDay + 3}, historyDays(t, st))
	mustPlan(t, st, fetchDay, fetchDay+3, never)
	checkEqual(t, "history after another plan", []cola.Date{fetchDay + 1, fetchDay + 3}, historyDays(t, st))

	w := mustClaimWindow(t, st)
	checkEqual(t, "claimed window", store.FetchWindow{Day: fetchDay + 3, History: true, Hold: w.Hold}, w)
	mustDo(t, st.FailWindow(t.Context(), w, "x", -1))
	mustPlan(t, st, fetchDay, fetchDay+3, never)
	checkEqual(t, "history of a window that was incomplete", []cola.Date{fetchDay + 1, fetchDay + 3}, historyDays(t, st))
	mustDo(t, st.CompleteWindow(t.Context(), claimDay(t, st, fetchDay+3), 1))
	checkEqual(t, "history of a complete window", []cola.Date{fetchDay + 1}, historyDays(t, st))
	w = claimDay(t, st, fetchDay+1)
	checkEqual(t, "history of the last window", true, w.History)
}

// replannedHistory checks that planning a window again removes its history mark if it is complete,
// but not if it is incomplete. Complete windows have the mark only if a process running an older
// version completed them.
func replannedHistory(t *testing.T, st store.Store, c *clock) {
	items := func(yield func(*store.Item, error) bool) {
		for n, state := range []string{store.FetchComplete, store.FetchIncomplete} {
			w := store.StoredFetchWindow{
				FetchWindow: store.FetchWindow{Day: fetchDay + cola.Date(n), History: true}, State: state, DueAt: c.now(),
				SettledAt: c.now().Add(time.Hour),
			}
			if state == store.FetchComplete {
				w.Total, w.CompletedAt = cola.Some(1), c.now().Add(-time.Hour)
			}
			if !yield(&store.Item{Kind: store.ItemFetchWindow, FetchWindow: w}, nil) {
				return
			}
		}
	}
	mustDo(t, st.Fill(t.Context(), items))
	checkEqual(t, "history before the plan", []cola.Date{fetchDay, fetchDay + 1}, historyDays(t, st))
	checkEqual(t, "pending windows", 2, mustPlan(t, st, fetchDay, fetchDay+1, c.now()))
	checkEqual(t, "history after the plan", []cola.Date{fetchDay + 1}, historyDays(t, st))
}

// historyParts checks that the parts of a history day are history, and that the day stays history
// until all parts are complete.
func historyParts(t *testing.T, st store.Store, _ *clock) {
	mustPlanHistory(t, st, fetchDay, fetchDay)
	mustDo(t, st.SplitWindow(t.Context(), mustClaimWindow(t, st), 10, testParts[:2]))
	part := mustClaimWindow(t, st)
	checkEqual(t, "history of a part", true, part.History)
	mustDo(t, st.SplitWindow(t.Context(), part, 5, []store.ClassRange{{From: "01", To: "02"}, {From: "03", To: "04"}}))
	for n, failed := range []bool{false, true, false} {
		w := mustClaimWindow(t, st)
		checkEqual(t, "history of a part", true, w.History)
		if failed {
			mustDo(t, st.FailWindow(t.Context(), w, "x", -1))
		} else {
			mustDo(t, st.CompleteWindow(t.Context(), w, n))
		}
	}
	checkEqual(t, "history of an incomplete day", []cola.Date{fetchDay}, historyDays(t, st))
	mustPlan(t, st, fetchDay, fetchDay, never)
	mustDo(t, st.SplitWindow(t.Context(), mustClaimWindow(t, st), 10, testParts[:2]))
	for range 2 {
		mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 5))
	}
	for _, w := range storedWindows(t, st) {
		checkEqual(t, "history of a complete day and its parts", false, w.History)
	}
	mustSplit(t, st, fetchDay+1, 10, testParts[:2]...)
	checkEqual(t, "history of a part of another day", false, mustClaimWindow(t, st).History)
}

// historyLabels checks that a label queued twice is history if it was queued as history at
// least once.
func historyLabels(t *testing.T, st store.Store, _ *clock) {
	for n, history := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		l := queued(n, fetchDay)
		for _, l.History = range history {
			mustQueue(t, st, l)
		}
		l.History = history[0] || history[1]
		mustDo(t, st.FinishLabel(t.Context(), checkClaim(t, st, "label queued twice", l)))
	}
}
