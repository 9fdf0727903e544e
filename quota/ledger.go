// Package quota lets requests through and charges them: monthly quotas of detail views and list records, and a strict limit
// of requests in any 60 seconds, over all processes and channels.
//
// THE CONTRACT: Charge returns only after what it granted is committed. No account is ever granted more than its limit. A
// request that was not granted costs nothing.
//
// Charges are committed in groups. A worker takes every charge that waits (there is no timer: alone, a charge goes at once),
// settles them in one transaction of the store, and answers after the commit. A group that cannot be committed in time is
// refused and, where it may have been committed all the same, voided; while the store is down, charges are refused at once.
// See docs/METERING.md for an example in numbers.
package quota

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	queueLength = 8192 // charges that may wait before Charge itself waits
	// answerWithin bounds every charge: one that is not committed by then is refused as unavailable, whatever the store does.
	answerWithin = 5 * time.Second
)

// Options of a Ledger. The zero Options will do.
type Options struct {
	Rules   Rules
	Logger  *slog.Logger          // nil discards
	Metrics prometheus.Registerer // gets the ledger's metrics, for one ledger only; nil: not measured
}

// Ledger is the group-commit writer over a store's ledger. Use New, and Close when no request comes any more.
type Ledger struct {
	store   store.Ledger
	rules   Rules
	log     *slog.Logger
	metrics *metrics
	queue   chan *pending
	full    fullWindows
	outage  *outage
	doubts  *doubts
	failed  *failures

	mu      sync.RWMutex // held for reading while sending to queue, so that Close can close it
	closed  atomic.Bool
	closing sync.Once
	stop    chan struct{} // closed when Close begins
	ended   chan struct{} // closed when the worker has ended
}

// pending is one charge on its way through the worker.
type pending struct {
	request Request
	arrived time.Time
	taken   atomic.Bool // by the worker, or by the caller that gives up; whoever is first
	answer  chan outcome
}

// New starts the writer.
func New(st store.Ledger, o Options) *Ledger {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Ledger{
		store: st, rules: o.Rules, log: o.Logger,
		queue:  make(chan *pending, queueLength),
		outage: newOutage(),
		doubts: newDoubts(st, o.Logger),
		failed: &failures{log: o.Logger},
		stop:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	l.metrics = newMetrics(o.Metrics, l)
	go l.work()
	return l
}

// Close settles every charge that waits and stops the writer. Charges that come later are refused. Batches that are still to
// be voided get some seconds; then the ids of those left are logged. Closing twice is no harm.
func (l *Ledger) Close() {
	l.closing.Do(func() {
		l.closed.Store(true)
		close(l.stop)
		l.mu.Lock()
		close(l.queue)
		l.mu.Unlock()
		<-l.ended
		l.doubts.close()
	})
}

// Precheck refuses a request without asking the store if this process knows that the caller's window is
// full, or that the store does not commit. It knows of a full window for at most a second. A nil error
// means that Charge has to be asked.
//
// Charge prechecks every request. Call Precheck as well before expensive work, so that a refused request
// costs neither the work nor a transaction: the window can fill, and the store go down, in between.
func (l *Ledger) Precheck(q Request) (state cola.QuotaState, err error) {
	if !q.Peek {
		state, err = l.full.check(q.Caller.Account, time.Now())
	}
	if err == nil && l.outage.is() {
		err = cola.Unavailable()
	}
	if err != nil {
		l.metrics.refuse(err)
	}
	return state, err
}

// Charge lets a request through, charges it and returns what was granted after the commit. The Grant's State is set with
// refusals too, unless it is not known. Errors are *cola.Error: CodeUnauthorized for a credential that no longer holds,
// CodeQuotaExceeded, and CodeUnavailable when the store cannot commit; or ctx's error when that ends before the charge was
// begun. It returns within five seconds.
func (l *Ledger) Charge(ctx context.Context, q Request) (Grant, error) {
	if state, err := l.Precheck(q); err != nil {
		return Grant{State: state}, err
	}
	p := &pending{request: q, arrived: time.Now(), answer: make(chan outcome, 1)}
	o := l.await(ctx, p)
	l.metrics.answer(q.Meter, o, time.Since(p.arrived))
	return o.grant, o.err
}

// await queues a charge and returns its answer. Whoever waits gives up by itself when the store goes down; the worker need
// not look for it.
func (l *Ledger) await(ctx context.Context, p *pending) outcome {
	timeout := time.NewTimer(answerWithin)
	defer timeout.Stop()
	down := l.outage.begun()
	if err := l.send(ctx, p, down, timeout.C); err != nil {
		return outcome{err: err}
	}
	var err error
	select {
	case o := <-p.answer:
		return o
	case <-ctx.Done():
		err = ctx.Err()
	case <-down:
		err = cola.Unavailable()
	case <-timeout.C:
		err = cola.Unavailable()
	}
	if p.taken.CompareAndSwap(false, true) {
		return outcome{err: err}
	}
	return <-p.answer // the worker has it: it is being committed, and answered in time whatever becomes of it
}

func (l *Ledger) send(ctx context.Context, p *pending, down <-chan struct{}, timeout <-chan time.Time) error {
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
	case <-down:
		return cola.Unavailable()
	case <-timeout:
		return cola.Unavailable()
	}
}
