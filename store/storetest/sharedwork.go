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

// shortHold is how long a process holds what it claims that is to be killed. No other is at work beside it.
const shortHold = 2 * time.Second

// sharedWork is what processes claim from each other, do once, and leave to others when they are killed.
type sharedWork struct {
	jobs                 int
	work, briefly, claim string // names of what child processes do: all of it, all of it with short holds, and only claiming
	share                func(t *testing.T, db Database) cola.AccountID
	done                 func(t *testing.T, db Database, account cola.AccountID) // holds a database to everything having been done once
	// untilDone claims and does until nothing is due, calls told with how much it has done so far, and returns how much that is.
	untilDone func(ctx context.Context, st store.Store, hold time.Duration, told func(n int)) (int, error)
	claimAll  func(ctx context.Context, st store.Store) (int, error)  // with shortHold
	left      func(ctx context.Context, st store.Store) (bool, error) // whether anything is due, held or not
}

// child does what is due, with holds of a length, and says how much it has done.
func (w *sharedWork) child(hold time.Duration) func(ctx context.Context, st store.Store, out io.Writer) error {
	return func(ctx context.Context, st store.Store, out io.Writer) error {
		_, err := w.untilDone(ctx, st, hold, func(n int) { fmt.Fprintf(out, "done %d\n", n) })
		return err
	}
}

// childClaim claims what is due, says how much that is, and neither does it nor lets it go.
func (w *sharedWork) childClaim(ctx context.Context, st store.Store, out io.Writer) error {
	n, err := w.claimAll(ctx, st)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "claimed %d\n", n)
	time.Sleep(time.Hour)
	return errors.New("nobody has killed the process")
}

// together: two processes, and goroutines of a third, do everything once.
func (w *sharedWork) together(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := w.share(t, db)
	total := together(t, place, w.work, "done %d", func(int) (int, error) { return w.untilDone(t.Context(), db, anHour, func(int) {}) })
	if total != w.jobs {
		t.Errorf("%d were done, want %d", total, w.jobs)
	}
	w.done(t, db, account)
}

// killed: what a killed process held is done by others once its hold has passed, and what it has done is not done again.
func (w *sharedWork) killed(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	account := w.share(t, db)
	for round := range 3 {
		p := start(t, w.briefly, place)
		for p.number(t, "done %d") < 10+15*round {
		}
		p.Kill()
	}
	p := start(t, w.claim, place)
	if n := p.number(t, "claimed %d"); n == 0 {
		t.Error("there was nothing left to claim; the test shows nothing")
	}
	p.Kill()
	until, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := w.untilDone(until, db, anHour, func(int) {}); err != nil {
			t.Fatal(err)
		}
		if left, err := w.left(until, db); !must(t, left, err) {
			break
		}
		time.Sleep(50 * time.Millisecond) // some are still held
	}
	w.done(t, db, account)
}

// together has two processes that play a role, and four goroutines of this one, at the same thing on one database, and returns how much they have
// done in all. A process says last how much it has.
func together(t *testing.T, place, role, says string, do func(i int) (int, error)) int {
	t.Helper()
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		p := start(t, role, place)
		wg.Go(func() {
			total.Add(int64(p.lastNumber(t, says)))
			p.wait(t)
		})
	}
	for i := range 4 {
		wg.Go(func() {
			n, err := do(i)
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(n))
		})
	}
	wg.Wait()
	return int(total.Load())
}
