package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	requestDeletion = `UPDATE accounts SET suspended_at = coalesce(suspended_at, $2), deletes_at = $3 WHERE id = $1`
	cancelDeletion  = `UPDATE accounts SET suspended_at = CASE WHEN suspended_because IS NOT NULL THEN suspended_at END,
		deletes_at = NULL WHERE id = $1`
	dueDeletions = selectAccounts + ` WHERE a.deletes_at <= coalesce($1::timestamptz, clock_timestamp())
		ORDER BY a.deletes_at, a.id LIMIT $2`
	lockDue      = selectAccounts + ` WHERE a.id = $1 AND a.deletes_at <= $2 FOR NO KEY UPDATE`
	eraseAccount = `UPDATE accounts SET email = $2, email_folded = $2, suspended_at = coalesce(suspended_at, $3),
		suspended_because = NULL, deleted_at = $3 WHERE id = $1`
	eraseIdentity  = `DELETE FROM identities WHERE account_id = $1`
	finishDeletion = `UPDATE accounts SET deletes_at = NULL WHERE id = $1`
	deleteReminder = `DELETE FROM account_emails WHERE account_id = $1 AND event = '` + string(store.EventDeletionReminder) + `'`
)

// RequestDeletion implements store.AccountDeletion. It also queues the reminder, which is due
// later.
func (s *Store) RequestDeletion(ctx context.Context, id cola.AccountID, after time.Duration) error {
	return s.changeDeletion(ctx, "request deletion", id, func(
		ctx context.Context, tx Tx, a store.Account, now time.Time,
	) error {
		if !a.DeletesAt.IsZero() {
			return nil
		}
		at := now.Add(after)
		if err := execOne(ctx, tx, requestDeletion, int64(id), now, at); err != nil {
			return err
		}
		about := at.UTC().Format(time.RFC3339)
		if err := queueAccountEmailTo(ctx, tx, id, store.EventDeletionRequested, about, "", "", now); err != nil {
			return err
		}
		if after <= store.DeletionReminder {
			return nil
		}
		return queueAccountEmailTo(ctx, tx, id, store.EventDeletionReminder, about, "", "", at.Add(-store.DeletionReminder))
	})
}

// CancelDeletion implements store.AccountDeletion.
func (s *Store) CancelDeletion(ctx context.Context, id cola.AccountID) error {
	return s.changeDeletion(ctx, "cancel deletion", id, func(
		ctx context.Context, tx Tx, a store.Account, now time.Time,
	) error {
		if a.DeletesAt.IsZero() {
			return nil
		}
		if !a.DeletesAt.After(now) {
			return store.ErrNotFound
		}
		if err := execOne(ctx, tx, cancelDeletion, int64(id)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteReminder, int64(id)); err != nil {
			return err
		}
		return s.queueAccountEmail(ctx, tx, id, store.EventDeletionCanceled, "", "")
	})
}

// changeDeletion requests or cancels a deletion in a transaction that locks the account, and then
// pauses or resumes the account's searches accordingly. Like changeAccount, it erases the earlier
// version of the row.
func (s *Store) changeDeletion(ctx context.Context, operation string, id cola.AccountID,
	change func(ctx context.Context, tx Tx, a store.Account, now time.Time) error) error {
	return s.db.TransactErasing(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := lockAccountRow(ctx, tx, id); err != nil {
			return err
		}
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		a, err := one(ctx, tx, accountColumns, accountByID, int64(id))
		if err == nil {
			err = change(ctx, tx, a, now)
		}
		if err != nil {
			return err
		}
		if err := tx.LockRows(ctx, lockAllSearches, int64(id)); err != nil {
			return err
		}
		return updatePauses(ctx, tx, id)
	})
}

// DueDeletions implements store.AccountDeletion.
func (s *Store) DueDeletions(ctx context.Context, limit int) ([]store.Account, error) {
	return readList(ctx, s, "list due deletions", accountColumns, dueDeletions, s.clock(), limit)
}

