// Package store says what the registry needs of a database. Each role is a small interface; a backend implements all of
// them as a Store and is held to package storetest, which is the definition of what a backend must do.
//
// Every method is safe for concurrent use, by many goroutines and by many processes on the same data. A method that writes
// does so in one transaction: all of it happens or none. Errors wrap the sentinels below where one fits.
package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
)

var (
	// ErrNotFound: no such record.
	ErrNotFound = errors.New("not found")
	// ErrExists: a record with that key is there already.
	ErrExists = errors.New("already exists")
	// ErrLimit: the account has as many of these as it may.
	ErrLimit = errors.New("the limit is reached")
	// ErrReused: the key of a creation was used for another one before.
	ErrReused = errors.New("the key was used for something else")
	// ErrNotActive: it is paused, disabled or not confirmed.
	ErrNotActive = errors.New("not active")
	// ErrConfirmationLimit: people were asked often enough of late. It comes as an ConfirmationLimitError.
	ErrConfirmationLimit = errors.New("asked too often")
	// ErrMalformed: a text that cannot be kept, such as one with a NUL, or that is not what it is said to be.
	ErrMalformed = errors.New("malformed")
	// ErrUnavailable: the database cannot be read or written now; trying again later may help. For a write it may have
	// happened or not.
	ErrUnavailable = errors.New("database unavailable")
	// ErrVoid: the batch was voided; it counts for nothing and never will.
	ErrVoid = errors.New("the batch was voided")
	// ErrHalfFilled: the filling of the store was cut off; the database is to be thrown away.
	ErrHalfFilled = errors.New("the database is half filled; throw it away")
	// ErrOlderSchema: the database was made or migrated by an older version of the program, and was to be opened as it is.
	ErrOlderSchema = errors.New("the database has an older schema than this program works on")
	// ErrNewerSchema: the database was migrated by a newer version of the program.
	ErrNewerSchema = errors.New("the database has a newer schema than this program knows; run a newer version")
)

// LimitError is an ErrLimit that tells the limit: what the account may have, where that is a number of its own.
type LimitError struct {
	Limit int
	All   bool // of saved searches: of all of them, not only of those with an active schedule
}

// Error tells the limit.
func (e LimitError) Error() string { return fmt.Sprintf("%v, which is %d", ErrLimit, e.Limit) }

// Unwrap returns ErrLimit.
func (LimitError) Unwrap() error { return ErrLimit }

// Store is a whole backend.
type Store interface {
	Colas
	Permittees
	References
	Changes
	Accounts
	Keys
	Identities
	Apps
	Links
	SignIns
	SignInLinks
	Sessions
	SecretFinder
	Refusals
	SavedSearches
	Arrivals
	Runs
	Allowances
	Destinations
	Deliveries
	SealedSecrets
	Ledger
	Copier

	// ID identifies the data: made once with the database, and never the same for two.
	ID() string
	// Ping reports whether the database answers now.
	Ping(ctx context.Context) error
	// Close waits for what runs and releases the database.
	Close() error
}

// Outcome is what an upsert did with one record.
type Outcome uint8

// The outcomes.
const (
	Unchanged Outcome = iota // the record says what is stored; nothing was written, its revision stays
	Added
	Changed
	Refused // the record would lack what can never be null (see cola.CheckNew); it was not written, the others were
)

// Mode tells whether an upsert is to be kept, and whether it is news.
type Mode uint8

// The modes.
const (
	Commit  Mode = iota // write; a label that gets its first approval date arrives (see Arrivals)
	DryRun              // work out the outcomes, write nothing
	History             // write as Commit does, but nothing arrives
)

// Writes reports whether an upsert in the mode is kept.
func (m Mode) Writes() bool { return m != DryRun }

// MaxResubmissions bounds the answer of Colas.Resubmissions. Few labels are submitted again, and fewer twice.
const MaxResubmissions = 100

// Colas keeps labels.
type Colas interface {
	// UpsertColas merges each patch into the label with its TTB id, or makes one, and returns an outcome a patch, in
	// order. Every changed label gets a new revision. A permit number that has no permittee yet makes one, named and
	// placed by the label's applicant address; a permittee only ever seen on labels takes a name or place it lacks from a
	// later label. A patch that would leave its label without what can never be null, because the label is new and the
	// patch does not carry it or because the patch clears it, is Refused: nothing of it is written, the patches around it
	// are, and cola.CheckNew of the merged label says why. A later patch of one call sees the earlier ones. The call is split into short transactions of whole labels, so it holds up no other writer for long; on
	// an error the outcomes returned are those of the patches kept, a prefix.
	UpsertColas(ctx context.Context, patches []cola.Patch[cola.Cola], mode Mode) ([]Outcome, error)

	// Cola returns a label with its images and barcodes, or ErrNotFound.
	Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error)
	// MainImages returns the address of the main image of each of the labels that has one.
	MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error)
	// Resubmissions returns the labels that say they submit one again, by id: the first MaxResubmissions.
	Resubmissions(ctx context.Context, id cola.TTBID) ([]cola.TTBID, error)
	// HasColas reports whether there is any label.
	HasColas(ctx context.Context) (bool, error)
}

