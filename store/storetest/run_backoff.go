package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func backoffChecks() []check {
	return []check{
		{"postpone a claimed search", postponeClaimed},
		{"failures are reset", failuresReset},
		{"only the current claim postpones", postponeNeedsCurrentClaim},
	}
}

// mustPostpone postpones a claimed search by an hour and returns its number of consecutive
// failures.
func mustPostpone(t tb, st store.Store, d store.DueSearch) (failures int) {
	t.Helper()
	delay, err := st.Postpone(context.Background(), d, func(n int) time.Duration {
		failures = n
		return time.Hour
	})
	checkEqual(t, "Postpone", time.Hour, must(t, delay, err))
	return failures
}

func postponeClaimed(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	mustCreate(t, st, dueSearch(a.ID, 2, epoch))
	claimed := mustClaim(t, st, noLimit, time.Minute)
	before := storeContents(t, st)
	checkEqual(t, "failures", 1, mustPostpone(t, st, claimed[0]))
	checkEqual(t, "store contents", before, storeContents(t, st))
	c.advance(time.Hour - time.Microsecond)
	checkEqual(t, "claimed in the meantime", []string{"search 2"}, names(mustClaim(t, st, noLimit, anHour)))
	c.advance(time.Microsecond)
	second := mustClaimOne(t, st)
	checkEqual(t, "claimed later", "search 1", second.Search.Name)
	checkEqual(t, "failures the next time", 2, mustPostpone(t, st, second))
	mustRecord(t, st, runOf(t, st, second, 1)) // the claim still permits a run
}

func failuresReset(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	change := func(change func(*cola.SavedSearch)) {
		_, err := st.UpdateSavedSearch(t.Context(), a.ID, search.UUID, maxActive,
			func(s cola.SavedSearch) (cola.SavedSearch, error) {
				change(&s)
				return s, nil
			})
		mustDo(t, err)
	}
	for _, k := range []struct {
		desc string
		end  func()
		want int // failures at the next postponement
	}{
		{"waiting", func() { c.advance(time.Hour) }, 3},
		{"a release", func() {
			c.advance(time.Hour)
			mustDo(t, st.ReleaseDue(t.Context(), mustClaim(t, st, noLimit, anHour)))
		}, 3},
		{"new filters", func() { change(func(s *cola.SavedSearch) { s.Filters.BrandName = "elm" }) }, 1},
		{"a new schedule", func() {
			change(func(s *cola.SavedSearch) {
				schedule := *s.Schedule
				schedule.Cadence, schedule.Day = cola.CadenceDaily, 0
				s.Schedule = &schedule
			})
		}, 1},
		{"a run", func() {
			c.advance(time.Hour)
			run := runOf(t, st, mustClaimOne(t, st))
			run.Next = cola.TimestampOf(duePast)
			mustRecord(t, st, run)
		}, 1},
	} {
		for n := range 2 { // fails twice
			d := mustClaimOne(t, st)
			if got := mustPostpone(t, st, d); got != n+1 {
				t.Errorf("before %s: failures = %d, want %d", k.desc, got, n+1)
			}
			if n == 0 {
				c.advance(time.Hour)
			}
		}
		k.end()
		checkEqual(t, "failures after "+k.desc, k.want, mustPostpone(t, st, mustClaimOne(t, st)))
		change(func(s *cola.SavedSearch) { s.Name += "." })
	}
}

func postponeNeedsCurrentClaim(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	search := mustCreate(t, st, dueSearch(a.ID, 1, epoch))
	wantNotFound := func(desc string, d store.DueSearch) {
		t.Helper()
		_, err := st.Postpone(t.Context(), d, func(int) time.Duration { return week })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: Postpone error = %v, want ErrNotFound", desc, err)
		}
	}
	first := mustClaimOne(t, st)
	c.advance(anHour)
	second := mustClaimOne(t, st)
	wantNotFound("claim taken over", first)
	mustDo(t, st.ReleaseDue(t.Context(), []store.DueSearch{second}))
	wantNotFound("released claim", second)
	third := mustClaimOne(t, st)
	mustRecord(t, st, runOf(t, st, third))
	wantNotFound("recorded run", third)
	unknown := third
	unknown.Search.UUID = "x\x00"
	wantNotFound("unknown search", unknown)
	mustDo(t, st.DeleteSavedSearch(t.Context(), a.ID, search.UUID))
	wantNotFound("deleted search", third)
}

