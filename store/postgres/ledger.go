package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// A batch is settled in two round trips. The first begins the transaction, takes the locks and
// reads the state; each statement sees everything committed before it began. The second writes and
// commits.
//
// All transactions take locks in the same order, so they cannot deadlock:
//
//  1. The batch. A second attempt with its ID waits for the first.
//  2. Accounts, in ascending order of ID.
//  3. Rows that belong to these accounts: counters, days, windows, keys, links, sign-ins.
//
// An account's rows are changed only while the account is locked, with these exceptions:
//
//   - RevokeKey, RevokeLink, RestoreLink, EndSignIn and Connect change one row and hold no other
//     lock that a settlement waits for.
//   - AccountOf locks at most one account, and then an address and an identity, which the ledger
//     does not use.
//   - DisableApp and RegisterApp lock an app, which the ledger reads without a lock.
//   - Recording runs and deleting searches lock searches and then deliveries (see ClaimDue and
//     ClaimDeliveries), and lock no account after those.
//   - Deletions of old rows skip locked rows.
//
// Any other method that locks an account locks only one, before its other locks (see package
// sqlstore).

const (
	upsertMonths = `INSERT INTO usage_months AS m (account_id, period, detail_views, list_records)
		SELECT account, $2, views, records FROM unnest($1::bigint[], $3::bigint[], $4::bigint[]) AS u (account, views, records)
		ON CONFLICT (account_id, period) DO UPDATE
		SET detail_views = m.detail_views + excluded.detail_views, list_records = m.list_records + excluded.list_records`
	upsertDays = `INSERT INTO usage_days AS d (account_id, day, channel, credential_kind, credential_id, meter, units, requests)
		SELECT account, $2, channel, kind, credential, meter, units, requests
		FROM unnest($1::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[])
			AS u (account, channel, kind, credential, meter, units, requests)
		ON CONFLICT (account_id, day, channel, credential_kind, credential_id, meter) DO UPDATE
		SET units = d.units + excluded.units, requests = d.requests + excluded.requests`
	updateKeyUses    = `UPDATE api_keys c` + setLastUses
	updateLinkUses   = `UPDATE links c` + setLastUses
	updateSignInUses = `UPDATE sign_ins c` + setLastUses
	setLastUses      = ` SET last_used_at = $1 FROM unnest($3::bigint[], $4::bigint[]) AS u (id, account)
		WHERE c.id = u.id AND c.account_id = u.account AND (c.last_used_at IS NULL OR c.last_used_at <= $2 OR c.last_used_at > $1)`
)

// Settle implements store.Ledger.
func (s *Store) Settle(
	ctx context.Context, batch store.Batch, decide func(time.Time, []store.AccountState) []store.Entry,
) error {
	const operation = "settle batch"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	conn, err := s.ledger.Acquire(ctx)
	if err != nil {
		return s.failed(ctx, operation, err)
	}
	defer abandon(ctx, conn)
	l, err := s.lockStates(ctx, conn, batch)
	if err != nil {
		return s.failed(ctx, operation, s.outcomeUnknown(err))
	}
	if err := l.Add(decide(l.Now, slices.Clone(l.States))); err != nil {
		return failed(operation, err)
	}
	return s.failed(ctx, operation, s.outcomeUnknown(commitBatch(ctx, conn, batch.ID, l)))
}

// abandon returns a connection to the pool. It rolls back an open transaction, or closes the
// connection if that fails.
func abandon(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release() // closes the connection if it is still in a transaction
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, `ROLLBACK`)
}

// outcomeUnknown wraps an error from a transaction that has begun. The end of a context becomes
// store.ErrUnavailable, because the outcome is unknown. If the connection may be lost,
// outcomeUnknown reconnects.
func (s *Store) outcomeUnknown(err error) error {
	if isConnectionLost(err) || isEnded(err) {
		s.reconnect()
	}
	return inDoubt(err)
}

