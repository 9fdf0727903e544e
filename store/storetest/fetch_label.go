package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testFetchLabels(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"claims are newest first", labelClaimOrder},
		{"queue again", queueAgain},
		{"history", historyLabels},
		{"queued again while claimed", queuedWhileClaimed},
		{"failures", failLabels},
		{"retry failed labels", retryFailedLabels},
		{"postponed images", postponedImages},
		{"latest failed labels", latestFailed},
		{"malformed labels", malformedFetchLabels},
		{"same labels queued concurrently", concurrentQueues},
		{"concurrent claims", concurrentFetchClaims},
	})
}

func mustQueue(t tb, st store.Store, labels ...store.FetchLabel) {
	t.Helper()
	mustDo(t, st.QueueLabels(context.Background(), labels))
}

// queued returns the nth label for the queue, without images.
func queued(n int, completed cola.Date) store.FetchLabel {
	return store.FetchLabel{TTBID: firstID + cola.TTBID(n), Completed: completed}
}

func mustClaimLabel(t tb, st store.Store) store.FetchLabel {
	t.Helper()
	l, err := st.ClaimLabel(context.Background(), false, anHour)
	if must(t, l, err); l.Hold == 0 {
		t.Errorf("ClaimLabel = %+v, want a hold number", l)
	}
	return l
}

func checkNoLabel(t tb, st store.Store, desc string) {
	t.Helper()
	if l, err := st.ClaimLabel(context.Background(), false, anHour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ClaimLabel %s = %+v, %v; want ErrNotFound", desc, l, err)
	}
}

// checkClaim claims the next label and checks it, except for its hold number.
func checkClaim(t tb, st store.Store, desc string, want store.FetchLabel) store.FetchLabel {
	t.Helper()
	l := mustClaimLabel(t, st)
	want.Hold = l.Hold
	checkEqual(t, desc, want, l)
	return l
}

func checkQueue(t tb, st store.Store, desc string, want map[string]int) {
	t.Helper()
	checkEqual(t, "labels by state "+desc, want, mustFetchStatus(t, st).Labels)
}

func labelClaimOrder(t *testing.T, st store.Store, _ *clock) {
	checkNoLabel(t, st, "without labels")
	mustQueue(t, st)
	images := queued(1, fetchDay)
	images.Images = true
	want := []store.FetchLabel{
		queued(0, fetchDay+1), queued(5, fetchDay), images, queued(9, fetchDay-1), queued(8, 1),
		{TTBID: 99_999_999_999_999}, queued(7, 0), {TTBID: 1},
	}
	mustQueue(t, st, want[4], want[1], want[7], want[3])
	mustQueue(t, st, want[5], want[0], want[6], want[2])
	checkQueue(t, st, "after queueing", map[string]int{store.FetchPending: len(want)})
	for _, l := range want {
		l = checkClaim(t, st, "claim", l)
		mustDo(t, st.FinishLabel(t.Context(), l))
	}
	checkNoLabel(t, st, "after all are finished")
	checkQueue(t, st, "at the end", map[string]int{})
}

func queueAgain(t *testing.T, st store.Store, c *clock) {
	wanted := queued(1, fetchDay)
	wanted.Images = true
	mustQueue(t, st, wanted)
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "x", anHour))
	checkNoLabel(t, st, "before the label is due")
	mustQueue(t, st, queued(1, 0)) // keeps the date and Images
	claimed := checkClaim(t, st, "label queued again", wanted)
	mustDo(t, st.FailLabel(t.Context(), claimed, "x", -1))
	checkQueue(t, st, "after giving up", map[string]int{store.FetchFailed: 1})
	checkNoLabel(t, st, "after the label has failed")
	mustQueue(t, st, queued(1, fetchDay))
	wanted = checkClaim(t, st, "failed label queued again", wanted)
	mustDo(t, st.FinishLabel(t.Context(), wanted))

	mustQueue(t, st, queued(2, fetchDay), queued(2, fetchDay+1))
	newer := queued(2, fetchDay+1)
	newer.Images = true
	mustQueue(t, st, newer)
	checkClaim(t, st, "label with a new date and images", newer)
	checkQueue(t, st, "at the end", map[string]int{store.FetchPending: 1})
}

// queuedWhileClaimed checks that a collector doesn't remove a label that was queued again after the
// collector had claimed it.
func queuedWhileClaimed(t *testing.T, st store.Store, c *clock) {
	mustQueue(t, st, queued(1, fetchDay))
	first := mustClaimLabel(t, st)
	mustQueue(t, st, queued(1, fetchDay+1))
	checkEndedClaim(t, st, "being queued again", claimOfLabel(st, first))
	second := checkClaim(t, st, "claim", queued(1, fetchDay+1))
	checkEndedClaim(t, st, "being queued and claimed again", claimOfLabel(st, first))
	mustDo(t, st.FinishLabel(t.Context(), second))
	mustQueue(t, st, queued(1, fetchDay+1))
	third := mustClaimLabel(t, st)
	checkEndedClaim(t, st, "being finished, queued and claimed again", claimOfLabel(st, second))
	mustDo(t, st.FinishLabel(t.Context(), third))
	checkEndedClaim(t, st, "a missing label", claimOfLabel(st, store.FetchLabel{TTBID: 5}))
	checkQueue(t, st, "at the end", map[string]int{})
}

