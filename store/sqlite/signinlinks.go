package sqlite

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	insertSignInLink = `INSERT INTO sign_in_links (hash, account_id, expires_at) SELECT ?2, id, ?3 FROM accounts WHERE id = ?1`
	signInLink       = selectAccounts + ` JOIN sign_in_links l ON l.account_id = a.id WHERE l.hash = ? AND l.expires_at > ?`
	useSignInLink    = `DELETE FROM sign_in_links WHERE hash = ?`
	// forgetSignInLinks looks at the oldest few only: more than one for each new one, so that they do not pile up.
	forgetSignInLinks = `DELETE FROM sign_in_links WHERE hash IN (SELECT hash FROM sign_in_links WHERE expires_at <= ? ORDER BY expires_at LIMIT 8)`
)

// CreateSignInLink implements store.SignInLinks.
func (s *Store) CreateSignInLink(ctx context.Context, account cola.AccountID, hash store.SignInLinkHash, goodFor time.Duration) error {
	return s.transact(ctx, "create sign-in link", func(ctx context.Context) error {
		now := s.instant()
		if err := s.ledger.exec(ctx, forgetSignInLinks, now.UnixMicro()); err != nil {
			return err
		}
		n, err := s.ledger.affect(ctx, insertSignInLink, int64(account), hash[:], now.Add(goodFor).UnixMicro())
		switch {
		case isDuplicate(err):
			return store.ErrExists
		case err == nil && n == 0:
			return store.ErrNotFound
		}
		return err
	})
}

// SignInLink implements store.SignInLinks.
func (s *Store) SignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	const operation = "find sign-in link"
	if err := s.start(); err != nil {
		return store.Account{}, failed(operation, err)
	}
	defer s.done()
	a, err := scanAccount(s.read.row(ctx, signInLink, hash[:], s.instant().UnixMicro()))
	return a, failed(operation, err)
}

// UseSignInLink implements store.SignInLinks. A link that cannot be used is looked for without the lock of those who write: anybody may
// ask for one.
func (s *Store) UseSignInLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	if _, err := s.SignInLink(ctx, hash); err != nil {
		return store.Account{}, err
	}
	var a store.Account
	err := s.transact(ctx, "use sign-in link", func(ctx context.Context) (err error) {
		if a, err = scanAccount(s.ledger.row(ctx, signInLink, hash[:], s.instant().UnixMicro())); err != nil {
			return err
		}
		return s.ledger.exec(ctx, useSignInLink, hash[:])
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}
