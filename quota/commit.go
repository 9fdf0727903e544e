package quota

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	maxBatch    = 4096                   // charges per transaction
	minTimeLeft = time.Second            // a charge with less than this left of its chargeTimeout is rejected
	retryPause  = 100 * time.Millisecond // between attempts to settle a batch
)

// run settles queued charges until the queue is closed and empty.
func (l *Ledger) run() {
	defer close(l.ended)
	for first := range l.queue {
		if batch := collect(first, l.queue, time.Now()); len(batch) > 0 {
			l.settle(batch)
		}
	}
}

// collect returns the first charge and those queued behind it, without those whose callers have
// given up. It rejects charges that expire within minTimeLeft, because the oldest charge sets the
// deadline of its batch.
func collect(first *pending, queue <-chan *pending, now time.Time) []*pending {
	var batch []*pending
	for p := first; p != nil; {
		switch {
		case !p.taken.CompareAndSwap(false, true):
		case now.Sub(p.arrived) > chargeTimeout-minTimeLeft:
			p.result <- outcome{err: cola.Unavailable()}
		default:
			batch = append(batch, p)
		}
		p = nil
		if len(batch) < maxBatch {
			select {
			case p = <-queue: // nil when it is closed and empty
			default:
			}
		}
	}
	return batch
}

// settle commits one batch and sends the outcomes to its callers. If the batch is not committed in
// time, it rejects the charges.
func (l *Ledger) settle(batch []*pending) {
	if l.breaker.isOpen() || l.inDoubt.full() {
		reject(batch)
		return
	}
	g := newGroup(batch)
	ctx, cancel := context.WithDeadline(context.Background(), g.oldest.Add(chargeTimeout))
	defer cancel()
	start := time.Now()
	go l.commit(ctx, g)
	err := l.await(ctx, g)
	l.metrics.observeBatch(len(batch), time.Since(start))
	if err == nil {
		l.closeCircuit() // it may have opened during the attempts
		l.failures.committed()
		l.reply(g)
		return
	}
	l.failures.failedBatch(len(batch), err, time.Now())
	l.markInDoubt(ctx, g, err)
	reject(batch)
	l.probeUntilUp()
}

// reply sends the outcomes of a committed batch.
func (l *Ledger) reply(g *group) {
	now := time.Now()
	for i, p := range g.pending {
		o := g.outcomes[i]
		if !p.request.Peek {
			l.bursts.update(p.request.Caller, o, now)
		}
		p.result <- o
	}
}

func reject(batch []*pending) {
	for _, p := range batch {
		p.result <- outcome{err: cola.Unavailable()}
	}
}

// markInDoubt queues a rejected batch that may have been committed, so that it is voided. In that
// case, or if the time ran out, it also opens the circuit breaker. Later charges do not wait for
// the void. Until the batch is voided, its units may count as used, so an account may be granted
// less than its remaining quota, but never more.
func (l *Ledger) markInDoubt(ctx context.Context, g *group, err error) {
	maybeCommitted := !g.finished() || g.mayBeCommitted()
	if maybeCommitted {
		l.inDoubt.add(g)
	}
	if maybeCommitted || ctx.Err() != nil {
		l.openCircuit(err)
	}
}

// commit settles the group's batch and stores the outcome in the group. After an attempt with an
// unknown outcome, it retries under the same ID until ctx ends. The store rejects a committed ID
// with ErrExists, so a batch is never charged twice.
func (l *Ledger) commit(ctx context.Context, g *group) {
	defer close(g.done)
	for {
		g.err = l.store.Settle(ctx, g.batch, func(now time.Time, states []store.AccountState) []store.Entry {
			return g.decide(l.rules, now, states)
		})
		if errors.Is(g.err, store.ErrExists) {
			g.err = nil
		}
		if !errors.Is(g.err, store.ErrUnavailable) {
			return
		}
		l.metrics.unclear.Inc()
		if err := g.err; ctx.Err() == nil {
			g.cause.Store(&err)
			l.failures.unclearAttempt(len(g.pending), err)
		}
		if !g.unclear {
			g.unclear = true
			close(g.failing)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return
		}
	}
}

// await returns nil once the group's batch is committed, or the reason why it isn't. It returns
// when ctx ends, even if the store ignores ctx. If the store keeps failing, await opens the circuit
// breaker while the batch is still being retried.
func (l *Ledger) await(ctx context.Context, g *group) error {
	failing := g.failing
	var long <-chan time.Time
	for {
		select {
		case <-g.done:
			return g.result(ctx)
		case <-failing:
			failing, long = nil, time.After(openAfter)
		case <-long:
			l.openCircuit(g.late())
		case <-ctx.Done():
			if g.finished() {
				return g.result(ctx)
			}
			return g.late()
		}
	}
}
