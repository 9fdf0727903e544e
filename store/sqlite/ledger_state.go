package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const selectAccounts = `SELECT a.id, a.tier, a.suspended_at, a.suspended_because, a.deletes_at,
		coalesce(m.detail_views, 0), coalesce(m.list_records, 0), coalesce(w.grants, '')
	FROM accounts a LEFT JOIN usage_months m ON m.account_id = a.id AND m.period = ?2
	LEFT JOIN burst_windows w ON w.account_id = a.id
	WHERE a.id IN (SELECT value FROM json_each(?1)) ORDER BY a.id`

// readSettlement reads the states of a batch's accounts within its transaction. SQLite's write lock
// covers the accounts, too.
func (s *Store) readSettlement(
	ctx context.Context, batch store.Batch, now time.Time,
) (*sqlstore.Settlement, error) {
	accounts, err := readAccounts(ctx, s.ledger, batch.Accounts, now)
	if err != nil {
		return nil, err
	}
	keys, links, signIns := sqlstore.CredentialIDs(batch.Credentials)
	rows, err := s.ledger.query(ctx, sqlstore.SelectCredentials, idList(keys), idList(links), idList(signIns))
	var c sqlstore.CredentialRow // scanning overwrites every column
	into := scanTargets(c.Columns()...)
	credentials := make([]sqlstore.CredentialRow, 0, len(batch.Credentials))
	credentials, err = collectInto(credentials, rows, err, func(r scanner) (sqlstore.CredentialRow, error) {
		err := r.Scan(into...)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	l := sqlstore.NewSettlement(batch, now, accounts, credentials)
	if len(batch.Pages) == 0 {
		return l, nil
	}
	signIns, hashes := sqlstore.PageColumns(batch.Pages)
	list, err := json.Marshal(hashes)
	if err != nil {
		return nil, fmt.Errorf("encode pages: %w", err)
	}
	rows, err = s.ledger.query(ctx, sqlstore.SelectPaidPages, idList(signIns), string(list),
		now.Add(-store.PageRetention).UnixMicro())
	paid, err := collect(rows, err, func(r scanner) (p sqlstore.PaidPageRow, err error) {
		return p, r.Scan(scanTargets(p.Columns()...)...)
	})
	l.AddPaid(paid)
	return l, err
}

// readAccounts reads the rows of accounts and their windows, sorted by account.
func readAccounts(
	ctx context.Context, q querier, ids []cola.AccountID, now time.Time,
) ([]sqlstore.AccountRow, error) {
	rows, err := q.query(ctx, selectAccounts, idList(ids), cola.PeriodOf(now).String())
	var a sqlstore.AccountRow // scanning overwrites every column
	var grants string
	into := scanTargets(
		&a.Account.ID, &a.Account.Tier, &a.Account.SuspendedAt, &a.Account.SuspendedReason,
		&a.Account.DeletesAt,
		&a.Used.DetailViews, &a.Used.ListRecords, &grants,
	)
	accounts := make([]sqlstore.AccountRow, 0, len(ids))
	return collectInto(accounts, rows, err, func(r scanner) (_ sqlstore.AccountRow, err error) {
		if err = r.Scan(into...); err == nil {
			a.Grants, err = parseGrants(grants)
		}
		return a, err
	})
}

// scanTargets returns the scan targets of fields.
func scanTargets(fields ...any) []any {
	into := make([]any, len(fields))
	for i, f := range fields {
		into[i] = target{f}
	}
	return into
}
