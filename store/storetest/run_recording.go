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
		{"a run moves its search on", runMovesOn},
		{"a label comes to a search once", labelComesOnce},
		{"runs of many searches are recorded together", runsTogether},
		{"a run is recorded once", recordedOnce},
		{"a hold that was taken over records nothing", takenOverRecordsNothing},
		{"a hold that has passed records where nobody has taken it over", passedHoldRecords},
		{"a run that was cut off is made anew", cutOffIsMadeAnew},
		{"a mark of another past is left out", otherPastIsLeftOut},
		{"a search without a next run is not due again", neverDueAgain},
		{"runs of one search by many at once are one", recordedByMany},
		{"a run may find very much", findsVeryMuch},
	}
}

func runMovesOn(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
	mustKeep(t, st, dated(1, dayOne))
	d := mustClaimOne(t, st)
	run := runOf(t, st, d, 1, 2, -3)
	o := mustRecord(t, st, run)
	same(t, "outcome", store.RunOutcome{Recorded: true, Run: o.Run, New: 3, Late: 1}, o)
	made.Schedule.LastRunAt, made.Schedule.NextRunAt = cola.Some(cola.TimestampOf(duePast)), cola.Some(run.Next)
	found, err := st.SavedSearch(t.Context(), a.ID, made.UUID)
	same(t, "the search", made, must(t, found, err))
	same(t, "due now", []string{}, names(mustClaim(t, st, everyID, anHour)))

	claimed, err := st.ClaimDue(t.Context(), duePast.Add(week), 1, anHour) // recording released the claim
	if len(must(t, claimed, err)) != 1 {
		t.Fatal("the search is not due in its next week")
	}
	same(t, "the claim", store.DueSearch{Account: a.ID, Search: made, Mark: run.Mark, Hold: claimed[0].Hold}, claimed[0])
	if d.Hold == claimed[0].Hold {
		t.Error("the next claim has the hold of the first")
	}
	empty := runOf(t, st, claimed[0])
	empty.Mark.At = duePast.Add(week)
	if o := mustRecord(t, st, empty); o.New != 0 || o.Late != 0 {
		t.Errorf("a run without matches: %+v", o)
	}
	want := []cola.SavedSearchRun{
		{ID: o.Run + 1, RanAt: cola.TimestampOf(duePast.Add(week)), DateFrom: empty.From, DateTo: empty.To},
		{ID: o.Run, RanAt: cola.TimestampOf(duePast), DateFrom: run.From, DateTo: run.To, MatchCount: 3, LateCount: 1},
	}
	got, total, err := st.RunsOf(t.Context(), a.ID, made.UUID, store.Slice{Limit: 10})
	if must(t, got, err); total != 2 || got[0].ID <= got[1].ID {
		t.Fatalf("runs %+v of %d, want two, newest first", got, total)
	}
	want[0].ID = got[0].ID // IDs increase, possibly with gaps
	same(t, "runs", want, got)
}

func labelComesOnce(t *testing.T, st store.Store, c *clock) {
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
			same(t, "outcome", store.RunOutcome{Recorded: true, Run: o.Run, New: k.new, Late: k.late}, o)
		}
	}
	for _, s := range []cola.SavedSearch{one, two} { // matches are per search
		list, total, err := st.MatchesOf(t.Context(), a.ID, s.UUID, 0, store.Slice{Limit: 10})
		if must(t, list, err); total != 4 || len(list) != 4 {
			t.Errorf("search %s has found %+v of %d, want four labels", s.Name, list, total)
		}
	}
}

func runsTogether(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	for n := range 120 {
		mustCreate(t, st, dueSearch(a.ID, n, epoch.Add(time.Duration(n)*time.Second)))
	}
	claimed := mustClaim(t, st, everyID, anHour)
	if err := st.ReleaseDue(t.Context(), claimed[7:8]); err != nil {
		t.Fatal(err)
	}
	var runs []store.RunRecord
	for n := range claimed {
		n = len(claimed) - 1 - n // not in the store's order
		runs = append(runs, runOf(t, st, claimed[n], n, -1_000-n))
	}
	runs = append(runs, runs[3])
	numbers := map[int64]bool{}
	for i, o := range record(t, st, runs...) {
		want := store.RunOutcome{Recorded: true, Run: o.Run, New: 2, Late: 1}
		if i == len(claimed)-1-7 || i == len(claimed) { // the released one and the duplicate
			want = store.RunOutcome{}
		}
		same(t, "outcome", want, o)
		if o.Recorded && (o.Run == 0 || numbers[o.Run]) {
			t.Errorf("run %d has the number %d, which is none or another's", i, o.Run)
		}
		numbers[o.Run] = true
	}
	for n, d := range claimed {
		list, total, err := st.MatchesOf(t.Context(), a.ID, d.Search.UUID, 0, store.Slice{Limit: 10})
		if must(t, list, err); n != 7 && (total != 2 || list[0].TTBID != firstID+cola.TTBID(n)) {
			t.Errorf("search %d has found %+v", n, list)
		}
	}
	same(t, "what is left", []string{"search 7"}, names(mustClaim(t, st, everyID, anHour)))
	same(t, "nothing", []store.RunOutcome{}, append([]store.RunOutcome{}, record(t, st)...))
}

func recordedOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st), 1)
	mustRecord(t, st, run)
	run.Matches[0].TTBID++
	mustNotRecord(t, st, "a second time", run)
}

func takenOverRecordsNothing(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	first := mustClaimOne(t, st)
	c.advance(anHour)
	second := mustClaimOne(t, st)
	mustNotRecord(t, st, "under the first claim", runOf(t, st, first, 1))
	if err := st.ReleaseDue(t.Context(), []store.DueSearch{first}); err != nil {
		t.Fatal(err)
	}
	mustRecord(t, st, runOf(t, st, second, 1))
	mustNotRecord(t, st, "under the first claim, later", runOf(t, st, first, 2))
}

func passedHoldRecords(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	d := mustClaimOne(t, st)
	c.advance(100 * anHour)
	mustRecord(t, st, runOf(t, st, d, 1))
}

// cutOffIsMadeAnew checks that another claim repeats the run if a process dies or gives up before
// recording it.
func cutOffIsMadeAnew(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	before := everything(t, st)
	first := mustClaimOne(t, st)
	mustKeep(t, st, dated(1, dayOne))
	same(t, "what a claim leaves", before, everything(t, st))
	c.advance(anHour)
	second := mustClaimOne(t, st)
	same(t, "mark", first.Mark, second.Mark)
	same(t, "search", first.Search, second.Search)
}

func otherPastIsLeftOut(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	d := mustClaimOne(t, st)
	first := runOf(t, st, d)
	same(t, "revision of an empty store", cola.Revision(0), first.Mark.Revision)
	mustKeep(t, st, dated(1, dayOne))
	run := runOf(t, st, d, 1)
	for _, off := range []cola.Revision{1, -1, 1e15} {
		other := run
		other.Mark.Revision += off
		mustNotRecord(t, st, "a revision that there never was", other)
	}
	same(t, "while it is held", []string{}, names(mustClaim(t, st, everyID, anHour)))
	mustRecord(t, st, run)
}

func neverDueAgain(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st))
	run.Next = 0
	mustRecord(t, st, run)
	found, err := st.SavedSearch(t.Context(), a.ID, made.UUID)
	if must(t, found, err); found.Schedule.NextRunAt.OK {
		t.Errorf("due next at %s", found.Schedule.NextRunAt.V.Time())
	}
	claimed, err := st.ClaimDue(t.Context(), duePast.Add(1000*week), everyID, anHour)
	same(t, "due in years", []string{}, names(must(t, claimed, err)))
}

// recordedByMany checks that a run recorded concurrently by many, under one claim or two, is stored
// once.
func recordedByMany(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
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
				t.Error("a run was recorded under a claim that was taken over")
			}
		})
	}
	wg.Wait()
	list, total, err := st.RunsOf(t.Context(), a.ID, made.UUID, store.Slice{Limit: 10})
	if must(t, list, err); total != 1 || recorded != 2 {
		t.Errorf("%d runs are recorded with %d new matches, want one with two", total, recorded)
	}
}

func findsVeryMuch(t *testing.T, st store.Store, _ *clock) {
	const found = 24_000 // more than a backend writes at a time
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	made := mustCreate(t, st, newSearch(a.ID, 1))
	run := runOf(t, st, mustClaimOne(t, st))
	for n := range found {
		run.Matches = append(run.Matches, store.RunMatch{TTBID: firstID + cola.TTBID(n), Late: n%3 == 0})
	}
	o := mustRecord(t, st, run)
	same(t, "outcome", store.RunOutcome{Recorded: true, Run: o.Run, New: found, Late: found / 3}, o)
	list, total, err := st.MatchesOf(t.Context(), a.ID, made.UUID, o.Run, store.Slice{Offset: found - 1, Limit: 10})
	same(t, "the last match", []cola.SavedSearchMatch{{RunID: o.Run, TTBID: firstID + found - 1}}, must(t, list, err))
	same(t, "matches", found, total)
}
