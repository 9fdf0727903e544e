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
	accountNames   = `a.id, a.email, a.tier, a.created_at, a.suspended_at, a.suspended_because, a.active_limit`
	selectAccounts = `SELECT ` + accountNames + ` FROM accounts a`
	accountByID    = selectAccounts + ` WHERE a.id = ?`
	accountByEmail = selectAccounts + ` WHERE a.email_folded = ?`
	suspendAccount = `UPDATE accounts SET suspended_at = coalesce(suspended_at, ?), suspended_because = ? WHERE id = ?`
	restoreAccount = `UPDATE accounts SET suspended_at = NULL, suspended_because = NULL WHERE id = ?`
	setActiveLimit = `UPDATE accounts SET active_limit = ? WHERE id = ?`
)

// accountTargets returns what to scan accountNames into.
func accountTargets(a *store.Account) []any {
	return []any{&a.ID, &a.Email, &a.Tier, target{&a.CreatedAt}, target{&a.SuspendedAt}, target{&a.SuspendedBecause}, &a.ActiveLimit}
}

func scanAccount(row scanner) (a store.Account, err error) {
	err = row.Scan(accountTargets(&a)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return a, err
}

// CreateAccount implements store.Accounts.
func (s *Store) CreateAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	const operation = "create account"
	if err := store.CheckEmail(email); err != nil {
		return store.Account{}, failed(operation, err)
	}
	var a store.Account
	err := s.transact(ctx, operation, func(ctx context.Context) (err error) {
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
	err := s.ledger.row(ctx, `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES (?, ?, ?, ?) RETURNING id, active_limit`,
		email, store.FoldEmail(email), string(tier), a.CreatedAt.UnixMicro()).Scan(&a.ID, &a.ActiveLimit)
	return a, err
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
	const operation = "find account"
	if err := s.start(); err != nil {
		return store.Account{}, failed(operation, err)
	}
	defer s.done()
	a, err := scanAccount(s.read.row(ctx, query, arg))
	return a, failed(operation, err)
}

// Accounts implements store.Accounts.
func (s *Store) Accounts(ctx context.Context) ([]store.Account, error) {
	const operation = "list accounts"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, selectAccounts+` ORDER BY a.id`)
	list, err := collect(rows, err, scanAccount)
	return list, failed(operation, err)
}

// SetTier implements store.Accounts.
func (s *Store) SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error {
	return s.affectOne(ctx, "set tier", `UPDATE accounts SET tier = ? WHERE id = ?`, string(tier), int64(id))
}

// Suspend implements store.Accounts.
func (s *Store) Suspend(ctx context.Context, id cola.AccountID, because string) error {
	const operation = "suspend account"
	if err := store.CheckReason(because); err != nil {
		return failed(operation, err)
	}
	return s.settleAccount(ctx, operation, id, suspendAccount, s.instant().UnixMicro(), because, int64(id))
}

// Restore implements store.Accounts.
func (s *Store) Restore(ctx context.Context, id cola.AccountID) error {
	return s.settleAccount(ctx, "restore account", id, restoreAccount, int64(id))
}

// SetActiveLimit implements store.Accounts.
func (s *Store) SetActiveLimit(ctx context.Context, id cola.AccountID, limit int) error {
	return s.settleAccount(ctx, "set limit of active searches", id, setActiveLimit, limit, int64(id))
}

// settleAccount runs a statement that changes an account, and settles which of its searches are paused.
func (s *Store) settleAccount(ctx context.Context, operation string, id cola.AccountID, query string, args ...any) error {
	return s.transact(ctx, operation, func(ctx context.Context) error {
		n, err := s.ledger.affect(ctx, query, args...)
		switch {
		case err != nil:
			return err
		case n == 0:
			return store.ErrNotFound
		}
		return s.settleSearches(ctx, id)
	})
}

// instant returns the time as the database keeps it: UTC, whole microseconds.
func (s *Store) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }
