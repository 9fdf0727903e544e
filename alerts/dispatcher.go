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

// CourierStore is what delivering messages needs of a database. The methods are those of store.Deliveries.
type CourierStore interface {
	ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) ([]store.DueDelivery, error)
	RunContent(ctx context.Context, run int64) (store.RunContent, error)
	RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error)
	ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error
	OldestPending(ctx context.Context, kinds []string) (time.Time, error)
	DeleteOldDeliveries(ctx context.Context, before time.Time) (int, error)
}

const (
	// sendersAtOnce is how many messages a courier sends at the same time, and how many it claims at once: one that is claimed waits for
	// one to be sent at most, so the hold covers it with time to spare.
	sendersAtOnce = 16
	// slowAfter is how long an attempt takes of which others to the same destination must not hold everybody up.
	slowAfter = 5 * time.Second
	// tryWithin is how long one attempt may take.
	tryWithin = 20 * time.Second
	// recordWithin is how long it may take to note what came of an attempt, a database that is away for a moment included.
	recordWithin = 20 * time.Second
	// graceWithin is how long a message that is on its way, and then what came of it, is waited for when the courier is to end.
	graceWithin = 3 * time.Second
	// recordEvery is how often noting is tried again.
	recordEvery = 500 * time.Millisecond
)

// CourierOptions configure a Courier. Store and Senders must be set.
type CourierOptions struct {
	Store   CourierStore
	Senders map[string]Sender // by kind of destination: what has none here is left to other processes
	Now     func() time.Time  // nil: time.Now
	Hold    time.Duration     // for which claimed deliveries are held, well over a minute; zero: DefaultHold
	Jitter  func() float64    // from 0 to below 1: where within its time a retry comes; nil: at random
	Logger  *slog.Logger

	// HostRate is how many webhooks a courier sends to one host per minute; others wait. 0: DefaultHostRate.
	HostRate int

	// Metrics is where the courier registers what it measures, once for each registerer; nil: nothing is measured.
	Metrics prometheus.Registerer
}

// Courier delivers messages that are due. It is safe for concurrent use, beside any number of others on the same database.
type Courier struct {
	store   CourierStore
	senders map[string]Sender
	kinds   []string
	now     func() time.Time
	hold    time.Duration
	jitter  func() float64
	log     *slog.Logger
	metrics *courierMetrics
	crowd   *crowd
	failing atomic.Bool  // the latest round could not be made
	forgot  atomic.Int64 // when deliveries were forgotten last, in nanoseconds since 1970
}

// NewCourier returns a Courier.
func NewCourier(o CourierOptions) *Courier {
	c := &Courier{
		store: o.Store, senders: maps.Clone(o.Senders), kinds: slices.Sorted(maps.Keys(o.Senders)),
		now: o.Now, hold: o.Hold, jitter: o.Jitter, log: o.Logger,
	}
	c.metrics = newCourierMetrics(o.Metrics, c.kinds)
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
	c.crowd = newCrowd(c.now, cmp.Or(max(0, o.HostRate), DefaultHostRate))
	return c
}

// DeliveryReport is what became of deliveries that were due.
type DeliveryReport struct {
	Delivered int // taken by their receivers
	Retried   int // not taken; they are tried again later
	Failed    int // given up
	Missed    int // sent, and meanwhile asked for again, taken over by another process, or gone
	Unnoted   int // sent, and what came of it could not be noted: they are sent again, with the same id, when their hold has passed
	PutOff    int // not tried, since what they go to is slow; they are tried when their hold has passed
	Released  int // let go again: the courier was to end, or what they tell of is gone
}

// any reports whether there was anything to do.
func (r DeliveryReport) any() bool { return r != DeliveryReport{} }

const (
	// deliverEvery is how often a courier looks for what is due: a retry may be due after some seconds.
	deliverEvery = 5 * time.Second
	// roundsAtOnce is how many rounds may be under way at once.
	roundsAtOnce = 4
	// deliveriesKept is for how long deliveries are kept.
	deliveriesKept = 90 * 24 * time.Hour
	// forgetEvery is how often older ones are forgotten.
	forgetEvery = time.Hour
)

// Run delivers every few seconds until the context ends, which ends the rounds under way too, and forgets deliveries that are older than
// 90 days. A round does not wait for the one before it, which may have slow receivers to wait for. A round that fails is logged, once until they succeed
// again, and followed by the next one.
func (c *Courier) Run(ctx context.Context) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	places := make(chan struct{}, roundsAtOnce)
	for wait := rand.N(deliverEvery); rest(ctx, wait); wait = deliverEvery {
		select {
		case places <- struct{}{}:
		default:
			continue
		}
		now := c.now()
		rounds.Go(func() {
			defer func() { <-places }()
			_, err := c.Deliver(ctx, now)
			if err == nil && c.toForget(now) {
				err = c.forget(ctx, now)
			}
			if ctx.Err() == nil {
				c.tell(err)
			}
		})
	}
}

// tell logs that rounds fail, or that they do no more.
func (c *Courier) tell(err error) {
	switch {
	case err != nil && c.failing.CompareAndSwap(false, true):
		c.log.Error("messages cannot be delivered; they are tried again all the time, and none is left out", "error", err)
	case err == nil && c.failing.CompareAndSwap(true, false):
		c.log.Info("messages are delivered again")
	}
}

// toForget reports whether it is time to forget, to one round.
func (c *Courier) toForget(now time.Time) bool {
	last := c.forgot.Load()
	return now.UnixNano()-last >= int64(forgetEvery) && c.forgot.CompareAndSwap(last, now.UnixNano())
}

// forget forgets deliveries that are too old.
func (c *Courier) forget(ctx context.Context, now time.Time) error {
	for all := 0; ; {
		n, err := c.store.DeleteOldDeliveries(ctx, now.Add(-deliveriesKept))
		if err != nil {
			return fmt.Errorf("forget old deliveries: %w", err)
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

// outcomes are what attempts come to, by what their deliveries are then.
var outcomes = map[string]string{cola.DeliveryDelivered: "delivered", cola.DeliveryPending: "retry", cola.DeliveryFailed: "failed"}

// courierMetrics measures deliveries. A nil *courierMetrics measures nothing.
type courierMetrics struct {
	attempts *prometheus.CounterVec
	took     *prometheus.HistogramVec
	due      dueSince
}

// newCourierMetrics registers the metrics of what is sent to destinations of the kinds; there are none without a registerer.
func newCourierMetrics(registerer prometheus.Registerer, kinds []string) *courierMetrics {
	if registerer == nil {
		return nil
	}
	m := &courierMetrics{
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
func (m *courierMetrics) tried(a store.Attempt) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(a.Due.Kind, outcomes[a.State]).Inc()
	m.took.WithLabelValues(a.Due.Kind).Observe(a.Took.Seconds())
}

// oldest notes since when the message is due that is due longest; the zero time is for none.
func (m *courierMetrics) oldest(at time.Time) {
	if m != nil {
		m.due.set(at)
	}
}
