package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testFetchParts(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"parts complete the day", partsCompleteDay},
		{"totals that don't add up", partsDontAddUp},
		{"part is split again", splitPart},
		{"incomplete part", incompletePart},
		{"day is as current as its oldest part", oldestPartCounts},
		{"parts of history", historyParts},
		{"reopened day loses its parts", reopenSplitDay},
		{"invalid parts", invalidParts},
		{"concurrent last parts", concurrentLastParts},
		{"latest incomplete windows", latestIncomplete},
	})
}

// testParts are ordered by class, in byte order.
var testParts = []store.ClassRange{
	{From: "", To: "09"}, {From: "80", To: "80A"}, {From: "Z", To: "Z"}, {From: "a", To: ""},
}

// mustSplit plans, claims and splits one day.
func mustSplit(t *testing.T, st store.Store, day cola.Date, total int, parts ...store.ClassRange) {
	t.Helper()
	mustPlan(t, st, day, day, never)
	mustDo(t, st.SplitWindow(t.Context(), claimDay(t, st, day), total, parts))
}

func partsCompleteDay(t *testing.T, st store.Store, c *clock) {
	mustSplit(t, st, fetchDay, 10, testParts[3], testParts[1], testParts[0], testParts[2])
	checkDays(t, st, "after the split", map[string]int{store.FetchSplit: 1})
	for i, want := range testParts {
		w := mustClaimWindow(t, st)
		checkEqual(t, "claimed part", store.FetchWindow{Day: fetchDay, Class: want, Hold: w.Hold}, w)
		status := mustFetchStatus(t, st)
		checkEqual(t, "days by state", map[string]int{store.FetchSplit: 1}, status.Windows)
		checkEqual(t, "first complete day", cola.Date(0), status.FirstDay)
		mustDo(t, st.CompleteWindow(t.Context(), w, i+1))
	}
	checkNoWindow(t, st, "of a complete day")
	status := mustFetchStatus(t, st)
	checkEqual(t, "days by state", map[string]int{store.FetchComplete: 1}, status.Windows)
	checkEqual(t, "complete days", []cola.Date{fetchDay, fetchDay}, []cola.Date{status.FirstDay, status.LastDay})
	checkEqual(t, "incomplete", 0, len(status.Incomplete))
}

func partsDontAddUp(t *testing.T, st store.Store, c *clock) {
	for n, total := range []int{9, 11} {
		day := fetchDay + cola.Date(n)
		mustSplit(t, st, day, total, testParts[:2]...)
		for range 2 {
			mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 5))
		}
	}
	status := mustFetchStatus(t, st)
	checkEqual(t, "days by state", map[string]int{store.FetchIncomplete: 2}, status.Windows)
	if len(status.Incomplete) != 2 {
		t.Fatalf("Incomplete = %+v, want both days", status.Incomplete)
	}
	for n, w := range status.Incomplete {
		failure := w.Failure
		w.Failure = ""
		checkEqual(t, "incomplete window", store.IncompleteWindow{Day: fetchDay + 1 - cola.Date(n)}, w)
		for _, number := range []string{"10", []string{"11", "9"}[n]} {
			if !strings.Contains(failure, number) {
				t.Errorf("failure %q, want one that contains %s", failure, number)
			}
		}
	}
	checkEqual(t, "last failure", status.Incomplete[0].Failure, status.LastFailure)
	checkEqual(t, "time of the last failure", c.now(), status.LastFailureAt)
}

func splitPart(t *testing.T, st store.Store, _ *clock) {
	mustSplit(t, st, fetchDay, 10, testParts[:2]...)
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 4))
	part := mustClaimWindow(t, st)
	smaller := []store.ClassRange{{From: "80", To: "80"}, {From: "800", To: "80A"}}
	mustDo(t, st.SplitWindow(t.Context(), part, 7, smaller)) // only the totals of the day and its remaining parts count
	for n, want := range smaller {
		w := mustClaimWindow(t, st)
		checkEqual(t, "claimed part", want, w.Class)
		checkDays(t, st, "before the last part", map[string]int{store.FetchSplit: 1})
		mustDo(t, st.CompleteWindow(t.Context(), w, 1+4*n))
	}
	checkDays(t, st, "at the end", map[string]int{store.FetchComplete: 1})
}