// accountTables are the tables whose rows are deleted with their account, in the order of deletion:
// a table comes before those that it refers to. Attempts are deleted with their deliveries. A test
// checks that the list is complete.
var accountTables = []struct{ name, key, from string }{
	{name: "request_log", key: "id"},
	{name: "request_log_gaps", key: "account_id, hour"},
	{name: "refusals", key: "account_id, minute, channel, credential_kind, credential_id, reason"},
	{name: "previewed_labels", key: "account_id, day, ttb_id"},
	{name: "daily_allowances", key: "account_id, day, allowance"},
	{name: "burst_windows", key: "account_id"},
	{name: "paid_pages", key: "sign_in_id, page, batch_id"},
	{name: "confirmations_asked", key: "id"},
	{name: "saved_search_creations", key: "account_id, once_key"},
	{name: "deliveries", key: "id"},
	{name: "saved_search_matches", key: "search_id, ttb_id", from: ofSearches("saved_search_matches")},
	{name: "saved_search_runs", key: "id", from: ofSearches("saved_search_runs")},
	{name: "saved_searches", key: "id"},
	{name: "destinations", key: "id"},
	{name: "identities", key: "issuer, subject"},
	{name: "account_emails", key: "id", from: `account_emails t WHERE t.account_id = $1 AND t.address IS NULL`},
	{name: "subscriptions", key: "account_id"},
	{name: "sign_in_links", key: "hash"},
	{name: "sign_ins", key: "id"},
	{name: "links", key: "id"},
	{name: "api_keys", key: "id"},
}

// ofSearches selects the rows of a table that belong to the searches of account $1.
func ofSearches(table string) string {
	return `saved_searches s INNER JOIN ` + table + ` t ON t.search_id = s.id WHERE s.account_id = $1`
}

// deleteAccountRows contains the statements that delete up to $2 rows of account $1, one for each
// of accountTables.
var deleteAccountRows = func() (statements []string) {
	for _, t := range accountTables {
		if t.from == "" {
			t.from = t.name + ` t WHERE t.account_id = $1`
		}
		columns := "t." + strings.ReplaceAll(t.key, ", ", ", t.")
		statements = append(statements, `WITH old AS MATERIALIZED (SELECT `+columns+` FROM `+t.from+` LIMIT $2)
			DELETE FROM `+t.name+` WHERE (`+t.key+`) IN (SELECT `+t.key+` FROM old)`)
	}
	return statements
}()

// deletedWithAccount limits the number of rows that one transaction deletes, so that other
// transactions don't wait long.
const deletedWithAccount = 500

// DeleteAccountData implements store.AccountDeletion. The first step removes the address and all
// ways to sign in, so that the holder can sign up again from then on. Every statement that adds a
// row for an account skips accounts that have reached this step. The later steps run in separate
// transactions, so they find the rows that earlier statements have added.
func (s *Store) DeleteAccountData(ctx context.Context, id cola.AccountID) (done bool, err error) {
	err = s.db.TransactErasing(ctx, "delete account", func(ctx context.Context, tx Tx) error {
		done = false
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		a, err := one(ctx, tx, accountColumns, lockDue, int64(id), now)
		switch {
		case err != nil:
			return err
		case a.DeletedAt.IsZero():
			return s.eraseHolder(ctx, tx, a, now)
		}
		left := s.opts.maxRows(deletedWithAccount)
		for _, query := range deleteAccountRows {
			n, err := tx.Exec(ctx, query, int64(id), left)
			if err != nil {
				return err
			}
			if left -= n; left <= 0 {
				return nil
			}
		}
		done = true
		return execOne(ctx, tx, finishDeletion, int64(id))
	})
	return done && err == nil, err
}

// eraseHolder removes an account's address, its identities and the sign-in links sent to that
// address, and queues the email about the deletion.
func (s *Store) eraseHolder(ctx context.Context, tx Tx, a store.Account, now time.Time) error {
	if err := queueAccountEmailTo(ctx, tx, a.ID, store.EventDeleted, "", "", a.Email, now); err != nil {
		return err
	}
	_, err := tx.ExecAll(ctx,
		Statement{eraseAccount, []any{int64(a.ID), store.DeletedEmail(a.ID), now}},
		Statement{eraseIdentity, []any{int64(a.ID)}},
		Statement{deleteLinksToAddress, []any{store.Mailbox(a.Email), store.FoldEmail(a.Email)}},
	)
	return err
}
