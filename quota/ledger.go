// Package quota admits requests and charges them. It enforces monthly quotas of detail views and
// list records across all processes and channels, and a strict limit on API and MCP requests in any
// 60 seconds.
//
// # Contract
//
// Charge returns a grant only after it is committed. No account ever gets more than its limit. A
// rejected request is not charged.
//
// # Group commit
//
// A single worker commits charges in batches:
//
//  1. Charge queues the request, or rejects it if it would wait too long.
//  2. The worker takes the queued charges, one from each account in turn. It does not wait for
//     more, so a lone charge starts immediately.
//  3. One store transaction locks the accounts, decides each charge in order of arrival, and writes
//     the usage.
//  4. After the commit, the worker sends each caller its outcome.
//
// # Failures
//
// The store accepts each batch ID only once, so a retried batch is never charged twice:
//
//	settle ──► committed ──────────────────────► grant
//	  │  ▲
//	  │  └── retry with the same ID ◄── outcome unknown
//	  │                                     │ 5 s after the first charge arrived
//	  ▼                                     ▼
//	not committed ──► reject            reject and mark in doubt ──► Void until it succeeds
//
// While the store cannot commit, a circuit breaker rejects charges immediately and the ledger
// probes the store. docs/QUOTAS.md has a worked example.
package quota

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// chargeTimeout is the time limit for every charge. A charge that is not committed by then is
// rejected as unavailable.
const chargeTimeout = 5 * time.Second

const (
	// workingPerProcessor limits the requests in progress, per processor. If the processors are the
	// bottleneck, making requests wait their turn speeds up the others, because each request waits
	// for a processor several times: to search, to be charged and to write its response.
	workingPerProcessor = 64
	// waitingPerProcessor limits the requests waiting their turn, per processor.
	waitingPerProcessor = 256
)

// Options configures a Ledger. The zero value is valid.
type Options struct {
	Rules   Rules
	Logger  *slog.Logger          // optional
	Metrics prometheus.Registerer // registers the metrics of this Ledger only; optional
}

// Ledger charges requests against a store's ledger in group commits. Create it with New, and Close
// it after the last request.
type Ledger struct {
	store    store.Ledger
	rules    Rules
	log      *slog.Logger
	metrics  *metrics
	queue    *queue
	rejected rejectionCache
	breaker  *circuitBreaker
	inDoubt  *inDoubt
	failures *failureLog

	working    chan struct{} // one element per request between Enter and leave
	leave      func()        // ends the work on a request
	waiting    atomic.Int64  // requests in Enter
	maxWaiting int64

	closing sync.Once
	stop    chan struct{} // closed when Close starts
	ended   chan struct{} // closed when the worker has stopped
}

// pending is a queued charge.
type pending struct {
	request Request
	arrived time.Time
	result  chan outcome

	next   *pending // of the same account; guarded by queue.mu
	queued bool     // neither taken by the worker nor removed by its caller; guarded by queue.mu
}

// New starts a Ledger.
func New(st store.Ledger, o Options) *Ledger {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Ledger{
		store: st, rules: o.Rules, log: o.Logger,
		queue:    newQueue(),
		breaker:  newCircuitBreaker(),
		inDoubt:  newInDoubt(st, o.Logger),
		failures: &failureLog{log: o.Logger},
		stop:     make(chan struct{}),
		ended:    make(chan struct{}),

		working:    make(chan struct{}, workingPerProcessor*runtime.GOMAXPROCS(0)),
		maxWaiting: int64(waitingPerProcessor * runtime.GOMAXPROCS(0)),
	}
	l.leave = func() { <-l.working }
	l.metrics = newMetrics(o.Metrics, l)
	go l.run()
	return l
}

// Close settles the queued charges and stops the worker. Later charges are rejected. Close waits a
// few seconds for in-doubt batches to be voided, and logs the IDs of the remaining ones. Further
// calls are no-ops.
func (l *Ledger) Close() {
	l.closing.Do(func() {
		close(l.stop)
		l.queue.close()
		<-l.ended
		l.inDoubt.close()
	})
}

