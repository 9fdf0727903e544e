// Package store defines the registry's database. Each role is a small interface; a backend
// implements all of them as a Store. Package storetest is the conformance suite for backends.
//
// All methods are safe for concurrent use, by many goroutines and by many processes on the same
// data. A method that writes does so in one transaction, unless it says otherwise. If one of the
// errors below applies, the returned error wraps it.
package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

var (
	// ErrNotFound means that the record does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a record with the same key exists.
	ErrExists = errors.New("already exists")
	// ErrLimit means that an account limit or a daily limit has been reached. Some methods return it
	// as a LimitError.
	ErrLimit = errors.New("limit reached")
	// ErrReused means that the idempotency key was used for a different request.
	ErrReused = errors.New("idempotency key already used for another request")
	// ErrNotActive means that the record is paused, disabled, not confirmed or no longer valid.
	ErrNotActive = errors.New("not active")
	// ErrConfirmationLimit means that there were too many recent confirmation requests. Methods
	// return it as a ConfirmationLimitError.
	ErrConfirmationLimit = errors.New("too many confirmation requests")
	// ErrLastIdentity means that the identity is the account's only way to sign in, since the
	// account has no email address.
	ErrLastIdentity = errors.New("the account's only way to sign in")
	// ErrMalformed means that a value is invalid or cannot be stored, such as text with a NUL.
	ErrMalformed = errors.New("malformed")
	// ErrStale means that the record was changed or removed after the caller read it.
	ErrStale = errors.New("changed concurrently")
	// ErrUnavailable means that the database cannot be read or written now; retry later. A write
	// may or may not have happened.
	ErrUnavailable = errors.New("database unavailable")
	// ErrDiskFull is the ErrUnavailable returned when the database's disk is full.
	ErrDiskFull error = diskFullError{}
	// ErrVoid means that the batch was voided and will never be charged.
	ErrVoid = errors.New("batch voided")
	// ErrHalfFilled means that Fill was interrupted; the database must be deleted.
	ErrHalfFilled = errors.New("the database is incomplete because a copy into it was interrupted; delete it and " +
		"copy again")
	// ErrOlderSchema means that the schema is older than the program, and migrations are off.
	ErrOlderSchema = errors.New("the database has an older schema than this program")
	// ErrNewerSchema means that a newer version of the program has migrated the database.
	ErrNewerSchema = errors.New("the database has a newer schema than this program; run a newer version")
)

type diskFullError struct{}

// Error implements error.
func (diskFullError) Error() string { return "the database's disk is full" }

// Is makes the error an ErrUnavailable.
func (diskFullError) Is(target error) bool { return target == ErrUnavailable }

// LimitError is ErrLimit with the limit that was reached.
type LimitError struct {
	Limit int
	All   bool // for saved searches: the limit counts all of them, not only those with an active schedule
}

// Error returns the limit.
func (e LimitError) Error() string { return fmt.Sprintf("%v: %d", ErrLimit, e.Limit) }

// Unwrap returns ErrLimit.
func (LimitError) Unwrap() error { return ErrLimit }

// Store is a complete backend.
type Store interface {
	Colas
	Permittees
	References
	Imports
	ImageFiles
	Fetches
	ReferenceFetches
	Enrichments
	Changes
	Accounts
	Subscriptions
	AccountDeletion
	AccountEmails
	Keys
	Identities
	Apps
	Links
	SignIns
	SignInLinks
	Sessions
	SecretFinder
	Refusals
	RequestLog
	SavedSearches
	Arrivals
	Runs
	Allowances
	Destinations
	Deliveries
	SealedSecrets
	Ledger
	Copier

	// ID identifies the data. It is generated when the database is created.
	ID() string
	// Ping checks whether the database responds.
	Ping(ctx context.Context) error
	// Close waits for running calls and closes the database.
	Close() error
}

// Outcome is the effect of an upsert on one record.
type Outcome uint8

// The outcomes.
const (
	Unchanged Outcome = iota // equal to the stored record; not written
	Added
	Changed
	Rejected // not written, because the record would lack a required field (see cola.CheckNew)
)

// Mode determines whether an upsert writes, and whether its labels arrive.
type Mode uint8

// The modes.
const (
	Commit  Mode = iota // write; labels that get their first date arrive (see Arrivals)
	DryRun              // return the outcomes without writing
	History             // write, but no label arrives
)

// Writes reports whether the mode writes.
func (m Mode) Writes() bool { return m != DryRun }

// MaxResubmissions is the maximum number of labels that Colas.Resubmissions returns. Few labels are
// resubmitted at all, and hardly any more than once.
const MaxResubmissions = 100

// Colas stores labels.
type Colas interface {
	// UpsertColas merges each patch into the label with its TTB ID, or creates the label, and
	// returns an outcome for each patch, in order. A changed label gets a new revision. An unknown
	// permit number creates a permittee with the name and place from the label's applicant address;
	// if a permittee is known only from labels, a later label fills in a missing name or place.
	//
	// A patch is Rejected, and not written, if the merged label would lack a required field;
	// cola.CheckNew of the merged label returns the reason. The other patches are written anyway. A
	// later patch sees the earlier ones.
	//
	// A call uses several short transactions of whole labels, so it doesn't block other writers for
	// long. On an error, the outcomes are those of the first patches, which are stored.
	UpsertColas(ctx context.Context, patches []cola.Patch[cola.Cola], mode Mode) ([]Outcome, error)

	// Cola returns a label with its images and barcodes, or ErrNotFound.
	Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error)
	// MainImages returns the URLs of the labels' main images. It omits labels without one.
	MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error)
	// Resubmissions returns up to MaxResubmissions labels that resubmit a label, ordered by ID.
	Resubmissions(ctx context.Context, id cola.TTBID) ([]cola.TTBID, error)
	// HasColas reports whether there are any labels.
	HasColas(ctx context.Context) (bool, error)
	// ColasMissing calls yield with the ID of every label that lacks the given data, in order of
	// receipt date, latest first. It reads a page of labels at a time, so a slow callback holds no
	// transaction open. It may see changes made during the call. It stops when yield returns an
	// error, and returns that error.
	ColasMissing(ctx context.Context, missing Missing, yield func(cola.TTBID) error) error
}

