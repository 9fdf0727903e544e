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
type SavedSearches interface {
	// CreateSavedSearch keeps a new search and returns it with its creation time set. All of it happens in one transaction that
	// holds the account, so that creations of an account, in any process, happen one after the other. The search is marked with its
	// creation time and the revision that is then the latest.
	//
	// When a search was created under the key of Once before and that is not too long ago: with the same fingerprint, that search
	// is returned as it stands with repeated set, and nothing is written; with another one, it fails with ErrReused. When that search
	// is gone meanwhile, a new one is made. It fails with ErrLimit when the new search has an active schedule and the account has
	// as many such searches already as it may, with ErrNotFound when there is no such account, with ErrExists when a search has
	// the UUID, and with ErrMalformed when the search cannot be kept.
	CreateSavedSearch(ctx context.Context, s NewSavedSearch) (made cola.SavedSearch, repeated bool, err error)
	// SavedSearch returns an account's search, without its addresses, or ErrNotFound: also when it is another account's.
	SavedSearch(ctx context.Context, account cola.AccountID, uuid string) (cola.SavedSearch, error)
	// SavedSearches returns an account's searches, without their addresses, oldest first.
	SavedSearches(ctx context.Context, account cola.AccountID) ([]cola.SavedSearch, error)
}

// NewSavedSearch is a saved search to be made.
type NewSavedSearch struct {
	Account   cola.AccountID
	Search    cola.SavedSearch // CreatedAt and the addresses count for nothing; the UUID is in lower case
	MaxActive int              // with an active schedule, that the account may have
	Once      Once
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
