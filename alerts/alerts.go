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
	PutOff(ctx context.Context, failed store.DueSearch, wait func(failures int) time.Duration) (time.Duration, error)
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
