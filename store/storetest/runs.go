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
		{"due searches, oldest first", claimDueSearches},
		{"claim contents", claimContents},
		{"mark of a new search", markOfNewSearch},
		{"claims expire", claimsExpire},
		{"many searches", claimManySearches},
		{"concurrent claims", concurrentClaims},
		{"release", releaseSearches},
		{"next due time", nextDue},
		{"concurrent run and change", concurrentRunAndChange},
	}, backoffChecks(), recordingChecks(), runListChecks()))
}

func claimDueSearches(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	if claimed := mustClaim(t, st, noLimit, anHour); len(claimed) != 0 {
		t.Errorf("ClaimDue without searches = %v, want an empty result", names(claimed))
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

	checkEqual(t, "first two", []string{"search 5", "search 3"}, names(mustClaim(t, st, 2, anHour)))
	checkEqual(t, "limit 0", []string{}, names(mustClaim(t, st, 0, anHour)))
	checkEqual(t, "remaining searches", []string{"search 4", "search 1"}, names(mustClaim(t, st, 3, anHour)))
	checkEqual(t, "no more searches", []string{}, names(mustClaim(t, st, 3, anHour)))
	mustDo(t, st.Restore(t.Context(), suspended.ID))
	checkEqual(t, "search of a restored account", []string{"search 9"}, names(mustClaim(t, st, 3, anHour)))
}

func claimContents(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	full := fullSearch()
	full.Schedule.Active, full.Schedule.NextRunAt = true, cola.Some(cola.TimestampOf(epoch))
	search := mustCreate(t, st, store.NewSavedSearch{Account: a.ID, Search: full, MaxActive: 1})
	d := mustClaimOne(t, st)
	if d.Hold == 0 {
		t.Error("Hold = 0, want nonzero")
	}
	checkEqual(t, "claim", store.DueSearch{Account: a.ID, Search: search, Mark: store.Mark{At: c.now()}, Hold: d.Hold}, d)
}

func markOfNewSearch(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustAddColas(t, st, dated(1, dayOne))
	before := mustRevision(t, st)
	c.advance(time.Hour)
	mustCreate(t, st, newSearch(a.ID, 1))
	want := store.Mark{At: c.now(), Revision: before}
	c.advance(time.Hour)
	mustAddColas(t, st, dated(2, dayOne))
	checkEqual(t, "mark", want, mustClaimOne(t, st).Mark)
}

func claimsExpire(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, newSearch(a.ID, 1))
	first := mustClaimOne(t, st)
	for _, step := range []time.Duration{0, time.Minute, anHour - time.Minute - time.Microsecond} {
		c.advance(step)
		checkEqual(t, "claims while held", []string{}, names(mustClaim(t, st, noLimit, anHour)))
	}
	c.advance(time.Microsecond)
	second := mustClaimOne(t, st)
	if second.Hold == first.Hold {
		t.Errorf("Hold of the second claim = %v, want a different one", second.Hold)
	}
	second.Hold = first.Hold
	checkEqual(t, "second claim", first, second)
}

func claimManySearches(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	var want []string
	for n := range 250 { // more than a backend claims at a time
		want = append(want, mustCreate(t, st, dueSearch(a.ID, n, duePast.Add(time.Duration(n/2-200)*time.Second))).Name)
	}
	claimed := mustClaim(t, st, 230, anHour)
	checkEqual(t, "first claims", want[:230], names(claimed))
	checkEqual(t, "remaining claims", want[230:], names(mustClaim(t, st, 230, anHour)))
	if err := st.ReleaseDue(t.Context(), claimed); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "claims after the release", want[:230], names(mustClaim(t, st, noLimit, anHour)))
}

func concurrentClaims(t *testing.T, st store.Store, _ *clock) {
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
			t.Errorf("search %s claimed %d times, want 1", uuid, n)
		}
	}
	if left := mustClaim(t, st, noLimit, anHour); len(claims)+len(left) != searches {
		t.Errorf("%d searches claimed, %d left; want %d in all", len(claims), len(left), searches)
	}
}

func releaseSearches(t *testing.T, st store.Store, c *clock) {
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
	both := mustClaim(t, st, noLimit, anHour)
	unknown := store.DueSearch{Search: cola.SavedSearch{UUID: "x"}, Hold: 1}
	release(both[1], unknown)
	second := mustClaimOne(t, st)
	checkEqual(t, "claim after the release", both[1].Search, second.Search)
	release(both[1]) // no longer the current claim
	checkEqual(t, "claims after releasing an outdated claim", []string{}, names(mustClaim(t, st, noLimit, anHour)))
	checkRunRejected(t, st, "released claim, taken over", runOf(t, st, both[1], 1))
	release(second)
	checkRunRejected(t, st, "released claim", runOf(t, st, second, 1))
	release(second)
	c.advance(anHour)
	checkEqual(t, "claims after the hold", both, withHolds(mustClaim(t, st, noLimit, anHour), both))
}

// withHolds returns a copy of claimed with the hold numbers of the claims in others.
func withHolds(claimed, others []store.DueSearch) []store.DueSearch {
	claimed = slices.Clone(claimed)
	for i := range min(len(claimed), len(others)) {
		claimed[i].Hold = others[i].Hold
	}
	return claimed
}