// commitBatch writes a settlement and the batch's ID, and commits.
func commitBatch(ctx context.Context, conn *pgxpool.Conn, id store.BatchID, l *sqlstore.Settlement) error {
	b := &pgx.Batch{}
	queueWindows(b, l)
	queueUsage(b, l)
	queuePages(b, id, l)
	queueUses(b, l, cola.CredentialKey, updateKeyUses)
	queueUses(b, l, cola.CredentialLink, updateLinkUses)
	queueUses(b, l, cola.CredentialSignIn, updateSignInUses)
	b.Queue(insertBatch, [16]byte(id), l.Now, false)
	b.Queue(`COMMIT`)
	ending := watchCommit(conn.Conn())
	results := conn.SendBatch(ctx, b)
	var end pgconn.CommandTag
	var err error
	for i := 0; i < b.Len() && err == nil; i++ {
		end, err = results.Exec()
	}
	if err = closeBatch(results, err); err == nil && end.String() != "COMMIT" {
		err = fmt.Errorf("transaction ended with %s", end)
	}
	return ending.result(err)
}

// queueUsage queues the updates to the month's counters and the day's rows.
func queueUsage(b *pgx.Batch, l *sqlstore.Settlement) {
	if n := len(l.Months.Keys); n > 0 {
		views, list := make([]int64, n), make([]int64, n)
		for i, id := range l.Months.Keys {
			used := l.Months.Values[id]
			views[i], list[i] = int64(used.DetailViews), int64(used.ListRecords)
		}
		b.Queue(upsertMonths, accountIDs(l.Months.Keys), cola.PeriodOf(l.Now).String(), views, list)
	}
	n := len(l.Days.Keys)
	if n == 0 {
		return
	}
	accounts, credentials, units, requests := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	channels, kinds, meters := make([]string, n), make([]string, n), make([]string, n)
	for i, k := range l.Days.Keys {
		count := l.Days.Values[k]
		accounts[i] = int64(k.Account)
		channels[i] = string(k.Channel)
		kinds[i] = string(k.Credential.Kind)
		credentials[i] = k.Credential.ID
		meters[i], units[i], requests[i] = string(k.Meter), int64(count.Units), int64(count.Requests)
	}
	b.Queue(upsertDays, accounts, cola.DateOf(l.Now).Time(), channels, kinds, credentials, meters, units, requests)
}

// queuePages queues the payments for pages.
func queuePages(b *pgx.Batch, batch store.BatchID, l *sqlstore.Settlement) {
	for _, p := range l.Pages {
		if p.Reloaded {
			b.Queue(sqlstore.MarkReloaded, p.SignIn, p.Page, l.Now.Add(-store.PageRetention))
		}
		if p.Units > 0 {
			b.Queue(sqlstore.InsertPaidPage, p.SignIn, p.Page, [16]byte(batch), int64(p.Account), p.Units, l.Now)
		}
	}
}

// voidPages deletes a batch's payments for pages, and returns the entries without the charges for
// pages that were reloaded. The accounts must be locked, so that no reload is missed.
func voidPages(ctx context.Context, tx pgx.Tx, batch store.BatchID, entries []store.Entry) ([]store.Entry, error) {
	var kept []store.Entry
	for _, e := range entries {
		reloaded := map[store.PageKey]bool{}
		for _, p := range e.Pages {
			done, err := tx.Exec(ctx, sqlstore.DeletePaidPage, p.SignIn, p.Page, [16]byte(batch))
			if err != nil {
				return nil, err
			}
			reloaded[p.PageKey] = done.RowsAffected() == 0
		}
		kept = append(kept, e.KeepPages(func(p store.PagePayment) bool { return reloaded[p.PageKey] }))
	}
	return kept, nil
}

// queueUses queues an update that records when credentials of one kind were last used.
func queueUses(b *pgx.Batch, l *sqlstore.Settlement, kind cola.CredentialKind, update string) {
	if ids, accounts := l.DueUses(kind); len(ids) > 0 {
		b.Queue(update, l.Now, l.Now.Add(-sqlstore.UseInterval), ids, accountIDs(accounts))
	}
}
