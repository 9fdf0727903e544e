package sqlstore

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	insertSignInLink = `INSERT INTO sign_in_links (hash, account_id, expires_at)
		SELECT $2, id, coalesce($3, clock_timestamp()) + make_interval(secs => $4) FROM accounts WHERE id = $1`
	signInLink = selectAccounts + ` JOIN sign_in_links l ON l.account_id = a.id
		WHERE l.hash = $1 AND l.expires_at > coalesce($2, clock_timestamp())`
	// useSignInLink waits for a concurrent use of the same link, and then finds no row.
	useSignInLink     = `DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > coalesce($2, clock_timestamp()) RETURNING account_id`
	forgetSignInLinks = `DELETE FROM sign_in_links WHERE hash IN (SELECT hash FROM sign_in_links
		WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// CreateSignInLink implements store.SignInLinks.
func (s *Store) CreateSignInLink(ctx context.Context, account cola.AccountID, hash store.SignInLinkHash, goodFor time.Duration) error {
	return s.db.Transact(ctx, "create sign-in link", func(ctx context.Context, tx Tx) error {
		if err := s.forgetSome(ctx, tx, signInLinksOver); err != nil {
			return err
		}
		err := execOne(ctx, tx, insertSignInLink, int64(account), hash[:], s.clock(), goodFor.Seconds())
		if s.db.IsDuplicate(err) {
			return store.ErrExists
		}
		return err
	})
}

// SignInLink implements store.SignInLinks.
func (s *Store) SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	return readOne(ctx, s, "find sign-in link", accountColumns, signInLink, hash[:], s.clock())
}

// UseSignInLink implements store.SignInLinks. It first looks for the link outside a transaction: anybody may ask for one that
// doesn't exist.
func (s *Store) UseSignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	if _, err := s.SignInLink(ctx, hash); err != nil {
		return store.Account{}, err
	}
	var a store.Account
	err := s.db.Transact(ctx, "use sign-in link", func(ctx context.Context, tx Tx) error {
		id, err := value[int64](ctx, tx, useSignInLink, hash[:], s.clock())
		if err == nil {
			a, err = one(ctx, tx, accountColumns, accountByID, id)
		}
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}
