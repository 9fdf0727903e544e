package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testAllowances(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"daily limit on previewed labels", previewLimit},
		{"concurrent previews", previewLimitConcurrent},
		{"daily limit on requested runs", runRequestLimit},
		{"concurrent run requests", runRequestLimitConcurrent},
		{"get a run", getRun},
		{"labels per message", labelsPerMessage},
		{"daily limit on labels in messages", messageLabelLimit},
		{"concurrent runs share the label limit", messageLabelLimitConcurrent},
	})
}

// today is the UTC day of duePast.
var today = cola.DateOf(duePast)

func ids(labels ...int) []cola.TTBID {
	list := make([]cola.TTBID, len(labels))
	for i, n := range labels {
		list[i] = firstID + cola.TTBID(n)
	}
	return list
}

func previewLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	for _, k := range []struct {
		desc      string
		account   cola.AccountID
		day       cola.Date
		ask, want []cola.TTBID
	}{
		{"no labels", a.ID, today, nil, nil},
		{"new labels", a.ID, today, ids(3, 1, 2), ids(3, 1, 2)},
		{"same labels", a.ID, today, ids(2, 3), ids(2, 3)},
		{"duplicate label", a.ID, today, ids(4, 4), ids(4, 4)},
		{"partly over the limit", a.ID, today, ids(1, 5, 6, 7, 2), ids(1, 5, 2)},
		{"new label over the limit", a.ID, today, ids(8), nil},
		{"known label over the limit", a.ID, today, ids(9, 5), ids(5)},
		{"another account", b.ID, today, ids(9), ids(9)},
		{"another day", a.ID, today + 1, ids(9, 1), ids(9, 1)},
	} {
		got, err := st.NamePreviewLabels(t.Context(), k.account, k.day, k.ask, 5)
		checkEqual(t, "NamePreviewLabels, "+k.desc, k.want, must(t, got, err))
	}
}

func previewLimitConcurrent(t *testing.T, st store.Store, _ *clock) {
	const limit = 20
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var mu sync.Mutex
	named := map[cola.TTBID]bool{}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for k := range 10 {
				list, err := st.NamePreviewLabels(t.Context(), a.ID, today, ids(n*5+k, n*5+k+1, n*5+k+2), limit)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, id := range list {
					named[id] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	checkEqual(t, "number of distinct labels", limit, len(named))
	for id := range named {
		list, err := st.NamePreviewLabels(t.Context(), a.ID, today, []cola.TTBID{id}, limit)
		checkEqual(t, "NamePreviewLabels for a label already named", []cola.TTBID{id}, must(t, list, err))
	}
}

func runRequestLimit(t *testing.T, st store.Store, _ *clock) {
	const limit = 3
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	n := 0
	ask := func(desc string, account cola.AccountID, due time.Time, want error) (uuid string) {
		t.Helper()
		n++
		search := mustCreate(t, st, dueSearch(account, n, duePast.Add(week)))
		before := storeContents(t, st)
		_, err := st.RequestRun(t.Context(), account, search.UUID, due, limit)
		var reached store.LimitError
		if !errors.Is(err, want) || want != nil && (!errors.As(err, &reached) || reached.Limit != limit) {
			t.Errorf("%s: RequestRun error = %v, want %v", desc, err, want)
		}
		if want != nil {
			checkEqual(t, desc+": store contents", before, storeContents(t, st))
		}
		return search.UUID
	}
	first := ask("first request", a.ID, duePast, nil)
	for range 5 {
		_, err := st.RequestRun(t.Context(), a.ID, first, duePast.Add(time.Minute), limit)
		mustDo(t, err) // already due, so not counted
	}
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1))
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, ask("second request", a.ID, duePast, nil)))
	last := ask("third request", a.ID, duePast, nil)
	for range 2 {
		ask("request over the limit", a.ID, duePast, store.ErrLimit)
	}
	_, err := st.RequestRun(t.Context(), a.ID, last, duePast, limit)
	mustDo(t, err)
	ask("another account", b.ID, duePast, nil)
	ask("another day", a.ID, duePast.Add(24*time.Hour), nil)
}

