package alerts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// DispatcherStore is the part of store.Deliveries that a Dispatcher uses.
type DispatcherStore interface {
	ClaimDeliveries(
		ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration,
	) ([]store.DueDelivery, error)
	RunContent(ctx context.Context, run int64) (store.RunContent, error)
	RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error)
	ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error
	OldestPending(ctx context.Context, kinds []string) (time.Time, error)
	DeleteOldDeliveries(ctx context.Context, before time.Time) (int, error)
}

const (
	// maxInFlight is how many messages a round claims and sends at once. A claimed message waits for
	// at most one other, well within its hold.
	maxInFlight = 16
	// slowAfter is the attempt duration after which a receiver counts as slow.
	slowAfter = 5 * time.Second
	// attemptTimeout is the time limit for one attempt.
	attemptTimeout = 20 * time.Second
	// recordTimeout is the time limit for recording an attempt, including retries.
	recordTimeout = 20 * time.Second
	// gracePeriod is how long a stopping dispatcher waits for a message in flight, and again for its
	// result to be recorded.
	gracePeriod = 3 * time.Second
	// recordInterval is the pause between tries to record an attempt.
	recordInterval = 500 * time.Millisecond
)

// DispatcherOptions configures a Dispatcher. Store and Senders must be set.
type DispatcherOptions struct {
	Store   DispatcherStore
	Senders map[string]Sender // by kind of destination
	// Rules describe the destinations that the server sends to; messages to others are skipped. If
	// nil, messages of kinds without a sender are left to other processes.
	Rules  *cola.DestinationRules
	Now    func() time.Time // default time.Now
	Hold   time.Duration    // how long claims last; must be well over a minute; default DefaultHold
	Jitter func() float64   // in [0, 1), for retry times; default random
	Logger *slog.Logger

	// HostRate limits the webhooks that a dispatcher sends to one host per minute; excess messages
	// wait. The default is DefaultHostRate.
	HostRate int

	// Metrics registers the dispatcher's metrics; may be nil. A Registerer can serve only one
	// Dispatcher.
	Metrics prometheus.Registerer
}

// Dispatcher delivers due messages. It is safe for concurrent use, including by other processes.
type Dispatcher struct {
	store       DispatcherStore
	senders     map[string]Sender
	rules       *cola.DestinationRules
	kinds       []string
	now         func() time.Time
	hold        time.Duration
	jitter      func() float64
	log         *slog.Logger
	metrics     *dispatcherMetrics
	fairness    *fairness
	failing     atomic.Bool  // the latest round failed
	lastCleanup atomic.Int64 // Unix time of the last cleanup, in nanoseconds
}

