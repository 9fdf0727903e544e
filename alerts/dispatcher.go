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
	ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) ([]store.DueDelivery, error)
	RunContent(ctx context.Context, run int64) (store.RunContent, error)
	RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error)
	ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error
	OldestPending(ctx context.Context, kinds []string) (time.Time, error)
	DeleteOldDeliveries(ctx context.Context, before time.Time) (int, error)
}

const (
	// maxInFlight is how many messages a round sends at the same time, and how many it claims at
	// once. So a claimed message waits for at most one other, well within its hold.
	maxInFlight = 16
	// slowAfter is the duration from which an attempt makes its receiver count as slow.
	slowAfter = 5 * time.Second
	// attemptTimeout bounds one attempt.
	attemptTimeout = 20 * time.Second
	// recordTimeout bounds the recording of an attempt, with retries.
	recordTimeout = 20 * time.Second
	// gracePeriod is how long a stopping dispatcher waits for a message in flight, and again to
	// record it.
	gracePeriod = 3 * time.Second
	// recordInterval is the pause between attempts to record.
	recordInterval = 500 * time.Millisecond
)

// DispatcherOptions configure a Dispatcher. Store and Senders must be set.
type DispatcherOptions struct {
	Store   DispatcherStore
	Senders map[string]Sender // by kind of destination; other kinds are left to other processes
	Now     func() time.Time  // nil: time.Now
	Hold    time.Duration     // how long claims last, well over a minute; zero: DefaultHold
	Jitter  func() float64    // in [0, 1), for the times of retries; nil: random
	Logger  *slog.Logger

	// HostRate is how many webhooks a dispatcher sends to one host per minute; others wait. 0:
	// DefaultHostRate.
	HostRate int

	// Metrics gets the dispatcher's metrics, for one Dispatcher only; nil: none.
	Metrics prometheus.Registerer
}

// Dispatcher delivers messages that are due. It is safe for concurrent use, also with dispatchers
// in other processes.
type Dispatcher struct {
	store       DispatcherStore
	senders     map[string]Sender
	kinds       []string
	now         func() time.Time
	hold        time.Duration
	jitter      func() float64
	log         *slog.Logger
	metrics     *dispatcherMetrics
	fairness    *fairness
	failing     atomic.Bool  // the latest round could not be made
	lastCleanup atomic.Int64 // when deliveries were forgotten last, in nanoseconds since 1970
}

// NewDispatcher returns a Dispatcher.
func NewDispatcher(o DispatcherOptions) *Dispatcher {
	c := &Dispatcher{
		store: o.Store, senders: maps.Clone(o.Senders), kinds: slices.Sorted(maps.Keys(o.Senders)),
		now: o.Now, hold: o.Hold, jitter: o.Jitter, log: o.Logger,
	}
	c.metrics = newDispatcherMetrics(o.Metrics, c.kinds)
	if c.now == nil {
		c.now = time.Now
	}
	if c.hold <= 0 {
		c.hold = DefaultHold
	}
	if c.jitter == nil {
		c.jitter = rand.Float64
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.fairness = newFairness(c.now, cmp.Or(max(0, o.HostRate), DefaultHostRate))
	return c
}

// DeliveryReport counts deliveries by their outcome.
type DeliveryReport struct {
	Delivered  int // accepted by the receiver
	Retried    int // failed; tried again later
	Failed     int // given up
	Missed     int // sent, but replayed, taken over by another process or deleted in the meantime
	Unrecorded int // sent, but not recorded; sent again with the same ID once the claim expires
	Postponed  int // not tried, because the receiver is slow; tried once the claim expires
	Released   int // released, because the dispatcher is stopping or the run is gone
}

// any reports whether any count is nonzero.
func (r DeliveryReport) any() bool { return r != DeliveryReport{} }

const (
	// deliverInterval is the pause between rounds. The first retry is due after seconds.
	deliverInterval = 5 * time.Second
	// maxRounds is how many rounds may run at the same time.
	maxRounds = 4
	// deliveriesKept is how long deliveries are kept.
	deliveriesKept = 90 * 24 * time.Hour
	// cleanupInterval is the pause between deletions of older ones.
	cleanupInterval = time.Hour
)

// Run delivers every few seconds, and deletes deliveries older than 90 days, until the context
// ends. A round does not wait for the previous one, which may be waiting for slow receivers. Run
// logs the first of consecutive failures.
func (c *Dispatcher) Run(ctx context.Context) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	places := make(chan struct{}, maxRounds)
	for wait := rand.N(deliverInterval); sleep(ctx, wait); wait = deliverInterval {
		select {
		case places <- struct{}{}:
		default:
			continue
		}
		now := c.now()
		rounds.Go(func() {
			defer func() { <-places }()
			_, err := c.Deliver(ctx, now)
			if err == nil && c.cleanupDue(now) {
				err = c.deleteOld(ctx, now)
			}
			if ctx.Err() == nil {
				c.logErrors(err)
			}
		})
	}
}

