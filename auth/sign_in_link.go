package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// LinkLifetime is how long a sign-in link is valid.
const LinkLifetime = 15 * time.Minute

// secretBytes is the length in bytes of random secrets: session and link tokens, states and nonces.
const secretBytes = 32

// newSecretText returns a new random secret in base64url.
func newSecretText() string {
	secret := make([]byte, secretBytes)
	rand.Read(secret) // never fails: crypto/rand crashes the program instead
	return base64.RawURLEncoding.EncodeToString(secret)
}

// isSecretText reports whether a string has the format of a secret.
func isSecretText(s string) bool {
	secret, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(secret) == secretBytes
}

// NewSignInLink returns the token of a link that signs an account holder in once, and the hash to
// store. The link is the public URL, SignInLinkPath and the token.
func NewSignInLink() (token string, hash store.SignInLinkHash) {
	token = newSecretText()
	return token, sha256.Sum256([]byte(token))
}

// LinkTarget identifies the account that a sign-in link signs in to.
type LinkTarget struct {
	Email string
	New   bool // using the link creates the account
}

// LinkAccount returns the account that a link signs in to, for a confirmation page. It does not use
// up the link. It fails with CodeUnauthorized for any invalid link, or with CodeQuotaExceeded if
// the client's address sent too many invalid links.
func (b *Browsers) LinkAccount(ctx context.Context, token string) (LinkTarget, error) {
	account, err := b.byLink(ctx, token, func(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
		account, err := b.store.SignInLink(ctx, hash)
		if err == nil && account.ID == 0 && !b.signsUp() {
			err = store.ErrNotFound // sign-up was closed after the link was sent
		}
		return account, err
	})
	if err != nil {
		return LinkTarget{}, err
	}
	return LinkTarget{account.Email, account.ID == 0}, nil
}

// UseLink signs in with a link and uses it up; browser is the User-Agent. It reports whether it
// created the account. If several requests use a link at the same time, one of them signs in and
// the others fail with CodeUnauthorized, as for any invalid link. Links come from operators or by
// email, so a link verifies the account's email address.
func (b *Browsers) UseLink(ctx context.Context, token, browser string) (created bool, err error) {
	defer func() { b.counts.WithLabelValues(byLink, resultOf(err, resultAccepted)).Inc() }()
	account, err := b.byLink(ctx, token, func(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
		return b.store.UseSignInLink(ctx, hash, b.signsUp())
	})
	if err != nil {
		return false, err
	}
	if account.NewAccount {
		b.events.Record(ctx, security.NewAccount, account.ID, cola.Credential{})
	}
	err = b.startSession(ctx, newSignIn{account: account, browser: browser, verified: account.Email})
	return account.NewAccount, err
}

// signsUp reports whether emailed links create accounts.
func (b *Browsers) signsUp() bool { return b.links != nil && b.links.signUp }

// invalidLink returns the error for a link that can't be used.
func (b *Browsers) invalidLink() error {
	advice := "Request a new one on the sign-in page."
	if b.links == nil {
		advice = "Ask the operator for a new one."
	}
	return unauthorized("This sign-in link is incomplete, expired or already used. Each link can be used once and "+
		"expires after %d minutes. %s", int(LinkLifetime.Minutes()), advice)
}

// byLink looks up the account of a link with find, and counts invalid links.
func (b *Browsers) byLink(
	ctx context.Context, token string, find func(context.Context, store.SignInLinkHash) (store.Account, error),
) (store.Account, error) {
	invalid := b.invalidLink()
	if !isSecretText(token) {
		return store.Account{}, b.events.Failed(ctx, security.SignInLink, invalid)
	}
	var account store.Account
	err := withStoreTimeout(ctx, "find sign-in link", func(ctx context.Context) (err error) {
		account, err = find(ctx, sha256.Sum256([]byte(token)))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = b.events.Failed(ctx, security.SignInLink, invalid)
	}
	if err != nil {
		return store.Account{}, err
	}
	return account, nil
}
