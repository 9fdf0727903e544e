package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

const (
	mostDoubts = 10_000                 // batches to be voided; with as many, charges are refused rather than one forgotten
	firstPause = 200 * time.Millisecond // before the first attempt to void, doubled with every round that gets nowhere
	mostPause  = 5 * time.Second
	voidWithin = 5 * time.Second // for one attempt: a batch whose transaction is still open somewhere is waited for
	closeLimit = 5 * time.Second // for what is left when the ledger is closed
)

// doubts are the batches whose charges were refused and which may have been committed all the same. They are voided in the
// background, oldest first, for as long as it takes.
type doubts struct {
	store  store.Ledger
	log    *slog.Logger
	most   int
	added  chan struct{}      // holds one: there may be something to do
	wake   chan struct{}      // holds one: do it at once
	ending chan struct{}      // closed when nothing is added any more
	ended  chan struct{}      // closed when the background work has ended
	cancel context.CancelFunc // calls the background work off

	mu       sync.Mutex
	list     []*group // oldest first
	resolved int      // since the list was last empty
}

func newDoubts(st store.Ledger, log *slog.Logger) *doubts {
	ctx, cancel := context.WithCancel(context.Background())
	d := &doubts{
		store: st, log: log, most: mostDoubts, cancel: cancel,
		added: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	go d.work(ctx)
	return d
}

func (d *doubts) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.list)
}

func (d *doubts) full() bool { return d.count() >= d.most }

// add takes a batch whose charges were refused.
func (d *doubts) add(g *group) {
	d.mu.Lock()
	d.list = append(d.list, g)
	n := len(d.list)
	d.mu.Unlock()
	switch n {
	case 1:
		d.log.Warn("ledger batches in doubt: they were refused, may be committed, and are being voided")
	case d.most:
		d.log.Error("too many ledger batches in doubt: charges are refused until one is voided", "batches", n)
	}
	signal(d.added)
}

// hurry has the next round begin at once: the store is back, or the ledger is being closed.
func (d *doubts) hurry() {
	if d.count() > 0 {
		signal(d.wake)
	}
}

// signal leaves a token in a channel that holds one, unless there is one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close waits until nothing is in doubt, but not for long, and logs the batches that are left.
func (d *doubts) close() {
	close(d.ending)
	d.hurry()
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	select {
	case <-d.ended:
	case <-limit.C:
	}
	d.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) == 0 {
		return
	}
	ids := make([]string, len(d.list))
	for i, g := range d.list {
		ids[i] = fmt.Sprintf("%x", g.batch.ID)
	}
	d.log.Error("ledger batches left in doubt: their charges were refused but may count", "batches", len(ids), "ids", ids)
}

// work voids until nothing is in doubt and nothing will be, or ctx ends.
func (d *doubts) work(ctx context.Context) {
	defer close(d.ended)
	pause := firstPause
	for {
		if d.count() == 0 {
			select {
			case <-d.added:
			case <-d.ending:
				if d.count() == 0 {
					return
				}
			}
			pause = firstPause
			continue
		}
		select {
		case <-time.After(jittered(pause)):
		case <-d.wake:
			pause = firstPause
		case <-ctx.Done():
			return
		}
		if d.round(ctx) || isClosed(d.ending) { // there is no time to back off when the ledger is being closed
			pause = firstPause
		} else {
			pause = min(2*pause, mostPause)
		}
	}
}

// jittered spreads pauses, so that processes that lost the store at one instant do not come back at one.
func jittered(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2) }

// round voids what can be voided now, in order, and reports whether that was anything. It ends where the store is
// unavailable; a batch that fails for another reason does not hold up those behind it.
func (d *doubts) round(ctx context.Context) (progress bool) {
	d.mu.Lock()
	list := slices.Clone(d.list)
	d.mu.Unlock()
	for _, g := range list {
		if !g.over() {
			continue // the store still holds the attempt to settle it: what to take back is not known yet
		}
		err := d.void(ctx, g)
		switch {
		case err == nil:
			d.resolve(g)
			progress = true
		case errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return progress
		default:
			d.log.Error("ledger batch in doubt not voided", "id", fmt.Sprintf("%x", g.batch.ID), "error", err)
		}
	}
	return progress
}

func (d *doubts) void(ctx context.Context, g *group) error {
	if !g.mayCount() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, voidWithin)
	defer cancel()
	return d.store.Void(ctx, g.batch.ID, g.entries)
}

// resolve strikes a batch off the list.
func (d *doubts) resolve(g *group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.list, g)
	d.list = slices.Delete(d.list, i, i+1)
	d.resolved++
	if len(d.list) == 0 {
		d.log.Info("ledger batches in doubt are voided", "batches", d.resolved)
		d.resolved = 0
	}
}