const (
	week    = 7 * 24 * time.Hour
	anHour  = time.Hour
	noLimit = 1_000_000 // higher than any count in the tests
)

// duePast is a time by which all searches returned by newSearch are due.
var duePast = epoch.Add(72 * time.Hour)

// dueSearch returns a new search that is due at the given time.
func dueSearch(account cola.AccountID, n int, due time.Time) store.NewSavedSearch {
	s := newSearch(account, n)
	s.MaxActive = 10_000
	s.Search.Schedule.NextRunAt = cola.Some(cola.TimestampOf(due))
	return s
}

func mustClaim(t tb, st store.Store, limit int, hold time.Duration) []store.DueSearch {
	t.Helper()
	has, err := st.HasDue(context.Background(), duePast)
	must(t, has, err)
	claimed, err := st.ClaimDue(context.Background(), duePast, limit, hold)
	if must(t, claimed, err); limit > 0 && has != (len(claimed) > 0) {
		t.Errorf("HasDue = %v before claiming %d searches", has, len(claimed))
	}
	return claimed
}

// mustClaimOne claims the only due search.
func mustClaimOne(t tb, st store.Store) store.DueSearch {
	t.Helper()
	claimed := mustClaim(t, st, noLimit, anHour)
	if len(claimed) != 1 {
		t.Fatalf("ClaimDue = %v, want one search", names(claimed))
	}
	return claimed[0]
}

func names(claimed []store.DueSearch) []string {
	list := []string{}
	for _, d := range claimed {
		list = append(list, d.Search.Name)
	}
	return list
}

// runOf returns a run of a claimed search up to the current revision. A negative number stands for
// a late match.
func runOf(t tb, st store.Store, d store.DueSearch, labels ...int) store.RunRecord {
	t.Helper()
	r := store.RunRecord{
		Due:                d,
		Mark:               store.Mark{At: duePast, Revision: mustRevision(t, st)},
		Next:               cola.TimestampOf(duePast.Add(week)),
		From:               cola.DateOf(d.Mark.At),
		To:                 cola.DateOf(duePast),
		MaxNamed:           noLimit,
		MaxNamedPerAccount: noLimit,
	}
	for _, n := range labels {
		r.Matches = append(r.Matches, store.RunMatch{TTBID: firstID + cola.TTBID(max(n, -n)), Late: n < 0})
	}
	return r
}

// recordRuns records runs and returns the outcomes.
func recordRuns(t tb, st store.Store, runs ...store.RunRecord) []store.RunOutcome {
	t.Helper()
	outcomes, err := st.RecordRuns(context.Background(), runs)
	if err == nil && len(outcomes) != len(runs) {
		t.Fatalf("RecordRuns = %d outcomes for %d runs", len(outcomes), len(runs))
	}
	return must(t, outcomes, err)
}

func mustRecord(t tb, st store.Store, run store.RunRecord) store.RunOutcome {
	t.Helper()
	o := recordRuns(t, st, run)[0]
	if !o.Recorded || o.Run == 0 {
		t.Errorf("RecordRuns = %+v, want a recorded run with an ID", o)
	}
	return o
}

// checkRunRejected checks that a run is rejected without side effects.
func checkRunRejected(t tb, st store.Store, desc string, run store.RunRecord) {
	t.Helper()
	before := storeContents(t, st)
	checkEqual(t, desc, []store.RunOutcome{{}}, recordRuns(t, st, run))
	checkEqual(t, desc+": store contents", before, storeContents(t, st))
}

// storeContents describes all searches, runs, matches, destinations, deliveries and attempts in a
// dump.
func storeContents(t tb, st store.Store) (all []string) {
	t.Helper()
	err := st.Dump(context.Background(), func(i *store.Item) error {
		switch i.Kind {
		case store.ItemSearch, store.ItemRun, store.ItemMatch, store.ItemDestination, store.ItemDelivery,
			store.ItemAttempt:
			all = append(all, describe(i))
		}
		return nil
	})
	return must(t, all, err)
}
