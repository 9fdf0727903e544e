package sqlstore

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	accountNames   = `a.id, a.email, a.tier, a.created_at, a.suspended_at, a.suspended_because, a.deletes_at, a.deleted_at, a.active_limit, coalesce(a.no_quota_emails, FALSE)`
	selectAccounts = `SELECT ` + accountNames + ` FROM accounts a`
	accountByID    = selectAccounts + ` WHERE a.id = $1 AND a.deleted_at IS NULL`
	accountByEmail = selectAccounts + ` WHERE a.email_folded = $1 AND a.deleted_at IS NULL`
	lockAccount    = `SELECT id FROM accounts WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`
	insertAccount  = `INSERT INTO accounts (email, email_folded, tier, created_at) VALUES ($1, $2, $3, coalesce($4, clock_timestamp()))`
	setTier        = `UPDATE accounts SET tier = $2 WHERE id = $1 AND deleted_at IS NULL`
	suspendAccount = `UPDATE accounts SET suspended_at = coalesce(suspended_at, $2, clock_timestamp()), suspended_because = $3 WHERE id = $1 AND deleted_at IS NULL`
	restoreAccount = `UPDATE accounts SET suspended_at = CASE WHEN deletes_at IS NOT NULL THEN suspended_at END, suspended_because = NULL
		WHERE id = $1 AND deleted_at IS NULL`
	setActiveLimit = `UPDATE accounts SET active_limit = $2 WHERE id = $1 AND deleted_at IS NULL`
)

// accountColumns returns the scan targets for accountNames.
func accountColumns(a *store.Account) []any {
	return []any{&a.ID, &a.Email, &a.Tier, &a.CreatedAt, &a.SuspendedAt, &a.SuspendedReason, &a.DeletesAt, &a.DeletedAt, &a.ActiveLimit, &a.NoQuotaEmails}
}

// CreateAccount implements store.Accounts.
func (s *Store) CreateAccount(ctx context.Context, email string, tier cola.Tier) (store.Account, error) {
	const operation = "create account"
	if err := store.CheckEmail(email); err != nil {
		return store.Account{}, s.db.Failed(operation, err)
	}
	var account store.Account
	err := s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		account, err = one(ctx, tx, func(a *store.Account) []any { return []any{&a.ID, &a.CreatedAt, &a.ActiveLimit} },
			insertAccount+` RETURNING id, created_at, active_limit`, email, store.FoldEmail(email), string(tier), s.clock())
		if s.db.IsDuplicate(err) {
			return store.ErrExists
		}
		account.Email, account.Tier = email, tier
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return account, nil
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

// HasAccounts implements store.Accounts.
func (s *Store) HasAccounts(ctx context.Context) (bool, error) {
	return readOne(ctx, s, "check for accounts", column[bool], `SELECT EXISTS (SELECT 1 FROM accounts)`)
}

// SetTier implements store.Accounts.
func (s *Store) SetTier(ctx context.Context, id cola.AccountID, tier cola.Tier) error {
	return s.affectOne(ctx, "set tier", setTier, int64(id), string(tier))
}

// Suspend implements store.Accounts.
func (s *Store) Suspend(ctx context.Context, id cola.AccountID, reason string) error {
	const operation = "suspend account"
	if err := store.CheckReason(reason); err != nil {
		return s.db.Failed(operation, err)
	}
	return s.changeAccount(ctx, operation, id, suspendAccount, s.clock, reason)
}

// Restore implements store.Accounts.
func (s *Store) Restore(ctx context.Context, id cola.AccountID) error {
	return s.changeAccount(ctx, "restore account", id, restoreAccount)
}

// SetActiveLimit implements store.Accounts.
func (s *Store) SetActiveLimit(ctx context.Context, id cola.AccountID, limit int) error {
	return s.changeAccount(ctx, "set active search limit", id, setActiveLimit, limit)
}

// changeAccount runs a statement that updates an account, which locks its row, and then pauses or
// resumes the account's searches accordingly. The statement's first parameter is the account.
// changeAccount erases the earlier version of the row, so that no copy of the address outlives the
// account.
func (s *Store) changeAccount(ctx context.Context, operation string, id cola.AccountID, query string,
	args ...any) error {
	return s.db.TransactErasing(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := execOne(ctx, tx, query, append([]any{int64(id)}, resolveClocks(args)...)...); err != nil {
			return err
		}
		if err := tx.LockRows(ctx, lockAllSearches, int64(id)); err != nil {
			return err
		}
		return updatePauses(ctx, tx, id)
	})
}

