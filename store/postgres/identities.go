package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// How an identity comes by its account in one transaction, without a lock that others would wait for: the account's address
// is inserted first and the identity last, both unless they are there. Whoever was at the same one earlier is waited for by the
// database. When it was there in the end, the transaction is undone, with the account that nobody needs, and run again: then it
// finds what the other one left. A transaction holds the address that it inserted when it comes to the identity and waits for
// nothing after it, so nobody waits in a circle. Giving an identity to an account holds the account first and the identity last,
// for the same reason.
const (
	// accountOfIdentity also tells whether any account has the verified address.
	accountOfIdentity = `SELECT ` + accountNames + `, EXISTS (SELECT 1 FROM accounts WHERE email_folded = $3)
		FROM identities i JOIN accounts a ON a.id = i.account_id WHERE i.issuer = $1 AND i.subject = $2`
	ensureAccount  = insertAccount + ` ON CONFLICT (email_folded) DO NOTHING RETURNING id, email, tier, created_at, suspended_at, suspended_because, active_limit`
	ensureIdentity = `INSERT INTO identities (issuer, subject, account_id) VALUES ($1, $2, $3) ON CONFLICT (issuer, subject) DO NOTHING`
	giveIdentity   = `WITH held AS (SELECT id FROM accounts WHERE id = $3 FOR KEY SHARE)
		INSERT INTO identities (issuer, subject, account_id) SELECT $1, $2, id FROM held
		ON CONFLICT (issuer, subject) DO UPDATE SET account_id = excluded.account_id`
	selectIdentities = `SELECT i.account_id, i.issuer, i.subject, a.email FROM identities i JOIN accounts a ON a.id = i.account_id`
	replaceEmail     = `UPDATE accounts SET email = $3, email_folded = $4 WHERE id = $1 AND email = $2`
)

// identified is the account of an identity.
type identified struct {
	store.Account
	taken bool // some account has the verified address
}

func identifiedColumns(i *identified) fields { return append(accountColumns(&i.Account), &i.taken) }

// settled reports whether nothing is to be written about an identity with such a verified address.
func (i identified) settled(verified string) bool {
	return verified == "" || i.taken || !store.IsIdentityName(i.Email)
}

// AccountOf implements store.Identities.
func (s *Store) AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error) {
	const operation = "find account of identity"
	if err := who.Check(verified); err != nil {
		return store.Account{}, failed(operation, err)
	}
	var found identified
	err := s.read(ctx, operation, func() (err error) {
		found, err = readIdentified(ctx, s.general, who, verified)
		return err
	})
	if err == nil && found.settled(verified) || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found.Account, err
	}
	var a store.Account
	err = s.transact(ctx, operation, func(tx pgx.Tx) (err error) {
		a, err = s.identify(ctx, tx, who, verified)
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

func readIdentified(ctx context.Context, q querier, who store.Identity, verified string) (identified, error) {
	rows, err := q.Query(ctx, accountOfIdentity, who.Issuer, who.Subject, store.FoldEmail(verified))
	return one(rows, err, identifiedColumns)
}

// identify brings about what AccountOf promises, within a transaction, or fails with errOvertaken.
func (s *Store) identify(ctx context.Context, tx pgx.Tx, who store.Identity, verified string) (store.Account, error) {
	found, err := readIdentified(ctx, tx, who, verified)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s.tie(ctx, tx, who, verified)
	case err != nil || found.settled(verified):
		return found.Account, err
	}
	done, err := tx.Exec(ctx, replaceEmail, int64(found.ID), found.Email, verified, store.FoldEmail(verified))
	if isDuplicate(err) || err == nil && done.RowsAffected() == 0 {
		err = errOvertaken
	}
	found.Email = verified
	return found.Account, err
}

// tie gives an identity that has none an account: the one with its address, or a new one.
func (s *Store) tie(ctx context.Context, tx pgx.Tx, who store.Identity, verified string) (store.Account, error) {
	email := verified
	if email == "" {
		email = who.Name()
	}
	rows, err := tx.Query(ctx, accountByEmail, store.FoldEmail(email))
	a, err := one(rows, err, accountColumns)
	if errors.Is(err, store.ErrNotFound) {
		rows, err = tx.Query(ctx, ensureAccount, email, store.FoldEmail(email), string(cola.TierFree), s.clock())
		if a, err = one(rows, err, accountColumns); errors.Is(err, store.ErrNotFound) {
			err = errOvertaken
		}
	}
	if err != nil {
		return store.Account{}, err
	}
	a.NewIdentity = true
	done, err := tx.Exec(ctx, ensureIdentity, who.Issuer, who.Subject, int64(a.ID))
	if err == nil && done.RowsAffected() == 0 {
		err = errOvertaken
	}
	return a, err
}

// AddIdentity implements store.Identities.
func (s *Store) AddIdentity(ctx context.Context, account cola.AccountID, who store.Identity) error {
	const operation = "add identity"
	if err := who.Check(""); err != nil {
		return failed(operation, err)
	}
	return s.transact(ctx, operation, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, giveIdentity, who.Issuer, who.Subject, int64(account))
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// IdentitiesOf implements store.Identities.
func (s *Store) IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.HeldIdentity, error) {
	var list []store.HeldIdentity
	err := s.read(ctx, "list identities", func() error {
		query, args := ofAccount(selectIdentities, `i.account_id`, account)
		rows, err := s.general.Query(ctx, query+` ORDER BY i.account_id, i.issuer, i.subject`, args...)
		list, err = collect(rows, err, func(h *store.HeldIdentity) fields { return fields{&h.Account, &h.Issuer, &h.Subject, &h.Email} })
		return err
	})
	return list, err
}
