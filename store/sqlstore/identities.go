package sqlstore

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// How an identity gets its account in one transaction, without a lock that others would wait for:
// the account's address is inserted first and the identity last, both unless they exist. The
// database waits for whoever inserted the same one earlier. If it exists in the end, the
// transaction is undone, with the account that nobody needs, and runs again: then it finds the
// other's rows. A transaction holds the address that it inserted when it comes to the identity and
// waits for nothing after it, so transactions can't deadlock. Giving an identity to an account
// locks the account first and the identity last, for the same reason.
const (
	// accountOfIdentity also reports whether any account has the verified address.
	accountOfIdentity = `SELECT ` + accountNames + `, EXISTS (SELECT 1 FROM accounts WHERE email_folded = $3)
		FROM identities i JOIN accounts a ON a.id = i.account_id WHERE i.issuer = $1 AND i.subject = $2`
	ensureAccount  = insertAccount + ` ON CONFLICT (email_folded) DO NOTHING RETURNING id, email, tier, created_at, suspended_at, suspended_because, active_limit`
	ensureIdentity = `INSERT INTO identities (issuer, subject, account_id) VALUES ($1, $2, $3) ON CONFLICT (issuer, subject) DO NOTHING`
	giveIdentity   = `WITH held AS (SELECT id FROM accounts WHERE id = $3 FOR KEY SHARE)
		INSERT INTO identities (issuer, subject, account_id) SELECT $1, $2, id FROM held WHERE TRUE
		ON CONFLICT (issuer, subject) DO UPDATE SET account_id = excluded.account_id`
	selectIdentities = `SELECT i.account_id, i.issuer, i.subject, a.email FROM identities i JOIN accounts a ON a.id = i.account_id`
	replaceEmail     = `UPDATE accounts SET email = $3, email_folded = $4 WHERE id = $1 AND email = $2`
)

// identified is the account of an identity.
type identified struct {
	store.Account
	taken bool // some account has the verified address
}

func identifiedColumns(i *identified) []any { return append(accountColumns(&i.Account), &i.taken) }

// settled reports whether an identity with such a verified address needs no write.
func (i identified) settled(verified string) bool {
	return verified == "" || i.taken || !store.IsIdentityName(i.Email)
}

// AccountOf implements store.Identities.
func (s *Store) AccountOf(ctx context.Context, who store.Identity, verified string) (store.Account, error) {
	const operation = "find account of identity"
	if err := who.Check(verified); err != nil {
		return store.Account{}, s.db.Failed(operation, err)
	}
	var found identified
	err := s.db.Read(ctx, operation, func(q Querier) (err error) {
		found, err = readIdentified(ctx, q, who, verified)
		return err
	})
	if err == nil && found.settled(verified) || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found.Account, err
	}
	var a store.Account
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) (err error) {
		a, err = s.identify(ctx, tx, who, verified)
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

func readIdentified(ctx context.Context, q Querier, who store.Identity, verified string) (identified, error) {
	return one(ctx, q, identifiedColumns, accountOfIdentity, who.Issuer, who.Subject, store.FoldEmail(verified))
}

// identify does what AccountOf promises within a transaction, or fails with ErrOvertaken.
func (s *Store) identify(ctx context.Context, tx Tx, who store.Identity, verified string) (store.Account, error) {
	found, err := readIdentified(ctx, tx, who, verified)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s.tie(ctx, tx, who, verified)
	case err != nil || found.settled(verified):
		return found.Account, err
	}
	err = execOne(ctx, tx, replaceEmail, int64(found.ID), found.Email, verified, store.FoldEmail(verified))
	if s.db.IsDuplicate(err) || errors.Is(err, store.ErrNotFound) {
		err = ErrOvertaken
	}
	found.Email = verified
	return found.Account, err
}

// tie gives an identity that has no account one: the account with its address, or a new one.
func (s *Store) tie(ctx context.Context, tx Tx, who store.Identity, verified string) (store.Account, error) {
	email := verified
	if email == "" {
		email = who.Name()
	}
	a, err := one(ctx, tx, accountColumns, accountByEmail, store.FoldEmail(email))
	if errors.Is(err, store.ErrNotFound) {
		a, err = one(ctx, tx, accountColumns, ensureAccount, email, store.FoldEmail(email), string(cola.TierFree), s.clock())
		if errors.Is(err, store.ErrNotFound) {
			err = ErrOvertaken
		}
	}
	if err != nil {
		return store.Account{}, err
	}
	a.NewIdentity = true
	if err = execOne(ctx, tx, ensureIdentity, who.Issuer, who.Subject, int64(a.ID)); errors.Is(err, store.ErrNotFound) {
		err = ErrOvertaken
	}
	return a, err
}

// AddIdentity implements store.Identities.
func (s *Store) AddIdentity(ctx context.Context, account cola.AccountID, who store.Identity) error {
	const operation = "add identity"
	if err := who.Check(""); err != nil {
		return s.db.Failed(operation, err)
	}
	return s.affectOne(ctx, operation, giveIdentity, who.Issuer, who.Subject, int64(account))
}

// IdentitiesOf implements store.Identities.
func (s *Store) IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.HeldIdentity, error) {
	query, args := ofAccount(selectIdentities, `i.account_id`, account)
	return readList(ctx, s, "list identities", func(h *store.HeldIdentity) []any { return []any{&h.Account, &h.Issuer, &h.Subject, &h.Email} },
		query+` ORDER BY i.account_id, i.issuer, i.subject`, args...)
}
