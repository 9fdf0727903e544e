package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectAccounts = `SELECT id, email, tier, created_at FROM accounts`
	accountByEmail = selectAccounts + ` WHERE email_folded = ?`
)

func scanAccount(row scanner) (a store.Account, err error) {
	err = row.Scan(&a.ID, &a.Email, &a.Tier, target{&a.CreatedAt})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return a, err
}

// CreateAccount implements store.Accounts.
func (s *Store) CreateAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	var a store.Account
	err := s.transact(ctx, "create account", func(ctx context.Context) (err error) {
		if a, err = s.insertAccount(ctx, email, tier); isDuplicate(err) {
			return store.ErrExists
		}
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

// insertAccount makes an account within a transaction.
func (s *Store) insertAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	a := store.Account{Email: email, Tier: tier, CreatedAt: s.instant()}
	err := s.ledger.row(ctx, `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES (?, ?, ?, ?) RETURNING id`,
		email, store.FoldEmail(email), string(tier), a.CreatedAt.UnixMicro()).Scan(&a.ID)
	return a, err
}

// AccountByEmail implements store.Accounts.
func (s *Store) AccountByEmail(ctx context.Context, email string) (store.Account, error) {
	const operation = "find account"
	if err := s.start(); err != nil {
		return store.Account{}, failed(operation, err)
	}
	defer s.done()
	a, err := scanAccount(s.read.row(ctx, accountByEmail, store.FoldEmail(email)))
	return a, failed(operation, err)
}

// Accounts implements store.Accounts.
func (s *Store) Accounts(ctx context.Context) ([]store.Account, error) {
	const operation = "list accounts"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, selectAccounts+` ORDER BY id`)
	list, err := collect(rows, err, scanAccount)
	return list, failed(operation, err)
}

// SetTier implements store.Accounts.
func (s *Store) SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error {
	return s.transact(ctx, "set tier", func(ctx context.Context) error {
		n, err := s.ledger.affect(ctx, `UPDATE accounts SET tier = ? WHERE id = ?`, string(tier), int64(id))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// instant returns the time as the database keeps it: UTC, whole microseconds.
func (s *Store) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }
