package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testRuns(t *testing.T, open Opener) {
	runChecks(t, open, slices.Concat([]check{
		{"what is due is claimed, longest first", dueIsClaimed},
		{"a claim tells all of a search", claimTellsAll},
		{"a search is marked where it is created", searchIsMarked},
		{"what is held is not claimed before the hold has passed", heldIsNotClaimed},
		{"many are claimed in order", manyAreClaimed},
		{"claimed by many at once, each search has one claim", claimedByMany},
		{"what is let go is claimed again", letGoIsClaimed},
		{"what is due next is told", nextDueIsTold},
		{"a run and a change of its search do not undo one another", runMeetsChange},
	}, backoffChecks(), recordingChecks(), runListChecks()))
}

func dueIsClaimed(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	if claimed := mustClaim(t, st, everyID, anHour); len(claimed) != 0 {
		t.Errorf("claimed %v where no search is", names(claimed))
	}
	mustCreate(t, st, dueSearch(a.ID, 1, duePast))
	mustCreate(t, st, dueSearch(a.ID, 2, duePast.Add(time.Microsecond)))
	mustCreate(t, st, dueSearch(b.ID, 3, duePast.Add(-time.Hour)))
	mustCreate(t, st, dueSearch(a.ID, 4, duePast.Add(-time.Hour)))
	mustCreate(t, st, dueSearch(a.ID, 5, duePast.Add(-400*24*time.Hour)))
	paused, unscheduled := dueSearch(a.ID, 6, duePast.Add(-time.Hour)), newSearch(a.ID, 7)
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	unscheduled.Search.Schedule = nil
	mustCreate(t, st, paused)
	mustCreate(t, st, unscheduled)
	undated := newSearch(a.ID, 8)
	undated.Search.Schedule.NextRunAt = cola.Opt[cola.Timestamp]{}
	mustCreate(t, st, undated)
	suspended := mustAccount(t, st, "c@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(suspended.ID, 9, epoch))
	mustDo(t, st.Suspend(t.Context(), suspended.ID, "unpaid"))

	same(t, "the first two", []string{"search 5", "search 3"}, names(mustClaim(t, st, 2, anHour)))
	same(t, "none", []string{}, names(mustClaim(t, st, 0, anHour)))
	same(t, "the others", []string{"search 4", "search 1"}, names(mustClaim(t, st, 3, anHour)))
	same(t, "no more", []string{}, names(mustClaim(t, st, 3, anHour)))
	mustDo(t, st.Restore(t.Context(), suspended.ID))
	same(t, "that of an account that was suspended", []string{"search 9"}, names(mustClaim(t, st, 3, anHour)))
}

func claimTellsAll(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	full := fullSearch()
	full.Schedule.Active, full.Schedule.NextRunAt = true, cola.Some(cola.TimestampOf(epoch))
	made := mustCreate(t, st, store.NewSavedSearch{Account: a.ID, Search: full, MaxActive: 1})
	d := mustClaimOne(t, st)
	if d.Hold == 0 {
		t.Error("the claim has no hold")
	}
	same(t, "the claim", store.DueSearch{Account: a.ID, Search: made, Mark: store.Mark{At: c.now()}, Hold: d.Hold}, d)
}

func searchIsMarked(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustKeep(t, st, dated(1, dayOne))
	before := mustRevision(t, st)
	c.advance(time.Hour)
	mustCreate(t, st, newSearch(a.ID, 1))
	want := store.Mark{At: c.now(), Revision: before}
	c.advance(time.Hour)
	mustKeep(t, st, dated(2, dayOne))
	same(t, "mark", want, mustClaimOne(t, st).Mark)
}

func heldIsNotClaimed(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	first := mustClaimOne(t, st)
	for _, step := range []time.Duration{0, time.Minute, anHour - time.Minute - time.Microsecond} {
		c.advance(step)
		same(t, "while it is held", []string{}, names(mustClaim(t, st, everyID, anHour)))
	}
	c.advance(time.Microsecond)
	second := mustClaimOne(t, st)
	if second.Hold == first.Hold {
		t.Error("two claims have one hold")
	}
	second.Hold = first.Hold
	same(t, "what was not run", first, second)
}

func manyAreClaimed(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	var want []string
	for n := range 250 { // more than a backend claims at a time
		want = append(want, mustCreate(t, st, dueSearch(a.ID, n, duePast.Add(time.Duration(n/2-200)*time.Second))).Name)
	}
	claimed := mustClaim(t, st, 230, anHour)
	same(t, "the first", want[:230], names(claimed))
	same(t, "the rest", want[230:], names(mustClaim(t, st, 230, anHour)))
	if err := st.ReleaseDue(t.Context(), claimed); err != nil {
		t.Fatal(err)
	}
	same(t, "those that were let go", want[:230], names(mustClaim(t, st, everyID, anHour)))
}

func claimedByMany(t *testing.T, st store.Store, _ *clock) {
	const searches = 60
	for n := range searches {
		mustCreate(t, st, dueSearch(mustAccount(t, st, fmt.Sprintf("%d@example.com", n), cola.TierFree).ID, n, epoch))
	}
	var mu sync.Mutex
	claims := map[string]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				claimed, err := st.ClaimDue(t.Context(), duePast, 3, anHour)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, d := range claimed {
					claims[d.Search.UUID]++
				}
				mu.Unlock()
				if len(claimed) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	for uuid, n := range claims {
		if n != 1 {
			t.Errorf("search %s was claimed %d times", uuid, n)
		}
	}
	if left := mustClaim(t, st, everyID, anHour); len(claims)+len(left) != searches {
		t.Errorf("%d searches were claimed, %d are left; want %d in all", len(claims), len(left), searches)
	}
}

func letGoIsClaimed(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	mustCreate(t, st, dueSearch(a.ID, 2, epoch))
	release := func(claimed ...store.DueSearch) {
		t.Helper()
		if err := st.ReleaseDue(t.Context(), claimed); err != nil {
			t.Fatal(err)
		}
	}
	release()
	both := mustClaim(t, st, everyID, anHour)
	unknown := store.DueSearch{Search: cola.SavedSearch{UUID: "x"}, Hold: 1}
	release(both[1], unknown)
	again := mustClaimOne(t, st)
	same(t, "what was let go", both[1].Search, again.Search)
	release(both[1]) // no longer the current claim
	same(t, "after the wrong claim was let go", []string{}, names(mustClaim(t, st, everyID, anHour)))
	mustNotRecord(t, st, "under a claim that was let go", runOf(t, st, both[1], 1))
	release(again)
	mustNotRecord(t, st, "under a claim that was let go, and that nobody has taken", runOf(t, st, again, 1))
	release(again)
	c.advance(anHour)
	same(t, "all", both, withHolds(mustClaim(t, st, everyID, anHour), both))
}

// withHolds returns claims with the hold numbers of others.
func withHolds(claimed, others []store.DueSearch) []store.DueSearch {
	claimed = slices.Clone(claimed)
	for i := range min(len(claimed), len(others)) {
		claimed[i].Hold = others[i].Hold
	}
	return claimed
}

func nextDueIsTold(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	next := func(what string, want time.Time) {
		t.Helper()
		due, err := st.NextDue(t.Context())
		if must(t, due, err); !due.Equal(want) {
			t.Errorf("%s: due next at %s, want %s", what, due, want)
		}
	}
	next("without searches", time.Time{})
	paused, undated := dueSearch(a.ID, 1, epoch), newSearch(a.ID, 2)
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	undated.Search.Schedule.NextRunAt = cola.Opt[cola.Timestamp]{}
	mustCreate(t, st, paused)
	mustCreate(t, st, undated)
	suspended := mustAccount(t, st, "b@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(suspended.ID, 5, epoch))
	mustDo(t, st.Suspend(t.Context(), suspended.ID, "unpaid"))
	next("without one that is to run", time.Time{})
	mustCreate(t, st, dueSearch(a.ID, 3, duePast))
	mustCreate(t, st, dueSearch(a.ID, 4, duePast.Add(-time.Hour)))
	next("with two", duePast.Add(-time.Hour))
	claimed := mustClaim(t, st, 1, anHour)
	next("with the first one held", duePast.Add(-time.Hour))
	mustRecord(t, st, runOf(t, st, claimed[0]))
	next("with the first one run", duePast)
}

// runMeetsChange records a run while its search is being changed. Neither is lost, whichever comes
// first.
func runMeetsChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierPro)
	mustCreate(t, st, dueSearch(a.ID, 1, epoch.Add(time.Hour)))
	due := mustClaimOne(t, st)
	run, recorded := runOf(t, st, due), make(chan store.RunOutcome, 1)
	changed, err := st.UpdateSavedSearch(t.Context(), a.ID, due.Search.UUID, 10, func(s cola.SavedSearch) (cola.SavedSearch, error) {
		go func() { recorded <- recordAny(t, st, run) }()
		time.Sleep(200 * time.Millisecond) // lets the run come in between if the backend allows it
		s.Name = "renamed"
		return s, nil
	})
	must(t, changed, err)
	outcome := <-recorded
	after, err := st.SavedSearch(t.Context(), a.ID, due.Search.UUID)
	must(t, after, err)
	if ran := after.Schedule.LastRunAt.OK; ran != outcome.Recorded || after.Name != "renamed" {
		t.Errorf("recorded %t; the search is called %q and has run: %t", outcome.Recorded, after.Name, ran)
	}
}