// Missing is data that a label may lack.
type Missing string

// The kinds of missing data.
const (
	MissingDetail       Missing = "detail"        // no status; TTB's search export lacks it
	MissingApprovalDate Missing = "approval-date" // no approval date
	MissingImages       Missing = "images"        // no images, or an unknown number
	MissingImageFiles   Missing = "image-files"   // an image has no URL
	// MissingDueImages is like MissingImageFiles, but without the labels in the queue whose images
	// are postponed.
	MissingDueImages Missing = "due-images"
	MissingBarcodes  Missing = "barcodes" // no known barcode
)

// Permittees stores permit holders.
type Permittees interface {
	// UpsertPermittees merges each patch into the permittee with its permit number, or creates it,
	// and returns an outcome for each patch, in order. Once a patch sets a permittee's Listed
	// field, it remains set.
	UpsertPermittees(ctx context.Context, patches []cola.Patch[cola.Permittee], mode Mode) ([]Outcome, error)
}

// References stores reference data. The sets are small and are read whole.
type References interface {
	UpsertAVAs(ctx context.Context, patches []cola.Patch[cola.AVADetail], mode Mode) ([]Outcome, error)
	// ReplaceProductionReport replaces the rows of one report, in order, and returns an outcome for
	// each row: Unchanged if the report already had the row, Changed if the report existed without
	// the row, Added if the report is new.
	ReplaceProductionReport(ctx context.Context, key cola.ReportKey,
		rows []cola.ProductionReport, mode Mode) ([]Outcome, error)
	// The key of processing times consists of all fields except the figures and, for registrations,
	// the snapshot date.
	UpsertProcessingTimes(ctx context.Context, rows []cola.ProcessingTime, mode Mode) ([]Outcome, error)
	UpsertFormulaProcessingTimes(ctx context.Context, rows []cola.FormulaProcessingTime, mode Mode) ([]Outcome, error)
	UpsertRegistrationProcessingTimes(ctx context.Context,
		rows []cola.RegistrationProcessingTime, mode Mode) ([]Outcome, error)
	UpsertCategoryAliases(ctx context.Context, rows []vocabulary.CategoryAlias, mode Mode) ([]Outcome, error)

	// AllReferences returns all reference data, with its revision, from one consistent snapshot.
	AllReferences(ctx context.Context) (ReferenceSets, error)
}

// ReferenceSets contains all reference data, in the order that the API uses.
type ReferenceSets struct {
	Revision cola.Revision    // revision of the latest change to any set
	AVAs     []cola.AVADetail // by name, then validity, then ID
	// Newest report first, then by commodity, type and order of import.
	ProductionReports []cola.ProductionReport
	ProcessingTimes   []cola.ProcessingTime // newest snapshot first, then by commodity
	// Newest snapshot first, then by commodity and formula type.
	FormulaProcessingTimes []cola.FormulaProcessingTime
	// Newest month first, then by category and application type.
	RegistrationProcessingTimes []cola.RegistrationProcessingTime
	CategoryAliases             []vocabulary.CategoryAlias // by alias
}

// Changes lets a process, called a follower, keep a copy of the records up to date:
//
//  1. Check with HasRevision that the follower's last revision is in the database's history;
//     otherwise start over from 0.
//  2. Read the changes since that revision with ColasSince and PermitteesSince, and reference
//     data if ReferenceRevision has changed.
//  3. Continue from the revision that these calls return, after a wake-up or a poll of Revision.
//
// A revision is assigned under a lock that is held until the commit, so a follower that has read up
// to a revision has missed no change at or below it.
type Changes interface {
	// Revision returns the latest committed revision. It is cheap enough for polling.
	Revision(ctx context.Context) (cola.Revision, error)
	// HasRevision reports whether a revision is in this database's history. It returns false for a
	// revision from a different database, or one that was lost when a backup was restored. A
	// revision is kept in the history for 30 days after a newer one replaces it. Revision 0, before
	// any write, is in every history.
	HasRevision(ctx context.Context, rev cola.Revision) (bool, error)
	// ColasSince calls yield with every label that changed after a revision, in no particular
	// order, and returns the revision up to which the list is complete. It reads one consistent
	// snapshot. The record is valid only during the call. ColasSince stops when yield returns an
	// error, and returns that error.
	ColasSince(ctx context.Context, after cola.Revision, yield func(*cola.IndexRecord) error) (cola.Revision, error)
	// PermitteesSince is like ColasSince, but for permittees.
	PermitteesSince(ctx context.Context, after cola.Revision, yield func(*cola.Permittee) error) (cola.Revision, error)
	// ReferenceRevision returns the revision of the latest change to reference data.
	ReferenceRevision(ctx context.Context) (cola.Revision, error)
	// Wakeups returns a channel that is signaled when the revision may have changed, in any
	// process, so that a follower need not wait for its next poll. Signals may be spurious. Changes
	// made while the database is unreachable are not signaled, but the channel is signaled once it
	// is reachable again. The channel is nil, and so never ready, if the backend has no
	// notifications. The channel has capacity 1, is never closed, and serves one follower.
	Wakeups() <-chan struct{}
}
