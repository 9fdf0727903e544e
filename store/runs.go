package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Arrivals lists labels that have arrived. A label arrives with the write that first gives it an
// effective date (an approval date or an estimate), unless that write is in mode History, because
// bulk-loaded labels are not new. If that date was an estimate, the label arrives again, at a later
// revision, when its approval date becomes known: searches may match the details that came with it.
// A label whose first date was written in mode History never arrives.
type Arrivals interface {
	// ArrivedSince calls yield with every label that arrived and whose current effective date is on
	// or after the given day, in no particular order. It returns the revision up to which the list
	// is complete. It reads one consistent snapshot. The arguments to yield are valid only during
	// the call. ArrivedSince stops when yield returns an error, and returns that error.
	ArrivedSince(ctx context.Context, approved cola.Date, yield func(Arrival) error) (cola.Revision, error)
}

// Arrival is an arrived label, with its current content.
type Arrival struct {
	Label     *cola.IndexRecord
	Permittee *cola.Permittee // nil only if it was deleted manually
	At        cola.Revision   // revision of the arrival
}

// Runs stores the runs of saved searches.
//
// A search has a mark, the position in the arrivals up to which it has been evaluated. Each run
// moves the mark; a new search is marked at its creation. A run takes three steps:
//
//  1. ClaimDue claims a due search for a limited time.
//  2. The runner applies the search's filters to the labels that arrived after the mark.
//  3. RecordRuns stores the matches together with the new mark, and releases the claim.
//
// An interrupted run is therefore repeated from the same mark, and a recorded run is never
// repeated.
type Runs interface {
	// ClaimDue claims searches that are due at the given time, most overdue first. No other caller,
	// in any process, can claim them until hold has elapsed according to the database's clock.
	// ClaimDue skips claimed searches and those that are paused because of their account. If it
	// returns fewer than limit searches, no more are due. A search that this version of the program
	// cannot read completely has a Fault: it must not run, and must not block the others.
	ClaimDue(ctx context.Context, due time.Time, limit int, hold time.Duration) ([]DueSearch, error)

	// HasDue reports whether ClaimDue would claim a search at the given time.
	HasDue(ctx context.Context, due time.Time) (bool, error)

	// RecordRuns records runs of claimed searches and releases the searches. Each run is recorded
	// atomically: the run, its new matches, the number of labels that messages may name, the new
	// mark, and the next due time.
	//
	// A run is skipped entirely if its claim has ended, or if the revision of its new mark is not
	// in the database's history (see HasRevision). A claim ends when the search's filters or
	// schedule change, when the search is deleted or released, when a run is recorded, or when
	// another caller claims the search. It does not end merely because its hold has expired.
	//
	// Labels that messages may name count against the account's AllowMessageLabels, on the UTC day
	// of the run.
	//
	// The outcomes are in the order of the runs. On an error, they are the known outcomes of the
	// first runs; retrying does not record a run twice.
	RecordRuns(ctx context.Context, runs []RunRecord) ([]RunOutcome, error)

	// Postpone records that a claimed search could not run, and makes its claim expire after a delay
	// from now. wait returns the delay for the number of consecutive failures, counting this one; it
	// may be called more than once. A recorded run, or a change to the
	// search's filters or schedule, resets the count. Postpone returns the delay. It fails with
	// ErrNotFound, and does not write, if the claim has ended.
	Postpone(ctx context.Context, failed DueSearch, wait func(failures int) time.Duration) (time.Duration, error)

	// ReleaseDue releases claimed searches whose runs were not recorded. It ignores claims that
	// have ended.
	ReleaseDue(ctx context.Context, claimed []DueSearch) error

	// NextDue returns the earliest due time of all searches, claimed or not, except those that are
	// paused because of their account. It is zero if no search has a due time. A time far in the
	// past means that runs are falling behind.
	NextDue(ctx context.Context) (time.Time, error)

	// RequestRun makes an account's search due at the given time, with or without a schedule, and
	// returns it without its URLs. After that run, the search returns to its schedule. The run
	// counts against AllowManualRuns on the UTC day of that time. If the search is already due or
	// running, RequestRun has no effect.
	//
	// It fails with ErrNotFound if the account has no such search, with ErrNotActive if the search
	// was paused because of the account, and with ErrLimit, as a LimitError, if the count for that
	// day has reached limit.
	RequestRun(ctx context.Context, account cola.AccountID, uuid string,
		due time.Time, limit int) (cola.SavedSearch, error)

	// RunsOf returns a page of runs of an account's search, newest first, and the total number of
	// runs. It fails with ErrNotFound if the account has no such search.
	RunsOf(ctx context.Context, account cola.AccountID, uuid string, page Slice) ([]cola.SavedSearchRun, int, error)
	// RunsAfter returns up to limit runs of an account's search with IDs above after, in order of
	// ID, or ErrNotFound if the account has no such search.
	RunsAfter(ctx context.Context, account cola.AccountID, uuid string, after int64,
		limit int) ([]cola.SavedSearchRun, error)
	// RunOf returns a run of an account's search, or ErrNotFound if it is missing or belongs to
	// another search.
	RunOf(ctx context.Context, account cola.AccountID, uuid string, run int64) (cola.SavedSearchRun, error)
	// LatestMatches returns the newest run with matches for each of an account's searches, newest
	// first, up to limit runs.
	LatestMatches(ctx context.Context, account cola.AccountID, limit int) ([]MatchedRun, error)
	// MatchesOf returns a page of matches for an account's search, from one run or, if run is zero,
	// from all runs, and the total number of matches. Matches are ordered by run, latest first,
	// then by ID. It fails with ErrNotFound if the account has no such search, or if the search has
	// no such run.
	MatchesOf(ctx context.Context, account cola.AccountID, uuid string,
		run int64, page Slice) ([]cola.SavedSearchMatch, int, error)
	// Trace returns the state of a label in an account's search, from one consistent snapshot. It
	// fails with ErrNotFound if the account has no such search. The label need not exist.
	Trace(ctx context.Context, account cola.AccountID, uuid string, label cola.TTBID) (Trace, error)
}