// incompletePart checks that the other parts of a day are still fetched after a collector gives up
// on one.
func incompletePart(t *testing.T, st store.Store, _ *clock) {
	mustSplit(t, st, fetchDay, 10, testParts[:3]...)
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 5))
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "timeout", -1))
	want := []store.IncompleteWindow{{Day: fetchDay, Class: testParts[1], Failure: "timeout"}}
	status := mustFetchStatus(t, st)
	checkEqual(t, "days by state with a pending part", map[string]int{store.FetchSplit: 1}, status.Windows)
	checkEqual(t, "incomplete with a pending part", want, status.Incomplete)
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 5))
	status = mustFetchStatus(t, st)
	checkEqual(t, "days by state", map[string]int{store.FetchIncomplete: 1}, status.Windows)
	checkEqual(t, "incomplete", want, status.Incomplete)

	mustSplit(t, st, fetchDay+1, 10, testParts[:2]...)
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 10))
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "last", -1))
	checkDays(t, st, "after the last part failed", map[string]int{store.FetchIncomplete: 2})
}

func oldestPartCounts(t *testing.T, st store.Store, c *clock) {
	mustSplit(t, st, fetchDay, 10, testParts[:2]...)
	c.set(store.FetchWindow{Day: fetchDay}.Settled().Add(-time.Hour))
	mustSplit(t, st, fetchDay+1, 10, testParts[:2]...)
	for range 2 {
		w := mustClaimWindow(t, st)
		mustDo(t, st.CompleteWindow(t.Context(), w, 5))
		c.advance(25 * time.Hour) // the first part was read before the day was settled
		checkEqual(t, "completed day", fetchDay+1, w.Day)
	}
	checkEqual(t, "pending windows", 1, mustPlan(t, st, fetchDay+1, fetchDay+1, c.now()))
}

// reopenSplitDay checks that a reopened day can be split again, into the same or other parts.
func reopenSplitDay(t *testing.T, st store.Store, c *clock) {
	c.set(store.FetchWindow{Day: fetchDay}.Settled().Add(-time.Hour))
	mustSplit(t, st, fetchDay, 10, testParts[:2]...)
	for range 2 {
		mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 5))
	}
	c.advance(time.Hour)
	for _, parts := range [][]store.ClassRange{testParts[:2], testParts[1:4], testParts[:1]} {
		checkEqual(t, "pending windows", 1, mustPlan(t, st, fetchDay, fetchDay, c.now()))
		want := store.FetchWindow{Day: fetchDay}
		checkEqual(t, "windows", []store.StoredFetchWindow{{
			FetchWindow: want, State: store.FetchPending, Total: cola.Some(10), DueAt: c.now(), SettledAt: want.Settled(),
		}}, storedWindows(t, st))
		mustDo(t, st.SplitWindow(t.Context(), mustClaimWindow(t, st), 10, parts))
		for range parts {
			mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "x", -1))
		}
	}
}

func invalidParts(t *testing.T, st store.Store, _ *clock) {
	mustSplit(t, st, fetchDay, 10, testParts[:2]...)
	w := mustClaimWindow(t, st)
	before := storedWindows(t, st)
	for desc, parts := range map[string][]store.ClassRange{
		"none":         {},
		"whole day":    {{}, testParts[2]},
		"same part":    {w.Class},
		"twice":        {testParts[2], testParts[2]},
		"another part": {testParts[1], testParts[2]},
		"NUL":          {{From: "1\x00", To: "2"}},
		"invalid":      {{From: "1", To: "\xff"}},
		"long":         {{From: "1", To: strings.Repeat("2", store.MaxKeyText+1)}},
	} {
		if err := st.SplitWindow(t.Context(), w, 5, parts); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("SplitWindow(%s) error = %v, want ErrMalformed", desc, err)
		}
	}
	checkEqual(t, "windows", before, storedWindows(t, st))
	mustDo(t, st.CompleteWindow(t.Context(), w, 5)) // still claimed
}

// concurrentLastParts checks that a day is completed if all its parts are completed concurrently.
func concurrentLastParts(t *testing.T, st store.Store, _ *clock) {
	const days, parts = 12, 4
	for n := range cola.Date(days) {
		mustSplit(t, st, fetchDay+n, parts, testParts...)
		var claimed []store.FetchWindow
		for range parts {
			claimed = append(claimed, mustClaimWindow(t, st))
		}
		var wg sync.WaitGroup
		for _, w := range claimed {
			wg.Go(func() {
				if err := st.CompleteWindow(t.Context(), w, 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	checkDays(t, st, "at the end", map[string]int{store.FetchComplete: days})
}

func latestIncomplete(t *testing.T, st store.Store, _ *clock) {
	mustPlan(t, st, fetchDay, fetchDay+24, never)
	var want []store.IncompleteWindow
	for n := range 25 {
		w := mustClaimWindow(t, st)
		mustDo(t, st.FailWindow(t.Context(), w, fmt.Sprint(n), -1))
		want = append(want, store.IncompleteWindow{Day: w.Day, Failure: fmt.Sprint(n)})
	}
	checkEqual(t, "incomplete", want[:20], mustFetchStatus(t, st).Incomplete)
}