func failLabels(t *testing.T, st store.Store, c *clock) {
	mustQueue(t, st, queued(1, fetchDay), queued(2, 0))
	failing := queued(1, fetchDay)
	for n := range 3 {
		failing.Attempts = n
		l := checkClaim(t, st, "claim", failing)
		mustDo(t, st.FailLabel(t.Context(), l, "timeout", time.Minute))
		other := checkClaim(t, st, "claim while another waits", queued(2, 0))
		mustDo(t, st.ReleaseLabel(t.Context(), other))
		c.advance(time.Minute - time.Microsecond)
		other = checkClaim(t, st, "claim just before another is due", queued(2, 0))
		mustDo(t, st.ReleaseLabel(t.Context(), other))
		c.advance(time.Microsecond)
	}
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "page\x00 \xff", -1))
	c.advance(1000 * time.Hour)
	checkClaim(t, st, "claim after giving up", queued(2, 0))
	status := mustFetchStatus(t, st)
	checkEqual(t, "labels by state", map[string]int{store.FetchPending: 1, store.FetchFailed: 1}, status.Labels)
	checkEqual(t, "pending labels with images", 0, status.WithImages)
	withImages := queued(3, fetchDay)
	withImages.Images = true
	mustQueue(t, st, withImages)
	checkEqual(t, "pending labels with images", 1, mustFetchStatus(t, st).WithImages)
	checkEqual(t, "last failure", "page\uFFFD \uFFFD", status.LastFailure)
	checkEqual(t, "time of the last failure", c.now().Add(-1000*time.Hour), status.LastFailureAt)
}

func retryFailedLabels(t *testing.T, st store.Store, c *clock) {
	images := queued(3, fetchDay)
	images.Images = true
	mustDo(t, st.RetryFailedLabels(t.Context()))
	mustQueue(t, st, images, queued(2, fetchDay))
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "timeout", -1))
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "timeout", anHour))
	mustDo(t, st.RetryFailedLabels(t.Context()))
	checkQueue(t, st, "after the retry", map[string]int{store.FetchPending: 2})
	claimed := checkClaim(t, st, "claim of a failed label", images)
	mustDo(t, st.RetryFailedLabels(t.Context()))
	checkNoLabel(t, st, "before the pending label is due")
	mustDo(t, st.FinishLabel(t.Context(), claimed)) // the claim has not ended
	c.advance(anHour)
	waiting := queued(2, fetchDay)
	waiting.Attempts = 1
	checkClaim(t, st, "claim of the pending label", waiting)
}

// postponedImages checks that labels with postponed images are claimed only for images, once they
// are due and no label is pending, and that MissingDueImages omits them.
func postponedImages(t *testing.T, st store.Store, c *clock) {
	claim := func(desc string, images bool, want store.FetchLabel) store.FetchLabel {
		t.Helper()
		l, err := st.ClaimLabel(t.Context(), images, anHour)
		want.Hold = must(t, l, err).Hold
		checkEqual(t, desc, want, l)
		return l
	}
	checkNone := func(desc string, images bool) {
		t.Helper()
		if l, err := st.ClaimLabel(t.Context(), images, anHour); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("ClaimLabel %s = %+v, %v; want ErrNotFound", desc, l, err)
		}
	}
	checkWaiting := func(desc string, waiting, due int) {
		t.Helper()
		status := mustFetchStatus(t, st)
		checkEqual(t, "labels with postponed images, all and due, "+desc, []int{waiting, due},
			[]int{status.Labels[store.FetchImages], status.ImagesDue})
	}
	first, second := label(1), label(2)
	for i, l := range []*cola.Cola{&first, &second} {
		id := fmt.Sprint("image ", i)
		l.Images = []cola.Image{{TTBImageID: id, FileName: "a"}, {TTBImageID: id + "b", ImageIndex: 1, ImageURL: cola.Text("/images/" + id + "b")}}
	}
	mustAddColas(t, st, first, second)
	fetched := func() (n int) {
		mustDo(t, st.FetchedImages(t.Context(), func(store.FetchedImage) error { n++; return nil }))
		return n
	}
	l, other := store.FetchLabel{TTBID: first.TTBID, Completed: fetchDay, Images: true}, store.FetchLabel{TTBID: second.TTBID}
	mustQueue(t, st, l)
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "x", 0)) // one attempt; postponing resets the count
	mustDo(t, st.PostponeImages(t.Context(), mustClaimLabel(t, st), 10*anHour))
	checkQueue(t, st, "after postponing", map[string]int{store.FetchImages: 1})
	checkWaiting("after postponing", 1, 0)
	checkNone("before they are due", true)
	checkEqual(t, "labels with images to fetch", []cola.TTBID{second.TTBID}, mustMissing(t, st, store.MissingDueImages))
	checkEqual(t, "all labels with missing images", []cola.TTBID{second.TTBID, first.TTBID}, mustMissing(t, st, store.MissingImageFiles))
	checkEqual(t, "fetched images of other labels", 1, fetched())

	c.advance(10 * anHour)
	checkWaiting("when they are due", 1, 1)
	checkNone("without images", false)
	mustQueue(t, st, other)
	mustDo(t, st.FinishLabel(t.Context(), claim("claim of a pending label", true, other)))
	claimed := claim("claim of postponed images", true, l)
	checkNone("while they are claimed", true)
	mustDo(t, st.ReleaseLabel(t.Context(), claimed))
	checkNone("without images, after the release", false)
	mustDo(t, st.FailLabel(t.Context(), claim("claim after the release", true, l), "x", -1))
	checkWaiting("after a failure", 0, 0)
	mustQueue(t, st, l)
	mustDo(t, st.PostponeImages(t.Context(), mustClaimLabel(t, st), anHour))
	mustQueue(t, st, l) // because its status changed
	checkWaiting("after it is queued again", 0, 0)
	mustDo(t, st.FinishLabel(t.Context(), mustClaimLabel(t, st)))
	checkQueue(t, st, "at the end", map[string]int{})
	checkEqual(t, "fetched images", 2, fetched())
}

