package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	lockAccounts = `SELECT id FROM accounts WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`
	// selectStates returns the current time and a row for each existing account, or one row without
	// an account. The statement reads the clock once, after the locks are taken.
	selectStates = `WITH clock AS MATERIALIZED (SELECT coalesce($2::timestamptz, clock_timestamp()) AS now)
		SELECT clock.now, a.id, a.tier, a.suspended_at, a.suspended_because, a.deletes_at, coalesce(m.detail_views, 0), coalesce(m.list_records, 0), w.granted_at, w.requests
		FROM clock LEFT JOIN accounts a ON a.id = ANY($1)
		LEFT JOIN usage_months m ON m.account_id = a.id AND m.period = to_char(clock.now AT TIME ZONE 'UTC', 'YYYY-MM')
		LEFT JOIN burst_windows w ON w.account_id = a.id`
)

// selectPaidPages is like sqlstore.SelectPaidPages, but uses the database's clock unless $3 is set.
var selectPaidPages = strings.ReplaceAll(sqlstore.SelectPaidPages, "$3",
	"coalesce($3::timestamptz, clock_timestamp()) - make_interval(secs => $4)")

func accountIDs(ids []cola.AccountID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}

// readAccounts reads the rows of selectStates.
func readAccounts(rows pgx.Rows, err error) (now time.Time, list []sqlstore.AccountRow, _ error) {
	type row struct {
		now time.Time
		sqlstore.AccountRow
		window window
	}
	all, err := collect(rows, err, func(r *row) fields {
		return fields{
			&r.now, &r.Account.ID, &r.Account.Tier, &r.Account.SuspendedAt, &r.Account.SuspendedReason,
			&r.Account.DeletesAt,
			&r.Used.DetailViews, &r.Used.ListRecords, &r.window.at, &r.window.requests,
		}
	})
	if err != nil {
		return now, nil, err
	}
	if len(all) == 0 {
		return now, nil, errors.New("database did not return the time")
	}
	for _, r := range all {
		if r.Account.ID != 0 {
			r.Grants = r.window.grants()
			list = append(list, r.AccountRow)
		}
	}
	return all[0].now, list, nil
}

// AccountUsage implements store.Ledger.
func (s *Store) AccountUsage(ctx context.Context, id cola.AccountID) (store.AccountState, error) {
	var state store.AccountState
	err := s.read(ctx, "read usage", func() error {
		now, list, err := readAccounts(s.general.Query(ctx, selectStates, []int64{int64(id)}, s.clock()))
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return store.ErrNotFound
		}
		state, _ = list[0].State(now)
		return nil
	})
	return state, err
}

// queueStates queues the reads that a batch's decision needs. at is the current time, or nil for
// the database's clock.
func queueStates(b *pgx.Batch, batch store.Batch, at *time.Time) {
	b.Queue(selectStates, accountIDs(batch.Accounts), at)
	keys, links, signIns := sqlstore.CredentialIDs(batch.Credentials)
	b.Queue(sqlstore.SelectCredentials, keys, links, signIns)
	if len(batch.Pages) > 0 {
		ids, hashes := sqlstore.PageColumns(batch.Pages)
		b.Queue(selectPaidPages, ids, hashes, at, store.PageRetention.Seconds())
	}
}

// lockStates begins a batch's transaction, takes its locks and reads its accounts' states. It fails
// with store.ErrExists or store.ErrVoid if the batch was already settled or voided.
func (s *Store) lockStates(ctx context.Context, conn *pgxpool.Conn, batch store.Batch) (l *sqlstore.Settlement, err error) {
	b := &pgx.Batch{}
	queueAttempt(b, batch.ID)
	b.Queue(lockAccounts, accountIDs(batch.Accounts))
	if s.now == nil {
		queueStates(b, batch, nil)
	}
	results := conn.SendBatch(ctx, b)
	earlier, err := readAttempt(results)
	if err == nil {
		_, err = results.Exec() // lockAccounts
	}
	if err == nil && s.now == nil {
		l, err = readStates(results, batch)
	}
	if err = closeBatch(results, err); err != nil {
		return l, err
	}
	if earlier.known {
		return l, earlier.confirm(ctx, conn)
	}
	if s.now == nil {
		return l, nil
	}
	b = &pgx.Batch{} // read a test's clock only after taking the locks
	queueStates(b, batch, s.clock())
	results = conn.SendBatch(ctx, b)
	l, err = readStates(results, batch)
	return l, closeBatch(results, err)
}

// readStates reads the results of queueStates.
func readStates(results pgx.BatchResults, batch store.Batch) (*sqlstore.Settlement, error) {
	now, accounts, err := readAccounts(results.Query())
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	credentials, err := collect(rows, err, func(c *sqlstore.CredentialRow) fields { return c.Columns() })
	if err != nil {
		return nil, err
	}
	l := sqlstore.NewSettlement(batch, now, accounts, credentials)
	if len(batch.Pages) == 0 {
		return l, nil
	}
	rows, err = results.Query()
	paid, err := collect(rows, err, func(p *sqlstore.PaidPageRow) fields { return p.Columns() })
	l.AddPaid(paid)
	return l, err
}
