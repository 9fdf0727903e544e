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
	maxInDoubt   = 10_000                 // batches in doubt; at the limit, the ledger rejects charges
	minVoidPause = 200 * time.Millisecond // pause before the first attempt; doubled after each round without progress
	maxVoidPause = 5 * time.Second
	voidTimeout  = 5 * time.Second // time limit for one attempt; Void may wait for an open transaction
	closeTimeout = 5 * time.Second // time limit for voiding the remaining batches when the ledger closes
)

// inDoubt tracks batches that were rejected although their transaction may have committed:
//
//  1. The ledger rejects the batch's charges and calls add.
//  2. A background worker calls store.Ledger.Void, oldest batch first, with exponential backoff.
//     Void undoes a committed batch and blocks one that has not committed yet, so a rejected
//     request is not charged, except for pages reloaded since (docs/METERING.md, "In doubt").
//  3. The worker skips a batch while its last attempt to settle is running, because its entries
//     may change.
//
// State lives in memory; after a crash the last rejected batches may stay charged
// (docs/METERING.md, "In doubt").
type inDoubt struct {
	store   store.Ledger
	log     *slog.Logger
	max     int
	pending chan struct{}      // signals the worker that there may be a batch; capacity 1
	wake    chan struct{}      // ends the worker's pause; capacity 1
	closing chan struct{}      // closed when no more batches are added
	stopped chan struct{}      // closed when the worker has stopped
	cancel  context.CancelFunc // stops the worker

	mu     sync.Mutex
	list   []*group // oldest first
	voided int      // batches voided since the list was last empty
}

func newInDoubt(st store.Ledger, log *slog.Logger) *inDoubt {
	ctx, cancel := context.WithCancel(context.Background())
	d := &inDoubt{
		store: st, log: log, max: maxInDoubt, cancel: cancel,
		pending: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	go d.run(ctx)
	return d
}

func (d *inDoubt) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.list)
}

func (d *inDoubt) full() bool { return d.len() >= d.max }

// add adds a batch of rejected charges.
func (d *inDoubt) add(g *group) {
	d.mu.Lock()
	d.list = append(d.list, g)
	n := len(d.list)
	d.mu.Unlock()
	switch n {
	case 1:
		d.log.Warn("voiding in-doubt ledger batches")
	case d.max:
		d.log.Error("too many in-doubt ledger batches; refusing charges", "batches", n)
	}
	signal(d.pending)
}

// retryNow starts the next round immediately. It is called when the store has recovered or the
// ledger is closing.
func (d *inDoubt) retryNow() {
	if d.len() > 0 {
		signal(d.wake)
	}
}

// signal sends to a channel of capacity 1, unless it is full.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close waits up to closeTimeout for all batches to be voided, and logs those that are still in
// doubt.
func (d *inDoubt) close() {
	close(d.closing)
	d.retryNow()
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case <-d.stopped:
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
	d.log.Error("ledger batches left in doubt; refused charges may still be counted", "batches", len(ids), "ids", ids)
}

// run voids batches until the ledger is closing and the list is empty, or until ctx ends.
func (d *inDoubt) run(ctx context.Context) {
	defer close(d.stopped)
	pause := minVoidPause
	for {
		if d.len() == 0 {
			select {
			case <-d.pending:
			case <-d.closing:
				if d.len() == 0 {
					return
				}
			}
			pause = minVoidPause
			continue
		}
		select {
		case <-time.After(jittered(pause)):
		case <-d.wake:
			pause = minVoidPause
		case <-ctx.Done():
			return
		}
		if d.voidAll(ctx) || isClosed(d.closing) { // closing leaves no time to back off
			pause = minVoidPause
		} else {
			pause = min(2*pause, maxVoidPause)
		}
	}
}

// jittered randomizes a pause, so that processes that lost the store together don't retry together.
func jittered(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2) }

// voidAll tries to void each batch, oldest first, and reports whether any succeeded. It stops if
// the store is unavailable. A batch that fails for another reason does not block later ones.
func (d *inDoubt) voidAll(ctx context.Context) (progress bool) {
	d.mu.Lock()
	list := slices.Clone(d.list)
	d.mu.Unlock()
	for _, g := range list {
		if !g.finished() {
			continue // its attempt is still running, so its entries aren't final
		}
		err := d.void(ctx, g)
		switch {
		case err == nil:
			d.remove(g)
			progress = true
		case errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return progress
		default:
			d.log.Error("voiding a ledger batch failed", "id", fmt.Sprintf("%x", g.batch.ID), "error", err)
		}
	}
	return progress
}

func (d *inDoubt) void(ctx context.Context, g *group) error {
	if !g.mayBeCommitted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, voidTimeout)
	defer cancel()
	return d.store.Void(ctx, g.batch.ID, g.entries)
}

// remove removes a voided batch from the list.
func (d *inDoubt) remove(g *group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.list, g)
	d.list = slices.Delete(d.list, i, i+1)
	d.voided++
	if len(d.list) == 0 {
		d.log.Info("in-doubt ledger batches voided", "batches", d.voided)
		d.voided = 0
	}
}