// NewDispatcher returns a Dispatcher.
func NewDispatcher(o DispatcherOptions) *Dispatcher {
	d := &Dispatcher{
		store: o.Store, senders: maps.Clone(o.Senders), kinds: slices.Sorted(maps.Keys(o.Senders)),
		rules: o.Rules, now: o.Now, hold: o.Hold, jitter: o.Jitter, log: o.Logger,
	}
	d.metrics = newDispatcherMetrics(o.Metrics, d.kinds)
	if d.rules != nil {
		d.kinds = cola.Kinds()
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.hold <= 0 {
		d.hold = DefaultHold
	}
	if d.jitter == nil {
		d.jitter = rand.Float64
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.fairness = newFairness(d.now, cmp.Or(max(0, o.HostRate), DefaultHostRate))
	return d
}

// DeliveryReport counts deliveries by their outcome.
type DeliveryReport struct {
	Delivered  int // accepted by the receiver
	Retried    int // failed; will be retried
	Failed     int // failed permanently
	Skipped    int // not tried, because the server doesn't send to the destination
	Missed     int // sent, but replayed, claimed by another process or deleted in the meantime
	Unrecorded int // sent, but not recorded; will be sent again with the same ID once the claim expires
	Postponed  int // not tried, because the receiver is slow or a limit is reached; will be tried once the claim expires
	Released   int // released for another round, because this one ended early or the run was deleted
}

// any reports whether any count is nonzero.
func (r DeliveryReport) any() bool { return r != DeliveryReport{} }

const (
	// deliverInterval is the pause between rounds, shorter than the first retry gap.
	deliverInterval = 5 * time.Second
	// maxRounds is how many rounds may run at the same time.
	maxRounds = 4
	// deliveryRetention is how long deliveries are stored.
	deliveryRetention = 90 * 24 * time.Hour
	// cleanupInterval is the pause between cleanups.
	cleanupInterval = time.Hour
)

// Run delivers due messages every few seconds, and deletes deliveries older than 90 days, until the
// context ends. A round doesn't wait for the previous one, which may be waiting for slow receivers.
// Run logs only the first of consecutive failures.
func (d *Dispatcher) Run(ctx context.Context) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	slots := make(chan struct{}, maxRounds)
	for wait := rand.N(deliverInterval); sleep(ctx, wait); wait = deliverInterval {
		select {
		case slots <- struct{}{}:
		default:
			continue
		}
		now := d.now()
		rounds.Go(func() {
			defer func() { <-slots }()
			_, err := d.Deliver(ctx, now)
			if err == nil && d.cleanupDue(now) {
				err = d.deleteOld(ctx, now)
			}
			if ctx.Err() == nil {
				d.logErrors(err)
			}
		})
	}
}

// logErrors logs when rounds start to fail, and when they succeed again.
func (d *Dispatcher) logErrors(err error) {
	switch {
	case err != nil && d.failing.CompareAndSwap(false, true):
		d.log.Error("delivering messages failed; retrying", "error", err)
	case err == nil && d.failing.CompareAndSwap(true, false):
		d.log.Info("message delivery recovered")
	}
}

// cleanupDue reports whether to delete old deliveries now. It returns true at most once per
// cleanupInterval.
func (d *Dispatcher) cleanupDue(now time.Time) bool {
	last := d.lastCleanup.Load()
	return now.UnixNano()-last >= int64(cleanupInterval) && d.lastCleanup.CompareAndSwap(last, now.UnixNano())
}

// deleteOld deletes deliveries that are older than deliveryRetention.
func (d *Dispatcher) deleteOld(ctx context.Context, now time.Time) error {
	for deleted := 0; ; {
		n, err := d.store.DeleteOldDeliveries(ctx, now.Add(-deliveryRetention))
		if err != nil {
			return fmt.Errorf("delete old deliveries: %w", err)
		}
		deleted += n
		if n > 0 {
			continue
		}
		if deleted > 0 {
			d.log.Info("deleted old deliveries", "deliveries", deleted)
		}
		return nil
	}
}

// outcomes maps the state of a delivery after an attempt to the outcome label of the metric.
var outcomes = map[string]string{
	cola.DeliveryDelivered: "delivered", cola.DeliveryPending: "retry", cola.DeliveryFailed: "failed",
}

// dispatcherMetrics holds the delivery metrics. Its methods are no-ops on a nil receiver.
type dispatcherMetrics struct {
	attempts *prometheus.CounterVec
	took     *prometheus.HistogramVec
	due      dueTime
}

// newDispatcherMetrics registers the metrics for the kinds of destination. It returns nil if
// registerer is nil.
func newDispatcherMetrics(registerer prometheus.Registerer, kinds []string) *dispatcherMetrics {
	if registerer == nil {
		return nil
	}
	m := &dispatcherMetrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_delivery_attempts_total",
			Help: "Delivery attempts, by kind of destination and outcome.",
		}, []string{"kind", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colaregistry_delivery_duration_seconds",
			Help:    "Duration of a delivery attempt, until the receiver's response.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 20},
		}, []string{"kind"}),
	}
	for _, kind := range kinds {
		m.took.WithLabelValues(kind)
		for _, outcome := range outcomes {
			m.attempts.WithLabelValues(kind, outcome)
		}
	}
	overdue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_delivery_overdue_seconds",
		Help: "Time since the most overdue message became due, as of the latest successful query; " +
			"0 if none is due.",
	}, func() float64 { return m.due.overdue(time.Now()) })
	registerer.MustRegister(m.attempts, m.took, overdue)
	return m
}

// attempted records the outcome and duration of an attempt.
func (m *dispatcherMetrics) attempted(a store.Attempt) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(a.Due.Kind, outcomes[a.State]).Inc()
	m.took.WithLabelValues(a.Due.Kind).Observe(a.Took.Seconds())
}

// oldest sets the due time of the earliest pending message; zero means that there is none.
func (m *dispatcherMetrics) oldest(at time.Time) {
	if m != nil {
		m.due.set(at)
	}
}
