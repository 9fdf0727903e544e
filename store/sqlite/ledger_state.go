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

const (
	selectAccounts = `SELECT a.id, a.tier, a.suspended_at, a.suspended_because,
			coalesce(m.detail_views, 0), coalesce(m.list_records, 0)
		FROM accounts a LEFT JOIN usage_months m ON m.account_id = a.id AND m.period = ?2
		WHERE a.id IN (SELECT value FROM json_each(?1)) ORDER BY a.id`
	selectGrants = `SELECT account_id, granted_at, requests FROM burst_grants
		WHERE account_id IN (SELECT value FROM json_each(?1)) AND granted_at > ?2 ORDER BY account_id, granted_at`
)

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
	credentials, err := collect(rows, err, func(r scanner) (c sqlstore.CredentialRow, err error) {
		return c, scanInto(r, c.Columns())
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
		return p, scanInto(r, p.Columns())
	})
	l.AddPaid(paid)
	return l, err
}

// readAccounts reads the rows of accounts and their windows, sorted by account.
func readAccounts(
	ctx context.Context, q querier, ids []cola.AccountID, now time.Time,
) ([]sqlstore.AccountRow, error) {
	list := idList(ids)
	rows, err := q.query(ctx, selectAccounts, list, cola.PeriodOf(now).String())
	accounts, err := collect(rows, err, func(r scanner) (a sqlstore.AccountRow, err error) {
		return a, scanInto(r, []any{
			&a.Account.ID, &a.Account.Tier, &a.Account.SuspendedAt, &a.Account.SuspendedReason,
			&a.Used.DetailViews, &a.Used.ListRecords,
		})
	})
	if err != nil {
		return nil, err
	}
	rows, err = q.query(ctx, selectGrants, list, now.Add(-sqlstore.Window).UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for i := 0; rows.Next(); {
		var id cola.AccountID
		var at time.Time
		var requests int
		if err := scanInto(rows, []any{&id, &at, &requests}); err != nil {
			return nil, err
		}
		for accounts[i].Account.ID != id { // a grant always has an account
			i++
		}
		accounts[i].At, accounts[i].Requests = append(accounts[i].At, at), append(accounts[i].Requests, requests)
	}
	return accounts, rows.Err()
}

// scanInto scans a row into fields.
func scanInto(r scanner, fields []any) error {
	into := make([]any, len(fields))
	for i, f := range fields {
		into[i] = target{f}
	}
	return r.Scan(into...)
}
