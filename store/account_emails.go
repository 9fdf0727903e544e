package store

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// AccountEvent is what an email about an account reports.
type AccountEvent string

// The events. The transaction that makes the change also queues the email.
const (
	EventIdentityAdded     AccountEvent = "identity_added"     // to an existing account; About is the issuer
	EventIdentityRemoved   AccountEvent = "identity_removed"   // About is the issuer
	EventAppConnected      AccountEvent = "app_connected"      // for the first time; About is the app's name
	EventQuota             AccountEvent = "quota"              // About is a QuotaUse
	EventDeletionRequested AccountEvent = "deletion_requested" // About is the time of the deletion, RFC 3339
	EventDeletionReminder  AccountEvent = "deletion_reminder"  // DeletionReminder before the deletion; About is its time, RFC 3339
	EventDeletionCanceled  AccountEvent = "deletion_canceled"
	EventDeleted           AccountEvent = "deleted" // sent when the deletion is complete
)

// AccountEmail is an email to the holder of an account.
type AccountEmail struct {
	ID        int64
	Account   cola.AccountID
	To        string
	Event     AccountEvent
	About     string
	CreatedAt time.Time
	Attempts  int // including the claimed one
}

// QuotaUse is the part of a monthly quota that was used.
type QuotaUse struct {
	Meter   cola.Meter
	Percent int       // percentage reached
	Tier    cola.Tier // the tier whose quota was used; empty in email that earlier versions queued
}

// String returns the form that ParseQuotaUse reads. Earlier versions ignore the tier.
func (u QuotaUse) String() string { return fmt.Sprintf("%s %d %s", u.Meter, u.Percent, u.Tier) }

// ParseQuotaUse returns the QuotaUse of an email.
func ParseQuotaUse(text string) (u QuotaUse, err error) {
	if n, err := fmt.Sscanf(text, "%s %d %s", &u.Meter, &u.Percent, &u.Tier); n < 2 {
		return u, err
	}
	return u, nil
}

// QuotaThresholds returns the percentages of a monthly quota at which email is sent, in descending
// order.
func QuotaThresholds() []int { return []int{100, 80} }

const (
	// AccountEmailLifetime is how long the server keeps trying to send an email.
	AccountEmailLifetime = 3 * 24 * time.Hour
	// AccountEmailRetention is how long emails that are sent only once are stored. It is longer
	// than a month.
	AccountEmailRetention = 40 * 24 * time.Hour
)

// AccountEmails stores email to account holders until it is sent. Accounts without an email address
// get none. Several processes can send: only one claims each email.
type AccountEmails interface {
	// QueueQuotaEmails queues email to the accounts whose usage has reached a threshold of a
	// monthly quota, and returns how many it queued. It queues one email per account, month, tier,
	// meter and threshold, and none for a threshold below one already reached on that tier. It
	// skips suspended accounts, and accounts that turned quota emails off.
	QueueQuotaEmails(ctx context.Context) (queued int, err error)
	// SetQuotaEmails turns an account's quota email on or off, or fails with ErrNotFound.
	SetQuotaEmails(ctx context.Context, id cola.AccountID, on bool) error
	// ClaimAccountEmails claims up to limit emails that are due, for the duration of hold. An email
	// that is not settled by then is due again, until its AccountEmailLifetime ends.
	ClaimAccountEmails(ctx context.Context, limit int, hold time.Duration) ([]AccountEmail, error)
	// SettleAccountEmail ends the claim on an email. If retry is zero, it records that the email
	// was sent or abandoned. Otherwise, it makes the email due again after retry.
	SettleAccountEmail(ctx context.Context, e AccountEmail, retry time.Duration) error
}
