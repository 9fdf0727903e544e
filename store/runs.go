package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Arrivals tells which labels are news. A label arrives with the write that gives it its first approval date, in the same transaction,
// unless that write is of History: what an initial load brings is no news to anybody, whatever its dates. A label arrives once: not
// again when it loses its date and gets another one, and never when its first date was history.
type Arrivals interface {
	// ArrivedSince calls yield with every label that has arrived and whose approval date, as it is now, is not before the day, in no
	// order, with the permittee that it names and the revision at which it arrived, and returns the revision up to which that is
	// complete: no label will arrive at it or before. All of it is read from one consistent state. What yield gets is only valid during
	// the call. An error of yield ends it and is returned.
	ArrivedSince(ctx context.Context, approved cola.Date, yield func(Arrival) error) (cola.Revision, error)
}

// Arrival is a label that has arrived, as it is now.
type Arrival struct {
	Label     *cola.IndexRecord
	Permittee *cola.Permittee // nil only when somebody has deleted it by hand
	At        cola.Revision   // at which it arrived
}

// Runs keeps what saved searches with a schedule have found.
//
// A search has looked at labels up to a mark: that of its latest run or, before the first one, of its creation. Whoever runs it
// claims it, looks at what came since, and records what it found together with the new mark; so a run that was cut off anywhere is
// made anew, and one that was recorded is never made again.
type Runs interface {
	// ClaimDue returns searches whose next run is due at an instant, those due longest first, but those that are paused for a reason of
	// their account's, and holds them for the caller: nobody else gets them, in any process, until the hold has passed on the database's clock. Those
	// that others hold are left out. Fewer than limit, none at last, mean that no more are due. A search that this version of the
	// program cannot read whole is returned too, with Fault saying why: it must not be run, and must not stop the others.
	ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]DueSearch, error)

	// RecordRuns records runs of claimed searches and releases the searches. Each run is one transaction: the run, its new
	// matches, how many labels messages may name, the new mark, and the next due time.
	//
	// A run is skipped entirely if its search was changed, deleted, released, recorded or taken over after the claim, or
	// if the revision of its new mark is not in the database's past (see HasRevision). An expired hold still counts until
	// another process takes it over.
	//
	// Labels that messages may name count against AllowMessageLabels of the account, on the UTC day of the run.
	//
	// The outcomes are in the order of the runs. On an error, they are the known outcomes of the first runs; retrying does
	// not record a run twice.
	RecordRuns(ctx context.Context, runs []RunRecord) ([]RunOutcome, error)

	// Postpone notes that a search that was claimed could not be run, and holds it on, for what wait says of how many times in a row that has
	// happened, and returns for how long. It counts from one; a recorded run, and every change of the search's filters or schedule, begins
	// anew. It fails with ErrNotFound, and nothing is written, when the search is not held under the claim any more. wait may be called more
	// than once.
	Postpone(ctx context.Context, failed DueSearch, wait func(failures int) time.Duration) (time.Duration, error)

	// ReleaseDue lets searches go that were claimed and not recorded. It is no error when they are not held any more.
	ReleaseDue(ctx context.Context, claimed []DueSearch) error

	// NextDue returns when the search that is due first is due, whether anybody holds it or not: an instant long past means that runs do not
	// keep up. Those that are paused for a reason of their account's do not count. It returns the zero time when none is due ever.
	NextDue(ctx context.Context) (time.Time, error)

	// RequestRun makes an account's search due at an instant, with or without a schedule, and returns it without its addresses.
	// The next run returns it to its schedule. The run counts against AllowManualRuns on the UTC day of the instant. If
	// the search is already due or running, RequestRun has no effect.
	//
	// It fails with ErrNotFound if the account has no such search, with ErrNotActive if the search was paused because of
	// the account, and with ErrLimit, as a LimitError, if limit runs were counted that day.
	RequestRun(ctx context.Context, account cola.AccountID, uuid string, due time.Time, limit int) (cola.SavedSearch, error)

	// RunsOf returns a page of an account's search's runs, newest first, and how many there are; ErrNotFound when there is no
	// such search of the account.
	RunsOf(ctx context.Context, account cola.AccountID, uuid string, page Slice) ([]cola.SavedSearchRun, int, error)
	// RunOf returns a run of an account's search, or ErrNotFound: also for a run of another search.
	RunOf(ctx context.Context, account cola.AccountID, uuid string, run int64) (cola.SavedSearchRun, error)
	// MatchesOf returns a page of what a search has found, in one run or, with run zero, in all of them, latest first and by id within a
	// run, and how many there are; ErrNotFound when there is no such search of the account, or no such run of it.
	MatchesOf(ctx context.Context, account cola.AccountID, uuid string, run int64, page Slice) ([]cola.SavedSearchMatch, int, error)
	// Trace returns what is known of a label to an account's search, from one consistent state; ErrNotFound when there is no such search of
	// the account. There need not be such a label.
	Trace(ctx context.Context, account cola.AccountID, uuid string, label cola.TTBID) (Trace, error)
}

// Trace is what is known of a label to a search.
type Trace struct {
	Search   cola.SavedSearch // without its addresses
	Mark     Mark
	Match    *cola.SavedSearchMatch // nil: no run has found it
	Arrived  cola.Revision          // at which it arrived; 0: it did not
	Seen     time.Time              // of the first run after it arrived; zero: there was none yet, or it did not arrive
	SeenFrom cola.Date              // the first approval day of that run's window; 0 when Seen is zero
}

// Slice is a part of a list. Neither number is below zero.
type Slice struct{ Offset, Limit int }

// Mark is up to where a search has looked.
type Mark struct {
	At       time.Time     // of the run, or of the creation
	Revision cola.Revision // up to which arrivals were looked at
}

// DueSearch is a search that is claimed for a run.
type DueSearch struct {
	Account cola.AccountID
	Search  cola.SavedSearch // without its addresses
	Mark    Mark
	Hold    int64 // names the claim within the search
	// Fault is why this version of the program cannot run the search, such as filters that a newer one has written; nil when it
	// can. What is left of the filters would then find too much.
	Fault error
}

// RunRecord is what came of a run.
type RunRecord struct {
	Due      DueSearch
	Mark     Mark           // up to where it looked, and when
	Next     cola.Timestamp // when the search is due next; the zero Timestamp is never
	From, To cola.Date      // approval dates of its window, inclusive
	Matches  []RunMatch

	Manual            bool // requested by the account
	MaxNamed          int  // most labels that messages about it may name
	MaxNamedOfAccount int  // most labels that messages about all runs of its account on its UTC day may name
}

// RunMatch is a label that a run found.
type RunMatch struct {
	TTBID cola.TTBID
	Late  bool // approved before the window, and arrived since the run before
	Met   cola.FilterSet
}

// RunOutcome is what became of a run that was to be recorded.
type RunOutcome struct {
	Recorded bool
	Run      int64 // number of the run, within the registry
	New      int   // matches that the search had not had before
	Late     int   // of these, late ones
}
