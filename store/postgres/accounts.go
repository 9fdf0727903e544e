package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	accountNames   = `a.id, a.email, a.tier, a.created_at, a.suspended_at, a.suspended_because, a.active_limit`
	selectAccounts = `SELECT ` + accountNames + ` FROM accounts a`
	accountByID    = selectAccounts + ` WHERE a.id = $1`
	accountByEmail = selectAccounts + ` WHERE a.email_folded = $1`
	insertAccount  = `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ($1, $2, $3, coalesce($4, clock_timestamp()))`
	suspendAccount = `UPDATE accounts SET suspended_at = coalesce(suspended_at, $2, clock_timestamp()), suspended_because = $3 WHERE id = $1`
	restoreAccount = `UPDATE accounts SET suspended_at = NULL, suspended_because = NULL WHERE id = $1`
	setActiveLimit = `UPDATE accounts SET active_limit = $2 WHERE id = $1`
)

// accountColumns says where accountNames are scanned to.
func accountColumns(a *store.Account) fields {
	return fields{&a.ID, &a.Email, &a.Tier, &a.CreatedAt, &a.SuspendedAt, &a.SuspendedBecause, &a.ActiveLimit}
}

// CreateAccount implements store.Accounts.
func (s *Store) CreateAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	const operation = "create account"
	if err := store.CheckEmail(email); err != nil {
		return store.Account{}, failed(operation, err)
	}
	a := store.Account{Email: email, Tier: tier}
	err := s.transact(ctx, operation, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, insertAccount+` RETURNING id, created_at, active_limit`,
			email, store.FoldEmail(email), string(tier), s.clock()).Scan(fields{&a.ID, &a.CreatedAt, &a.ActiveLimit})
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

// Account implements store.Accounts.
func (s *Store) Account(ctx context.Context, id cola.AccountID) (store.Account, error) {
	return s.findAccount(ctx, accountByID, int64(id))
}

// AccountByEmail implements store.Accounts.
func (s *Store) AccountByEmail(ctx context.Context, email string) (store.Account, error) {
	return s.findAccount(ctx, accountByEmail, store.FoldEmail(email))
}

// findAccount reads the account that a query gives.
func (s *Store) findAccount(ctx context.Context, query string, arg any) (store.Account, error) {
	var a store.Account
	err := s.read(ctx, "find account", func() error {
		rows, err := s.general.Query(ctx, query, arg)
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
		rows, err := s.general.Query(ctx, selectAccounts+` ORDER BY a.id`)
		list, err = collect(rows, err, accountColumns)
		return err
	})
	return list, err
}

// SetTier implements store.Accounts.
func (s *Store) SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error {
	return s.affectOne(ctx, "set tier", `UPDATE accounts SET tier = $2 WHERE id = $1`, int64(id), string(tier))
}

// Suspend implements store.Accounts.
func (s *Store) Suspend(ctx context.Context, id cola.AccountID, because string) error {
	const operation = "suspend account"
	if err := store.CheckReason(because); err != nil {
		return failed(operation, err)
	}
	return s.settleAccount(ctx, operation, id, suspendAccount, s.clock(), because)
}

// Restore implements store.Accounts.
func (s *Store) Restore(ctx context.Context, id cola.AccountID) error {
	return s.settleAccount(ctx, "restore account", id, restoreAccount)
}

// SetActiveLimit implements store.Accounts.
func (s *Store) SetActiveLimit(ctx context.Context, id cola.AccountID, limit int) error {
	return s.settleAccount(ctx, "set limit of active searches", id, setActiveLimit, limit)
}

// settleAccount runs a statement that changes an account, which is held from then on, and settles which of its searches are paused. The
// statement's first parameter is the account.
func (s *Store) settleAccount(ctx context.Context, operation string, id cola.AccountID, query string, args ...any) error {
	return s.transact(ctx, operation, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, query, append([]any{int64(id)}, args...)...)
		switch {
		case err != nil:
			return err
		case done.RowsAffected() == 0:
			return store.ErrNotFound
		}
		if err := holdSearches(ctx, tx, holdAllSearches, int64(id)); err != nil {
			return err
		}
		return settleSearches(ctx, tx, id)
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

// instant reads the clock within a transaction, for what holds a lock by then.
func (s *Store) instant(ctx context.Context, tx pgx.Tx) (now time.Time, err error) {
	err = tx.QueryRow(ctx, selectClock, s.clock()).Scan(fields{&now})
	return now, err
}
