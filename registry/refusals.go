package registry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// flushInterval is the delay before counted refusals are written.
	flushInterval = 2 * time.Second
	// maxPendingRefusals is the maximum number of pending keys; further ones are dropped.
	maxPendingRefusals = 10_000
	// flushBatchSize limits the rows in a transaction, so that the ledger does not wait long for
	// it.
	flushBatchSize = 50
)

// recordingLedger is a ledger that records the requests it rejects.
type recordingLedger struct {
	*quota.Ledger
	refusals *refusalRecorder
}

// Charge calls the ledger and records a refusal. Sample calls are free.
func (l recordingLedger) Charge(ctx context.Context, q quota.Request) (quota.Grant, error) {
	if isSample(q.Caller) {
		return sampleGrant(q), nil
	}
	grant, err := l.Ledger.Charge(ctx, q)
	l.refusals.record(q.Caller, err)
	return grant, err
}

// Precheck calls the ledger and records a refusal. Sample calls are always admitted.
func (l recordingLedger) Precheck(q quota.Request) (cola.QuotaState, error) {
	if isSample(q.Caller) {
		return cola.QuotaState{}, nil
	}
	state, err := l.Ledger.Precheck(q)
	l.refusals.record(q.Caller, err)
	return state, err
}

// refusalReason returns the reason that the usage report lists for a refusal. ok is false if the
// report does not list it.
//
// Refusals in the dashboard are listed only for exhausted quotas, because its pages already show that
// a browser was signed out or the account is suspended.
func refusalReason(c cola.Caller, err error) (reason string, ok bool) {
	refusal, ok := errors.AsType[*cola.Error](err)
	if !ok {
		return "", false
	}
	switch refusal.Code {
	case cola.CodeQuotaExceeded:
		reason, _ = refusal.Details["reason"].(string)
		return reason, reason == RefusedBurst || reason == RefusedDetailViews || reason == RefusedListRecords
	case cola.CodeInsufficientScope:
		reason = RefusedScope
	case cola.CodeForbidden:
		if refusal.Details["reason"] == cola.NetworkNotAllowed {
			reason = RefusedNetwork
		}
	case cola.CodeUnauthorized:
		reason = RefusedCredential
	case cola.CodeAccountSuspended:
		reason = RefusedSuspended
	}
	return reason, reason != "" && c.Channel != cola.ChannelDashboard
}

// refusalRecorder counts refusals by account and writes them in the background, so that refusals
// don't wait for the database. Failed writes are retried; if the database committed one anyway, its
// refusals are counted twice. Pending refusals are lost if the process is killed.
type refusalRecorder struct {
	background
	store   store.Refusals
	now     cola.Clock
	metrics *refusalMetrics
	pending map[refusalKey]*refusalCount // guarded by mu
}

func newRefusalRecorder(st store.Refusals, now cola.Clock, log *slog.Logger, m *refusalMetrics) *refusalRecorder {
	r := &refusalRecorder{
		background: newBackground("refusals", flushInterval, log), store: st, now: now, metrics: m,
	}
	r.write = r.writePending
	return r
}

// refusalKey identifies refusals that are counted together.
type refusalKey struct {
	account    cola.AccountID
	minute     int64 // minutes since 1970
	channel    cola.Channel
	credential cola.Credential
	reason     string
}

type refusalCount struct {
	count  int
	lastAt time.Time
}

// add adds further refusals with the same key.
func (t *refusalCount) add(more refusalCount) {
	t.count += more.count
	if more.lastAt.After(t.lastAt) {
		t.lastAt = more.lastAt
	}
}

