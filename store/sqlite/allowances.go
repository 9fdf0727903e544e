package sqlite

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	countAllowance = `INSERT INTO daily_allowances (account_id, day, allowance, used) VALUES (?, ?, ?, ?)
		ON CONFLICT (account_id, day, allowance) DO UPDATE SET used = used + excluded.used RETURNING used`
	usedAllowance   = `SELECT coalesce((SELECT used FROM daily_allowances WHERE account_id = ? AND day = ? AND allowance = ?), 0)`
	knownPreviewed  = `SELECT ttb_id FROM previewed_labels WHERE account_id = ? AND day = ? AND ttb_id IN (SELECT value FROM json_each(?))`
	insertPreviewed = `INSERT INTO previewed_labels (account_id, day, ttb_id) SELECT ?, ?, value FROM json_each(?)`
	// Each write deletes more old rows than it adds, so that they do not pile up.
	forgetAllowances = `DELETE FROM daily_allowances WHERE (account_id, day, allowance) IN (
		SELECT account_id, day, allowance FROM daily_allowances WHERE day < ? ORDER BY day LIMIT 8)`
	forgetPreviewed = `DELETE FROM previewed_labels WHERE (account_id, day, ttb_id) IN (
		SELECT account_id, day, ttb_id FROM previewed_labels WHERE day < ? ORDER BY day LIMIT 64)`
)

// useAllowance adds units to an account's use of an allowance on a day, and returns the sum. It runs in
// a write transaction and deletes old days.
func (s *Store) useAllowance(ctx context.Context, account cola.AccountID, day cola.Date, a store.Allowance, units int) (used int, err error) {
	if err := s.forgetDays(ctx, forgetAllowances); err != nil {
		return 0, err
	}
	err = s.ledger.row(ctx, countAllowance, int64(account), encode(&day), string(a), units).Scan(&used)
	return used, err
}

// forgetDays deletes some rows of days before yesterday.
func (s *Store) forgetDays(ctx context.Context, forget string) error {
	yesterday := cola.DateOf(s.instant()).AddDays(-1)
	return s.ledger.exec(ctx, forget, encode(&yesterday))
}

// NamePreviewLabels implements store.Allowances.
func (s *Store) NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) (named []cola.TTBID, err error) {
	const operation = "name labels of a preview"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	var n records.Naming
	err = s.read.view(ctx, func(q querier) error {
		n, err = naming(ctx, q, account, day, labels, limit)
		return err
	})
	if err != nil || len(n.New) == 0 {
		return n.Labels, failed(operation, err)
	}
	defer s.upkeep.noteWrite()
	err = s.ledger.transact(ctx, func(ctx context.Context) error {
		if n, err = naming(ctx, s.ledger, account, day, labels, limit); err != nil || len(n.New) == 0 {
			return err
		}
		if _, err := s.useAllowance(ctx, account, day, store.AllowPreviewLabels, len(n.New)); err != nil {
			return err
		}
		if err := s.forgetDays(ctx, forgetPreviewed); err != nil {
			return err
		}
		return s.ledger.exec(ctx, insertPreviewed, int64(account), encode(&day), idList(n.New))
	})
	if err != nil {
		return nil, failed(operation, err)
	}
	return n.Labels, nil
}

// naming decides which labels a preview may name, from the current counts.
func naming(ctx context.Context, q querier, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) (n records.Naming, err error) {
	var used int
	if err := q.row(ctx, usedAllowance, int64(account), encode(&day), string(store.AllowPreviewLabels)).Scan(&used); err != nil {
		return n, err
	}
	rows, err := q.query(ctx, knownPreviewed, int64(account), encode(&day), idList(labels))
	known, err := collect(rows, err, func(row scanner) (id cola.TTBID, err error) { return id, row.Scan(target{&id}) })
	return records.NewNaming(labels, known, used, limit), err
}
