package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	accountNames   = `a.id, a.email, a.tier, a.created_at, a.suspended_at, a.suspended_because, a.active_limit`
	selectAccounts = `SELECT ` + accountNames + ` FROM accounts a`
	accountByID    = selectAccounts + ` WHERE a.id = $1`
	accountByEmail = selectAccounts + ` WHERE a.email_folded = $1`
	lockAccount    = `SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE`
	insertAccount  = `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ($1, $2, $3, coalesce($4, clock_timestamp()))`
	setTier        = `UPDATE accounts SET tier = $2 WHERE id = $1`
	suspendAccount = `UPDATE accounts SET suspended_at = coalesce(suspended_at, $2, clock_timestamp()), suspended_because = $3 WHERE id = $1`
	restoreAccount = `UPDATE accounts SET suspended_at = NULL, suspended_because = NULL WHERE id = $1`
	setActiveLimit = `UPDATE accounts SET active_limit = $2 WHERE id = $1`
)

// accountColumns says where accountNames are scanned to.
func accountColumns(a *store.Account) []any {
	return []any{&a.ID, &a.Email, &a.Tier, &a.CreatedAt, &a.SuspendedAt, &a.SuspendedBecause, &a.ActiveLimit}
}

// CreateAccount implements store.Accounts.
func (s *Store) CreateAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	const operation = "create account"
	if err := store.CheckEmail(email); err != nil {
		return store.Account{}, s.db.Failed(operation, err)
	}
	var made store.Account
	err := s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		made, err = one(ctx, tx, func(a *store.Account) []any { return []any{&a.ID, &a.CreatedAt, &a.ActiveLimit} },
			insertAccount+` RETURNING id, created_at, active_limit`, email, store.FoldEmail(email), string(tier), s.clock())
		if s.db.IsDuplicate(err) {
			return store.ErrExists
		}
		made.Email, made.Tier = email, tier
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return made, nil
}

// Account implements store.Accounts.
func (s *Store) Account(ctx context.Context, id cola.AccountID) (store.Account, error) {
	return readOne(ctx, s, "find account", accountColumns, accountByID, int64(id))
}

// AccountByEmail implements store.Accounts.
func (s *Store) AccountByEmail(ctx context.Context, email string) (store.Account, error) {
	return readOne(ctx, s, "find account", accountColumns, accountByEmail, store.FoldEmail(email))
}

// Accounts implements store.Accounts.
func (s *Store) Accounts(ctx context.Context) ([]store.Account, error) {
	return readList(ctx, s, "list accounts", accountColumns, selectAccounts+` ORDER BY a.id`)
}

// SetTier implements store.Accounts.
func (s *Store) SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error {
	return s.affectOne(ctx, "set tier", setTier, int64(id), string(tier))
}

// Suspend implements store.Accounts.
func (s *Store) Suspend(ctx context.Context, id cola.AccountID, because string) error {
	const operation = "suspend account"
	if err := store.CheckReason(because); err != nil {
		return s.db.Failed(operation, err)
	}
	return s.settleAccount(ctx, operation, id, suspendAccount, s.clock, because)
}

// Restore implements store.Accounts.
func (s *Store) Restore(ctx context.Context, id cola.AccountID) error {
	return s.settleAccount(ctx, "restore account", id, restoreAccount)
}

// SetActiveLimit implements store.Accounts.
func (s *Store) SetActiveLimit(ctx context.Context, id cola.AccountID, limit int) error {
	return s.settleAccount(ctx, "set limit of active searches", id, setActiveLimit, limit)
}

// settleAccount runs a statement that changes, and so locks, an account, and settles which of its
// searches are paused. The statement's first parameter is the account.
func (s *Store) settleAccount(ctx context.Context, operation string, id cola.AccountID, query string,
	args ...any) error {
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := execOne(ctx, tx, query, append([]any{int64(id)}, timed(args)...)...); err != nil {
			return err
		}
		if err := tx.Hold(ctx, holdAllSearches, int64(id)); err != nil {
			return err
		}
		return settleSearches(ctx, tx, id)
	})
}

// holdAccount locks an account until the transaction ends, or fails with ErrNotFound.
func holdAccount(ctx context.Context, tx Tx, account cola.AccountID) error {
	_, err := value[cola.AccountID](ctx, tx, lockAccount, int64(account))
	return err
}
