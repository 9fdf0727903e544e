package sqlstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// expiring is a kind of row that is deleted at a certain age.
type expiring struct {
	name     string
	query    string        // deletes up to $2 of the oldest rows before the given time or day
	age      time.Duration // age at which a row is deleted
	daily    bool          // the age is measured from the end of the day
	perWrite int           // upper bound on the number of rows that one write adds
}

var (
	expiredSessions = expiring{
		name:     "sessions",
		query:    deleteOldest("sessions", "name", "expires_at <= $1"),
		perWrite: 1,
	}
	expiredSignInLinks = expiring{
		name:     "sign-in links",
		query:    deleteOldest("sign_in_links", "hash", "expires_at <= $1"),
		perWrite: 1,
	}
	oldEmailedLinks = expiring{
		name:     "emailed links",
		query:    deleteOldest("emailed_links", "hash", "created_at <= $1"),
		age:      store.EmailedLinkRetention,
		perWrite: 1,
	}
	expiredCreations = expiring{
		name:     "saved search creations",
		query:    deleteOldest("saved_search_creations", "account_id, once_key", "kept_until <= $1"),
		perWrite: 1,
	}
	expiredConfirmations = expiring{
		name:     "confirmation requests",
		query:    deleteOldest("confirmations_asked", "id", "asked_at <= $1"),
		age:      store.ConfirmationRetention,
		perWrite: 1,
	}
	expiredAllowances = expiring{
		name:     "daily allowances",
		query:    deleteOldest("daily_allowances", "account_id, day, allowance", "day < $1"),
		age:      24 * time.Hour,
		daily:    true,
		perWrite: 1,
	}
	expiredPreviews = expiring{
		name:     "previewed labels",
		query:    deleteOldest("previewed_labels", "account_id, day, ttb_id", "day < $1"),
		age:      24 * time.Hour,
		daily:    true,
		perWrite: 8,
	}
	expiredRequests = expiring{
		name:     "logged requests",
		query:    deleteOldest("request_log", "id", "expires_at <= $1"),
		perWrite: store.RequestBatch,
	}
	expiredRequestGaps = expiring{
		name:     "request log gaps",
		query:    deleteOldest("request_log_gaps", "account_id, hour", "expires_at <= $1"),
		perWrite: store.RequestBatch,
	}
	oldStripeEvents = expiring{
		name:     "Stripe events",
		query:    deleteOldest("stripe_events", "id", "processed_at <= $1"),
		age:      store.StripeEventRetention,
		perWrite: 1,
	}
	oldPaidPages = expiring{
		name:     "paid pages",
		query:    DeleteOldPaidPages,
		age:      BatchRetention,
		perWrite: 1,
	}
)

// DeleteOldPaidPages deletes up to $2 page payments made at or before $1, oldest first.
var DeleteOldPaidPages = deleteOldest("paid_pages", "sign_in_id, page, batch_id", "paid_at <= $1")

// deleteOldest returns the statement that deletes up to $2 rows of a table that match a condition
// on one column, oldest first. It skips locked rows. The selection is materialized, because
// PostgreSQL may evaluate a subquery more than once; it would then skip the rows that it has just
// locked and delete others.
func deleteOldest(table, key, condition string) string {
	column, _, _ := strings.Cut(condition, " ")
	return `WITH old AS MATERIALIZED (
			SELECT ` + key + ` FROM ` + table + ` WHERE ` + condition + ` ORDER BY ` + column + ` LIMIT $2 FOR UPDATE SKIP LOCKED)
		DELETE FROM ` + table + ` WHERE (` + key + `) IN (SELECT ` + key + ` FROM old)`
}

// shortenRetention makes the rows of a table expire at the given age or earlier. start is the
// column from which the age is measured. It updates the rows in batches, in the order in which they
// expire. Updated rows expire earlier, so it reads each row once.
func (s *Store) shortenRetention(ctx context.Context, table, start string, age time.Duration) error {
	const operation = "shorten retention"
	newExpiry := start + ` + make_interval(secs => $2)`
	selectLast := `WITH old AS (
			SELECT expires_at FROM ` + table + ` WHERE expires_at > $1 AND expires_at > ` + newExpiry + ` ORDER BY expires_at LIMIT $3)
		SELECT coalesce(max(expires_at), $1) FROM old`
	update := `UPDATE ` + table + ` SET expires_at = ` + newExpiry + `
		WHERE expires_at > $1 AND expires_at <= $3 AND expires_at > ` + newExpiry
	var first time.Time
	for {
		var last time.Time
		err := s.db.Read(ctx, operation, func(q Querier) (err error) {
			last, err = value[time.Time](ctx, q, selectLast, first, age.Seconds(), deletedPerStatement)
			return err
		})
		if err != nil || !last.After(first) {
			return err
		}
		err = s.db.TransactUnsynced(ctx, operation, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, update, first, age.Seconds(), last)
			return err
		})
		if err != nil {
			return err
		}
		first = last
	}
}

// deletedPerStatement is the maximum number of rows that one statement of DeleteExpired or
// DeleteOldDeliveries deletes. It also limits the batches of shortenRetention.
const deletedPerStatement = 1_000

// DeleteExpired deletes all expired rows in batches. Backends call it periodically; those that
// don't set Options.DeleteWithWrites call it at short intervals.
func DeleteExpired(ctx context.Context, s *Store) error {
	var errs []error
	for _, o := range []expiring{
		expiredSessions, expiredSignInLinks, oldEmailedLinks, expiredCreations, expiredConfirmations,
		expiredAllowances, expiredPreviews, oldAccountEmails, unsentAccountEmails, expiredRequests, expiredRequestGaps, oldStripeEvents,
		oldPaidPages,
	} {
		errs = append(errs, s.deleteAllExpired(ctx, o))
	}
	return errors.Join(errs...)
}

// deleteAllExpired deletes all expired rows of one kind in batches.
func (s *Store) deleteAllExpired(ctx context.Context, o expiring) error {
	for {
		var n int
		err := s.db.TransactUnsynced(ctx, "delete old "+o.name, func(ctx context.Context, tx Tx) (err error) {
			n, err = s.deleteExpired(ctx, tx, o, deletedPerStatement)
			return err
		})
		if err != nil || n < deletedPerStatement {
			return err
		}
	}
}

// deleteSomeExpired deletes a few expired rows along with a write, if Options.DeleteWithWrites is
// set. It deletes more rows than the write adds, so that they don't pile up.
func (s *Store) deleteSomeExpired(ctx context.Context, tx Tx, o expiring) error {
	if s.opts.DeleteWithWrites == 0 {
		return nil
	}
	_, err := s.deleteExpired(ctx, tx, o, s.opts.DeleteWithWrites*o.perWrite)
	return err
}

// deleteExpired deletes up to limit expired rows.
func (s *Store) deleteExpired(ctx context.Context, tx Tx, o expiring, limit int) (int, error) {
	now, err := s.currentTime(ctx, tx)
	if err != nil {
		return 0, err
	}
	now = now.Add(-o.age)
	if o.daily {
		return tx.Exec(ctx, o.query, cola.DateOf(now), limit)
	}
	return tx.Exec(ctx, o.query, now, limit)
}
