package storetest

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// populateFetches creates windows in every state, and pending and failed labels, some of them
// claimed. It also blocks the site.
func populateFetches(t *testing.T, st store.Store) {
	t.Helper()
	mustPlan(t, st, fetchDay-3, fetchDay-1, never)
	mustPlanHistory(t, st, fetchDay-3, fetchDay-3)
	mustPlan(t, st, fetchDay, fetchDay, never)
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "timeout \uFFFD", -1))
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 7))
	mustDo(t, st.SplitWindow(t.Context(), mustClaimWindow(t, st), 10, testParts))
	mustDo(t, st.CompleteWindow(t.Context(), mustClaimWindow(t, st), 3))
	mustDo(t, st.FailWindow(t.Context(), mustClaimWindow(t, st), "retried", 0))
	mustClaimWindow(t, st)
	images := queued(1, fetchDay)
	images.Images, images.History = true, true
	mustQueue(t, st, images, queued(2, fetchDay-1), queued(3, 0), queued(4, fetchDay-1))
	mustClaimLabel(t, st)
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "no form", -1))
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "retried", anHour))
	mustReserve(t, st, time.Second)
	mustDo(t, st.PauseRequests(t.Context(), time.Hour))
	mustDo(t, st.BlockSite(t.Context(), "CAPTCHA"))
}

// checkCopiedFetches checks that work continues in the copy, including claimed work, and that the
// state of the site is not copied.
func checkCopiedFetches(t *testing.T, from, to store.Store) {
	want, got := mustFetchStatus(t, from), mustFetchStatus(t, to)
	checkEqual(t, "status", store.FetchStatus{
		Windows: want.Windows, Labels: want.Labels, WithImages: want.WithImages, FirstDay: want.FirstDay, LastDay: want.LastDay,
		Incomplete: want.Incomplete, Failed: want.Failed, NewestDay: want.NewestDay, OldestPending: want.OldestPending,
	}, got)
	checkEqual(t, "failed labels", 1, len(got.Failed))
	checkEqual(t, "days by state", map[string]int{
		store.FetchIncomplete: 1, store.FetchComplete: 1, store.FetchSplit: 1, store.FetchPending: 1,
	}, got.Windows)
	checkEqual(t, "labels by state", map[string]int{store.FetchPending: 3, store.FetchFailed: 1}, got.Labels)
	images := queued(1, fetchDay)
	images.Images, images.History = true, true
	checkClaim(t, to, "claimed label", images)
	checkClaim(t, to, "label without a date", queued(3, 0))
	checkNoLabel(t, to, "before the next label is due")
	for n, class := range testParts[1:] {
		w := mustClaimWindow(t, to)
		checkEqual(t, "part", class, w.Class)
		mustDo(t, to.CompleteWindow(t.Context(), w, []int{0, 2, 5}[n]))
	}
	day := mustClaimWindow(t, to)
	checkEqual(t, "pending day", store.FetchWindow{Day: fetchDay - 3, History: true, Hold: day.Hold}, day)
	checkDays(t, to, "after the last part", map[string]int{
		store.FetchIncomplete: 1, store.FetchComplete: 2, store.FetchPending: 1,
	})
	checkEqual(t, "wait in the copy", time.Duration(0), mustReserve(t, to, time.Second))
}