// MatchedRun is a run with matches, and its search.
type MatchedRun struct {
	Search, Name string // UUID and name of the search
	cola.SavedSearchRun
}

// Trace is the state of a label in a search.
type Trace struct {
	Search   cola.SavedSearch // without its URLs
	Mark     Mark
	Match    *cola.SavedSearchMatch // nil if no run found it
	Arrived  cola.Revision          // revision of its latest arrival; 0 if it has not arrived
	Seen     time.Time              // time of the first run after its arrival; zero if there was none
	SeenFrom cola.Date              // first approval day of that run's window; 0 if Seen is zero
}

// Slice is a page of a list. Neither number is negative.
type Slice struct{ Offset, Limit int }

// Mark is the position up to which a search has been evaluated.
type Mark struct {
	At       time.Time     // time of the run or of the search's creation
	Revision cola.Revision // revision of the latest arrival that was read
}

// DueSearch is a claimed search.
type DueSearch struct {
	Account cola.AccountID
	Search  cola.SavedSearch // without its URLs
	Mark    Mark
	Hold    int64 // identifies the claim
	// Fault is the reason why this version of the program cannot run the search, such as filters
	// from a newer version; otherwise nil. Without these filters the search would match too much.
	Fault error
}

// RunRecord is a run to be recorded.
type RunRecord struct {
	Due      DueSearch
	Mark     Mark           // the search's new mark
	Next     cola.Timestamp // when the search is next due; 0 means never
	From, To cola.Date      // approval dates of its window, inclusive
	Matches  []RunMatch

	Manual   bool // requested by the account
	MaxNamed int  // maximum number of labels that messages about it may name
	// MaxNamedPerAccount is the maximum number of labels that messages about all of the account's
	// runs on this run's UTC day may name.
	MaxNamedPerAccount int
}

// RunMatch is a match of a run.
type RunMatch struct {
	TTBID cola.TTBID
	Late  bool           // approved before the window, but arrived since the previous run
	Met   cola.FilterSet // filters that the label matches
}

// RunOutcome is the outcome of RecordRuns for one run.
type RunOutcome struct {
	Recorded bool
	Run      int64 // ID of the run
	New      int   // matches that are new to the search
	Late     int   // how many of New are late
}
