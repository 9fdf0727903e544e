package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func recordingChecks() []check {
	return []check{
		{"record a run", recordRun},
		{"a label matches a search once", matchOnce},
		{"runs of many searches", recordManyRuns},
		{"record once", recordOnce},
		{"claim taken over", takenOverClaimRecordsNoRun},
		{"expired claim that was not taken over", expiredClaimStillCurrent},
		{"interrupted run", interruptedRun},
		{"unknown mark", unknownMark},
		{"search without a next run", noNextRun},
		{"concurrent recording", concurrentRecording},
		{"many matches", manyMatches},
	}
}

func recordRun(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	mustAddColas(t, st, dated(1, dayOne))
	d := mustClaimOne(t, st)
	run := runOf(t, st, d, 1, 2, -3)
	o := mustRecord(t, st, run)
	checkEqual(t, "RecordRuns", store.RunOutcome{Recorded: true, Run: o.Run, New: 3, Late: 1}, o)
	search.Schedule.LastRunAt, search.Schedule.NextRunAt = cola.Some(cola.TimestampOf(duePast)), cola.Some(run.Next)
	found, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	checkEqual(t, "SavedSearch", search, must(t, found, err))
	checkEqual(t, "claims right after the run", []string{}, names(mustClaim(t, st, noLimit, anHour)))

	claimed, err := st.ClaimDue(t.Context(), duePast.Add(week), 1, anHour) // recording released the claim
	if len(must(t, claimed, err)) != 1 {
		t.Fatal("ClaimDue a week later returned no searches, want one")
	}
	checkEqual(t, "claim a week later", store.DueSearch{
		Account: a.ID,
		Search:  search,
		Mark:    run.Mark,
		Hold:    claimed[0].Hold,
	}, claimed[0])
	if d.Hold == claimed[0].Hold {
		t.Errorf("Hold of the second claim = %v, want a different one", d.Hold)
	}
	empty := runOf(t, st, claimed[0])
	empty.Mark.At = duePast.Add(week)
	if o := mustRecord(t, st, empty); o.New != 0 || o.Late != 0 {
		t.Errorf("RecordRuns without matches = %+v, want no new and no late matches", o)
	}
	want := []cola.SavedSearchRun{
		{ID: o.Run + 1, RanAt: cola.TimestampOf(duePast.Add(week)), DateFrom: empty.From, DateTo: empty.To},
		{ID: o.Run, RanAt: cola.TimestampOf(duePast), DateFrom: run.From, DateTo: run.To, MatchCount: 3, LateCount: 1},
	}
	got, total, err := st.RunsOf(t.Context(), a.ID, search.UUID, store.Slice{Limit: 10})
	if must(t, got, err); total != 2 || got[0].ID <= got[1].ID {
		t.Fatalf("RunsOf = %+v, total %d; want two, newest first", got, total)
	}
	want[0].ID = got[0].ID // IDs increase, possibly with gaps
	checkEqual(t, "RunsOf", want, got)
}

func matchOnce(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	one, two := mustCreate(t, st, newSearch(a.ID, 1)), mustCreate(t, st, newSearch(a.ID, 2))
	for i, k := range []struct {
		labels    []int
		new, late int
	}{
		{[]int{1, 2, 2}, 2, 0},
		{[]int{2, 3, -1, -4}, 2, 1},
		{[]int{1, 2, 3, 4, -1}, 0, 0},
	} {
		claimed, err := st.ClaimDue(t.Context(), duePast.Add(time.Duration(i)*week), 10, anHour)
		for _, d := range must(t, claimed, err) {
			run := runOf(t, st, d, k.labels...)
			run.Next = cola.TimestampOf(duePast.Add(time.Duration(i+1) * week))
			o := mustRecord(t, st, run)
			checkEqual(t, "RecordRuns", store.RunOutcome{Recorded: true, Run: o.Run, New: k.new, Late: k.late}, o)
		}
	}
	for _, s := range []cola.SavedSearch{one, two} { // matches are per search
		list, total, err := st.MatchesOf(t.Context(), a.ID, s.UUID, 0, store.Slice{Limit: 10})
		if must(t, list, err); total != 4 || len(list) != 4 {
			t.Errorf("MatchesOf search %s = %+v, total %d; want four labels", s.Name, list, total)
		}
	}
}

func recordManyRuns(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	for n := range 120 {
		mustCreate(t, st, dueSearch(a.ID, n, epoch.Add(time.Duration(n)*time.Second)))
	}
	claimed := mustClaim(t, st, noLimit, anHour)
	if err := st.ReleaseDue(t.Context(), claimed[7:8]); err != nil {
		t.Fatal(err)
	}
	var runs []store.RunRecord
	for n := range claimed {
		n = len(claimed) - 1 - n // not in the store's order
		runs = append(runs, runOf(t, st, claimed[n], n, -1_000-n))
	}
	runs = append(runs, runs[3])
	seen := map[int64]bool{}
	for i, o := range recordRuns(t, st, runs...) {
		want := store.RunOutcome{Recorded: true, Run: o.Run, New: 2, Late: 1}
		if i == len(claimed)-1-7 || i == len(claimed) { // the released one and the duplicate
			want = store.RunOutcome{}
		}
		checkEqual(t, "RecordRuns", want, o)
		if o.Recorded && (o.Run == 0 || seen[o.Run]) {
			t.Errorf("run %d: ID = %d, want a new one above 0", i, o.Run)
		}
		seen[o.Run] = true
	}
	for n, d := range claimed {
		list, total, err := st.MatchesOf(t.Context(), a.ID, d.Search.UUID, 0, store.Slice{Limit: 10})
		if must(t, list, err); n != 7 && (total != 2 || list[0].TTBID != firstID+cola.TTBID(n)) {
			t.Errorf("MatchesOf search %d = %+v, want its two labels", n, list)
		}
	}
	checkEqual(t, "remaining claims", []string{"search 7"}, names(mustClaim(t, st, noLimit, anHour)))
	checkEqual(t, "RecordRuns without runs", []store.RunOutcome{}, append([]store.RunOutcome{}, recordRuns(t, st)...))
}

func recordOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st), 1)
	mustRecord(t, st, run)
	run.Matches[0].TTBID++
	checkRunRejected(t, st, "second recording", run)
}

func takenOverClaimRecordsNoRun(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	first := mustClaimOne(t, st)
	c.advance(anHour)
	second := mustClaimOne(t, st)
	checkRunRejected(t, st, "first claim", runOf(t, st, first, 1))
	if err := st.ReleaseDue(t.Context(), []store.DueSearch{first}); err != nil {
		t.Fatal(err)
	}
	mustRecord(t, st, runOf(t, st, second, 1))
	checkRunRejected(t, st, "first claim, later", runOf(t, st, first, 2))
}

func expiredClaimStillCurrent(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	d := mustClaimOne(t, st)
	c.advance(100 * anHour)
	mustRecord(t, st, runOf(t, st, d, 1))
}

// interruptedRun checks that if a run is never recorded, the next claim has the same mark, so that
// it repeats the run.
func interruptedRun(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	before := storeContents(t, st)
	first := mustClaimOne(t, st)
	mustAddColas(t, st, dated(1, dayOne))
	checkEqual(t, "store contents after a claim", before, storeContents(t, st))
	c.advance(anHour)
	second := mustClaimOne(t, st)
	checkEqual(t, "mark", first.Mark, second.Mark)
	checkEqual(t, "search", first.Search, second.Search)
}

func unknownMark(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	d := mustClaimOne(t, st)
	first := runOf(t, st, d)
	checkEqual(t, "revision of an empty store", cola.Revision(0), first.Mark.Revision)
	mustAddColas(t, st, dated(1, dayOne))
	run := runOf(t, st, d, 1)
	for _, off := range []cola.Revision{1, -1, 1e15} {
		other := run
		other.Mark.Revision += off
		checkRunRejected(t, st, "unknown revision", other)
	}
	checkEqual(t, "claims while held", []string{}, names(mustClaim(t, st, noLimit, anHour)))
	mustRecord(t, st, run)
}

func noNextRun(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st))
	run.Next = 0
	mustRecord(t, st, run)
	found, err := st.SavedSearch(t.Context(), a.ID, search.UUID)
	if must(t, found, err); found.Schedule.NextRunAt.OK {
		t.Errorf("NextRunAt = %s, want it unset", found.Schedule.NextRunAt.V.Time())
	}
	claimed, err := st.ClaimDue(t.Context(), duePast.Add(1000*week), noLimit, anHour)
	checkEqual(t, "claims years later", []string{}, names(must(t, claimed, err)))
}

// concurrentRecording checks that a run recorded by many goroutines concurrently, under two claims,
// is stored once.
func concurrentRecording(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	old := mustClaimOne(t, st)
	c.advance(anHour)
	runs := []store.RunRecord{runOf(t, st, old, 1, 2), runOf(t, st, mustClaimOne(t, st), 1, 2)}
	var mu sync.Mutex
	recorded := 0
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			outcomes, err := st.RecordRuns(t.Context(), runs[i%2:i%2+1])
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if recorded += outcomes[0].New; outcomes[0].Recorded && i%2 == 0 {
				t.Error("RecordRuns under a claim that was taken over: Recorded = true, want false")
			}
		})
	}
	wg.Wait()
	list, total, err := st.RunsOf(t.Context(), a.ID, search.UUID, store.Slice{Limit: 10})
	if must(t, list, err); total != 1 || recorded != 2 {
		t.Errorf("%d runs recorded with %d new matches, want 1 with 2", total, recorded)
	}
}

func manyMatches(t *testing.T, st store.Store, _ *clock) {
	const found = 24_000 // more than a backend writes at a time
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st))
	for n := range found {
		run.Matches = append(run.Matches, store.RunMatch{TTBID: firstID + cola.TTBID(n), Late: n%3 == 0})
	}
	o := mustRecord(t, st, run)
	checkEqual(t, "RecordRuns", store.RunOutcome{Recorded: true, Run: o.Run, New: found, Late: found / 3}, o)
	list, total, err := st.MatchesOf(t.Context(), a.ID, search.UUID, o.Run, store.Slice{Offset: found - 1, Limit: 10})
	checkEqual(t, "last match", []cola.SavedSearchMatch{{RunID: o.Run, TTBID: firstID + found - 1}}, must(t, list, err))
	checkEqual(t, "number of matches", found, total)
}
