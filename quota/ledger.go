// Package quota lets requests through and charges them: monthly quotas of detail views and list records, and a strict limit
// of requests in any 60 seconds, over all processes and channels.
//
// THE CONTRACT: Charge returns only after what it granted is committed. No account is ever granted more than its limit. A
// request that was not granted costs nothing.
//
// Charges are committed in groups. A worker takes every charge that waits (there is no timer: alone, a charge goes at once),
// settles them in one transaction of the store, and answers after the commit. See docs/METERING.md for an example in
// numbers.
package quota

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	maxBatch     = 4096                   // charges in one transaction
	queueLength  = 8192                   // charges that may wait before Charge itself waits
	answerWithin = 5 * time.Second        // a charge not committed by then is refused as unavailable
	retryPause   = 100 * time.Millisecond // between attempts to settle or look up a batch
	mostAttempts = 20                     // to settle or look up one batch
)

// Ledger is the group-commit writer over a store's ledger. Use New, and Close when no request comes any more.
type Ledger struct {
	store  store.Ledger
	rules  Rules
	log    *slog.Logger
	queue  chan *pending
	full   fullWindows
	closed atomic.Bool
	ended  chan struct{}
	mu     sync.RWMutex // held for reading while sending to queue, so that Close can close it
}

// pending is one charge on its way through the worker.
type pending struct {
	request Request
	taken   atomic.Bool // by the worker, or by the caller that gives up; whoever is first
	answer  chan outcome
}

// New starts the writer.
func New(st store.Ledger, rules Rules, log *slog.Logger) *Ledger {
	l := &Ledger{
		store: st, rules: rules, log: log,
		queue: make(chan *pending, queueLength),
		ended: make(chan struct{}),
	}
	go l.work()
	return l
}

// Close settles every charge that waits and stops the writer. Charges that come later are refused. Closing twice is no harm.
func (l *Ledger) Close() {
	if l.closed.CompareAndSwap(false, true) {
		l.mu.Lock()
		close(l.queue)
		l.mu.Unlock()
	}
	<-l.ended
}

// Precheck refuses a request without asking the store when this process knows that the caller's window is full. It may
// know so for at most a second after the store said it; nil means that Charge has to be asked.
func (l *Ledger) Precheck(c cola.Caller) (cola.QuotaState, error) {
	return l.full.check(c.Account, time.Now())
}

// Charge lets a request through, charges it and returns what was granted after the commit. The Grant's State is set with
// refusals too. Errors are *cola.Error: CodeUnauthorized for a credential that no longer holds, CodeQuotaExceeded, and
// CodeUnavailable when the store cannot commit; or ctx's error when that ends before the charge was begun.
func (l *Ledger) Charge(ctx context.Context, q Request) (Grant, error) {
	if state, err := l.Precheck(q.Caller); err != nil {
		return Grant{State: state}, err
	}
	p := &pending{request: q, answer: make(chan outcome, 1)}
	timeout := time.NewTimer(answerWithin)
	defer timeout.Stop()
	if err := l.send(ctx, p, timeout.C); err != nil {
		return Grant{}, err
	}
	select {
	case o := <-p.answer:
		return o.grant, o.err
	case <-ctx.Done():
		if p.taken.CompareAndSwap(false, true) {
			return Grant{}, ctx.Err()
		}
	case <-timeout.C:
		if p.taken.CompareAndSwap(false, true) {
			return Grant{}, cola.Unavailable()
		}
	}
	o := <-p.answer // the worker has it: it is being committed, and answered whatever becomes of it
	return o.grant, o.err
}

func (l *Ledger) send(ctx context.Context, p *pending, timeout <-chan time.Time) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed.Load() {
		return cola.Unavailable()
	}
	select {
	case l.queue <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout:
		return cola.Unavailable()
	}
}

func (l *Ledger) work() {
	defer close(l.ended)
	for first := range l.queue {
		batch := take(first, l.queue)
		if len(batch) > 0 {
			l.settle(batch)
		}
	}
}

// take returns the first charge and all that wait behind it, less those whose callers have gone.
func take(first *pending, queue <-chan *pending) []*pending {
	var batch []*pending
	for p := first; p != nil; {
		if p.taken.CompareAndSwap(false, true) {
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

// settle commits one batch and answers it.
func (l *Ledger) settle(batch []*pending) {
	group := newGroup(batch)
	err := l.commit(group)
	if err != nil {
		l.log.Error("ledger batch not committed", "charges", len(batch), "error", err)
		for _, p := range batch {
			p.answer <- outcome{err: cola.Unavailable()}
		}
		return
	}
	for i, p := range batch {
		o := group.outcomes[i]
		l.full.note(p.request.Caller.Account, o, time.Now())
		p.answer <- o
	}
}

// commit settles the group's batch, however often that takes: after an unclear failure the batch's id is looked up before
// it is tried again, and the store refuses an id twice, so nothing is charged twice or forgotten.
func (l *Ledger) commit(g *group) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var err error
	for range mostAttempts {
		err = l.store.Settle(ctx, g.batch, func(now time.Time, states []store.AccountState) []store.Entry {
			return g.decide(l.rules, now, states)
		})
		switch {
		case err == nil || errors.Is(err, store.ErrExists):
			return nil
		case !errors.Is(err, store.ErrUnavailable):
			return err
		}
		l.log.Warn("ledger batch unclear, looking it up", "error", err)
		if settled, lookErr := l.store.Settled(ctx, g.batch.ID); lookErr == nil && settled {
			return nil
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return err
		}
	}
	return err
}

// group is a batch by account: what the store is asked, and the answers by place in the batch.
type group struct {
	batch    store.Batch
	requests map[cola.AccountID][]int // places in the batch, in arrival order
	pending  []*pending
	outcomes []outcome
}

func newGroup(batch []*pending) *group {
	g := &group{requests: map[cola.AccountID][]int{}, pending: batch, outcomes: make([]outcome, len(batch))}
	rand.Read(g.batch.ID[:])
	seen := map[cola.Credential]bool{}
	for i, p := range batch {
		c := p.request.Caller
		if g.requests[c.Account] == nil {
			g.batch.Accounts = append(g.batch.Accounts, c.Account)
		}
		g.requests[c.Account] = append(g.requests[c.Account], i)
		if !seen[c.Credential] {
			seen[c.Credential] = true
			g.batch.Credentials = append(g.batch.Credentials, c.Credential)
		}
	}
	slices.Sort(g.batch.Accounts)
	return g
}

// decide answers all requests of the group for the states read, and returns the entries to write. It may run again when
// the store has to start over; the last run counts.
func (g *group) decide(rules Rules, now time.Time, states []store.AccountState) []store.Entry {
	var entries []store.Entry
	for _, state := range states {
		places := g.requests[state.Account]
		requests := make([]Request, len(places))
		for i, at := range places {
			requests[i] = g.pending[at].request
		}
		outcomes, entry := rules.decide(now, state, requests)
		for i, at := range places {
			g.outcomes[at] = outcomes[i]
		}
		if entry.Requests > 0 {
			entries = append(entries, entry)
		}
	}
	return entries
}
