package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// emailedLinkLocks is the class of the advisory lock for creating and using emailed links. The lock
// ensures that the limits hold exactly and that two links to one address are not used concurrently.
// A transaction takes it before any other lock.
const emailedLinkLocks int32 = 0x6d61696c // "mail"

const (
	countMailboxLinks = `SELECT count(*) FROM emailed_links WHERE mailbox = $1 AND created_at > $2`
	countSignUpLinks  = `SELECT count(*) FROM emailed_links WHERE created_at > $1 AND signs_up`
	insertEmailedLink = `INSERT INTO emailed_links (hash, email, email_folded, mailbox, signs_up, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`
	emailedLink = `SELECT l.email, ` + accountNames + ` FROM emailed_links l LEFT JOIN accounts a ON a.email_folded = l.email_folded
		WHERE l.hash = $1 AND l.expires_at > coalesce($2, clock_timestamp())`
	useEmailedLink       = `DELETE FROM emailed_links WHERE hash = $1 AND expires_at > coalesce($2, clock_timestamp()) RETURNING email`
	deleteLinksToAddress = `DELETE FROM emailed_links WHERE mailbox = $1 AND email_folded = $2`
)

// CreateEmailedLink implements store.SignInLinks. It first checks the address and the limits
// outside a transaction, so that refused requests, which anyone can send, take no locks.
func (s *Store) CreateEmailedLink(
	ctx context.Context, l store.EmailedLink, signUp bool, limits store.EmailedLinkLimits,
) (forSignUp bool, err error) {
	const operation = "create emailed link"
	if err := store.CheckEmail(l.Email); err != nil {
		return false, s.db.Failed(operation, err)
	}
	_, err = s.AccountByEmail(ctx, l.Email)
	forSignUp = errors.Is(err, store.ErrNotFound)
	if err != nil && (!forSignUp || !signUp) {
		return false, err
	}
	err = s.db.Read(ctx, operation, func(q Querier) error {
		_, err := s.checkEmailedLinkLimits(ctx, q, l.Email, forSignUp, limits)
		return err
	})
	if err != nil {
		return false, err
	}
	return forSignUp, s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := tx.AdvisoryLock(ctx, emailedLinkLocks, 0); err != nil {
			return err
		}
		now, err := s.checkEmailedLinkLimits(ctx, tx, l.Email, forSignUp, limits)
		if err == nil {
			err = s.deleteSomeExpired(ctx, tx, oldEmailedLinks)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertEmailedLink, l.Hash[:], l.Email, store.FoldEmail(l.Email), store.Mailbox(l.Email),
			forSignUp, now, now.Add(l.Lifetime))
		if s.db.IsDuplicate(err) {
			return store.ErrExists
		}
		return err
	})
}

// checkEmailedLinkLimits returns the current time, or ErrLimit if a limit is reached.
func (s *Store) checkEmailedLinkLimits(
	ctx context.Context, q Querier, email string, forSignUp bool, limits store.EmailedLinkLimits,
) (now time.Time, err error) {
	if now, err = s.currentTime(ctx, q); err != nil {
		return now, err
	}
	hourAgo := now.Add(-time.Hour)
	checks := []struct {
		limit int
		query string
		args  []any
	}{
		{limits.PerHour, countMailboxLinks, []any{store.Mailbox(email), hourAgo}},
		{limits.PerDay, countMailboxLinks, []any{store.Mailbox(email), now.Add(-store.EmailedLinkRetention)}},
		{limits.SignUpsPerHour, countSignUpLinks, []any{hourAgo}},
	}
	if !forSignUp {
		checks = checks[:2]
	}
	for _, c := range checks {
		n, err := value[int](ctx, q, c.query, c.args...)
		if err == nil && n >= c.limit {
			err = store.ErrLimit
		}
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// DeleteOldEmailedLinks implements store.SignInLinks.
func (s *Store) DeleteOldEmailedLinks(ctx context.Context) error {
	return s.deleteAllExpired(ctx, oldEmailedLinks)
}

// emailedLink returns the account of a valid emailed link, or only its address if there is none.
func (s *Store) emailedLink(ctx context.Context, hash store.SignInLinkHash) (store.Account, error) {
	type link struct {
		email   string
		account store.Account
	}
	l, err := readOne(ctx, s, "find emailed link",
		func(l *link) []any { return append([]any{&l.email}, accountColumns(&l.account)...) },
		emailedLink, hash[:], s.clock())
	if err == nil && l.account.ID == 0 {
		l.account.Email = l.email
	}
	return l.account, err
}

// useEmailedLink uses up an emailed link and all others for its address, and returns the account,
// which it creates if necessary and allowed.
func (s *Store) useEmailedLink(
	ctx context.Context, tx Tx, hash store.SignInLinkHash, signUp bool,
) (a store.Account, err error) {
	if err := tx.AdvisoryLock(ctx, emailedLinkLocks, 0); err != nil {
		return a, err
	}
	email, err := value[string](ctx, tx, useEmailedLink, hash[:], s.clock())
	if err == nil {
		_, err = tx.Exec(ctx, deleteLinksToAddress, store.Mailbox(email), store.FoldEmail(email))
	}
	switch {
	case err != nil:
		return a, err
	case signUp:
		return s.ensureAccount(ctx, tx, email)
	}
	return one(ctx, tx, accountColumns, accountByEmail, store.FoldEmail(email))
}
