package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

const (
	countAllowance = `INSERT INTO daily_allowances (account_id, day, allowance, used) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id, day, allowance) DO UPDATE SET used = daily_allowances.used + excluded.used RETURNING used`
	usedAllowance    = `SELECT coalesce((SELECT used FROM daily_allowances WHERE account_id = $1 AND day = $2 AND allowance = $3), 0)`
	knownPreviewed   = `SELECT ttb_id FROM previewed_labels WHERE account_id = $1 AND day = $2 AND ttb_id = ANY($3)`
	insertPreviewed  = `INSERT INTO previewed_labels (account_id, day, ttb_id) VALUES ($1, $2, $3)`
	forgetAllowances = `DELETE FROM daily_allowances WHERE (account_id, day, allowance) IN (
		SELECT account_id, day, allowance FROM daily_allowances WHERE day < $1 ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED)`
	forgetPreviewed = `DELETE FROM previewed_labels WHERE (account_id, day, ttb_id) IN (
		SELECT account_id, day, ttb_id FROM previewed_labels WHERE day < $1 ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// UseAllowance adds units to an account's use of an allowance on a day, and returns the sum.
func UseAllowance(ctx context.Context, s *Store, tx Tx, account cola.AccountID, day cola.Date, a store.Allowance,
	units int) (int, error) {
	if err := s.forgetSome(ctx, tx, allowancesOver); err != nil {
		return 0, err
	}
	return value[int](ctx, tx, countAllowance, int64(account), day, string(a), units)
}

// NamePreviewLabels implements store.Allowances. It locks the count to record new labels.
func (s *Store) NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID,
	limit int) ([]cola.TTBID, error) {
	const operation = "name labels of a preview"
	var n records.Naming
	err := s.db.View(ctx, operation, func(q Querier) (err error) {
		n, err = naming(ctx, q, account, day, labels, limit)
		return err
	})
	if err != nil || len(n.New) == 0 {
		return n.Labels, err
	}
	err = s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		if err := tx.Hold(ctx, countAllowance, int64(account), day, string(store.AllowPreviewLabels), 0); err != nil {
			return err
		}
		if n, err = naming(ctx, tx, account, day, labels, limit); err != nil || len(n.New) == 0 {
			return err
		}
		if _, err := UseAllowance(ctx, s, tx, account, day, store.AllowPreviewLabels, len(n.New)); err != nil {
			return err
		}
		if err := s.forgetSome(ctx, tx, previewsOver); err != nil {
			return err
		}
		statements := make([]Statement, len(n.New))
		for i, id := range n.New {
			statements[i] = Statement{insertPreviewed, []any{int64(account), day, int64(id)}}
		}
		return tx.ExecAll(ctx, statements...)
	})
	if err != nil {
		return nil, err
	}
	return n.Labels, nil
}

// naming decides which labels a preview may name, from the current counts.
func naming(ctx context.Context, q Querier, account cola.AccountID, day cola.Date, labels []cola.TTBID,
	limit int) (n records.Naming, err error) {
	used, err := value[int](ctx, q, usedAllowance, int64(account), day, string(store.AllowPreviewLabels))
	if err != nil {
		return n, err
	}
	known, err := list(ctx, q, column[cola.TTBID], knownPreviewed, int64(account), day, bigints(labels))
	return records.NewNaming(labels, known, used, limit), err
}
