package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// SavedSearches keeps saved searches.
//
// What changes a search's filters or schedule lets it go when it is held for a run (see Runs), and what deletes a search deletes its runs
// and matches: the schema sees to both. Its mark is for Runs alone to move. A change that writes down what it has read before holds
// the search's row in between, or it would undo what a run has written meanwhile.
//
// Whatever changes which of an account's searches are active, in number or by name, settles which of them are paused for a reason of the
// account's, in the same transaction: all of a suspended account, and those active ones, the last made first, that are more than its ActiveLimit.
type SavedSearches interface {
	// CreateSavedSearch keeps a new search and returns it with its creation time set. All of it happens in one transaction that
	// holds the account, so that creations of an account, in any process, happen one after the other. The search is marked with its
	// creation time and the revision that is then the latest.
	//
	// When a search was created under the key of Once before and that is not too long ago: with the same fingerprint, that search
	// is returned as it stands with repeated set, and nothing is written; with another one, it fails with ErrReused. When that search
	// is gone meanwhile, a new one is made. It fails with ErrLimit, as a LimitError, when the new search has an active schedule and the account has
	// as many such searches already as it may, by MaxActive or its ActiveLimit, or has MaxSearches of any kind, with ErrNotFound when there is no such account, with ErrExists when a search has
	// the UUID, and with ErrMalformed when the search cannot be kept.
	CreateSavedSearch(ctx context.Context, s NewSavedSearch) (made cola.SavedSearch, repeated bool, err error)
	// SavedSearch returns an account's search, without its addresses, or ErrNotFound: also when it is another account's.
	SavedSearch(ctx context.Context, account cola.AccountID, uuid string) (cola.SavedSearch, error)
	// SavedSearches returns a page of an account's searches, without their addresses, oldest first: at most limit of them after
	// the first offset, and how many there are in all. Both are of one state of the database; neither number is negative.
	SavedSearches(ctx context.Context, account cola.AccountID, offset, limit int) (page []cola.SavedSearch, total int, err error)
	// UpdateSavedSearch keeps what change makes of an account's search, and returns it, without its addresses. All of it happens in
	// one transaction that holds the account, as a creation does; change is called within it, perhaps more than once, and must
	// not wait for anything. The UUID and the creation time stay as they are, whatever change makes of them.
	//
	// Nothing is written when it fails: with what change fails with, as it is; with ErrNotFound when there is no such search, or it is
	// another account's; with ErrLimit, as a LimitError, when the change has the search run that did not before, and the account has maxActive
	// active ones, or as many as its ActiveLimit; and with ErrMalformed when the search cannot be kept.
	UpdateSavedSearch(ctx context.Context, account cola.AccountID, uuid string, maxActive int,
		change func(cola.SavedSearch) (cola.SavedSearch, error)) (cola.SavedSearch, error)
	// DeleteSavedSearch forgets an account's search, or fails with ErrNotFound: also when it is another account's.
	DeleteSavedSearch(ctx context.Context, account cola.AccountID, uuid string) error
}

// NewSavedSearch is a saved search to be made.
type NewSavedSearch struct {
	Account   cola.AccountID
	Search    cola.SavedSearch // CreatedAt and the addresses count for nothing; the UUID is in lower case
	MaxActive int              // with an active schedule, that the account may have
	Once      Once

	MaxSearches int // that the account may have, whether they run by themselves or not; zero: any number
}

// Once makes a creation that is asked for again the same one.
type Once struct {
	Key         string   // of the account's own; empty: every creation is a new one
	Fingerprint [32]byte // of what is to be created
	// Within is how long a creation is remembered. The store may forget it earlier never, later at will.
	Within time.Duration
}

// Check refuses, with ErrMalformed, a search that cannot be kept.
func (n NewSavedSearch) Check() error {
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