// Precheck rejects a request without a store call if the rejection cache has the caller, if the
// circuit breaker is open, or if the charge would wait too long (see queue). A nil error does
// not mean that Charge will grant the request.
//
// Charge prechecks every request. Call Precheck as well before expensive work, so that a rejected
// request costs neither the work nor a transaction.
func (l *Ledger) Precheck(q Request) (state cola.QuotaState, err error) {
	state, err = l.rejected.check(q, time.Now())
	if err == nil && l.breaker.isOpen() {
		err = cola.Unavailable()
	}
	if err == nil {
		err = l.queue.admit(q.Caller.Account)
	}
	return state, l.counted(err)
}

// Overloaded returns an error if a request from any account would now wait too long for a processor
// or for its charge, and nil otherwise. Call it for each request before doing any work on it: an
// overloaded process keeps its throughput only if a rejection costs much less than a response.
func (l *Ledger) Overloaded() error {
	if l.waiting.Load() >= l.maxWaiting {
		return l.counted(cola.Overloaded(time.Second))
	}
	return l.counted(l.queue.admit(0))
}

// Enter waits until the process can work on another request. It returns a function to call when the
// work is done. Enter fails with the same error as Overloaded if too many requests are waiting or
// the wait takes five seconds, and with ctx's error if ctx ends. Call Enter after authentication,
// and call the returned function before writing the response; otherwise, slow readers or clients
// without a key could keep others out.
func (l *Ledger) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.working <- struct{}{}:
		return l.leave, nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.maxWaiting {
		return nil, l.counted(cola.Overloaded(time.Second))
	}
	timeout := time.NewTimer(chargeTimeout)
	defer timeout.Stop()
	select {
	case l.working <- struct{}{}:
		return l.leave, nil
	case <-timeout.C:
		return nil, l.counted(cola.Overloaded(time.Second))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// counted counts an error for a request that is rejected before it is charged, and returns it.
func (l *Ledger) counted(err error) error {
	if err != nil {
		l.metrics.countRejection(err)
	}
	return err
}

// Charge charges a request and returns its grant after the commit. If the quota state is known, the
// Grant's State is set even if the request is rejected. Errors are *cola.Error: CodeUnauthorized
// for a credential that is no longer valid, CodeForbidden for a key sent from outside its networks,
// CodeAccountSuspended, CodeQuotaExceeded, CodeInsufficientScope, and CodeUnavailable if the store
// cannot commit or the queue is full; or ctx's error if ctx ends before the charge starts. Charge
// returns within five seconds.
func (l *Ledger) Charge(ctx context.Context, q Request) (Grant, error) {
	if state, err := l.Precheck(q); err != nil {
		return Grant{State: state}, err
	}
	p := &pending{request: q, arrived: time.Now(), result: make(chan outcome, 1)}
	o := l.enqueue(ctx, p)
	l.metrics.observeCharge(q.Meter, o, time.Since(p.arrived))
	return o.grant, o.err
}

// enqueue queues a charge and returns its outcome. It gives up when ctx ends, after chargeTimeout,
// or when the circuit breaker opens, unless the worker has already taken the charge.
func (l *Ledger) enqueue(ctx context.Context, p *pending) outcome {
	timeout := time.NewTimer(chargeTimeout)
	defer timeout.Stop()
	down := l.breaker.untilOpen()
	if err := l.queue.add(p); err != nil {
		return outcome{err: err}
	}
	var err error
	select {
	case o := <-p.result:
		return o
	case <-ctx.Done():
		err = ctx.Err()
	case <-down:
		err = cola.Unavailable()
	case <-timeout.C:
		err = cola.Unavailable()
	}
	if l.queue.remove(p) {
		return outcome{err: err}
	}
	return <-p.result // the worker has taken the charge and responds within its time limit
}
