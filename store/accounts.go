package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Account is who pays and is metered.
type Account struct {
	ID        cola.AccountID
	Email     string // unique regardless of ASCII letter case; or the Name of an identity
	Tier      cola.Tier
	CreatedAt time.Time // UTC, whole microseconds

	SuspendedAt     time.Time // zero while it is not
	SuspendedReason string    // for the account holder to read
	ActiveLimit     int       // searches that may run by themselves

	NewIdentity bool // set only by AccountOf: the call linked a new identity
}

// defaultSuspendedReason is told where nobody has written down why an account is suspended.
const defaultSuspendedReason = "No reason was given."

// Suspended returns why the account is suspended, for the account holder to read; empty while it is not.
func (a Account) Suspended() string {
	switch {
	case a.SuspendedAt.IsZero():
		return ""
	case a.SuspendedReason == "":
		return defaultSuspendedReason
	}
	return a.SuspendedReason
}

// Accounts keeps accounts.
type Accounts interface {
	// CreateAccount creates an account. It fails with ErrExists if another account has the email
	// address, and with ErrMalformed if CheckEmail rejects it.
	CreateAccount(ctx context.Context, email string, tier cola.Tier) (Account, error)
	// Account returns the account with an id, or ErrNotFound.
	Account(ctx context.Context, id cola.AccountID) (Account, error)
	// AccountByEmail returns the account with an email address, in any ASCII letter case, or
	// ErrNotFound.
	AccountByEmail(ctx context.Context, email string) (Account, error)
	// Accounts returns every account by id.
	Accounts(ctx context.Context) ([]Account, error)
	// SetTier changes an account's tier from the next request on, or fails with ErrNotFound.
	SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error
	// Suspend has an account's credentials refused and its searches not run from now on, for a reason that the account holder reads. Nothing
	// is lost: their marks stay. Suspending again changes the reason. It fails with ErrNotFound, and with ErrMalformed for a reason that
	// cannot be kept.
	Suspend(ctx context.Context, id cola.AccountID, reason string) error
	// Restore ends a suspension, or fails with ErrNotFound. It is no error when there is none.
	Restore(ctx context.Context, id cola.AccountID) error
	// SetActiveLimit changes how many of an account's searches may run by themselves, or fails with ErrNotFound. When it has more, those made
	// first run, and the others are paused as downgraded until there is room for them.
	SetActiveLimit(ctx context.Context, id cola.AccountID, limit int) error
}

// Key is an API key without its secret.
type Key struct {
	ID         int64
	AccountID  cola.AccountID
	Email      string // of the account; filled by Keys
	Name       string
	Prefix     string // first characters of the key, to recognise it by
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero when never; may lag by a minute
	RevokedAt  time.Time // zero while it holds
	ExpiresAt  time.Time // zero for never
}

// KeyHash is the SHA-256 of a whole key.
type KeyHash [32]byte

// Keys keeps API keys.
type Keys interface {
	// CreateKey keeps a new key under the hash and returns it with its id and creation time set. It fails with
	// ErrNotFound when there is no such account, and with a LimitError when the account has most keys that hold already, whichever
	// processes make them at the same time; 0 is no limit.
	CreateKey(ctx context.Context, key Key, hash KeyHash, maxKeys int) (Key, error)
	// ReplaceKey keeps a new key in place of one of the account, which holds until an instant at most, on the store's clock: not
	// longer than it would have held. The new key's AccountID and Name are those of the old one. All of it happens or nothing. It fails with
	// ErrNotFound when the account has no such key, with ErrNotActive when that key does not hold, and with a LimitError when the account has
	// most keys that hold beside it, as CreateKey does: or a key that is replaced again and again would give any number of them.
	ReplaceKey(ctx context.Context, account cola.AccountID, id int64, key Key, hash KeyHash, until time.Time, maxKeys int) (Key, error)
	// KeyByHash returns the key with a hash, revoked or not, or ErrNotFound.
	KeyByHash(ctx context.Context, hash KeyHash) (Key, error)
	// Keys returns every key by id, revoked ones included; of one account unless account is zero.
	Keys(ctx context.Context, account cola.AccountID) ([]Key, error)
	// RevokeKey ends a key of an account, of any account when that is zero, from the next request on, in every process. Revoking twice is
	// no error and keeps the first time; it fails with ErrNotFound when there is no such key.
	RevokeKey(ctx context.Context, account cola.AccountID, id int64) error
}
