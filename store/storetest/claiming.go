package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// sharedSearches is how many searches processes share that run them: enough for all to be at it together.
	sharedSearches = 300
	// shortHold is how long a process holds searches that is to be killed. No other is at work beside it.
	shortHold = 2 * time.Second
)

// runUntilDone claims and records until no search is due, calls told with how many runs it has recorded so far, and returns how many
// that are.
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

// childRun runs what is due and says how many runs it has recorded.
func childRun(hold time.Duration) func(ctx context.Context, st store.Store, out io.Writer) error {
	return func(ctx context.Context, st store.Store, out io.Writer) error {
		_, err := runUntilDone(ctx, st, hold, func(n int) { fmt.Fprintf(out, "recorded %d\n", n) })
		return err
	}
}

// childClaim claims what is due, says how much that is, and neither runs it nor lets it go.
func childClaim(ctx context.Context, st store.Store, out io.Writer) error {
	claimed, err := st.ClaimDue(ctx, duePast, everyID, shortHold)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "claimed %d\n", len(claimed))
	time.Sleep(time.Hour)
	return errors.New("nobody has killed the process")
}

func mustShareSearches(t *testing.T, db Database) cola.AccountID {
	t.Helper()
	account := roomyAccount(t, db, chargedAccount)
	for n := range sharedSearches {
		mustCreate(t, db, dueSearch(account.ID, n, epoch))
	}
	return account.ID
}

// mustHaveRunOnce holds a database to one run of every search.
func mustHaveRunOnce(t *testing.T, db Database, account cola.AccountID) {
	t.Helper()
	for _, s := range mustSearches(t, db, account) {
		list, total, err := db.RunsOf(t.Context(), account, s.UUID, store.Slice{Limit: 10})
		if must(t, list, err); total != 1 || list[0].MatchCount != 1 {
			t.Errorf("%s has run %d times: %+v", s.Name, total, list)
		}
	}
}

// runTogether: two processes, and goroutines of a third, run every search once.
func runTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustShareSearches(t, db)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, "run", place)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, "recorded %d")))
			p.wait(t)
		})
	}
	for range 2 {
		wg.Go(func() {
			recorded, err := runUntilDone(t.Context(), db, anHour, func(int) {})
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(recorded))
		})
	}
	wg.Wait()
	if total.Load() != sharedSearches {
		t.Errorf("%d runs were recorded, want %d", total.Load(), sharedSearches)
	}
	mustHaveRunOnce(t, db, account)
}

// killedRun: what a killed process held is run by others once its hold has passed, and what it has recorded is not run again.
func killedRun(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := mustShareSearches(t, db)
	for round := range 3 {
		p := start(t, "run briefly", place)
		for p.number(t, "recorded %d") < 10+15*round {
		}
		p.Kill()
	}
	p := start(t, "claim", place)
	if n := p.number(t, "claimed %d"); n == 0 {
		t.Error("there was nothing left to claim; the test shows nothing")
	}
	p.Kill()
	until, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := runUntilDone(until, db, anHour, func(int) {}); err != nil {
			t.Fatal(err)
		}
		if due, err := db.NextDue(until); must(t, due, err).After(duePast) {
			break
		}
		time.Sleep(50 * time.Millisecond) // some are still held
	}
	mustHaveRunOnce(t, db, account)
}