func runRequestLimitConcurrent(t *testing.T, st store.Store, _ *clock) {
	const limit = 4
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var mu sync.Mutex
	requests := 0
	var wg sync.WaitGroup
	for n := range 3 * limit {
		unscheduled := newSearch(a.ID, n+1)
		unscheduled.Search.Schedule = nil
		search := mustCreate(t, st, unscheduled)
		wg.Go(func() {
			_, err := st.RequestRun(t.Context(), a.ID, search.UUID, duePast, limit)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				requests++
			} else if !errors.Is(err, store.ErrLimit) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkEqual(t, "number of successful requests", limit, requests)
	checkEqual(t, "number of claimed searches", limit, len(mustClaim(t, st, noLimit, anHour)))
}

func getRun(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	search, other := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, dueSearch(a.ID, 2, duePast.Add(week)))
	run := runOf(t, st, mustClaimOne(t, st), 1, -2)
	run.Manual = true
	number := mustRecord(t, st, run).Run
	found, err := st.RunOf(t.Context(), a.ID, search.UUID, number)
	want := cola.SavedSearchRun{
		ID:         number,
		RanAt:      cola.TimestampOf(duePast),
		DateFrom:   run.From,
		DateTo:     run.To,
		MatchCount: 2,
		LateCount:  1,
		Manual:     true,
	}
	checkEqual(t, "RunOf", want, must(t, found, err))
	list, _, err := st.RunsOf(t.Context(), a.ID, search.UUID, store.Slice{Limit: 10})
	checkEqual(t, "RunsOf", []cola.SavedSearchRun{want}, must(t, list, err))
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
		run     int64
	}{
		{b.ID, search.UUID, number},
		{a.ID, other.UUID, number},
		{a.ID, search.UUID, number + 1},
		{a.ID, search.UUID, 0},
		{a.ID, "\xff", number},
	} {
		if found, err := st.RunOf(t.Context(), k.account, k.uuid, k.run); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("RunOf(%d, %q, %d) = %+v, %v; want ErrNotFound", k.account, k.uuid, k.run, found, err)
		}
	}
}

// recordNamed records a run at duePast for each pair of MaxNamed and MaxNamedPerAccount. Each run
// matches three labels. recordNamed returns how many labels each message names.
func recordNamed(t *testing.T, st store.Store, account cola.AccountID, first int, pairs ...[2]int) (counts []int) {
	t.Helper()
	var runs []store.RunRecord
	for i, limits := range pairs {
		mustCreate(t, st, dueSearch(account, first+i, duePast))
		run := runOf(t, st, mustClaimOne(t, st), 1, 2, 3)
		run.MaxNamed, run.MaxNamedPerAccount = limits[0], limits[1]
		runs = append(runs, run)
	}
	for _, o := range recordRuns(t, st, runs...) {
		content, err := st.RunContent(t.Context(), o.Run)
		counts = append(counts, len(must(t, content, err).Labels))
	}
	return counts
}

func labelsPerMessage(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne), dated(2, dayOne), dated(3, dayOne))
	checkEqual(t, "labels per message", []int{0, 2, 3},
		recordNamed(t, st, a.ID, 1, [2]int{0, noLimit}, [2]int{2, noLimit}, [2]int{9, noLimit}))
}

func messageLabelLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne), dated(2, dayOne), dated(3, dayOne))
	limit := [2]int{2, 5}
	checkEqual(t, "labels per message", []int{2, 2}, recordNamed(t, st, a.ID, 1, limit, limit))
	list, _, err := st.SavedSearches(t.Context(), a.ID, 0, 10)
	for _, s := range must(t, list, err) { // deleting searches does not restore the allowance
		mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, s.UUID))
	}
	checkEqual(t, "labels per message after deleting searches", []int{1, 0}, recordNamed(t, st, a.ID, 3, limit, limit))
	checkEqual(t, "labels in a manual run's message", []int{0}, recordNamed(t, st, a.ID, 5, [2]int{0, 5}))
	checkEqual(t, "labels per message of another account", []int{2, 2, 1, 0},
		recordNamed(t, st, b.ID, 6, limit, limit, limit, limit))

	mustCreate(t, st, dueSearch(a.ID, 10, duePast))
	run := runOf(t, st, mustClaimOne(t, st), 1, 2, 3)
	run.MaxNamed, run.MaxNamedPerAccount, run.Mark.At = 2, 5, duePast.Add(24*time.Hour)
	content, err := st.RunContent(t.Context(), mustRecord(t, st, run).Run)
	checkEqual(t, "labels in the next day's message", 2, len(must(t, content, err).Labels))
}

func messageLabelLimitConcurrent(t *testing.T, st store.Store, _ *clock) {
	const searches, limit = 10, 20
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne), dated(2, dayOne), dated(3, dayOne))
	for n := range searches {
		mustCreate(t, st, dueSearch(a.ID, n+1, duePast))
	}
	var mu sync.Mutex
	total := 0
	var wg sync.WaitGroup
	for chunk := range slices.Chunk(mustClaim(t, st, noLimit, anHour), 3) {
		var runs []store.RunRecord
		for _, d := range chunk {
			run := runOf(t, st, d, 1, 2, 3)
			run.MaxNamed, run.MaxNamedPerAccount = 3, limit
			runs = append(runs, run)
		}
		wg.Go(func() {
			outcomes, err := st.RecordRuns(t.Context(), runs)
			for _, o := range outcomes {
				content, cerr := st.RunContent(t.Context(), o.Run)
				err = errors.Join(err, cerr)
				mu.Lock()
				total += len(content.Labels)
				mu.Unlock()
			}
			if err != nil || len(outcomes) != len(runs) {
				t.Errorf("RecordRuns = %d outcomes, %v; want %d outcomes", len(outcomes), err, len(runs))
			}
		})
	}
	wg.Wait()
	checkEqual(t, "labels in all messages", limit, total)
}
