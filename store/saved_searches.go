package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// SavedSearches stores saved searches.
//
// A change to a search's filters or schedule ends its claim (see Runs), and deleting a search
// deletes its runs and matches; the schema does both. Only Runs moves marks. A change that depends
// on the stored search locks its row before reading it, so that it does not undo a concurrent run.
//
// A transaction that changes the set of an account's active searches also updates which of them are
// paused because of the account: all searches of a suspended account, otherwise the newest active
// ones beyond its ActiveLimit.
type SavedSearches interface {
	// CreateSavedSearch creates a search and returns it with its creation time. It runs in one
	// transaction that locks the account, so an account's searches are created one after another,
	// across all processes. The search's mark has its creation time and the latest revision.
	//
	// If the account created a search with the same Once.Key within Once.Within, and that search
	// still exists, CreateSavedSearch does not write. It returns the existing search in its current
	// state with repeated set if the fingerprint is the same, and fails with ErrReused otherwise.
	//
	// It fails with ErrLimit, as a LimitError, if the new search has an active schedule and the
	// account already has as many active schedules as MaxActive or its ActiveLimit allows, or if
	// the account already has MaxSearches searches, active or not. It fails with ErrNotFound if the
	// account does not exist, with ErrExists if the UUID is taken, and with ErrMalformed for an
	// invalid search.
	//
	// It creates the search's Destinations in the same transaction, or fails with a DestinationError
	// and creates nothing. A repeated request creates none.
	CreateSavedSearch(ctx context.Context, s NewSavedSearch) (created cola.SavedSearch, repeated bool, err error)
	// SavedSearch returns an account's search, without its URLs, or ErrNotFound if it is
	// missing or belongs to another account.
	SavedSearch(ctx context.Context, account cola.AccountID, uuid string) (cola.SavedSearch, error)
	// SavedSearches returns a page of an account's searches, oldest first and without their URLs,
	// and their total number, from one consistent snapshot. Neither offset nor limit may be
	// negative.
	SavedSearches(ctx context.Context, account cola.AccountID, offset,
		limit int) (page []cola.SavedSearch, total int, err error)
	// UpdateSavedSearch stores the result of change for an account's search, and returns it,
	// without its URLs. It runs in one transaction that locks the account; change is called
	// within it, perhaps more than once, and must not block. The UUID and the creation time never
	// change.
	//
	// A failed call has no effect. If change fails, UpdateSavedSearch returns its error as is. It
	// fails with ErrNotFound if the account has no such search, with ErrLimit, as a LimitError, if
	// the change activates the schedule and the account already has as many active schedules as
	// maxActive or its ActiveLimit allows, and with ErrMalformed for an invalid search.
	UpdateSavedSearch(ctx context.Context, account cola.AccountID, uuid string, maxActive int,
		change func(cola.SavedSearch) (cola.SavedSearch, error)) (cola.SavedSearch, error)
	// DeleteSavedSearch deletes an account's search, or fails with ErrNotFound if it is missing or
	// belongs to another account.
	DeleteSavedSearch(ctx context.Context, account cola.AccountID, uuid string) error
}

// NewSavedSearch is a saved search to be created.
type NewSavedSearch struct {
	Account   cola.AccountID
	Search    cola.SavedSearch // without CreatedAt and URLs; the UUID is in lower case
	MaxActive int              // maximum number of the account's active schedules
	Once      Once

	MaxSearches int // maximum number of the account's searches, active or not; no limit if 0

	// Destinations are created with the search. Those whose SavedSearch is the search's UUID belong
	// to the search.
	Destinations []NewDestination
}

// DestinationError is returned by CreateSavedSearch if a destination can't be created. It wraps an
// error from CreateDestination.
type DestinationError struct {
	Destination NewDestination
	Err         error
}

// Error implements error.
func (e DestinationError) Error() string { return "create destination: " + e.Err.Error() }

// Unwrap returns the wrapped error.
func (e DestinationError) Unwrap() error { return e.Err }

// Once makes a repeated creation idempotent.
type Once struct {
	Key         string   // chosen by the account; if empty, always create
	Fingerprint [32]byte // fingerprint of the request
	// Within is the minimum time for which the creation is remembered.
	Within time.Duration
}

// Check fails with ErrMalformed for a search that cannot be stored.
func (n NewSavedSearch) Check() error {
	for _, d := range n.Destinations {
		if err := d.Check(); err != nil {
			return DestinationError{d, err}
		}
	}
	if err := checkKeyText("UUID", n.Search.UUID); err != nil {
		return err
	}
	if err := checkText("name", n.Search.Name); err != nil {
		return err
	}
	if n.Once.Key == "" {
		return nil
	}
	return checkKeyText("key", n.Once.Key)
}
