package store

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Account is a metered customer.
type Account struct {
	ID        cola.AccountID
	Email     string // unique, ignoring ASCII letter case; or an Identity.Name
	Tier      cola.Tier
	CreatedAt time.Time // UTC, whole microseconds

	SuspendedAt     time.Time // zero if active
	SuspendedReason string    // shown to the account holder
	DeletesAt       time.Time // start of a requested deletion that is not complete; otherwise zero
	DeletedAt       time.Time // when the deletion started; zero for other accounts
	ActiveLimit     int       // maximum number of active schedules
	NoQuotaEmails   bool      // the holder turned off email about quotas

	NewIdentity bool // set only by AccountOf: the call linked a new identity
	NewAccount  bool // set only by UseSignInLink: the call created the account
}

const (
	// defaultSuspendedReason is displayed if a suspension has no reason.
	defaultSuspendedReason = "No reason was given."
	// deletionReason is displayed if an account is suspended only because of its deletion.
	deletionReason = "The account will be deleted."
)

// DeletedEmail replaces the email address of a deleted account. Like an Identity.Name, it is not an
// address. No issuer has such a URL, so no identity has this name.
func DeletedEmail(id cola.AccountID) string { return fmt.Sprintf("deleted://account#%d", id) }

// Suspended returns the reason for the suspension, for the account holder. It is empty if the
// account is active.
func (a Account) Suspended() string {
	switch {
	case a.SuspendedAt.IsZero():
		return ""
	case a.SuspendedReason == "" && !a.DeletesAt.IsZero():
		return deletionReason
	case a.SuspendedReason == "":
		return defaultSuspendedReason
	}
	return a.SuspendedReason
}

// Accounts stores accounts.
type Accounts interface {
	// CreateAccount creates an account. It fails with ErrExists if another account has the email
	// address, and with ErrMalformed if CheckEmail rejects it.
	CreateAccount(ctx context.Context, email string, tier cola.Tier) (Account, error)
	// Account returns an account by ID, or ErrNotFound. Like most methods, it does not find
	// accounts whose deletion has started. The exceptions are Accounts, HasAccounts, the methods of
	// Ledger and Copier, and those that carry out the deletion.
	Account(ctx context.Context, id cola.AccountID) (Account, error)
	// AccountByEmail returns an account by its email address, in any ASCII letter case, or
	// ErrNotFound.
	AccountByEmail(ctx context.Context, email string) (Account, error)
	// Accounts returns all accounts, including deleted ones, ordered by ID.
	Accounts(ctx context.Context) ([]Account, error)

	// HasAccounts reports whether any account exists.
	HasAccounts(ctx context.Context) (bool, error)
	// SetTier changes an account's tier, effective from the next request, or fails with
	// ErrNotFound.
	SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error
	// Suspend suspends an account: its credentials are rejected and its searches do not run. The
	// searches keep their marks. Suspending a suspended account changes the reason. Suspend fails
	// with ErrNotFound, and with ErrMalformed for an invalid reason.
	Suspend(ctx context.Context, id cola.AccountID, reason string) error
	// Restore ends a suspension, if there is one. An account whose deletion was requested stays
	// suspended for that reason. Restore fails with ErrNotFound if the account does not exist.
	Restore(ctx context.Context, id cola.AccountID) error
	// SetActiveLimit changes how many of an account's searches may run on schedule, or fails with
	// ErrNotFound. The oldest searches within the limit run; the others are paused as downgraded
	// until there is room.
	SetActiveLimit(ctx context.Context, id cola.AccountID, limit int) error
}

// DeletionDelay is the time between a request to delete an account and the start of the deletion.
// Until then, the request can be undone.
const DeletionDelay = 7 * 24 * time.Hour

// DeletionReminder is how long before an account's deletion the holder gets a reminder by email.
const DeletionReminder = 24 * time.Hour

