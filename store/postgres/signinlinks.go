package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	insertSignInLink = `INSERT INTO sign_in_links (hash, account_id, expires_at)
		SELECT $2, id, coalesce($3, clock_timestamp()) + make_interval(secs => $4) FROM accounts WHERE id = $1`
	signInLink = selectAccounts + ` JOIN sign_in_links l ON l.account_id = a.id
		WHERE l.hash = $1 AND l.expires_at > coalesce($2, clock_timestamp())`
	// useSignInLink waits for whoever uses the same one, and then does not find it.
	useSignInLink = `WITH used AS (DELETE FROM sign_in_links WHERE hash = $1 AND expires_at > coalesce($2, clock_timestamp()) RETURNING account_id)
		` + selectAccounts + ` JOIN used u ON u.account_id = a.id`
	forgetSignInLinks = `DELETE FROM sign_in_links WHERE hash IN (SELECT hash FROM sign_in_links
		WHERE expires_at <= coalesce($1, clock_timestamp()) ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// CreateSignInLink implements store.SignInLinks.
func (s *Store) CreateSignInLink(ctx context.Context, account cola.AccountID, hash store.SignInLinkHash, goodFor time.Duration) error {
	return s.transact(ctx, "create sign-in link", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, insertSignInLink, int64(account), hash[:], s.clock(), goodFor.Seconds())
		switch {
		case isDuplicate(err):
			return store.ErrExists
		case err == nil && done.RowsAffected() == 0:
			return store.ErrNotFound
		}
		return err
	})
}

// SignInLink implements store.SignInLinks.
func (s *Store) SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	var a store.Account
	err := s.read(ctx, "find sign-in link", func() error {
		rows, err := s.general.Query(ctx, signInLink, hash[:], s.clock())
		a, err = one(rows, err, accountColumns)
		return err
	})
	return a, err
}

// UseSignInLink implements store.SignInLinks.
func (s *Store) UseSignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	var a store.Account
	err := s.transact(ctx, "use sign-in link", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, useSignInLink, hash[:], s.clock())
		a, err = one(rows, err, accountColumns)
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

// forgetSignInLinks forgets links that are over, some at a time.
func (s *Store) forgetSignInLinks(ctx context.Context) error {
	return s.forgetSome(ctx, forgetSignInLinks)
}
