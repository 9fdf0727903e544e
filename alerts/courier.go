package alerts

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store"
)

// CourierStore is what delivering messages needs of a database. The methods are those of store.Deliveries.
type CourierStore interface {
	ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) ([]store.DueDelivery, error)
	RunContent(ctx context.Context, run int64) (store.RunContent, error)
	RecordAttempt(ctx context.Context, a store.Attempt) (recorded bool, err error)
	ReleaseDeliveries(ctx context.Context, claimed []store.DueDelivery) error
	OldestPending(ctx context.Context, kinds []string) (time.Time, error)
	ForgetDeliveries(ctx context.Context, before time.Time) (int, error)
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
