package store

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Destinations stores the recipients of messages about saved searches. Creating an account creates
// a destination for its own email address, in the same transaction. Deleting a search deletes its
// destinations, and deleting a destination deletes its deliveries; the schema does both.
type Destinations interface {
	// CreateDestination creates a destination and returns it. With Confirm, it adds an EventConfirm
	// message in the same transaction, or fails with ErrConfirmationLimit if a limit is reached. It
	// locks the account, so limits hold across all processes. It fails with ErrNotFound if the
	// account, or its search, does not exist; with ErrLimit if the account already has the maximum
	// number of destinations; with ErrExists if it already has one with the same kind, address and
	// scope (a search, or all searches); and with ErrMalformed for invalid text. Email addresses
	// are compared regardless of ASCII letter case.
	//
	// An endpoint that is created active counts as verified. The schema makes any unverified
	// endpoint pending, regardless of the state that a caller or an earlier version of the program
	// sets.
	CreateDestination(ctx context.Context, d NewDestination) (Destination, error)
	// Destination returns an account's destination, or ErrNotFound.
	Destination(ctx context.Context, account cola.AccountID, uuid string) (Destination, error)
	// DestinationByLink returns the destination, in any account, for a link in an email sent by an
	// earlier version. hash is the SHA-256 of the link's token. DestinationByLink fails with
	// ErrNotFound if no destination has that link.
	DestinationByLink(ctx context.Context, hash []byte) (Destination, error)
	// Destinations returns a page of an account's destinations, oldest first, and their total
	// number, from one consistent snapshot.
	Destinations(ctx context.Context, account cola.AccountID, page Slice) ([]Destination, int, error)
	// UpdateDestination changes a destination and returns it. It stores the State, Reason,
	// SendEmpty, FailingSince, VerifiedAt, Secrets and Challenge that change sets. It calls change,
	// perhaps more than once, in a transaction that locks the destination; change must not block.
	// Pending deliveries to a destination that is no longer active are skipped; attempts in
	// progress are still recorded. If change fails, UpdateDestination returns its error as is.
	// UpdateDestination fails with ErrNotFound if the account has no such destination.
	UpdateDestination(ctx context.Context, account cola.AccountID,
		uuid string, change func(*Destination) error) (Destination, error)
	// RequestConfirmation changes an account's destination as UpdateDestination does, and adds an
	// EventConfirm message, in one transaction. In addition to the errors of UpdateDestination, it
	// fails with a ConfirmationLimitError if a limit is reached, and with ErrNotActive if the
	// destination has no address. A failed call has no effect.
	RequestConfirmation(ctx context.Context, account cola.AccountID, uuid string,
		request ConfirmationRequest, change func(*Destination) error) (cola.Delivery, error)
	// DeleteDestination deletes a destination with its deliveries, or fails with ErrNotFound.
	DeleteDestination(ctx context.Context, account cola.AccountID, uuid string) error

	// SetFeed gives an account's search a feed whose token has the given hash, replacing any
	// earlier feed. If hash is nil, it removes the feed. It fails with ErrNotFound if the account
	// has no such search.
	SetFeed(ctx context.Context, account cola.AccountID, uuid string, hash *FeedHash) error
	// HasFeed reports whether an account's search has a feed. It fails with ErrNotFound if the
	// account has no such search.
	HasFeed(ctx context.Context, account cola.AccountID, uuid string) (bool, error)
	// Feed returns the search whose feed has the given hash, with its latest runs that have
	// matches, newest first, from one consistent snapshot. Each run has the labels that messages
	// about it list. The runs and labels parameters limit the total number of each. Feed fails with
	// ErrNotFound if the feed does not exist or its account is suspended.
	Feed(ctx context.Context, hash FeedHash, runs, labels int) (Feed, error)
}

// FeedHash is the SHA-256 of a feed's token.
type FeedHash [32]byte

// Destination is a recipient of messages, with fields that only the store and the senders use.
type Destination struct {
	cola.Destination // if Own is set, Address is the account's email address, or empty
	Account          cola.AccountID
	Own              bool      // follows the account's own email address
	VerifiedAt       time.Time // when the endpoint was confirmed; zero if unconfirmed or an email address
	Secrets          Secrets
	Challenge        Challenge
}

// Secrets sign webhooks. They are sealed (package vault), except for plaintext secrets from an
// earlier version.
type Secrets struct {
	Current  string    // empty for an email address
	Old      string    // also signs until OldUntil; empty if unset
	OldUntil time.Time // zero if unset
}