// record counts a refusal if the usage report lists errors like err. It never blocks on the
// database.
func (r *refusalRecorder) record(c cola.Caller, err error) {
	if err == nil {
		return
	}
	reason, ok := refusalReason(c, err)
	if !ok {
		return
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(refusalKey{
		account: c.Account, minute: now.Unix() / 60, channel: c.Channel, credential: c.Credential, reason: reason,
	}, refusalCount{count: 1, lastAt: now})
	r.schedule()
}

// add counts refusals. It drops them if there are too many keys, or the recorder is closed. The
// caller holds the lock.
func (r *refusalRecorder) add(key refusalKey, more refusalCount) {
	switch t := r.pending[key]; {
	case t != nil:
		t.add(more)
	case r.closed || len(r.pending) >= maxPendingRefusals:
		r.metrics.dropped.Add(float64(more.count))
	default:
		if r.pending == nil {
			r.pending = map[refusalKey]*refusalCount{}
		}
		t = new(refusalCount) // not earlier, so that repeated refusals don't allocate
		*t = more
		r.pending[key] = t
	}
}

// takePending returns the pending refusals and resets them.
func (r *refusalRecorder) takePending() map[refusalKey]*refusalCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.pending
	r.pending = nil
	return batch
}

// requeue returns unwritten refusals to the pending ones. It merges the smaller map into the larger
// one, to hold the lock only briefly.
func (r *refusalRecorder) requeue(unwritten map[refusalKey]*refusalCount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	smaller := r.pending
	r.pending = unwritten
	if len(smaller) > len(unwritten) {
		smaller, r.pending = unwritten, smaller
	}
	for key, t := range smaller {
		r.add(key, *t)
	}
	r.reschedule(len(r.pending) > 0)
}

// writePending writes the pending refusals and requeues those that it could not write.
func (r *refusalRecorder) writePending(ctx context.Context) error {
	waiting := r.takePending()
	err := r.writeBatches(ctx, waiting)
	r.requeue(waiting)
	return err
}

// writeBatches writes refusals in batches and removes the written ones from the map.
func (r *refusalRecorder) writeBatches(ctx context.Context, waiting map[refusalKey]*refusalCount) error {
	part := make([]store.AccountRefusal, 0, min(len(waiting), flushBatchSize))
	for len(waiting) > 0 {
		part = part[:0]
		requests := 0
		for key, t := range waiting {
			part = append(part, key.refusal(*t))
			requests += t.count
			if len(part) == flushBatchSize {
				break
			}
		}
		if err := r.store.RecordRefusals(ctx, part); err != nil {
			return err
		}
		r.metrics.recorded.Add(float64(requests))
		for _, written := range part {
			delete(waiting, refusalKeyOf(written))
		}
	}
	return nil
}

func (a refusalKey) refusal(t refusalCount) store.AccountRefusal {
	return store.AccountRefusal{Account: a.account, Refusal: store.Refusal{
		Minute: time.Unix(a.minute*60, 0).UTC(), Channel: a.channel, Credential: a.credential, Reason: a.reason,
		Count: t.count, LastAt: t.lastAt,
	}}
}

func refusalKeyOf(r store.AccountRefusal) refusalKey {
	return refusalKey{
		account:    r.Account,
		minute:     r.Minute.Unix() / 60,
		channel:    r.Channel,
		credential: r.Credential,
		reason:     r.Reason,
	}
}

// close writes the pending refusals and stops the recorder. Later refusals are dropped, and so are
// those that the database does not accept within flushTimeout.
func (r *refusalRecorder) close() {
	r.background.close()
	if lost := r.takePending(); len(lost) > 0 {
		requests := 0
		for _, t := range lost {
			requests += t.count
		}
		r.metrics.dropped.Add(float64(requests))
		r.log.Warn("refusals lost at shutdown", "requests", requests)
	}
}

// refusalMetrics counts recorded and dropped refusals.
type refusalMetrics struct{ recorded, dropped prometheus.Counter }

// newRefusalMetrics returns the metrics, registered unless registerer is nil.
func newRefusalMetrics(registerer prometheus.Registerer) *refusalMetrics {
	m := &refusalMetrics{
		recorded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_refusals_recorded_total",
			Help: "Refused requests recorded for the usage page.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_refusals_dropped_total",
			Help: "Refused requests missing from the usage page because the buffer was full or the database was unavailable.",
		}),
	}
	if registerer != nil {
		registerer.MustRegister(m.recorded, m.dropped)
	}
	return m
}
