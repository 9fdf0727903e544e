package sqlite

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// accountOfIdentity also tells whether any account has the verified address.
	accountOfIdentity = `SELECT ` + accountNames + `, EXISTS (SELECT 1 FROM accounts WHERE email_folded = ?3)
		FROM identities i JOIN accounts a ON a.id = i.account_id WHERE i.issuer = ?1 AND i.subject = ?2`
	insertIdentity = `INSERT INTO identities (issuer, subject, account_id) VALUES (?, ?, ?)`
	giveIdentity   = `INSERT INTO identities (issuer, subject, account_id) SELECT ?, ?, id FROM accounts WHERE id = ?
		ON CONFLICT (issuer, subject) DO UPDATE SET account_id = excluded.account_id`
	selectIdentities = `SELECT i.account_id, i.issuer, i.subject, a.email FROM identities i JOIN accounts a ON a.id = i.account_id`
)

// identified is the account of an identity.
type identified struct {
	store.Account
	taken bool // some account has the verified address
}

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
	found, err := s.identified(ctx, who, verified)
	if err == nil && found.settled(verified) || err != nil && !errors.Is(err, store.ErrNotFound) {
		return found.Account, failed(operation, err)
	}
	var a store.Account
	err = s.transact(ctx, operation, func(ctx context.Context) (err error) {
		a, err = s.identify(ctx, who, verified)
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return a, nil
}

// identified reads the account of an identity.
func (s *Store) identified(ctx context.Context, who store.Identity, verified string) (identified, error) {
	if err := s.start(); err != nil {
		return identified{}, err
	}
	defer s.done()
	return readIdentified(ctx, s.read, who, verified)
}

func readIdentified(ctx context.Context, q querier, who store.Identity, verified string) (i identified, err error) {
	rows, err := q.query(ctx, accountOfIdentity, who.Issuer, who.Subject, store.FoldEmail(verified))
	list, err := collect(rows, err, func(row scanner) (i identified, err error) {
		return i, row.Scan(append(accountTargets(&i.Account), &i.taken)...)
	})
	switch {
	case err != nil:
		return i, err
	case len(list) == 0:
		return i, store.ErrNotFound
	}
	return list[0], nil
}

// identify brings about what AccountOf promises, within a transaction.
func (s *Store) identify(ctx context.Context, who store.Identity, verified string) (store.Account, error) {
	found, err := readIdentified(ctx, s.ledger, who, verified)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s.tie(ctx, who, verified)
	case err != nil || found.settled(verified):
		return found.Account, err
	}
	found.Email = verified
	return found.Account, s.ledger.exec(ctx, `UPDATE accounts SET email = ?, email_folded = ? WHERE id = ?`,
		verified, store.FoldEmail(verified), int64(found.ID))
}

// tie gives an identity that has none an account: the one with its address, or a new one.
func (s *Store) tie(ctx context.Context, who store.Identity, verified string) (store.Account, error) {
	email := verified
	if email == "" {
		email = who.Name()
	}
	a, err := scanAccount(s.ledger.row(ctx, accountByEmail, store.FoldEmail(email)))
	if errors.Is(err, store.ErrNotFound) {
		a, err = s.insertAccount(ctx, email, cola.TierFree)
	}
	if err != nil {
		return a, err
	}
	a.NewIdentity = true
	return a, s.ledger.exec(ctx, insertIdentity, who.Issuer, who.Subject, int64(a.ID))
}

// AddIdentity implements store.Identities.
func (s *Store) AddIdentity(ctx context.Context, account cola.AccountID, who store.Identity) error {
	const operation = "add identity"
	if err := who.Check(""); err != nil {
		return failed(operation, err)
	}
	return s.transact(ctx, operation, func(ctx context.Context) error {
		n, err := s.ledger.affect(ctx, giveIdentity, who.Issuer, who.Subject, int64(account))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// IdentitiesOf implements store.Identities.
func (s *Store) IdentitiesOf(ctx context.Context, account cola.AccountID) ([]store.HeldIdentity, error) {
	const operation = "list identities"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	query, args := ofAccount(selectIdentities, `i.account_id`, account)
	rows, err := s.read.query(ctx, query+` ORDER BY i.account_id, i.issuer, i.subject`, args...)
	list, err := collect(rows, err, func(row scanner) (h store.HeldIdentity, err error) {
		err = row.Scan(&h.Account, &h.Issuer, &h.Subject, &h.Email)
		return h, err
	})
	return list, failed(operation, err)
}
