package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Destinations keeps where messages of saved searches are sent. Every account has one for its own e-mail address from the start, made in
// the transaction that makes the account. Deleting a search deletes its destinations, and deleting a destination what was and is to be
// sent there: the schema sees to both.
type Destinations interface {
	// CreateDestination keeps a new destination and returns it, with its uuid, token and creation time set by the store; with Ask, a message of
	// EventConfirm to it is added in the same transaction, or it fails with ErrAsked and nothing is made. It holds the
	// account, so that the limits are kept by however many processes. It fails with ErrNotFound when there is no such account, or no such search of it, with
	// ErrLimit when the account has as many as it may, with ErrExists when there is one of the kind with the address, any case for
	// e-mail, for the same search or for all, and with ErrMalformed for what cannot be kept.
	CreateDestination(ctx context.Context, d NewDestination) (Destination, error)
	// Destination returns an account's destination, or ErrNotFound.
	Destination(ctx context.Context, account cola.AccountID, uuid string) (Destination, error)
	// DestinationByToken returns the destination with a token, of whatever account, or ErrNotFound.
	DestinationByToken(ctx context.Context, token string) (Destination, error)
	// Destinations returns a page of an account's destinations, oldest first, and how many there are, of one state of the database.
	Destinations(ctx context.Context, account cola.AccountID, page Slice) ([]Destination, int, error)
	// UpdateDestination keeps what change makes of the State, Reason, SendEmpty, FailingSince and secrets of a destination, and returns
	// it. All of it happens in one transaction that holds the destination; change is called within it, perhaps more than once, and must
	// not wait for anything. One that is not active any more has its pending deliveries skipped; attempts of them that are under way are
	// noted still. What change fails with is returned as it is; with ErrNotFound it fails when there is no such destination of the account.
	UpdateDestination(ctx context.Context, account cola.AccountID, uuid string, change func(*Destination) error) (Destination, error)
	// AskToConfirm changes an account's destination as UpdateDestination does, and adds a message of EventConfirm to it, in one transaction. It
	// fails with what UpdateDestination fails with, with ErrAsked, as an AskedError, when people were asked often enough, and with ErrNotActive
	// when the destination has no e-mail address. Nothing is written then.
	AskToConfirm(ctx context.Context, account cola.AccountID, uuid string, ask Ask, change func(*Destination) error) (cola.Delivery, error)
	// DeleteDestination forgets a destination with its deliveries, or fails with ErrNotFound.
	DeleteDestination(ctx context.Context, account cola.AccountID, uuid string) error

	// SetFeed gives an account's search the feed whose token has the hash, in place of the one it has, or with nil none. It fails with
	// ErrNotFound when there is no such search of the account.
	SetFeed(ctx context.Context, account cola.AccountID, uuid string, hash *FeedHash) error
	// HasFeed reports whether an account's search has a feed, or fails with ErrNotFound when there is no such search of the account.
	HasFeed(ctx context.Context, account cola.AccountID, uuid string) (bool, error)
	// Feed returns the search whose feed has the hash and its latest runs with matches, newest first, from one consistent
	// state. Each run has the labels that messages about it name, until the feed has so many labels in all. ErrNotFound when
	// there is no such feed, or its account is suspended.
	Feed(ctx context.Context, hash FeedHash, runs, labels int) (Feed, error)
}

// FeedHash is the SHA-256 of the token of a feed.
type FeedHash [32]byte

// Destination is where messages are sent, with what only the store and whoever sends know of it.
type Destination struct {
	cola.Destination // its Address is the account's own one, or none, when Own is set
	Account          cola.AccountID
	Own              bool   // it is the account's own e-mail address, whatever that is
	Token            string // by which who gets its mail confirms it or ends it
	Secrets          Secrets
}

// Secrets are what webhooks are signed with, as Standard Webhooks writes them.
type Secrets struct {
	Current  string    // empty for an e-mail address
	Old      string    // that webhooks are signed with as well, until Until; empty for none
	OldUntil time.Time // zero for none
}

// NewDestination is a destination to be made.
type NewDestination struct {
	Account         cola.AccountID
	Kind            string
	Address         string // never empty; the account's own destination is made with the account
	SavedSearch     string // UUID; empty: all of the account
	SendEmpty       bool
	State           string // active, or unconfirmed
	Secret          string // empty for an e-mail address
	MaxDestinations int    // that the account may have
	Ask             *Ask   // nil: nobody is asked to confirm it
}

// Check fails with ErrMalformed for a destination that cannot be stored, and for an email address
// that CheckEmail rejects.
func (n NewDestination) Check() error {
	for name, text := range map[string]string{"kind": n.Kind, "address": n.Address, "state": n.State} {
		if err := checkKeyText(name, text); err != nil {
			return err
		}
	}
	if n.Kind == cola.KindEmail {
		return CheckEmail(n.Address)
	}
	return checkText("secret", n.Secret)
}

// Check refuses, with ErrMalformed, a change of a destination that cannot be kept.
func (d Destination) Check() error {
	if err := checkKeyText("state", d.State); err != nil {
		return err
	}
	for name, text := range map[string]string{"reason": d.Reason.V, "secret": d.Secrets.Current, "old secret": d.Secrets.Old} {
		if err := checkText(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Skipping says why a pending delivery to the destination is skipped; empty when it is not, since the destination is active or may come
// to be.
func (d Destination) Skipping() string {
	if d.State == cola.DestinationActive || d.State == cola.DestinationUnconfirmed {
		return ""
	}
	return "The destination was " + d.State + "."
}

// Feed is what the feed of a search shows.
type Feed struct {
	Search cola.SavedSearch // without its addresses
	Runs   []RunLabels      // newest first
}

// RunLabels is a run with the labels that messages name.
type RunLabels struct {
	Run    cola.SavedSearchRun
	Labels []MatchedLabel // by id; labels that are gone are left out
}

// MatchedLabel is a label that a run found, as it is now.
type MatchedLabel struct {
	Match cola.SavedSearchMatch
	Label cola.ColaSummary
}