func nextDue(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	next := func(desc string, want time.Time) {
		t.Helper()
		due, err := st.NextDue(t.Context())
		if must(t, due, err); !due.Equal(want) {
			t.Errorf("%s: NextDue = %s, want %s", desc, due, want)
		}
	}
	next("no searches", time.Time{})
	paused, undated := dueSearch(a.ID, 1, epoch), newSearch(a.ID, 2)
	paused.Search.Schedule.Active, paused.Search.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	undated.Search.Schedule.NextRunAt = cola.Opt[cola.Timestamp]{}
	mustCreate(t, st, paused)
	mustCreate(t, st, undated)
	suspended := mustAccount(t, st, "b@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(suspended.ID, 5, epoch))
	mustDo(t, st.Suspend(t.Context(), suspended.ID, "unpaid"))
	next("no active searches", time.Time{})
	mustCreate(t, st, dueSearch(a.ID, 3, duePast))
	mustCreate(t, st, dueSearch(a.ID, 4, duePast.Add(-time.Hour)))
	next("two searches", duePast.Add(-time.Hour))
	claimed := mustClaim(t, st, 1, anHour)
	next("first one claimed", duePast.Add(-time.Hour))
	mustRecord(t, st, runOf(t, st, claimed[0]))
	next("first one run", duePast)
}

// concurrentRunAndChange checks that when a run is recorded while its search is being changed,
// neither is lost.
func concurrentRunAndChange(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierPro)
	mustCreate(t, st, dueSearch(a.ID, 1, epoch.Add(time.Hour)))
	due := mustClaimOne(t, st)
	run, recorded := runOf(t, st, due), make(chan store.RunOutcome, 1)
	changed, err := st.UpdateSavedSearch(t.Context(), a.ID, due.Search.UUID, 10,
		func(s cola.SavedSearch) (cola.SavedSearch, error) {
			go func() { recorded <- recordAny(t, st, run) }()
			time.Sleep(200 * time.Millisecond) // lets the run be recorded first if the backend allows it
			s.Name = "renamed"
			return s, nil
		})
	must(t, changed, err)
	outcome := <-recorded
	after, err := st.SavedSearch(t.Context(), a.ID, due.Search.UUID)
	must(t, after, err)
	if ran := after.Schedule.LastRunAt.OK; ran != outcome.Recorded || after.Name != "renamed" {
		t.Errorf("LastRunAt set = %t, name = %q; want %t, renamed", ran, after.Name, outcome.Recorded)
	}
}

// recordAny records a run, which may be rejected. It may be called from any goroutine.
func recordAny(t tb, st store.Store, run store.RunRecord) store.RunOutcome {
	outcomes, err := st.RecordRuns(context.Background(), []store.RunRecord{run})
	if err != nil || len(outcomes) != 1 {
		t.Errorf("RecordRuns = %d outcomes, %v; want one outcome", len(outcomes), err)
		return store.RunOutcome{}
	}
	return outcomes[0]
}

// sharedSearches is the number of searches that processes share, large enough that all of them run
// searches at the same time.
const sharedSearches = 300

// runUntilDone claims searches and records runs until no search is due, reporting the running total
// to progress. It returns the total.
func runUntilDone(
	ctx context.Context, st store.Store, hold time.Duration, progress func(n int),
) (recorded int, err error) {
	for {
		claimed, err := st.ClaimDue(ctx, duePast, 4, hold)
		if err != nil || len(claimed) == 0 {
			return recorded, err
		}
		runs := make([]store.RunRecord, len(claimed))
		for i, d := range claimed {
			runs[i] = store.RunRecord{
				Due:     d,
				Mark:    store.Mark{At: duePast},
				Next:    cola.TimestampOf(duePast.Add(week)),
				From:    cola.DateOf(d.Mark.At),
				To:      cola.DateOf(duePast),
				Matches: []store.RunMatch{{TTBID: firstID}},
			}
		}
		outcomes, err := st.RecordRuns(ctx, runs)
		if err != nil {
			return recorded, err
		}
		for _, o := range outcomes {
			if !o.Recorded || o.New != 1 {
				return recorded, fmt.Errorf("run of a claimed search not recorded, or its label not new: %+v", o)
			}
			recorded++
		}
		progress(recorded)
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

// checkRunOnce checks that every search has run exactly once.
func checkRunOnce(t *testing.T, db Database, account cola.AccountID) {
	t.Helper()
	for _, s := range mustSearches(t, db, account) {
		list, total, err := db.RunsOf(t.Context(), account, s.UUID, store.Slice{Limit: 10})
		if must(t, list, err); total != 1 || list[0].MatchCount != 1 {
			t.Errorf("search %s has %d runs, want one with one match: %+v", s.Name, total, list)
		}
	}
}

// running defines search runs as shared work for RunProcesses.
var running = sharedWork{
	jobs:      sharedSearches,
	work:      "run",
	briefly:   "run briefly",
	claim:     "claim",
	create:    mustShareSearches,
	done:      checkRunOnce,
	untilDone: runUntilDone,
	claimAll: func(ctx context.Context, st store.Store) (int, error) {
		claimed, err := st.ClaimDue(ctx, duePast, noLimit, shortClaim)
		return len(claimed), err
	},
	left: func(ctx context.Context, st store.Store) (bool, error) {
		due, err := st.NextDue(ctx)
		return !due.After(duePast), err
	},
}
