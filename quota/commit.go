package quota

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	maxBatch   = 4096                   // charges in one transaction
	leastTime  = time.Second            // that a charge must have left of answerWithin to be tried
	retryPause = 100 * time.Millisecond // between attempts to settle a batch
)

// work settles what waits until the queue is closed and empty.
func (l *Ledger) work() {
	defer close(l.ended)
	for first := range l.queue {
		if batch := take(first, l.queue, time.Now()); len(batch) > 0 {
			l.settle(batch)
		}
	}
}

// take returns the first charge and all that wait behind it, less those whose callers have gone. Those that have waited for
// so long that they would leave no time to the others of their batch are refused.
func take(first *pending, queue <-chan *pending, now time.Time) []*pending {
	var batch []*pending
	for p := first; p != nil; {
		switch {
		case !p.taken.CompareAndSwap(false, true):
		case now.Sub(p.arrived) > answerWithin-leastTime:
			p.answer <- outcome{err: cola.Unavailable()}
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

// settle commits one batch and answers it; when that could not be had in time, it refuses it.
func (l *Ledger) settle(batch []*pending) {
	if l.outage.is() || l.doubts.full() {
		refuse(batch)
		return
	}
	g := newGroup(batch)
	ctx, cancel := context.WithDeadline(context.Background(), g.oldest.Add(answerWithin))
	defer cancel()
	begun := time.Now()
	go l.commit(ctx, g)
	err := l.follow(ctx, g)
	l.metrics.settled(len(batch), time.Since(begun))
	if err == nil {
		l.goUp() // it may have gone down while the batch was tried
		l.failed.committed()
		l.reply(g)
		return
	}
	l.failed.batch(len(batch), err, time.Now())
	l.giveUp(ctx, g, err)
	refuse(batch)
	l.waitForStore()
}

// reply answers every charge of a batch that is committed.
func (l *Ledger) reply(g *group) {
	now := time.Now()
	for i, p := range g.pending {
		o := g.outcomes[i]
		if !p.request.Peek {
			l.full.note(p.request.Caller.Account, o, now)
		}
		p.answer <- o
	}
}

func refuse(batch []*pending) {
	for _, p := range batch {
		p.answer <- outcome{err: cola.Unavailable()}
	}
}

// giveUp sees to it that a batch that is to be refused counts for nothing. The charges that follow are decided without
// waiting for it to be voided: until then its units may count as used, so that an account is granted less than is left,
// never more.
func (l *Ledger) giveUp(ctx context.Context, g *group, err error) {
	doubtful := !g.over() || g.mayCount()
	if doubtful {
		l.doubts.add(g)
	}
	if doubtful || ctx.Err() != nil {
		l.goDown(err)
	}
}

// commit settles the group's batch, however often that takes until ctx ends, and leaves what came of it in the group. After
// an unclear failure the batch is settled again under its id: the store refuses an id that is committed, and decides one
// that is not, so nothing is charged twice or forgotten.
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
			l.failed.attempt(len(g.pending), err)
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

// follow waits until the group's batch is committed, which is nil, or cannot be, or ctx ends; a store that does not heed
// ctx is not waited for. A store that goes on failing is down, though the batch is still tried.
func (l *Ledger) follow(ctx context.Context, g *group) error {
	failing := g.failing
	var long <-chan time.Time
	for {
		select {
		case <-g.done:
			return g.result(ctx)
		case <-failing:
			failing, long = nil, time.After(downAfter)
		case <-long:
			l.goDown(g.late())
		case <-ctx.Done():
			if g.over() {
				return g.result(ctx)
			}
			return g.late()
		}
	}
}
