package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Ledger records the usage of every account. It enforces no limits: the caller of Settle decides
// what is granted.
type Ledger interface {
	// Settle runs one batch in one transaction:
	//
	//  1. Lock the batch's accounts in ascending order.
	//  2. Read the database's clock, and then the accounts' states.
	//  3. Call decide, at most once per call to Settle, with the states in the order of the batch.
	//  4. Write the entries that decide returns, with the batch's ID.
	//  5. Record the last use of the batch's valid credentials, at most once a minute each, even
	//     if nothing is charged. Credentials that decide removes from Valid count as unused. Void
	//     does not undo this step.
	//  6. Commit. If Settle returns nil, the entries are durable.
	//
	// If an error wraps ErrUnavailable, it is unknown whether the batch was committed; settle it
	// again to find out. Settle waits for an open transaction with the same ID. If the ID was
	// already committed or voided, it doesn't call decide, changes nothing, and fails with
	// ErrExists or ErrVoid. IDs are stored for at least an hour. Other errors mean that nothing was
	// committed.
	Settle(ctx context.Context, batch Batch, decide func(now time.Time, accounts []AccountState) []Entry) error

	// Void makes sure that a batch is not charged, except for reloaded pages. A batch that was not
	// committed never will be.
	//
	// For a committed batch, Void reverts its entries in the month's counters, the day's rows, and
	// the windows that still have its grants; entries must be those that were written. Units for
	// pages that a later batch reloaded remain charged, because their rows were shown. They remain
	// charged even if the later batch is voided too, in which case its rows were not shown.
	//
	// Void waits for an open transaction with the same ID. Voiding again has no effect. If an error
	// wraps ErrUnavailable, the outcome is unknown; void the batch again.
	Void(ctx context.Context, id BatchID, entries []Entry) error

	// AccountUsage returns an account's state as a batch would see it, without locking the account,
	// or ErrNotFound.
	AccountUsage(ctx context.Context, id cola.AccountID) (AccountState, error)

	// DailyUsage returns an account's daily usage from first to last, by day, channel, credential
	// and meter. The sum over the days of a month equals the month's counter.
	DailyUsage(ctx context.Context, id cola.AccountID, first, last cola.Date) ([]DayUsage, error)
	// MonthlyUsage returns an account's monthly usage from first to last, by month, omitting months
	// without usage.
	MonthlyUsage(ctx context.Context, id cola.AccountID, first, last cola.Period) ([]MonthUsage, error)
}

// BatchID identifies a batch by 16 random bytes.
type BatchID [16]byte

// Batch lists the accounts and credentials of a settlement.
type Batch struct {
	ID          BatchID
	Accounts    []cola.AccountID  // distinct, ascending
	Credentials []cola.Credential // distinct; checked, and recorded as used if valid
	Pages       []PageKey         // distinct; pages that their sessions may have paid for
}

// PageRetention is how long a session can reload a page that it paid for.
const PageRetention = 10 * time.Minute

// PageKey identifies the rows of a page that a dashboard session pays for. Page is a hash of
// everything that determines the rows.
type PageKey struct {
	SignIn int64 // ID of the session's credential
	Page   string
}

// PagePayment is an entry's record of a page.
type PagePayment struct {
	PageKey
	Units    int  // charged by the entry
	Reloaded bool // the entry also grants rows that earlier batches charged for
}

// AccountState is the ledger's view of an account at a point in time.
type AccountState struct {
	Account cola.AccountID
	Exists  bool
	// Suspended is the reason for a suspension, or empty if the account is active.
	Suspended string
	DeletesAt time.Time // when the account will be deleted; usually zero
	Tier      cola.Tier
	Used      cola.Used // in the current month
	// Grants are the requests granted in the previous 60 seconds, oldest first.
	Grants []Grant
	// Valid contains the batch's credentials that belong to the account and are valid.
	Valid map[cola.Credential]bool
	// Keys contains the access rights of the valid credentials that are API keys.
	Keys map[cola.Credential]KeyAccess
	// Paid contains the rows charged for the batch's pages within PageRetention, if any.
	Paid map[PageKey]int
}

// Grant is a number of requests admitted at the same time.
type Grant struct {
	At       time.Time // by the database's clock, in whole microseconds; not before the account's previous grant
	Requests int
}

// Entry is a batch's charge to one account.
type Entry struct {
	Account  cola.AccountID
	Requests int // granted; count toward the burst window. Fewer than those in Units if some are exempt
	Units    []Units
	Pages    []PagePayment // their units are included in Units, as list records charged to the session
}

// Units is the usage of one meter within an entry.
type Units struct {
	Channel    cola.Channel
	Credential cola.Credential
	Meter      cola.Meter // MeterNone counts only requests
	Units      int        // added to the meter's counter for the month, and to the day's row
	Requests   int        // added to the day's row
}