// recordAny records a run from any goroutine. The run may be rejected.
func recordAny(t tb, st store.Store, run store.RunRecord) store.RunOutcome {
	outcomes, err := st.RecordRuns(context.Background(), []store.RunRecord{run})
	if err != nil || len(outcomes) != 1 {
		t.Errorf("%d outcomes, %v", len(outcomes), err)
		return store.RunOutcome{}
	}
	return outcomes[0]
}

// sharedSearches is the number of searches that processes share, enough for all of them to overlap.
const sharedSearches = 300

// runUntilDone claims and records until no search is due, reporting the running total to told. It
// returns the total.
func runUntilDone(ctx context.Context, st store.Store, hold time.Duration, told func(n int)) (recorded int, err error) {
	for {
		claimed, err := st.ClaimDue(ctx, duePast, 4, hold)
		if err != nil || len(claimed) == 0 {
			return recorded, err
		}
		runs := make([]store.RunRecord, len(claimed))
		for i, d := range claimed {
			runs[i] = store.RunRecord{Due: d, Mark: store.Mark{At: duePast}, Next: cola.TimestampOf(duePast.Add(week)),
				From: cola.DateOf(d.Mark.At), To: cola.DateOf(duePast), Matches: []store.RunMatch{{TTBID: firstID}}}
		}
		outcomes, err := st.RecordRuns(ctx, runs)
		if err != nil {
			return recorded, err
		}
		for _, o := range outcomes {
			if !o.Recorded || o.New != 1 {
				return recorded, fmt.Errorf("a run whose search nobody else can have was left out, or its label is not new: %+v", o)
			}
			recorded++
		}
		told(recorded)
	}
}

