package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Ledger is the record of what every account has used. It knows no limits: what is granted is decided by the caller of
// Settle, between the reading of the state and the writing of the entries, while the accounts' rows are locked.
type Ledger interface {
	// Settle runs one batch in one transaction. It locks the rows of the accounts asked for in ascending order, reads the
	// clock of the database after the locks are held, reads the state of each account, calls decide exactly once for each
	// attempt with the states in the order asked for, writes the entries that decide returns together with the batch's id,
	// and commits. When it returns nil the entries are durable.
	//
	// With them it notes the instant as the last use of every credential that they charge, and of every other one of the batch that holds for
	// an account of it, at most once a minute each: a credential is in a batch because somebody has come with it, even if nothing is charged.
	// That is no usage, and Void does not take it back.
	//
	// An error that wraps ErrUnavailable leaves unknown whether the batch was committed; settling it again tells. Settling an id that
	// is committed already changes nothing and fails with ErrExists, without a call of decide; while a first attempt's transaction is still open
	// somewhere, a second one with its id waits for it. Settling an id that was voided fails with ErrVoid, also without a
	// call of decide. Ids are known for at least an hour. Other errors mean that nothing was committed.
	Settle(ctx context.Context, batch Batch, decide func(now time.Time, accounts []AccountState) []Entry) error

	// Void makes sure that a batch counts for nothing, once and for all. When it was not committed, it never will be. When it
	// was, the entries, which must be those that were written with it, are taken back: from the counters of its month, from
	// the rows of its day, and from the windows as far as its grants are still in them. While an attempt to settle the batch
	// is still open somewhere, Void waits for it. Voiding twice is no error and takes nothing back again. An error that wraps
	// ErrUnavailable leaves unknown whether it was voided; void it again.
	Void(ctx context.Context, id BatchID, entries []Entry) error

	// AccountUsage reads one account's state as a batch would see it, without a lock. ErrNotFound when there is none.
	AccountUsage(ctx context.Context, id cola.AccountID) (AccountState, error)

	// DailyUsage returns an account's usage rows of the days from first to last, by day, channel, credential and meter.
	// The sum over a month's days equals the month's counter.
	DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]DayUsage, error)
	// MonthlyUsage returns an account's counters of the months from first to last that it has used anything in, by month.
	MonthlyUsage(ctx context.Context, id cola.AccountID, first, last cola.Period) ([]MonthUsage, error)
}

// BatchID names a batch: 16 random bytes.
type BatchID [16]byte

// Batch is what to lock and read for one settlement.
type Batch struct {
	ID          BatchID
	Accounts    []cola.AccountID  // distinct, ascending
	Credentials []cola.Credential // distinct; those whose validity the decision needs; those that hold were used
}

// AccountState is what the ledger knows of an account at one instant.
type AccountState struct {
	Account cola.AccountID
	Exists  bool
	// Suspended is why the account is suspended; empty while it is not.
	Suspended string
	Tier      cola.Tier
	Used      cola.Used // in the month of the instant
	// Grants are the requests granted in the 60 seconds before the instant, oldest first.
	Grants []Grant
	// Valid holds those of the batch's credentials that belong to the account and hold at the instant.
	Valid map[cola.Credential]bool
}

// Grant is a number of requests let through at one instant.
type Grant struct {
	At       time.Time // on the database's clock, whole microseconds; never earlier than the account's previous grant
	Requests int
}

// Entry is what one account is charged by a batch.
type Entry struct {
	Account  cola.AccountID
	Requests int // granted, counted in the burst window at the batch's instant
	Units    []Units
}

// Units is usage of one kind within an entry.
type Units struct {
	Channel    cola.Channel
	Credential cola.Credential
	Meter      cola.Meter // MeterNone only counts requests
	Units      int        // added to the month's counter of the meter, and to the day's row
	Requests   int        // added to the day's row
}

// DayUsage is an account's usage on one day through one channel with one credential.
type DayUsage struct {
	Day        cola.Date
	Channel    cola.Channel
	Credential cola.Credential
	Meter      cola.Meter
	Units      int
	Requests   int
}

// Check refuses what would make the books wrong: an account that is not among the states, so was not looked at, or usage
// that the month cannot tell.
func (e Entry) Check(states []AccountState) error {
	asked := func(s AccountState) bool { return s.Exists && s.Account == e.Account }
	if !slices.ContainsFunc(states, asked) {
		return errors.New("not among the batch's accounts")
	}
	if e.Requests < 0 {
		return fmt.Errorf("%d requests", e.Requests)
	}
	for _, u := range e.Units {
		if err := u.check(); err != nil {
			return err
		}
	}
	return nil
}

func (u Units) check() error {
	if u.Units < 0 || u.Requests < 0 {
		return fmt.Errorf("%d units by %d requests", u.Units, u.Requests)
	}
	switch u.Meter {
	case cola.MeterDetailViews, cola.MeterListRecords:
	case cola.MeterNone:
		if u.Units > 0 {
			return fmt.Errorf("%d units without a meter", u.Units)
		}
	default:
		return fmt.Errorf("unknown meter %q", u.Meter)
	}
	return nil
}

// AddGrant adds a grant that is not earlier than the others: to the last one, when it is of the same instant.
func AddGrant(grants []Grant, g Grant) []Grant {
	if n := len(grants); n > 0 && grants[n-1].At.Equal(g.At) {
		grants[n-1].Requests += g.Requests
		return grants
	}
	return append(grants, g)
}

// Allowance is a free use of the service with a limit per account and UTC day.
//
// Counts are exact, even across processes. Deleting a search or a run does not reduce them. Counts of
// days before yesterday are deleted.
type Allowance string

// The allowances.
const (
	AllowManualRuns    Allowance = "manual_runs"    // counted by Runs.RequestRun
	AllowMessageLabels Allowance = "message_labels" // counted by Runs.RecordRuns
	AllowPreviewLabels Allowance = "preview_labels" // counted by Allowances.NamePreviewLabels
)

// Allowances counts the labels that previews of saved searches name.
type Allowances interface {
	// NamePreviewLabels returns the given labels that a preview may name to an account on a day, in order: labels that
	// were already named to the account that day, and new ones up to limit distinct labels. It records the new ones and
	// does not write if there are none.
	NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) ([]cola.TTBID, error)
}

// MaxRefusals is how many refusals are kept of an account: the latest.
const MaxRefusals = 200

// Refusal is requests of one minute that were refused alike.
type Refusal struct {
	Minute     time.Time // in which they came, UTC
	Channel    cola.Channel
	Credential cola.Credential
	Reason     string // such as burst; a word of ours
	Count      int
	LastAt     time.Time // when the latest of them came
}

// AccountRefusal is a refusal and the account that it befell.
type AccountRefusal struct {
	Account cola.AccountID
	Refusal
}

// Refusals keeps which requests of accounts were refused, for account holders to see. It is no part of the ledger: what a process notes
// may be lost with it.
type Refusals interface {
	// RecordRefusals adds the counts to those of the same account, minute, channel, credential and reason, and keeps the later LastAt. Of
	// each account the MaxRefusals latest by LastAt are kept. Accounts that there are not are passed over, and so are counts that are not
	// positive. It fails with ErrMalformed when a text cannot be kept, and does not wait for the disk.
	RecordRefusals(ctx context.Context, refusals []AccountRefusal) error
	// Refusals returns the refusals of an account, latest first, so many at most.
	Refusals(ctx context.Context, account cola.AccountID, limit int) ([]Refusal, error)
}
