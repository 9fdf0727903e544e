package store

import (
	"context"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// SignIn is the sign-in of an account holder in a browser. The browser identifies it by its
// session, which is stored separately: see Sessions.
type SignIn struct {
	ID         int64
	Account    cola.AccountID
	Via        string // URL of the issuer; empty for a sign-in link
	Browser    string // shortened User-Agent, for the account holder to recognize it
	CreatedAt  time.Time
	LastUsedAt time.Time // zero if never used; may lag by up to a minute
	EndedAt    time.Time // zero if not ended
	ExpiresAt  time.Time
}

// SignIns stores the sign-ins of account holders.
type SignIns interface {
	// CreateSignIn creates a sign-in from the account, the issuer, the browser and the expiry, and
	// returns it with its ID and creation time. It fails with ErrNotFound if the account does not
	// exist, and with ErrMalformed if Check fails.
	CreateSignIn(ctx context.Context, s SignIn) (SignIn, error)
	// SignIns returns an account's valid sign-ins, newest first.
	SignIns(ctx context.Context, account cola.AccountID) ([]SignIn, error)
	// EndSignIn ends a sign-in, effective from the next request in all processes. Ending it again
	// does not change EndedAt. EndSignIn fails with ErrNotFound if the account has no such sign-in.
	EndSignIn(ctx context.Context, account cola.AccountID, id int64) error
	// EndOtherSignIns ends all of an account's valid sign-ins except one, and returns how many it
	// ended.
	EndOtherSignIns(ctx context.Context, account cola.AccountID, except int64) (int, error)
}

// SignInLinkHash is the SHA-256 hash of a sign-in link's token.
type SignInLinkHash [32]byte

// SignInLinks stores single-use sign-in links.
type SignInLinks interface {
	// CreateSignInLink creates a link for an account. The link is valid for lifetime by the store's
	// clock. CreateSignInLink fails with ErrNotFound if the account does not exist, and with
	// ErrExists if the hash is taken. Used and expired links are deleted later.
	CreateSignInLink(ctx context.Context, account cola.AccountID, hash SignInLinkHash, lifetime time.Duration) error
	// CreateEmailedLink creates a link for an email address, and reports whether it is for signing
	// up, that is, whether no account has the address. The link expires by the store's clock.
	// CreateEmailedLink fails with ErrNotFound if no account has the address and signUp is false,
	// with ErrLimit if a limit is reached, with ErrExists if the hash is taken, and with
	// ErrMalformed if CheckEmail fails. It writes only if it succeeds.
	CreateEmailedLink(ctx context.Context, l EmailedLink, signUp bool, limits EmailedLinkLimits) (forSignUp bool, err error)
	// DeleteOldEmailedLinks deletes links older than EmailedLinkRetention, with their addresses.
	DeleteOldEmailedLinks(ctx context.Context) error
	// SignInLink returns the account of a valid link, without using it, or ErrNotFound. If an
	// emailed link's address has no account, only the Email of the result is set.
	SignInLink(ctx context.Context, hash SignInLinkHash) (Account, error)
	// UseSignInLink uses up a link and returns its account, or ErrNotFound if the link is unknown,
	// used or expired. If called concurrently, even from several processes, exactly one call
	// succeeds. The account of an emailed link is the one that has its address now. If there is
	// none, UseSignInLink creates one on the free tier if signUp is true, and otherwise fails with
	// ErrNotFound. Using an emailed link also uses up all other emailed links for its address.
	UseSignInLink(ctx context.Context, hash SignInLinkHash, signUp bool) (Account, error)
}

// EmailedLink is a link to send to an email address.
type EmailedLink struct {
	Email    string
	Hash     SignInLinkHash
	Lifetime time.Duration // at most EmailedLinkRetention
}

// EmailedLinkLimits limit emailed links across all processes, by the store's clock. Links that were
// used don't count.
type EmailedLinkLimits struct {
	PerHour, PerDay int // links to one mailbox: to addresses that differ only in a +tag
	SignUpsPerHour  int // links to addresses without an account, in total
}

// EmailedLinkRetention is how long unused emailed links are stored, to enforce the limits.
const EmailedLinkRetention = 24 * time.Hour

// Mailbox returns the folded form of an email address without a +tag in its local part. Most
// providers deliver all these addresses to one mailbox.
func Mailbox(email string) string {
	folded := FoldEmail(email)
	at := strings.LastIndexByte(folded, '@')
	local, _, tagged := strings.Cut(folded[:max(at, 0)], "+")
	if !tagged || local == "" {
		return folded
	}
	return local + folded[at:]
}

// Sessions stores browser data between requests, keyed by a name that only the browser's cookie
// contains.
type Sessions interface {
	// Session returns the data stored under a name, or ErrNotFound if there is none or it has
	// expired by the store's clock.
	Session(ctx context.Context, name string) ([]byte, error)
	// SaveSession stores data under a name until the given time, replacing any earlier data. It
	// fails with ErrMalformed for an invalid name. It is cheap and does not wait for the disk:
	// recent data may be lost if the machine fails, but not if the process does. Expired sessions
	// are deleted later.
	SaveSession(ctx context.Context, name string, data []byte, until time.Time) error
	// DeleteSession deletes the data stored under a name, and reports whether there was unexpired
	// data. If called concurrently, even from several processes, exactly one call reports true.
	DeleteSession(ctx context.Context, name string) (dropped bool, err error)
}