// Challenge is the latest challenge of an endpoint.
type Challenge struct {
	Sealed string // sealed cola.Challenge; empty if unset
	Tries  int    // number of codes entered
}

// NewDestination is a destination to be created.
type NewDestination struct {
	UUID            string // Secret and Challenge are bound to it; default: generated by the store
	Account         cola.AccountID
	Kind            string
	Address         string // required; the account's own destination is created with the account
	SavedSearch     string // UUID; default: all of the account's searches
	SendEmpty       bool
	State           string               // active, unconfirmed or pending
	Secret          string               // sealed; empty for an email address
	Challenge       string               // sealed; empty if unset
	MaxDestinations int                  // the account's maximum number of destinations
	Confirm         *ConfirmationRequest // nil to request no confirmation
}

// Verified reports whether the new destination is an endpoint that counts as verified.
func (n NewDestination) Verified() bool {
	return n.Kind == cola.KindWebhook && n.State == cola.DestinationActive
}

// Check fails with ErrMalformed if the destination has invalid text, or an email address that
// CheckEmail rejects.
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

// Check fails with ErrMalformed if a changed destination has invalid text.
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

// Skipping returns the reason for skipping pending deliveries to the destination. It is empty if
// the destination is active or awaiting confirmation.
func (d Destination) Skipping() string {
	switch d.State {
	case cola.DestinationActive, cola.DestinationUnconfirmed, cola.DestinationPending:
		return ""
	}
	return "The destination was " + d.State + "."
}

// Feed is the content of a search's feed.
type Feed struct {
	Search cola.SavedSearch // without its URLs
	Runs   []RunLabels      // newest first
}

// RunLabels is a run with the labels that messages about it list.
type RunLabels struct {
	Run    cola.SavedSearchRun
	Labels []MatchedLabel // ordered by ID, without labels that no longer exist
}

// MatchedLabel is a label that a run matched, in its current state.
type MatchedLabel struct {
	Match cola.SavedSearchMatch
	Label cola.ColaSummary
}

// ConfirmationRetention is how long confirmation requests are stored.
const ConfirmationRetention = 25 * time.Hour

// ConfirmationRequest is a request to confirm a destination, subject to limits. The owner of an
// email address gets an email; an endpoint gets a challenge.
type ConfirmationRequest struct {
	Due    time.Time // when the message is due
	Limits ConfirmationLimits
}

// ConfirmationLimits limit confirmation requests, because recipients may not have asked for them.
// They apply across all processes, by the store's clock. Requests count even if their destination
// was deleted. Endpoints are counted by host.
//
// MaxPerAddress does not apply to an account's first challenge to a host within the window, nor to
// hosts where the account has a confirmed endpoint. Accounts share the hosts of large platforms and
// must not be able to lock each other out.
type ConfirmationLimits struct {
	RepeatWindow  time.Duration // window for MaxRepeats
	MaxRepeats    int           // requests from an account to the same address or host; 0 means 1
	Window        time.Duration // window for the other two limits; at most ConfirmationRetention
	MaxPerAccount int           // requests from an account to all recipients; at least 1
	MaxPerAddress int           // requests from all accounts to one address or host; at least 1
}

// Recipient returns the key by which requests to confirm a destination are counted: its folded
// email address, or the host of its URL.
func Recipient(kind, address string) string {
	if kind != cola.KindWebhook {
		return cola.FoldAddress(kind, address)
	}
	host := address // fallback if it is not a URL
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host = u.Hostname()
	}
	return "host " + strings.TrimSuffix(strings.ToLower(host), ".") // email addresses contain no spaces
}

// ConfirmationLimit names one of the ConfirmationLimits.
type ConfirmationLimit string

// The limits.
const (
	LimitRepeats    ConfirmationLimit = "per account and address"
	LimitPerAccount ConfirmationLimit = "per account"
	LimitPerAddress ConfirmationLimit = "per address"
)

// ConfirmationLimitError is an ErrConfirmationLimit with details: of the limits reached, the one
// with the longest remaining wait, and that wait.
type ConfirmationLimitError struct {
	Limit ConfirmationLimit
	Wait  time.Duration
}

// Error returns the limit and the remaining time.
func (e ConfirmationLimitError) Error() string {
	return fmt.Sprintf("%v (%s); retry in %v", ErrConfirmationLimit, e.Limit, e.Wait)
}

// Unwrap returns ErrConfirmationLimit.
func (ConfirmationLimitError) Unwrap() error { return ErrConfirmationLimit }