// lockAccountRow locks an account until the transaction ends, or fails with ErrNotFound.
func lockAccountRow(ctx context.Context, tx Tx, account cola.AccountID) error {
	_, err := value[cola.AccountID](ctx, tx, lockAccount, int64(account))
	return err
}

// AccountOf links a new identity to an account in one transaction without a global lock:
//
//  1. Insert an account, unless one with the email address exists. This waits for a transaction
//     that inserted the same address.
//  2. Insert the identity. This waits in the same way, and takes the last lock.
//  3. If another transaction inserted either row first, roll back and run again: the next run finds
//     its rows.
//
// Every transaction locks the address before the identity, and locks no other row afterward, so
// there are no deadlocks. For the same reason, AddIdentity locks the account first and the identity
// last.
const (
	// accountOfIdentity also reports whether any account has the verified address.
	accountOfIdentity = `SELECT ` + accountNames + `, EXISTS (SELECT 1 FROM accounts WHERE email_folded = $3)
		FROM identities i JOIN accounts a ON a.id = i.account_id WHERE i.issuer = $1 AND i.subject = $2`
	insertNewAccount = insertAccount + ` ON CONFLICT (email_folded) DO NOTHING RETURNING id, email, tier, created_at, suspended_at, suspended_because, deletes_at, deleted_at, active_limit, no_quota_emails`
	ensureIdentity   = `INSERT INTO identities (issuer, subject, account_id) VALUES ($1, $2, $3) ON CONFLICT (issuer, subject) DO NOTHING`
	identityOwner    = `SELECT account_id FROM identities WHERE issuer = $1 AND subject = $2`
	moveIdentity     = `WITH held AS (SELECT id FROM accounts WHERE id = $3 AND deleted_at IS NULL FOR KEY SHARE)
		INSERT INTO identities (issuer, subject, account_id) SELECT $1, $2, id FROM held WHERE TRUE
		ON CONFLICT (issuer, subject) DO UPDATE SET account_id = excluded.account_id`
	selectIdentities = `SELECT i.account_id, i.issuer, i.subject, a.email FROM identities i JOIN accounts a ON a.id = i.account_id`
	deleteIdentity   = `DELETE FROM identities WHERE account_id = $1 AND issuer = $2 AND subject = $3`
	hasIdentity      = `SELECT EXISTS (SELECT 1 FROM identities WHERE account_id = $1)`
	endSignInsVia    = `UPDATE sign_ins SET ended_at = $3 WHERE account_id = $1 AND id <> $2 AND via = $4 AND ended_at IS NULL AND expires_at > $3`
	replaceEmail     = `UPDATE accounts SET email = $3, email_folded = $4 WHERE id = $1 AND email = $2`
)

// identityAccount is the account of an identity.
type identityAccount struct {
	store.Account
	emailTaken bool // an account has the verified address
}

func identityAccountColumns(i *identityAccount) []any {
	return append(accountColumns(&i.Account), &i.emailTaken)
}

// upToDate reports whether the account keeps its email address when its identity has the given
// verified address, which may be empty.
func (i identityAccount) upToDate(verified string) bool {
	return verified == "" || i.emailTaken || !store.IsIdentityName(i.Email)
}

// AccountOf implements store.Identities.
func (s *Store) AccountOf(ctx context.Context, id store.Identity, verified string) (store.Account, error) {
	const operation = "find account of identity"
	if err := id.Check(verified); err != nil {
		return store.Account{}, s.db.Failed(operation, err)
	}
	var found identityAccount
	err := s.db.Read(ctx, operation, func(q Querier) (err error) {
		found, err = readIdentityAccount(ctx, q, id, verified)
		return err
	})
	if err == nil && found.upToDate(verified) || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found.Account, err
	}
	var a store.Account
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		a, err = s.identify(ctx, tx, id, verified)
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

func readIdentityAccount(ctx context.Context, q Querier, id store.Identity, verified string) (identityAccount, error) {
	return one(ctx, q, identityAccountColumns, accountOfIdentity, id.Issuer, id.Subject, store.FoldEmail(verified))
}

