// Package alerts runs saved searches that have a schedule: it claims those that are due, looks for what is new to them, and has the
// store record what was found together with how far each has looked.
//
// A tick does all of that once. Any number of processes may tick at the same time: a search that one of them has claimed is not
// given to another, and what a claim led to is recorded only while it still holds. So a tick that is cut off anywhere, by an error
// or by the end of its process, has run some searches wholly and others not at all.
//
// Searches are matched by an index of their own (package search) that holds nothing but the labels that have arrived of late. It is read
// from the database in one consistent state, so a run needs no process that follows the store, does not depend on how far
// another one has come, and costs as much as there is news, not as much as there are labels.
//
// What a run found comes to be delivered in the transaction that records it. A Courier claims what is due, in the same way, hands it to the
// Sender of its kind (packages alerts/mail and alerts/webhook) and has the store note what came of it. A courier that is cut off between the two
// makes another one send again, with the same id: every message is sent at least once.
package alerts

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/store"
)

// Store is what running searches needs of a database. The methods are those of store.Arrivals, store.Runs and store.References.
type Store interface {
	store.Arrivals
	ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]store.DueSearch, error)
	RecordRuns(ctx context.Context, runs []store.RunRecord) ([]store.RunOutcome, error)
	Postpone(ctx context.Context, failed store.DueSearch, wait func(failures int) time.Duration) (time.Duration, error)
	ReleaseDue(ctx context.Context, claimed []store.DueSearch) error
	NextDue(ctx context.Context) (time.Time, error)
	AllReferences(ctx context.Context) (store.ReferenceSets, error)
}

const (
	// DefaultHold is for how long claimed searches are held. A batch takes seconds; what a process held that was killed is tried again after
	// it, and so is a search that could not be run, the first time.
	DefaultHold = 2 * time.Minute
	// longestHold is after how long a search is tried again that cannot be run at all.
	longestHold = 6 * time.Hour
	// batchSize is how many searches are claimed at once.
	batchSize = 1_000
	// runsAtOnce and matchesAtOnce bound what is recorded in one transaction: other writers wait for it.
	runsAtOnce    = 250
	matchesAtOnce = 10_000
	// releaseWithin is how long letting go of claims may take when a tick is cut off.
	releaseWithin = 3 * time.Second
)

// Options configure a Runner. Only Store must be set.
type Options struct {
	Store  Store
	Hold   time.Duration // for which claimed searches are held; zero: DefaultHold
	Batch  int           // searches to claim at once; zero: 1,000
	Logger *slog.Logger

	// Metrics is where the runner registers what it measures, once for each registerer; nil: nothing is measured.
	Metrics prometheus.Registerer
}

// Runner runs saved searches that are due. It is safe for concurrent use, beside any number of others on the same database.
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

// Report is what a tick did.
type Report struct {
	Runs      int       // runs recorded
	Matches   int       // labels found that their search had not had before
	Late      int       // of these, late ones
	Missed    int       // searches that were changed, paused, deleted or taken over between claim and record; none of them lost its turn
	Released  int       // searches let go again because the tick was cut off
	Failed    int       // searches that could not be run; they are tried again after a while, longer each time
	Labels    int       // labels that were looked at
	NextDueAt time.Time // when the search that is due first is due, of those that remain; zero when no schedule is active
}

// Message is what is to be sent to one destination.
type Message struct {
	store.DueDelivery
	Content *store.RunContent // of cola.EventRan; nil for other events. It has the labels that the run may name for free
}

// Sent is what came of sending a message.
type Sent struct {
	// Status is what the receiver answered, of HTTP or of SMTP; 0 when there was no answer.
	Status int
	// Fault is why the message did not get through, in a sentence that the account holder may read: nothing of this machine or of its network
	// is in it. Empty when the receiver has taken the message.
	Fault string
	// Final says that trying again is of no use: the receiver has said so, as an SMTP server does with a 5xx.
	Final bool
	// Ours says that what is wrong is on our side, such as our mail server being away: the destination is not blamed for it.
	Ours bool
	// Gone says that the receiver wants nothing more, ever: HTTP 410.
	Gone bool
	// Verified is true if the endpoint answered a challenge with its token.
	Verified bool
	// After is for how long at least the receiver wants not to be tried again; 0 when it did not say.
	After time.Duration
}

// Sender sends messages to the destinations of one kind. It is safe for concurrent use.
type Sender interface {
	// Send tries once to send a message. It returns when the context ends.
	Send(ctx context.Context, m Message) Sent
}