// DayUsage is an account's usage on one day, for one channel, credential and meter.
type DayUsage struct {
	Day        cola.Date
	Channel    cola.Channel
	Credential cola.Credential
	Meter      cola.Meter
	Units      int
	Requests   int
}

// Check fails for an entry that would corrupt the ledger, because a number is negative, units have
// no known meter, or a page's units are not charged.
func (e Entry) Check() error {
	if e.Requests < 0 {
		return fmt.Errorf("negative requests: %d", e.Requests)
	}
	for _, u := range e.Units {
		if err := u.check(); err != nil {
			return err
		}
	}
	for _, p := range e.Pages {
		if p.SignIn == 0 || p.Page == "" || p.Units < 0 || p.Units > e.listRecords(p.SignIn) {
			return fmt.Errorf("invalid page for session %d with %d units", p.SignIn, p.Units)
		}
	}
	return nil
}

// listRecords returns the list records that the entry charges to a session.
func (e Entry) listRecords(signIn int64) (n int) {
	for _, u := range e.Units {
		if u.Credential == (cola.Credential{Kind: cola.CredentialSignIn, ID: signIn}) && u.Meter == cola.MeterListRecords {
			n += u.Units
		}
	}
	return n
}

// KeepPages returns the entry without the units of pages that keep selects, so that they are not
// reverted.
func (e Entry) KeepPages(keep func(PagePayment) bool) Entry {
	e.Units = slices.Clone(e.Units)
	for _, p := range e.Pages {
		if !keep(p) {
			continue
		}
		left := p.Units
		for i := range e.Units {
			u := &e.Units[i]
			if u.Credential == (cola.Credential{Kind: cola.CredentialSignIn, ID: p.SignIn}) && u.Meter == cola.MeterListRecords {
				n := min(left, u.Units)
				u.Units, left = u.Units-n, left-n
			}
		}
	}
	e.Pages = nil
	return e
}

func (u Units) check() error {
	if u.Units < 0 || u.Requests < 0 {
		return fmt.Errorf("negative usage: %d units, %d requests", u.Units, u.Requests)
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

// AddGrant appends a grant that is not earlier than the others. If the last grant has the same
// time, AddGrant adds g to it instead.
func AddGrant(grants []Grant, g Grant) []Grant {
	if n := len(grants); n > 0 && grants[n-1].At.Equal(g.At) {
		grants[n-1].Requests += g.Requests
		return grants
	}
	return append(grants, g)
}

// Allowance is a free operation with a daily limit (UTC) per account.
//
// Counts are exact, even across processes. Deleting a search or a run does not reduce them. Counts
// for days before yesterday are deleted.
type Allowance string

// The allowances.
const (
	AllowManualRuns    Allowance = "manual_runs"    // counted by Runs.RequestRun
	AllowMessageLabels Allowance = "message_labels" // counted by Runs.RecordRuns
	AllowPreviewLabels Allowance = "preview_labels" // counted by Allowances.NamePreviewLabels
)

// Allowances counts the labels that previews of saved searches show.
type Allowances interface {
	// NamePreviewLabels returns those of the given labels that a preview may show to an account on
	// a day, in the same order: those already shown to the account that day, and new ones, up to
	// limit distinct labels in total. It records the new ones and does not write if there are none.
	NamePreviewLabels(ctx context.Context, account cola.AccountID,
		day cola.Date, labels []cola.TTBID, limit int) ([]cola.TTBID, error)
}

// MaxRefusals is the maximum number of refusals stored per account; older ones are deleted.
const MaxRefusals = 200

// Refusal counts the requests rejected in one minute, for one channel, credential and reason.
type Refusal struct {
	Minute     time.Time // UTC
	Channel    cola.Channel
	Credential cola.Credential
	Reason     string // such as burst
	Count      int
	LastAt     time.Time // time of the latest one
}

// AccountRefusal is a refusal with its account.
type AccountRefusal struct {
	Account cola.AccountID
	Refusal
}

// Refusals records rejected requests for account holders to see. They are not part of the ledger,
// and the latest ones may be lost in a crash.
type Refusals interface {
	// RecordRefusals adds counts to the refusals with the same account, minute, channel, credential
	// and reason, and keeps the later LastAt. It ignores unknown accounts and counts that are not
	// positive. It fails with ErrMalformed for invalid text, and does not wait for the disk.
	RecordRefusals(ctx context.Context, refusals []AccountRefusal) error
	// Refusals returns up to limit refusals recorded for an account, latest first.
	Refusals(ctx context.Context, account cola.AccountID, limit int) ([]Refusal, error)
}
