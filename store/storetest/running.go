package storetest

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	week    = 7 * 24 * time.Hour
	anHour  = time.Hour
	everyID = 1_000_000 // limit that takes all there is
)

// duePast is an instant at which the searches of newSearch are due.
var duePast = epoch.Add(72 * time.Hour)

// dueSearch returns a search to be made that is due at an instant.
func dueSearch(account cola.AccountID, n int, due time.Time) store.NewSavedSearch {
	s := newSearch(account, n)
	s.MaxActive = 10_000
	s.Search.Schedule.NextRunAt = cola.Some(cola.TimestampOf(due))
	return s
}

func mustClaim(t tb, st store.Store, limit int, hold time.Duration) []store.DueSearch {
	t.Helper()
	claimed, err := st.ClaimDue(context.Background(), duePast, limit, hold)
	return must(t, claimed, err)
}

// mustClaimOne claims the only search that is due.
func mustClaimOne(t tb, st store.Store) store.DueSearch {
	t.Helper()
	claimed := mustClaim(t, st, everyID, anHour)
	if len(claimed) != 1 {
		t.Fatal("claimed", names(claimed), "want one search")
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

// runOf returns a run of a claimed search, which has looked at everything there is and found labels, negative ones late.
func runOf(t tb, st store.Store, d store.DueSearch, labels ...int) store.RunRecord {
	t.Helper()
	r := store.RunRecord{Due: d, Mark: store.Mark{At: duePast, Revision: mustRevision(t, st)}, Next: cola.TimestampOf(duePast.Add(week)),
		From: cola.DateOf(d.Mark.At), To: cola.DateOf(duePast), MaxNamed: everyID, MaxNamedOfAccount: everyID}
	for _, n := range labels {
		r.Matches = append(r.Matches, store.RunMatch{TTBID: firstID + cola.TTBID(max(n, -n)), Late: n < 0})
	}
	return r
}

// record has runs recorded and returns the outcomes.
func record(t tb, st store.Store, runs ...store.RunRecord) []store.RunOutcome {
	t.Helper()
	outcomes, err := st.RecordRuns(context.Background(), runs)
	if err == nil && len(outcomes) != len(runs) {
		t.Fatal(len(outcomes), "outcomes of", len(runs), "runs")
	}
	return must(t, outcomes, err)
}

func mustRecord(t tb, st store.Store, run store.RunRecord) store.RunOutcome {
	t.Helper()
	o := record(t, st, run)[0]
	if !o.Recorded || o.Run == 0 {
		t.Errorf("the run was not recorded, or has no number: %+v", o)
	}
	return o
}

// mustNotRecord holds a store to leaving a run out, whole.
func mustNotRecord(t tb, st store.Store, what string, run store.RunRecord) {
	t.Helper()
	before := everything(t, st)
	same(t, what, []store.RunOutcome{{}}, record(t, st, run))
	same(t, what+": what the store holds", before, everything(t, st))
}

// everything returns searches, runs, matches, destinations and deliveries, as a dump tells them.
func everything(t tb, st store.Store) (all []string) {
	t.Helper()
	err := st.Dump(context.Background(), func(i *store.Item) error {
		switch i.Kind {
		case store.ItemSearch, store.ItemRun, store.ItemMatch, store.ItemDestination, store.ItemDelivery, store.ItemAttempt:
			all = append(all, describe(i))
		}
		return nil
	})
	return must(t, all, err)
}