// identify implements AccountOf within a transaction. It fails with ErrConflict if the transaction
// must run again.
func (s *Store) identify(ctx context.Context, tx Tx, id store.Identity, verified string) (store.Account, error) {
	found, err := readIdentityAccount(ctx, tx, id, verified)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s.linkIdentity(ctx, tx, id, verified)
	case err != nil || found.upToDate(verified):
		return found.Account, err
	}
	err = execOne(ctx, tx, replaceEmail, int64(found.ID), found.Email, verified, store.FoldEmail(verified))
	if s.db.IsDuplicate(err) || errors.Is(err, store.ErrNotFound) {
		err = ErrConflict
	}
	found.Email = verified
	return found.Account, err
}

// linkIdentity links an unknown identity to the account with its address, or to a new account.
func (s *Store) linkIdentity(ctx context.Context, tx Tx, id store.Identity, verified string) (store.Account, error) {
	email := verified
	if email == "" {
		email = id.Name()
	}
	a, err := s.ensureAccount(ctx, tx, email)
	if err == nil && !a.NewAccount {
		err = s.queueAccountEmail(ctx, tx, a.ID, store.EventIdentityAdded, id.Issuer, "")
	}
	if err != nil {
		return store.Account{}, err
	}
	a.NewAccount = false
	a.NewIdentity = true
	if err = execOne(ctx, tx, ensureIdentity, id.Issuer, id.Subject, int64(a.ID)); errors.Is(err, store.ErrNotFound) {
		err = ErrConflict
	}
	return a, err
}

// ensureAccount returns the account with an email address, or creates one on the free tier. It
// fails with ErrConflict if a concurrent transaction created it.
func (s *Store) ensureAccount(ctx context.Context, tx Tx, email string) (store.Account, error) {
	a, err := one(ctx, tx, accountColumns, accountByEmail, store.FoldEmail(email))
	if !errors.Is(err, store.ErrNotFound) {
		return a, err
	}
	a, err = one(ctx, tx, accountColumns, insertNewAccount, email, store.FoldEmail(email), string(cola.TierFree), s.clock())
	if errors.Is(err, store.ErrNotFound) {
		err = ErrConflict
	}
	a.NewAccount = err == nil
	return a, err
}

// AddIdentity implements store.Identities.
func (s *Store) AddIdentity(ctx context.Context, account cola.AccountID, id store.Identity) error {
	const operation = "add identity"
	if err := id.Check(""); err != nil {
		return s.db.Failed(operation, err)
	}
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		owner, err := value[cola.AccountID](ctx, tx, identityOwner, id.Issuer, id.Subject)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if owner != account {
			if err := s.queueAccountEmail(ctx, tx, account, store.EventIdentityAdded, id.Issuer, ""); err != nil {
				return err
			}
		}
		return s.notFoundIfInvalid(execOne(ctx, tx, moveIdentity, id.Issuer, id.Subject, int64(account)))
	})
}

// RemoveIdentity implements store.Identities.
func (s *Store) RemoveIdentity(ctx context.Context, account cola.AccountID, id store.Identity, except int64) error {
	return s.db.Transact(ctx, "remove identity", func(ctx context.Context, tx Tx) error {
		if err := lockAccountRow(ctx, tx, account); err != nil {
			return err
		}
		err := execOne(ctx, tx, deleteIdentity, int64(account), id.Issuer, id.Subject)
		if err != nil {
			return s.notFoundIfInvalid(err)
		}
		a, err := one(ctx, tx, accountColumns, accountByID, int64(account))
		if err != nil {
			return err
		}
		others, err := value[bool](ctx, tx, hasIdentity, int64(account))
		if err == nil && !others && store.IsIdentityName(a.Email) {
			err = store.ErrLastIdentity
		}
		if err != nil {
			return err
		}
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, endSignInsVia, int64(account), except, now, id.Issuer); err != nil {
			return err
		}
		return s.queueAccountEmail(ctx, tx, account, store.EventIdentityRemoved, id.Issuer, "")
	})
}

// IdentitiesOf implements store.Identities.
func (s *Store) IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.LinkedIdentity, error) {
	query, args := ofAccount(selectIdentities, `i.account_id`, account)
	return readList(ctx, s, "list identities",
		func(h *store.LinkedIdentity) []any { return []any{&h.Account, &h.Issuer, &h.Subject, &h.Email} },
		query+` ORDER BY i.account_id, i.issuer, i.subject`, args...)
}