// AccountDeletion deletes accounts in these steps:
//
//  1. A request suspends the account. It can be undone until a certain time.
//  2. At that time, the account's email address and identities are removed. The address can then be
//     used for a new account.
//  3. The account's other rows are deleted in batches, except its usage. The account itself
//     remains with its ID and tier, because the usage refers to it.
//
// Several processes can work on steps 2 and 3. If they are interrupted, a later call continues.
type AccountDeletion interface {
	// RequestDeletion schedules the deletion of an account, and suspends it. Requesting it again
	// does not change the time. RequestDeletion fails with ErrNotFound if the account does not
	// exist.
	RequestDeletion(ctx context.Context, id cola.AccountID, after time.Duration) error
	// CancelDeletion undoes RequestDeletion. It has no effect if no deletion was requested. It
	// fails with ErrNotFound if the account does not exist or if it is too late.
	CancelDeletion(ctx context.Context, id cola.AccountID) error
	// DueDeletions returns up to limit accounts whose deletion is due and not complete, ordered by
	// due time.
	DueDeletions(ctx context.Context, limit int) ([]Account, error)
	// DeleteAccountData deletes a batch of rows of an account whose deletion is due, and reports
	// whether the deletion is complete. It fails with ErrNotFound for other accounts.
	DeleteAccountData(ctx context.Context, id cola.AccountID) (done bool, err error)
}

// Key is an API key without its secret.
type Key struct {
	ID         int64
	AccountID  cola.AccountID
	Email      string // of the account; set by Keys
	Name       string
	Prefix     string // first characters of the key, to recognize it
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero if never used; may lag by up to a minute
	RevokedAt  time.Time // zero if not revoked
	ExpiresAt  time.Time // zero if it does not expire
	KeyAccess
}

// KeyAccess is what a key permits in addition to reading, and the networks it may be used from.
type KeyAccess struct {
	Scopes   []cola.Scope
	Networks cola.Networks
}

// KeyHash is the SHA-256 of a whole key.
type KeyHash [32]byte

// Keys stores API keys.
type Keys interface {
	// CreateKey stores a key under a hash and returns it with its ID and creation time. It fails
	// with ErrNotFound if the account does not exist, and with a LimitError if the account already
	// has maxKeys valid keys. 0 means no limit. The limit holds across concurrent calls in all
	// processes.
	CreateKey(ctx context.Context, key Key, hash KeyHash, maxKeys int) (Key, error)
	// ReplaceKey creates a key that replaces one of the account's keys, in one transaction. The old
	// key will expire at the given time, unless it was due to expire earlier. The new key gets the old
	// key's AccountID, Name and KeyAccess. ReplaceKey fails with ErrNotFound if the account has no
	// such key, with ErrNotActive if that key is no longer valid, and with a LimitError if the
	// account has maxKeys other valid keys, so that repeated replacements cannot exceed the limit.
	ReplaceKey(ctx context.Context, account cola.AccountID, id int64,
		key Key, hash KeyHash, until time.Time, maxKeys int) (Key, error)
	// ChangeKey changes the name and KeyAccess of one of the account's keys, effective from the
	// next request in all processes. It fails with ErrNotFound if the account has no such key, and
	// with ErrNotActive if the key is no longer valid.
	ChangeKey(ctx context.Context, account cola.AccountID, id int64, name string, access KeyAccess) error
	// KeyByHash returns a key by its hash, revoked or not, or ErrNotFound.
	KeyByHash(ctx context.Context, hash KeyHash) (Key, error)
	// Keys returns the keys of an account, or of all accounts if account is zero, ordered by ID and
	// including revoked ones.
	Keys(ctx context.Context, account cola.AccountID) ([]Key, error)
	// RevokeKey revokes a key, effective from the next request in all processes. The key must
	// belong to the account unless account is zero. Revoking it again does not change RevokedAt.
	// RevokeKey fails with ErrNotFound if there is no such key.
	RevokeKey(ctx context.Context, account cola.AccountID, id int64) error
}