func mustShareSearches(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := roomyAccount(t, db, chargedAccount)
	for n := range sharedSearches {
		mustCreate(t, db, dueSearch(account.ID, n, epoch))
	}
	return account.ID
}

// mustHaveRunOnce checks that every search has run exactly once.
func mustHaveRunOnce(t *testing.T, db Database, account cola.AccountID) {
	t.Helper()
	for _, s := range mustSearches(t, db, account) {
		list, total, err := db.RunsOf(t.Context(), account, s.UUID, store.Slice{Limit: 10})
		if must(t, list, err); total != 1 || list[0].MatchCount != 1 {
			t.Errorf("%s has run %d times: %+v", s.Name, total, list)
		}
	}
}

// running is the running of searches as shared work.
var running = sharedWork{
	jobs: sharedSearches, work: "run", briefly: "run briefly", claim: "claim",
	share: mustShareSearches, done: mustHaveRunOnce, untilDone: runUntilDone,
	claimAll: func(ctx context.Context, st store.Store) (int, error) {
		claimed, err := st.ClaimDue(ctx, duePast, everyID, shortHold)
		return len(claimed), err
	},
	left: func(ctx context.Context, st store.Store) (bool, error) {
		due, err := st.NextDue(ctx)
		return !due.After(duePast), err
	},
}
