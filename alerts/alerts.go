// Package alerts runs saved searches on schedule and delivers their matches.
//
// # Runs
//
// A Runner claims due searches, matches them against recently arrived labels, and records each run
// together with the search's new mark: the position up to which it has been evaluated. Any number
// of processes may run at the same time: each search is claimed by one process, which records the
// run only while its claim is valid. If a tick is interrupted, each search has run completely or
// not at all.
//
// A Runner matches searches against an index (package search) of only the recently arrived labels,
// built from one consistent view of the database. So the cost of a run depends on the number of new
// labels, not on the size of the registry.
//
// # Deliveries
//
// The transaction that records a run creates its deliveries. A Dispatcher claims the due ones,
// passes each to the Sender of its kind (packages alerts/mail and alerts/webhook) and records the
// attempt. If a dispatcher stops before recording an attempt, another one resends the message with
// the same ID, so every message is sent at least once.
package alerts

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store"
)

// Store is the part of store.Store that a Runner uses.
type Store interface {
	store.Arrivals
	ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]store.DueSearch, error)
	HasDue(ctx context.Context, due time.Time) (bool, error)
	RecordRuns(ctx context.Context, runs []store.RunRecord) ([]store.RunOutcome, error)
	Postpone(ctx context.Context, failed store.DueSearch, wait func(failures int) time.Duration) (time.Duration, error)
	ReleaseDue(ctx context.Context, claimed []store.DueSearch) error
	NextDue(ctx context.Context) (time.Time, error)
	AllReferences(ctx context.Context) (store.ReferenceSets, error)
}

const (
	// DefaultHold is how long a claim lasts. A batch takes only seconds. The claims of a killed
	// process expire after this time, which is also the delay before the first retry of a failed
	// search.
	DefaultHold = 2 * time.Minute
	// maxHold is the maximum pause before a failing search is retried.
	maxHold = 6 * time.Hour
	// batchSize is how many searches are claimed at once.
	batchSize = 1_000
	// maxRunsPerRecord and maxMatchesPerRecord limit the size of one transaction, because other
	// writers wait for it.
	maxRunsPerRecord    = 250
	maxMatchesPerRecord = 10_000
	// releaseTimeout is the time limit for releasing claims when a tick is interrupted.
	releaseTimeout = 3 * time.Second
)

// Options configures a Runner. Only Store is required.
type Options struct {
	Store  Store
	Hold   time.Duration // how long claims last; default DefaultHold
	Batch  int           // searches to claim at once; default 1,000
	Logger *slog.Logger

	// Metrics registers the runner's metrics; may be nil. A Registerer can serve only one Runner.
	Metrics prometheus.Registerer
}

// Runner runs due saved searches. It is safe for concurrent use, including by other processes.
type Runner struct {
	store   Store
	hold    time.Duration
	batch   int
	log     *slog.Logger
	metrics *metrics
}

// New returns a Runner.
func New(o Options) *Runner {
	r := &Runner{store: o.Store, hold: o.Hold, batch: o.Batch, log: o.Logger, metrics: newMetrics(o.Metrics)}
	if r.hold <= 0 {
		r.hold = DefaultHold
	}
	if r.batch <= 0 {
		r.batch = batchSize
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r
}

// Report summarizes a tick.
type Report struct {
	Runs      int       // runs recorded
	Matches   int       // new matches
	Late      int       // new matches that are late
	Missed    int       // searches since changed, paused, deleted or claimed elsewhere; they run later if still due
	Released  int       // searches released because the tick was interrupted
	Failed    int       // searches that failed; they are retried with increasing pauses
	Labels    int       // labels in the index
	NextDueAt time.Time // earliest due time of the remaining searches; zero if none is scheduled or requested
}

// Message is a message for one destination.
type Message struct {
	store.DueDelivery
	Content *store.RunContent // for cola.EventRan, with the labels to include; otherwise nil
}

// Result is the outcome of one attempt to send a message.
type Result struct {
	Status     int           // HTTP or SMTP status; 0 without a response
	Fault      string        // error for the account holder, without details of our network; empty if accepted
	Final      bool          // don't retry, for example after an SMTP 5xx
	OurFault   bool          // our error, such as an unreachable mail server; doesn't count against the destination
	Gone       bool          // the receiver wants no more messages (HTTP 410)
	Verified   bool          // the endpoint returned the challenge's token
	RetryAfter time.Duration // minimum pause requested by the receiver; 0 if none
	Exchange   store.Exchange
}

// Sender sends messages to the destinations of one kind. It is safe for concurrent use.
type Sender interface {
	// Send sends a message once, without retries. It returns early if the context ends.
	Send(ctx context.Context, m Message) Result
}
