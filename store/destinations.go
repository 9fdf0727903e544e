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
	// CreateDestination stores a new destination and returns it. With Ask, a message of EventConfirm to it is added in the same
	// transaction, or it fails with ErrAsked and nothing is made. It holds the account, so the limits hold over any number of
	// processes. It fails with ErrNotFound when there is no such account, or no such search of it, with ErrLimit when the account has
	// as many destinations as it may, with ErrExists when it has one of the kind with the address, any case for email, for the same
	// search or for all, and with ErrMalformed for what cannot be stored.
	//
	// An endpoint that is created active counts as verified. One that is not verified is pending, whatever state a caller or an
	// earlier version of the program asks for: the schema sees to that.
	CreateDestination(ctx context.Context, d NewDestination) (Destination, error)
	// Destination returns an account's destination, or ErrNotFound.
	Destination(ctx context.Context, account cola.AccountID, uuid string) (Destination, error)
	// DestinationByLink returns the destination, of any account, that links in the email of earlier versions were about, by the
	// SHA-256 of their token; or ErrNotFound.
	DestinationByLink(ctx context.Context, hash []byte) (Destination, error)
	// Destinations returns a page of an account's destinations, oldest first, and how many there are, of one state of the database.
	Destinations(ctx context.Context, account cola.AccountID, page Slice) ([]Destination, int, error)
	// UpdateDestination stores what change makes of the State, Reason, SendEmpty, FailingSince, VerifiedAt, Secrets and Challenge of a
	// destination, and returns it. It does so in one transaction that holds the destination; change is called within it, perhaps more
	// than once, and must not block. Pending deliveries to a destination that is no longer active are skipped; attempts under way are
	// still recorded. An error of change is returned as it is. It fails with ErrNotFound when the account has no such destination.
	UpdateDestination(ctx context.Context, account cola.AccountID, uuid string, change func(*Destination) error) (Destination, error)
	// AskToConfirm changes an account's destination as UpdateDestination does, and adds a message of EventConfirm to it, in one
	// transaction. It fails as UpdateDestination does, with an AskedError, which is ErrAsked, when the recipient was asked often
	// enough, and with ErrNotActive when the destination has no address. Nothing is written then.
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

// Destination is where messages are sent, with what only the store and the senders know of it.
type Destination struct {
	cola.Destination // its Address is the account's own one, or none, when Own is set
	Account          cola.AccountID
	Own              bool      // it is the account's own email address, whatever that is
	VerifiedAt       time.Time // when the endpoint confirmed; zero: not yet, or it is an email address
	Secrets          Secrets
	Challenge        Challenge
}

// Secrets are what webhooks are signed with. They are sealed (package vault), except for those that an earlier version of the
// program stored in clear.
type Secrets struct {
	Current  string    // empty for an email address
	Old      string    // signs as well until OldUntil; empty: none
	OldUntil time.Time // zero: none
}

// Challenge is the latest challenge of an endpoint.
type Challenge struct {
	Sealed string // sealed cola.Challenge; empty: none
	Tries  int    // codes that were entered for it
}

// NewDestination is a destination to be created.
type NewDestination struct {
	UUID            string // that Secret and Challenge are bound to; empty: made by the store
	Account         cola.AccountID
	Kind            string
	Address         string // never empty; the account's own destination is made with the account
	SavedSearch     string // UUID; empty: all of the account
	SendEmpty       bool
	State           string // active, unconfirmed or pending
	Secret          string // sealed; empty for an email address
	Challenge       string // sealed; empty: none
	MaxDestinations int    // that the account may have
	Ask             *Ask   // nil: the recipient is not asked
}

// Verified reports whether it is an endpoint that counts as verified from the start.
func (n NewDestination) Verified() bool {
	return n.Kind == cola.KindWebhook && n.State == cola.DestinationActive
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
	return checkTexts(map[string]string{"uuid": n.UUID, "secret": n.Secret, "challenge": n.Challenge})
}

// Check refuses, with ErrMalformed, a change of a destination that cannot be stored.
func (d Destination) Check() error {
	if err := checkKeyText("state", d.State); err != nil {
		return err
	}
	return checkTexts(map[string]string{
		"reason": d.Reason.V, "secret": d.Secrets.Current, "old secret": d.Secrets.Old, "challenge": d.Challenge.Sealed,
	})
}

func checkTexts(texts map[string]string) error {
	for name, text := range texts {
		if err := checkText(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Skipping says why a pending delivery to the destination is skipped. It is empty when the destination is active, or waits for its
// recipient to confirm.
func (d Destination) Skipping() string {
	switch d.State {
	case cola.DestinationActive, cola.DestinationUnconfirmed, cola.DestinationPending:
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
