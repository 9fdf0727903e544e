package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	selectWindows = `SELECT account_id, granted_at, requests FROM burst_windows WHERE account_id = ANY($1)`
	updateWindow  = `UPDATE burst_windows SET granted_at = $2, requests = $3 WHERE account_id = $1`
	upsertWindows = `INSERT INTO burst_windows (account_id, granted_at, requests)
		SELECT account, array_agg(at ORDER BY at), array_agg(requests ORDER BY at)
		FROM unnest($1::bigint[], $2::timestamptz[], $3::integer[]) AS u (account, at, requests) GROUP BY account
		ON CONFLICT (account_id) DO UPDATE SET granted_at = excluded.granted_at, requests = excluded.requests`
	// extendWindows drops the first grants of each window, and adds a new grant.
	extendWindows = `UPDATE burst_windows w SET granted_at = w.granted_at[1 + u.expired:] || $1::timestamptz,
			requests = w.requests[1 + u.expired:] || u.requests
		FROM unnest($2::bigint[], $3::integer[], $4::integer[]) AS u (account, requests, expired)
		WHERE w.account_id = u.account`
)

// window is an account's row in burst_windows.
type window struct {
	account  cola.AccountID
	at       []time.Time
	requests []int
}

func (w window) grants() []store.Grant {
	if len(w.at) == 0 {
		return nil
	}
	grants := make([]store.Grant, len(w.at))
	for i := range grants {
		grants[i] = store.Grant{At: w.at[i], Requests: w.requests[i]}
	}
	return grants
}

// add adds later grants.
func (w *window) add(grants ...store.Grant) {
	for _, g := range grants {
		w.at, w.requests = append(w.at, g.At), append(w.requests, g.Requests)
	}
}

// queueWindows queues updates to the windows of accounts that have new grants, or grants ahead of
// the clock. Most windows only lose some of their first grants and get a new one, so only the
// changes are sent.
func queueWindows(b *pgx.Batch, l *sqlstore.Settlement) {
	var extended, replaced []int64 // accounts; replaced lists an account once for each grant
	var added, expired []int32
	var grants window
	for i, list := range l.Windows() {
		state := &l.States[i]
		account := int64(state.Account)
		if l.Stored[i] > 0 && l.Ahead[i] == 0 && len(list) == len(state.Grants)+1 {
			extended = append(extended, account)
			added = append(added, int32(list[len(list)-1].Requests))
			expired = append(expired, int32(l.Stored[i]-len(state.Grants)))
			continue
		}
		for _, g := range list {
			replaced = append(replaced, account)
			grants.add(g)
		}
	}
	if len(extended) > 0 {
		b.Queue(extendWindows, l.Now, extended, added, expired)
	}
	if len(replaced) > 0 {
		b.Queue(upsertWindows, replaced, grants.at, grants.requests)
	}
}

// revertGrants subtracts the batch's requests from its grants that are still in the accounts'
// windows.
func revertGrants(ctx context.Context, tx pgx.Tx, l *sqlstore.Settlement) error {
	if len(l.Requests.Keys) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, selectWindows, accountIDs(l.Requests.Keys))
	windows, err := collect(rows, err, func(w *window) fields { return fields{&w.account, &w.at, &w.requests} })
	if err != nil {
		return err
	}
	for _, w := range windows {
		row := sqlstore.AccountRow{Grants: w.grants()}
		if !row.Revert(l.Now, -l.Requests.Values[w.account]) {
			continue
		}
		left := window{at: []time.Time{}, requests: []int{}} // never NULL
		left.add(row.Grants...)
		if _, err := tx.Exec(ctx, updateWindow, int64(w.account), left.at, left.requests); err != nil {
			return err
		}
	}
	return nil
}
