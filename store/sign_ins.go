package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// SignIn is a browser in which an account holder has signed in. It is a credential, and holds until it is ended or expires. The browser
// proves it by its session, which is kept apart: see Sessions.
type SignIn struct {
	ID         int64
	Account    cola.AccountID
	Via        string // URL of the issuer that said who it is; empty: a link to sign in with
	Browser    string // what the browser says it is, shortened; for the account holder to recognise it by
	CreatedAt  time.Time
	LastUsedAt time.Time // zero when never; may lag by a minute
	EndedAt    time.Time // zero while it was not ended
	ExpiresAt  time.Time
}

// SignIns keeps the sign-ins of account holders.
type SignIns interface {
	// CreateSignIn keeps a new sign-in, of which the account, how it came about, the browser and the end count, and returns it with its id
	// and creation time. It fails with ErrNotFound when there is no such account, and with ErrMalformed when a text cannot be kept, or when
	// it has no end.
	CreateSignIn(ctx context.Context, s SignIn) (SignIn, error)
	// SignIns returns the sign-ins of an account that hold, newest first.
	SignIns(ctx context.Context, account cola.AccountID) ([]SignIn, error)
	// EndSignIn ends a sign-in of an account from the next request on, in every process. Ending twice is no error and keeps the first
	// time; it fails with ErrNotFound when the account has no such sign-in.
	EndSignIn(ctx context.Context, account cola.AccountID, id int64) error
	// EndOtherSignIns ends every sign-in of an account that holds but one, and returns how many those were.
	EndOtherSignIns(ctx context.Context, account cola.AccountID, but int64) (int, error)
}

// SignInLinkHash is the SHA-256 of the token of a link to sign in with.
type SignInLinkHash [32]byte

// SignInLinks keeps links that sign an account holder in once.
type SignInLinks interface {
	// CreateSignInLink keeps a link for an account, good for so long from now on the store's clock. It fails with ErrNotFound when there
	// is no such account, and with ErrExists when there is a link with the hash. Links that are used or expired are removed in time.
	CreateSignInLink(ctx context.Context, account cola.AccountID, hash SignInLinkHash, goodFor time.Duration) error
	// SignInLink returns the account of a link that may be used, without using it, or ErrNotFound.
	SignInLink(ctx context.Context, hash SignInLinkHash) (Account, error)
	// UseSignInLink uses a link up and returns its account, or ErrNotFound for one that is unknown, used or expired. Of those who use
	// one at the same time, in any process, one succeeds.
	UseSignInLink(ctx context.Context, hash SignInLinkHash) (Account, error)
}

// Sessions keeps what is remembered of browsers between their requests, by a name that only the browser's cookie leads to.
type Sessions interface {
	// Session returns what was kept under a name, or ErrNotFound when there is nothing or its time is over, on the store's clock.
	Session(ctx context.Context, name string) ([]byte, error)
	// SaveSession keeps data under a name until an instant, in place of what was there, or fails with ErrMalformed when the name cannot be
	// kept. It is cheap, and does not wait for the disk: what was kept last may be lost when the machine, not the process, fails. Sessions
	// whose time is over are removed in time.
	SaveSession(ctx context.Context, name string, data []byte, until time.Time) error
	// DeleteSession removes what is kept under a name, and reports whether there was anything whose time was not over. Of those who drop it at
	// the same time, in any process, one is told so.
	DeleteSession(ctx context.Context, name string) (dropped bool, err error)
}
