package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectAccounts = `SELECT id, email, tier, created_at FROM accounts`
	accountByEmail = selectAccounts + ` WHERE email_folded = $1`
	insertAccount  = `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ($1, $2, $3, coalesce($4, clock_timestamp()))`
)

func accountColumns(a *store.Account) fields {
	return fields{&a.ID, &a.Email, &a.Tier, &a.CreatedAt}
}

// CreateAccount implements store.Accounts.
func (s *Store) CreateAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	a := store.Account{Email: email, Tier: tier}
	err := s.transact(ctx, "create account", func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, insertAccount+` RETURNING id, created_at`,
			email, store.FoldEmail(email), string(tier), s.clock()).Scan(fields{&a.ID, &a.CreatedAt})
		if isDuplicate(err) {
			return store.ErrExists
		}
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

// AccountByEmail implements store.Accounts.
func (s *Store) AccountByEmail(ctx context.Context, email string) (store.Account, error) {
	var a store.Account
	err := s.read(ctx, "find account", func() error {
		rows, err := s.general.Query(ctx, accountByEmail, store.FoldEmail(email))
		if a, err = one(rows, err, accountColumns); sqlState(err) == notInEncoding {
			return store.ErrNotFound
		}
		return err
	})
	return a, err
}

// Accounts implements store.Accounts.
func (s *Store) Accounts(ctx context.Context) ([]store.Account, error) {
	var list []store.Account
	err := s.read(ctx, "list accounts", func() error {
		rows, err := s.general.Query(ctx, selectAccounts+` ORDER BY id`)
		list, err = collect(rows, err, accountColumns)
		return err
	})
	return list, err
}

// SetTier implements store.Accounts.
func (s *Store) SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error {
	return s.transact(ctx, "set tier", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE accounts SET tier = $1 WHERE id = $2`, string(tier), int64(id))
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// clock returns the time for a statement that takes the database's clock where it is NULL.
func (s *Store) clock() *time.Time {
	if s.now == nil {
		return nil
	}
	now := s.now().UTC().Truncate(time.Microsecond)
	return &now
}