// logErrors logs when rounds start to fail, and when they succeed again.
func (c *Dispatcher) logErrors(err error) {
	switch {
	case err != nil && c.failing.CompareAndSwap(false, true):
		c.log.Error("messages cannot be delivered; they are tried again all the time, and none is left out", "error", err)
	case err == nil && c.failing.CompareAndSwap(true, false):
		c.log.Info("messages are delivered again")
	}
}

// cleanupDue reports, to one round per interval, that it should delete old deliveries.
func (c *Dispatcher) cleanupDue(now time.Time) bool {
	last := c.lastCleanup.Load()
	return now.UnixNano()-last >= int64(cleanupInterval) && c.lastCleanup.CompareAndSwap(last, now.UnixNano())
}

// deleteOld deletes deliveries that are older than deliveriesKept.
func (c *Dispatcher) deleteOld(ctx context.Context, now time.Time) error {
	for all := 0; ; {
		n, err := c.store.DeleteOldDeliveries(ctx, now.Add(-deliveriesKept))
		if err != nil {
			return fmt.Errorf("delete old deliveries: %w", err)
		}
		if all += n; n > 0 {
			continue
		}
		if all > 0 {
			c.log.Info("old deliveries forgotten", "deliveries", all)
		}
		return nil
	}
}

// outcomes are the metric's labels by the delivery's state after an attempt.
var outcomes = map[string]string{cola.DeliveryDelivered: "delivered", cola.DeliveryPending: "retry", cola.DeliveryFailed: "failed"}

// dispatcherMetrics are the metrics of deliveries. Methods on nil do nothing.
type dispatcherMetrics struct {
	attempts *prometheus.CounterVec
	took     *prometheus.HistogramVec
	due      dueTime
}

// newDispatcherMetrics registers the metrics for the kinds of destination. It returns nil without a
// registerer.
func newDispatcherMetrics(registerer prometheus.Registerer, kinds []string) *dispatcherMetrics {
	if registerer == nil {
		return nil
	}
	m := &dispatcherMetrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_delivery_attempts_total",
			Help: "Attempts to deliver a message, by the kind of destination and what came of them.",
		}, []string{"kind", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colaregistry_delivery_duration_seconds",
			Help:    "Time that an attempt to deliver took, until the receiver had answered.",
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
		Help: "For how long the message that is due first has been due to be sent, as of the latest time that could be asked; 0 while none is.",
	}, func() float64 { return m.due.overdue(time.Now()) })
	registerer.MustRegister(m.attempts, m.took, overdue)
	return m
}

// tried counts an attempt.
func (m *dispatcherMetrics) tried(a store.Attempt) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(a.Due.Kind, outcomes[a.State]).Inc()
	m.took.WithLabelValues(a.Due.Kind).Observe(a.Took.Seconds())
}

// oldest sets the due time of the longest-due message; zero for none.
func (m *dispatcherMetrics) oldest(at time.Time) {
	if m != nil {
		m.due.set(at)
	}
}
