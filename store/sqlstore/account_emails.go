package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// hasAddress is the condition for accounts with an email address.
	hasAddress         = `email NOT LIKE '%://%#%'`
	insertAccountEmail = `INSERT INTO account_emails (account_id, event, about, once, address, created_at, next_attempt_at)
		SELECT id, $2, $3, $4, $5, $6, $6 FROM accounts WHERE id = $1 AND deleted_at IS NULL AND ` + hasAddress + `
		ON CONFLICT (account_id, once) DO NOTHING`
	setQuotaEmails = `UPDATE accounts SET no_quota_emails = $2 WHERE id = $1 AND deleted_at IS NULL`
	// dueAccountEmails excludes email that is too old, and email to accounts that are being
	// deleted. After the deletion, only the email that reports it is left.
	dueAccountEmails = `SELECT e.id FROM account_emails e INNER JOIN accounts a ON a.id = e.account_id
		WHERE e.next_attempt_at <= $1 AND e.created_at > $3 AND (a.deleted_at IS NULL OR a.deletes_at IS NULL)
		ORDER BY e.next_attempt_at, e.id LIMIT $2 FOR NO KEY UPDATE OF e SKIP LOCKED`
	claimAccountEmails   = `UPDATE account_emails SET attempts = attempts + 1, next_attempt_at = $2 WHERE id = ANY($1)`
	claimedAccountEmails = `SELECT e.id, e.account_id, coalesce(e.address, a.email),
		e.event, e.about, e.created_at, e.attempts
		FROM account_emails e INNER JOIN accounts a ON a.id = e.account_id WHERE e.id = ANY($1) ORDER BY e.id`
	deleteAccountEmail = `DELETE FROM account_emails WHERE id = $1 AND attempts = $2 AND once IS NULL`
	endAccountEmail    = `UPDATE account_emails SET next_attempt_at = NULL WHERE id = $1 AND attempts = $2`
	retryAccountEmail  = `UPDATE account_emails SET next_attempt_at = $3 WHERE id = $1 AND attempts = $2`
	accountEmailNames  = `id, account_id, once, event, about, address, created_at, next_attempt_at, attempts`
)

var (
	oldAccountEmails = expiring{
		name:     "account emails",
		query:    deleteOldest("account_emails", "id", "created_at <= $1"),
		age:      store.AccountEmailRetention,
		perWrite: 1,
	}
	// unsentAccountEmails remain if no process sends email.
	unsentAccountEmails = expiring{
		name:     "unsent account emails",
		query:    deleteOldest("account_emails", "id", "created_at <= $1 AND once IS NULL"),
		age:      store.AccountEmailLifetime,
		perWrite: 1,
	}
)

// queueAccountEmail queues an email in the transaction that makes the change. once, unless empty,
// identifies email that is sent only once to the account.
func (s *Store) queueAccountEmail(
	ctx context.Context, tx Tx, account cola.AccountID, event store.AccountEvent, about, once string,
) error {
	now, err := s.currentTime(ctx, tx)
	if err != nil {
		return err
	}
	return queueAccountEmailTo(ctx, tx, account, event, about, once, "", now)
}

// queueAccountEmailTo queues an email to an address or, if that is empty, to the account's address.
// The email is due at the given time, which is also stored as its creation time.
func queueAccountEmailTo(ctx context.Context, tx Tx, account cola.AccountID, event store.AccountEvent,
	about, once, address string, due time.Time) error {
	_, err := tx.Exec(ctx, insertAccountEmail,
		arguments([]any{int64(account), string(event), about, orNull(&once), orNull(&address), due})...)
	return err
}

// quotaEmails returns the statement that queues email about a meter: for accounts on tier $2 that
// have used at least $3 units in period $1. It skips accounts that already have an email with $4 or
// $5 in the once column, and is limited to $8 accounts.
func quotaEmails(meter cola.Meter) string {
	column := map[cola.Meter]string{cola.MeterDetailViews: "detail_views", cola.MeterListRecords: "list_records"}[meter]
	return `INSERT INTO account_emails (account_id, event, about, once, created_at, next_attempt_at)
		SELECT a.id, '` + string(store.EventQuota) + `', $6, $4, $7, $7
		FROM usage_months m INNER JOIN accounts a ON a.id = m.account_id
		WHERE m.period = $1 AND a.tier = $2 AND m.` + column + ` >= $3
			AND a.suspended_at IS NULL AND NOT a.no_quota_emails AND a.` + hasAddress + `
			AND NOT EXISTS (SELECT 1 FROM account_emails e WHERE e.account_id = a.id AND e.once IN ($4, $5)) LIMIT $8
		ON CONFLICT (account_id, once) DO NOTHING`
}

