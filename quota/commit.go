package quota

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	minTimeLeft = time.Second            // a charge with less time left before its timeout is rejected
	retryPause  = 100 * time.Millisecond // pause between attempts to settle a batch
)

// run settles queued charges until the queue is closed and empty.
func (l *Ledger) run() {
	defer close(l.ended)
	for l.queue.wait() {
		if batch := rejectLate(l.queue.take(), time.Now()); len(batch) > 0 {
			l.settle(batch)
		}
		l.queue.settled()
	}
}

// rejectLate rejects charges that will expire within minTimeLeft, and returns the rest. The oldest
// charge sets the deadline of its batch, so a late one would leave the others too little time.
func rejectLate(batch []*pending, now time.Time) []*pending {
	return slices.DeleteFunc(batch, func(p *pending) bool {
		late := now.Sub(p.arrived) > chargeTimeout-minTimeLeft
		if late {
			p.result <- outcome{err: cola.Unavailable()}
		}
		return late
	})
}

// settle commits one batch and sends the outcomes to its callers. If the commit fails or takes too
// long, it rejects the charges.
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
	took := time.Since(start)
	l.metrics.observeBatch(len(batch), took)
	if err == nil {
		if !g.unclear {
			l.queue.measure(len(g.batch.Accounts), took)
		}
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
		l.rejected.update(p.request, o, now)
		p.result <- o
	}
}

func reject(batch []*pending) {
	for _, p := range batch {
		p.result <- outcome{err: cola.Unavailable()}
	}
}

// markInDoubt queues a rejected batch for voiding if it may have been committed. In that case, or
// if the time ran out, it also opens the circuit breaker. Later charges do not wait for the void.
// Until the batch is voided, its units may count as used, so an account may be granted less than
// its remaining quota, but never more.
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