// Permittees keeps permit holders.
type Permittees interface {
	// UpsertPermittees merges each patch into the permittee with its permit number, or makes one, and returns an outcome a
	// patch, in order. The permittee is Listed from then on when the patch's record is.
	UpsertPermittees(ctx context.Context, patches []cola.Patch[cola.Permittee], mode Mode) ([]Outcome, error)
}

// References keeps reference data. The sets are small: they are read whole.
type References interface {
	UpsertAVAs(ctx context.Context, patches []cola.Patch[cola.AVADetail], mode Mode) ([]Outcome, error)
	// ReplaceProductionReport makes rows the whole content of one report and returns an outcome a row: Unchanged when the
	// report held it before, else Changed when the report existed, else Added. The rows keep their order.
	ReplaceProductionReport(ctx context.Context, key cola.ReportKey, rows []cola.ProductionReport, mode Mode) ([]Outcome, error)
	// Processing times are keyed by all their fields but the figures and, for registration, the snapshot date.
	UpsertProcessingTimes(ctx context.Context, rows []cola.ProcessingTime, mode Mode) ([]Outcome, error)
	UpsertFormulaProcessingTimes(ctx context.Context, rows []cola.FormulaProcessingTime, mode Mode) ([]Outcome, error)
	UpsertRegistrationProcessingTimes(ctx context.Context, rows []cola.RegistrationProcessingTime, mode Mode) ([]Outcome, error)
	UpsertCategoryAliases(ctx context.Context, rows []cola.CategoryAlias, mode Mode) ([]Outcome, error)

	// AllReferences reads every reference set from one consistent state and the revision it stands for.
	AllReferences(ctx context.Context) (ReferenceSets, error)
}

// ReferenceSets is all reference data, in the order the API shows it.
type ReferenceSets struct {
	Revision                    cola.Revision                     // of the latest change of any set
	AVAs                        []cola.AVADetail                  // by name, then validity, then id
	ProductionReports           []cola.ProductionReport           // newest report first, then commodity, type and the order of import
	ProcessingTimes             []cola.ProcessingTime             // newest snapshot first, then commodity
	FormulaProcessingTimes      []cola.FormulaProcessingTime      // newest snapshot first, then commodity and formula type
	RegistrationProcessingTimes []cola.RegistrationProcessingTime // newest month first, then category and application type
	CategoryAliases             []cola.CategoryAlias              // by alias
}

// Changes lets a process follow what is written. Revisions are taken under a lock that is held to the commit, so whoever
// has read up to a revision has missed nothing below it.
type Changes interface {
	// Revision returns the latest committed revision of any record. It is cheap: it is polled.
	Revision(ctx context.Context) (cola.Revision, error)
	// HasRevision reports whether a revision is in this database's past: false for one of another database, or of a state that
	// this one was in before it was set back, as by the restoring of a backup. It is known for 30 days after the next one was
	// taken, and false afterwards. 0, when nothing was written yet, is in every past.
	HasRevision(ctx context.Context, rev cola.Revision) (bool, error)
	// ColasSince calls yield with every label changed after a revision, in no order, and returns the revision up to
	// which that is complete. All of it is read from one consistent state. The record is only valid during the call. An
	// error of yield ends it and is returned.
	ColasSince(ctx context.Context, after cola.Revision, yield func(*cola.IndexRecord) error) (cola.Revision, error)
	// PermitteesSince is the same for permittees.
	PermitteesSince(ctx context.Context, after cola.Revision, yield func(*cola.Permittee) error) (cola.Revision, error)
	// ReferenceRevision returns the revision of the latest change of any reference set.
	ReferenceRevision(ctx context.Context) (cola.Revision, error)
	// Wakeups returns a channel that receives when the revision may have moved, in any process: whoever follows need not wait
	// for its next poll. It may receive too often, and misses nothing but what happens while the database cannot be reached;
	// once it can be again, it receives. Nil, which never receives, where the backend cannot tell. The channel holds one
	// wake-up and is never closed; it serves one follower.
	Wakeups() <-chan struct{}
}
