package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Deliveries stores messages to destinations.
//
// The transaction that records a run creates a delivery for each destination of the search, if the
// run has matches or the destination wants empty runs. Database triggers do this. A delivery is due
// immediately.
//
// Senders claim deliveries, try them, and record the attempts. If a process stops midway, its
// claims expire and others take over. So a message may be sent twice, with the same ID, but is
// never lost. Package sqlstore has a diagram of the states.
type Deliveries interface {
	// ClaimDeliveries claims deliveries of the given kinds that are due at the given time, earliest
	// due first. No other caller, in any process, can claim them until hold has elapsed according
	// to the database's clock. ClaimDeliveries skips claimed deliveries, those of suspended
	// accounts, those without a recipient address, and run and test messages to inactive
	// destinations. If it returns fewer than limit, no more are due.
	ClaimDeliveries(ctx context.Context, due time.Time, kinds []string,
		limit int, hold time.Duration) ([]DueDelivery, error)
	// RunContent returns the current state of a run, its search and the labels that messages name:
	// those with the lowest IDs, as many as RecordRuns granted. RunContent reads one consistent
	// snapshot and fails with ErrNotFound if the run is gone.
	RunContent(ctx context.Context, run int64) (RunContent, error)
	// RecordAttempt records an attempt at a claimed delivery, the delivery's new state and the
	// destination's health, and ends the claim, all in one transaction. If the new state is
	// skipped, there was no attempt, and only the delivery changes. If the attempt pauses the
	// destination, RecordAttempt skips the destination's other pending deliveries and, if the
	// account has an email address other than the destination's, notifies the account.
	//
	// It returns false and writes nothing if the delivery is gone, or if the claim has ended
	// because the delivery was released, recorded, taken over or replayed. A delivery that was
	// skipped in the meantime gets the attempt's outcome, but is not retried if its destination is
	// paused or disabled: it stays skipped. A destination is paused as failing only if no message
	// has been delivered since the delivery was created.
	RecordAttempt(ctx context.Context, a Attempt) (recorded bool, err error)
	// ReleaseDeliveries releases claimed deliveries that were not tried. It ignores claims that
	// have ended.
	ReleaseDeliveries(ctx context.Context, claimed []DueDelivery) error
	// OldestPending returns the earliest due time, possibly in the future, of the deliveries of the
	// given kinds that may be sent. It is zero for an empty queue.
	OldestPending(ctx context.Context, kinds []string) (time.Time, error)

	// DeliveriesOf returns a page of an account's deliveries, newest first, and their total number,
	// from one consistent snapshot.
	DeliveriesOf(ctx context.Context, account cola.AccountID,
		which DeliveryFilter, page Slice) ([]cola.Delivery, int, error)
	// DeliveriesAfter returns up to limit of an account's deliveries with an ID above after, in
	// ascending order of ID, with their attempts, from one consistent snapshot.
	DeliveriesAfter(ctx context.Context, account cola.AccountID, after int64, limit int) ([]DeliveryRecord, error)
	// DeliveryOf returns an account's delivery with its attempts, or ErrNotFound.
	DeliveryOf(ctx context.Context, account cola.AccountID, id int64) (cola.DeliveryDetail, error)
	// Exchanges returns what each attempt at an account's delivery sent and received, oldest first,
	// or ErrNotFound. Attempts recorded by versions without exchanges have empty ones.
	Exchanges(ctx context.Context, account cola.AccountID, id int64) ([]Exchange, error)
	// Replay makes a delivery in any state pending again, due at the given time. It keeps the
	// recorded attempts, restarts the retries, and discards the outcome of an attempt in progress.
	// It fails with ErrNotFound, and with ErrNotActive if the destination is not active.
	Replay(ctx context.Context, account cola.AccountID, id int64, due time.Time) (cola.Delivery, error)
	// ReplayUndelivered replays the failed and skipped deliveries of runs to a destination, oldest
	// first, up to limit, and returns how many it replayed. It fails as Replay does.
	ReplayUndelivered(ctx context.Context, account cola.AccountID,
		destination string, due time.Time, limit int) (int, error)
	// AddTest adds an EventTest message to a destination, due at the given time. It fails with
	// ErrNotFound, and with ErrNotActive if the destination is not active or has no address.
	AddTest(ctx context.Context, account cola.AccountID, destination string, due time.Time) (cola.Delivery, error)
	// DeleteOldDeliveries deletes deliveries that were created before the given time, with their
	// attempts, in small transactions. It returns how many it deleted.
	DeleteOldDeliveries(ctx context.Context, before time.Time) (int, error)
}

// DeliveryFilter selects deliveries. An empty field matches all; a UUID that doesn't belong to the
// account matches none.
type DeliveryFilter struct{ Destination, SavedSearch, State string }

// DueDelivery is a claimed delivery.
type DueDelivery struct {
	ID             int64
	Hold           int64 // identifies the claim
	MessageID      string
	Event          string
	Kind           string
	Run            int64       // 0 for other events
	Destination    Destination // recipient of the message, or the destination that the message is about
	AccountEmail   string      // empty if the account has no email address
	Attempts       int         // so far
	CreatedAt      time.Time
	DueAt          time.Time
	FirstAttemptAt time.Time // since creation or the latest replay; zero if not tried since
}

// RunContent is the content of a message about a run.
type RunContent struct {
	Account cola.AccountID
	Search  cola.SavedSearch // without its URLs
	RunLabels
}

// DeliveryRecord is a delivery with its attempts, oldest first.
type DeliveryRecord struct {
	cola.Delivery
	Attempts []AttemptRecord
}

// AttemptRecord is an attempt with what it sent and received, except the message.
type AttemptRecord struct {
	cola.DeliveryAttempt
	Exchange Exchange // Sent is empty
}

// Attempt is a delivery attempt with its outcome.
type Attempt struct {
	Due    DueDelivery
	At     time.Time
	Took   time.Duration
	Status int    // HTTP or SMTP status; 0 without a response
	Error  string // empty if delivered
	// State is the delivery's new state: pending, delivered, failed or, without an attempt,
	// skipped.
	State string
	Next  time.Time // when to try again, if pending
	// Pause is the reason to stop messages to the destination: cola.ReasonFailing pauses it,
	// cola.ReasonGone disables it. If empty, the destination does not change.
	Pause string
	// Verified is true if an endpoint passed its challenge, which activates it.
	Verified bool

	Exchange Exchange
}

// Limits on the parts of an Exchange, in bytes. Longer parts are truncated.
const (
	MaxSent            = 64 << 10
	MaxResponse        = 1 << 10
	MaxResponseHeaders = 2 << 10
)

// Exchange is what an attempt sent and received, for the account holder to see. It contains no
// secrets: senders remove signing secrets, challenges and link tokens.
type Exchange struct {
	Subject  string // of an email
	Sent     string // body of the message; may be empty; see Truncated
	Headers  string // some headers of the response, one per line
	Response string // start of the response's body
}

// TruncatedMark ends a truncated message. A complete message has at most MaxSent bytes; a truncated
// one is longer, so that Truncated recognizes it.
const TruncatedMark = "\n…"

// Truncated reports whether only the start of the message is stored.
func (e Exchange) Truncated() bool { return len(e.Sent) > MaxSent }
