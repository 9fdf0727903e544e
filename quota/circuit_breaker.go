package quota

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

const (
	downAfter   = time.Second            // of failures of one batch; from then on other charges are refused at once
	probePause  = 250 * time.Millisecond // between probes of a store that is down
	probeWithin = 2 * time.Second        // for one probe: a store that commits no faster is no use to callers
	mostProbes  = 3                      // that a store which does not heed its context may hold up, before no more are sent
)

// outage is whether the store is known not to commit. Only the worker begins and ends it.
type outage struct {
	mu    sync.Mutex
	down  bool
	since time.Time
	start chan struct{} // closed when the present or the next outage begins
}

func newOutage() *outage { return &outage{start: make(chan struct{})} }

func (o *outage) is() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.down
}

// begun returns a channel that is closed when the next outage begins, and is closed already during one.
func (o *outage) begun() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.start
}

// begin reports whether it is news.
func (o *outage) begin(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return false
	}
	o.down, o.since = true, now
	close(o.start)
	return true
}

// end returns how long the outage was, and whether there was one.
func (o *outage) end(now time.Time) (time.Duration, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.down {
		return 0, false
	}
	o.down, o.start = false, make(chan struct{})
	return now.Sub(o.since), true
}

// Up reports whether charges are let through: the store is not known to be down. While it is, the ledger asks it by itself
// until it commits again.
func (l *Ledger) Up() bool { return !l.outage.is() }

func (l *Ledger) goDown(why error) {
	if l.outage.begin(time.Now()) {
		l.log.Warn("ledger down: the store does not commit, charges are refused", "error", why)
	}
}

func (l *Ledger) goUp() {
	if lasted, was := l.outage.end(time.Now()); was {
		l.log.Info("ledger up: the store commits again", "after", lasted.Round(time.Millisecond))
		l.doubts.hurry()
	}
}

// waitForStore probes a store that is down, one probe after another, until it commits or the ledger is closed.
func (l *Ledger) waitForStore() {
	held := make(chan struct{}, mostProbes)
	for l.outage.is() {
		select {
		case <-time.After(probePause):
		case <-l.stop:
			return
		}
		select {
		case held <- struct{}{}:
			if l.probe(held) {
				l.goUp()
			}
		default:
		}
	}
}

// probe reports whether the store commits now, and takes one from held when the store has let go of it, which may be later.
// It settles a batch of nobody's charges: that takes a real commit, which a look-up does not, and leaves nothing in doubt.
func (l *Ledger) probe(held <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	result := make(chan error, 1)
	go func() {
		defer cancel()
		result <- l.store.Settle(ctx, store.Batch{ID: newBatchID()}, func(time.Time, []store.AccountState) []store.Entry { return nil })
		<-held
	}()
	select {
	case err := <-result:
		return err == nil
	case <-ctx.Done():
		return false
	case <-l.stop:
		cancel()
		return false
	}
}

// tellEvery is how often it is logged that batches are still not committed.
const tellEvery = time.Minute

// failures tells of batches that were not committed: of the first with its reason, of those behind it only how many there are.
// Otherwise an outage would write as much into the log as there are requests.
type failures struct {
	log *slog.Logger

	mu      sync.Mutex
	unclear bool // an attempt with an unknown outcome was told of
	batches int  // not committed, since one last was
	charges int  // in them
	told    time.Time
}

// attempt tells of an attempt that failed with an unknown outcome.
func (f *failures) attempt(charges int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unclear {
		return
	}
	f.unclear = true
	f.log.Warn("ledger batch unclear, settling it again", "charges", charges, "error", err)
}

// batch tells of a batch that was not committed.
func (f *failures) batch(charges int, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches++
	f.charges += charges
	switch {
	case f.batches == 1:
		f.log.Error("ledger batch not committed", "charges", charges, "error", err)
	case now.Sub(f.told) >= tellEvery:
		f.log.Error("ledger batches still not committed", "batches", f.batches, "charges", f.charges, "error", err)
	default:
		return
	}
	f.told = now
}

// committed ends a row of failures.
func (f *failures) committed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.batches > 1 {
		f.log.Info("ledger batches are committed again", "failed_batches", f.batches, "failed_charges", f.charges)
	}
	f.unclear, f.batches, f.charges = false, 0, 0
}