func latestFailed(t *testing.T, st store.Store, _ *clock) {
	checkEqual(t, "failed labels of an empty queue", 0, len(mustFetchStatus(t, st).Failed))
	var want []store.FailedLabel
	for n := range 25 {
		l := queued(n, fetchDay-cola.Date(n))
		if n == 24 {
			l.Completed = 0
		}
		mustQueue(t, st, l)
		failure := fmt.Sprint(n, "\xff")
		mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), failure, -1))
		want = append(want, store.FailedLabel{TTBID: l.TTBID, Failure: fmt.Sprint(n, "\uFFFD")})
	}
	mustQueue(t, st, queued(30, fetchDay+1)) // pending, after a failure
	mustDo(t, st.FailLabel(t.Context(), mustClaimLabel(t, st), "x", anHour))
	checkEqual(t, "failed labels", want[:20], mustFetchStatus(t, st).Failed)
}

func malformedFetchLabels(t *testing.T, st store.Store, _ *clock) {
	for desc, l := range map[string]store.FetchLabel{
		"no ID":      {Completed: fetchDay},
		"long ID":    {TTBID: 100_000_000_000_000},
		"huge ID":    {TTBID: 1 << 63},
		"early date": {TTBID: firstID, Completed: -1},
		"late date":  {TTBID: firstID, Completed: store.LastDay + 1},
	} {
		err := st.QueueLabels(t.Context(), []store.FetchLabel{queued(1, fetchDay), l})
		if !errors.Is(err, store.ErrMalformed) {
			t.Errorf("QueueLabels(%s) error = %v, want ErrMalformed", desc, err)
		}
	}
	checkQueue(t, st, "after malformed labels", map[string]int{})
}

// concurrentQueues checks that QueueLabels doesn't fail if called concurrently with the same labels
// in different orders.
func concurrentQueues(t *testing.T, st store.Store, _ *clock) {
	const labels = 199 // prime, so that every step size visits all labels
	var wg sync.WaitGroup
	for n := range 6 {
		list := make([]store.FetchLabel, labels)
		for i := range list {
			list[(i*(2*n+1)+n)%labels] = queued(i, fetchDay+cola.Date(n))
		}
		wg.Go(func() {
			if err := st.QueueLabels(t.Context(), list); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkQueue(t, st, "at the end", map[string]int{store.FetchPending: labels})
}

// concurrentFetchClaims checks that concurrent claims get different labels and windows.
func concurrentFetchClaims(t *testing.T, st store.Store, _ *clock) {
	const count = 100
	mustPlan(t, st, fetchDay, fetchDay+count-1, never)
	for n := range count {
		mustQueue(t, st, queued(n, fetchDay+cola.Date(n%3)))
	}
	var mu sync.Mutex
	windows, labels := map[cola.Date]int{}, map[cola.TTBID]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				w, windowErr := claimWindow(st, anHour)
				l, labelErr := st.ClaimLabel(t.Context(), false, anHour)
				mu.Lock()
				if windowErr == nil {
					windows[w.Day]++
				}
				if labelErr == nil {
					labels[l.TTBID]++
				}
				mu.Unlock()
				if windowErr != nil && labelErr != nil {
					if !errors.Is(windowErr, store.ErrNotFound) || !errors.Is(labelErr, store.ErrNotFound) {
						t.Errorf("claims: errors = %v, %v; want ErrNotFound", windowErr, labelErr)
					}
					return
				}
			}
		})
	}
	wg.Wait()
	for day, n := range windows {
		if n != 1 {
			t.Errorf("window of %v claimed %d times, want 1", day, n)
		}
	}
	for id, n := range labels {
		if n != 1 {
			t.Errorf("label %v claimed %d times, want 1", id, n)
		}
	}
	checkEqual(t, "claims", []int{count, count}, []int{len(windows), len(labels)})
}
