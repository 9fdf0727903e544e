package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Deliveries keeps messages to destinations. A run that found something, or any run for a destination that wants empty ones, comes
// to be delivered to every destination of its search in the transaction that records it: the schema sees to that. It is due at once.
//
// Whoever sends claims deliveries, tries, and notes what came of it. A process that is killed in between leaves its claims to the others,
// when their hold has passed, so a message may be sent twice, with the same id, and is never lost.
type Deliveries interface {
	// ClaimDeliveries returns deliveries of the given kinds that are due at an instant, those due longest first, and holds them for the caller: nobody else gets
	// them, in any process, until the hold has passed on the database's clock. Deliveries that others hold are left out; so are, until they are
	// not any more, those of suspended accounts, and runs for destinations that are not active. Fewer than limit mean that no more are due.
	ClaimDeliveries(ctx context.Context, due time.Time, kinds []string, limit int, hold time.Duration) ([]DueDelivery, error)
	// RunContent returns the current state of a run, its search and the labels that messages name: the first by ID, as
	// many as RecordRuns granted. It reads one consistent snapshot and fails with ErrNotFound if the run is gone.
	RunContent(ctx context.Context, run int64) (RunContent, error)
	// RecordAttempt notes an attempt of a delivery that was claimed, in one transaction: the attempt, the delivery's new state, what is
	// known of its destination, and when it is paused with it, that its other deliveries are skipped and that the account is told, if it has an email
	// address, at another one than the destination's. The delivery is let go. It returns false, and nothing is written, when the delivery is gone, or
	// was let go, noted, taken over or asked for again. One that was skipped meanwhile is noted as it came out; one that was to be tried again is
	// skipped when its destination is paused or disabled.
	// A destination is paused as failing only if nothing got through to it since the delivery was made.
	RecordAttempt(ctx context.Context, a Attempt) (recorded bool, err error)
	// ReleaseDeliveries lets deliveries go that were claimed and not tried. It is no error when they are not held any more.
	ReleaseDeliveries(ctx context.Context, claimed []DueDelivery) error
	// OldestPending returns since when the delivery is due that is due longest and may be sent, of the given kinds, or when the first one will be; zero
	// for none.
	OldestPending(ctx context.Context, kinds []string) (time.Time, error)

	// DeliveriesOf returns a page of an account's deliveries, newest first, and how many there are, of one state of the database.
	DeliveriesOf(ctx context.Context, account cola.AccountID, which DeliveryFilter, page Slice) ([]cola.Delivery, int, error)
	// DeliveryOf returns an account's delivery with its attempts, or ErrNotFound.
	DeliveryOf(ctx context.Context, account cola.AccountID, id int64) (cola.DeliveryDetail, error)
	// Replay makes an account's delivery pending again, due at an instant, whatever became of it; one that is pending is due then. Its
	// attempts stay, its retries begin anew, and what comes of an attempt under way is not noted. It fails with ErrNotFound, and with ErrNotActive
	// when its destination is not active.
	Replay(ctx context.Context, account cola.AccountID, id int64, due time.Time) (cola.Delivery, error)
	// ReplayUndelivered does so for all failed and skipped deliveries of a destination that tell of runs, at most limit of them, oldest
	// first, and returns how many those are.
	ReplayUndelivered(ctx context.Context, account cola.AccountID, destination string, due time.Time, limit int) (int, error)
	// AddTest adds a message of EventTest to an account's destination, due at an instant; it tells of no run. It fails with ErrNotFound when there
	// is no such destination, and with ErrNotActive when it is not active, or is the account's own address and the account has none.
	AddTest(ctx context.Context, account cola.AccountID, destination string, due time.Time) (cola.Delivery, error)
	// DeleteOldDeliveries forgets deliveries that were made before an instant, with their attempts, a few at a time, and returns how many.
	DeleteOldDeliveries(ctx context.Context, before time.Time) (int, error)
}

// DeliveryFilter says which deliveries are meant; what is empty leaves none out. A UUID that nothing of the account has leaves out all.
type DeliveryFilter struct{ Destination, SavedSearch, State string }

// DueDelivery is a delivery that is claimed.
type DueDelivery struct {
	ID             int64
	Hold           int64 // names the claim
	MessageID      string
	Event          string
	Kind           string
	Run            int64       // 0: it tells of none
	Destination    Destination // where it goes, or what it is about
	AccountEmail   string      // empty when the account has no email address
	Attempts       int         // so far
	CreatedAt      time.Time
	DueAt          time.Time // since when it is due
	FirstAttemptAt time.Time // since it was made, or asked for again; zero when there was none
}

// RunContent is the content of a message about a run.
type RunContent struct {
	Account cola.AccountID
	Search  cola.SavedSearch // without its addresses
	RunLabels
}

// Attempt is an attempt to deliver, and what came of it.
type Attempt struct {
	Due    DueDelivery
	At     time.Time
	Took   time.Duration
	Status int    // of HTTP or SMTP; 0: there was no answer
	Error  string // why it failed; empty: it got through
	// State of the delivery from now on: pending, delivered or failed.
	State string
	Next  time.Time // when it is to be tried again; counts when it is pending
	// Pause is the reason for which the destination is not sent to any more: cola.ReasonFailing pauses it, cola.ReasonGone
	// disables it; empty: it stays as it is.
	Pause string
	// Verified is true if an endpoint answered its challenge, which makes it active.
	Verified bool
}