var (
	quotaViewEmails   = quotaEmails(cola.MeterDetailViews)
	quotaRecordEmails = quotaEmails(cola.MeterListRecords)
)

// quotaEmailsPerStatement limits how long a statement blocks others.
const quotaEmailsPerStatement = 500

// QueueQuotaEmails implements store.AccountEmails.
func (s *Store) QueueQuotaEmails(ctx context.Context) (queued int, err error) {
	for _, threshold := range store.QuotaThresholds() {
		for _, tier := range cola.Tiers() {
			limits := tier.Limits()
			for _, q := range []struct {
				query string
				meter cola.Meter
				limit int
			}{
				{quotaViewEmails, cola.MeterDetailViews, limits.DetailViews},
				{quotaRecordEmails, cola.MeterListRecords, limits.ListRecords},
			} {
				n, err := s.queueQuotaEmails(ctx, q.query, tier, q.meter, q.limit, threshold)
				if queued += n; err != nil {
					return queued, err
				}
			}
		}
	}
	return queued, nil
}

func (s *Store) queueQuotaEmails(
	ctx context.Context, query string, tier cola.Tier, meter cola.Meter, limit, threshold int,
) (queued int, err error) {
	maxRows := s.opts.maxRows(quotaEmailsPerStatement)
	for n := maxRows; n == maxRows; queued += n {
		err := s.db.Transact(ctx, "queue quota emails", func(ctx context.Context, tx Tx) error {
			now, err := s.currentTime(ctx, tx)
			if err != nil {
				return err
			}
			period := cola.PeriodOf(now).String()
			once := func(threshold int) string { return fmt.Sprintf("quota/%s/%s/%s/%d", period, tier, meter, threshold) }
			n, err = tx.Exec(ctx, query, period, string(tier), (limit*threshold+99)/100, once(threshold),
				once(store.QuotaThresholds()[0]), store.QuotaUse{Meter: meter, Percent: threshold, Tier: tier}.String(), now, maxRows)
			return err
		})
		if err != nil {
			return queued, err
		}
	}
	return queued, nil
}

// SetQuotaEmails implements store.AccountEmails.
func (s *Store) SetQuotaEmails(ctx context.Context, id cola.AccountID, on bool) error {
	return s.affectOne(ctx, "set quota emails", setQuotaEmails, int64(id), !on)
}

// ClaimAccountEmails implements store.AccountEmails. It claims an email by postponing its due time.
func (s *Store) ClaimAccountEmails(
	ctx context.Context, limit int, hold time.Duration,
) (claimed []store.AccountEmail, err error) {
	err = s.db.Transact(ctx, "claim account emails", func(ctx context.Context, tx Tx) error {
		claimed = nil
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		ids, err := list(ctx, tx, column[int64], dueAccountEmails, now, s.opts.maxRows(limit),
			now.Add(-store.AccountEmailLifetime))
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, claimAccountEmails, ids, now.Add(hold)); err != nil {
			return err
		}
		claimed, err = list(ctx, tx, func(e *store.AccountEmail) []any {
			return []any{&e.ID, &e.Account, &e.To, (*string)(&e.Event), &e.About, &e.CreatedAt, &e.Attempts}
		}, claimedAccountEmails, ids)
		return err
	})
	return claimed, err
}

// SettleAccountEmail implements store.AccountEmails.
func (s *Store) SettleAccountEmail(ctx context.Context, e store.AccountEmail, retry time.Duration) error {
	return s.db.TransactErasing(ctx, "settle account email", func(ctx context.Context, tx Tx) error {
		if retry > 0 {
			now, err := s.currentTime(ctx, tx)
			if err == nil {
				_, err = tx.Exec(ctx, retryAccountEmail, e.ID, e.Attempts, now.Add(retry))
			}
			return err
		}
		n, err := tx.Exec(ctx, deleteAccountEmail, e.ID, e.Attempts)
		if err == nil && n == 0 {
			_, err = tx.Exec(ctx, endAccountEmail, e.ID, e.Attempts)
		}
		return err
	})
}

func accountEmailColumns(e *store.StoredAccountEmail) []any {
	return []any{
		&e.ID, &e.Account, orNull(&e.Once), (*string)(&e.Event), &e.About, orNull(&e.Address), &e.CreatedAt, &e.NextAttemptAt,
		&e.Attempts,
	}
}
