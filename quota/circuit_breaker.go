package quota

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

const (
	openAfter     = time.Second            // how long one batch may fail before the breaker opens
	probeInterval = 250 * time.Millisecond // pause between probes of the store
	probeTimeout  = 2 * time.Second        // time limit for one probe
	maxProbes     = 3                      // limit on probes in flight, in case the store ignores their contexts
)

// circuitBreaker is open while the store cannot commit; the ledger then rejects charges
// immediately. Only the ledger's worker opens and closes it.
//
//	          a batch failed for openAfter, ran out of time or is in doubt
//	┌────────┐ ─────────────────────────────────────────────────────► ┌──────┐
//	│ closed │                                                        │ open │ ──┐ probe fails
//	└────────┘ ◄───────────────────────────────────────────────────── └──────┘ ◄─┘
//	          a probe or the batch commits
type circuitBreaker struct {
	mu     sync.Mutex
	open   bool
	since  time.Time
	opened chan struct{} // closed when the breaker opens; replaced when it closes
}

func newCircuitBreaker() *circuitBreaker { return &circuitBreaker{opened: make(chan struct{})} }

func (o *circuitBreaker) isOpen() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

// untilOpen returns a channel that is closed when the breaker opens, or already closed if it is
// open.
func (o *circuitBreaker) untilOpen() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opened
}

// trip opens the breaker, and reports whether it was closed.
func (o *circuitBreaker) trip(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return false
	}
	o.open, o.since = true, now
	close(o.opened)
	return true
}

// reset closes the breaker. It reports whether the breaker was open, and for how long.
func (o *circuitBreaker) reset(now time.Time) (time.Duration, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.open {
		return 0, false
	}
	o.open, o.opened = false, make(chan struct{})
	return now.Sub(o.since), true
}

// Up reports whether the circuit breaker is closed, that is, whether charges are attempted. While
// it is open, the ledger probes the store until it commits again.
func (l *Ledger) Up() bool { return !l.breaker.isOpen() }

func (l *Ledger) openCircuit(cause error) {
	if l.breaker.trip(time.Now()) {
		l.log.Warn("ledger down; refusing charges", "error", cause)
	}
}

func (l *Ledger) closeCircuit() {
	if lasted, wasOpen := l.breaker.reset(time.Now()); wasOpen {
		l.log.Info("ledger up", "after", lasted.Round(time.Millisecond))
		l.inDoubt.retryNow()
	}
}

// probeUntilUp probes the store while the breaker is open, until a probe commits or the ledger
// closes.
func (l *Ledger) probeUntilUp() {
	slots := make(chan struct{}, maxProbes)
	for l.breaker.isOpen() {
		select {
		case <-time.After(probeInterval):
		case <-l.stop:
			return
		}
		select {
		case slots <- struct{}{}:
			if l.probe(slots) {
				l.closeCircuit()
			}
		default:
		}
	}
}

// probe reports whether the store can commit. It settles an empty batch, which charges no account
// but, unlike a read, requires a real commit. It frees its slot when the store returns, which may
// be after probe has timed out.
func (l *Ledger) probe(slots <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	result := make(chan error, 1)
	go func() {
		defer cancel()
		result <- l.store.Settle(ctx, store.Batch{ID: newBatchID()},
			func(time.Time, []store.AccountState) []store.Entry { return nil })
		<-slots
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

// failureLogInterval is the pause between log lines about an ongoing failure.
const failureLogInterval = time.Minute

// failureLog logs batches that were not committed: the first one with its error, later ones as a
// count once a minute, so that an outage does not log a line per request.
type failureLog struct {
	log *slog.Logger

	mu       sync.Mutex
	unclear  bool // an attempt with an unknown outcome was logged
	batches  int  // batches that failed since the last commit
	charges  int  // charges in those batches
	loggedAt time.Time
}

// unclearAttempt logs an attempt that failed with an unknown outcome.
func (f *failureLog) unclearAttempt(charges int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unclear {
		return
	}
	f.unclear = true
	f.log.Warn("ledger batch outcome unknown; retrying", "charges", charges, "error", err)
}

// failedBatch logs a batch that was not committed.
func (f *failureLog) failedBatch(charges int, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches++
	f.charges += charges
	switch {
	case f.batches == 1:
		f.log.Error("ledger batch not committed", "charges", charges, "error", err)
	case now.Sub(f.loggedAt) >= failureLogInterval:
		f.log.Error("ledger batches still not committed", "batches", f.batches, "charges", f.charges, "error", err)
	default:
		return
	}
	f.loggedAt = now
}

// committed ends a series of failures.
func (f *failureLog) committed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.batches > 1 {
		f.log.Info("ledger batch commits recovered", "failed_batches", f.batches, "failed_charges", f.charges)
	}
	f.unclear, f.batches, f.charges = false, 0, 0
}
