package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// readSet reads a whole set in order.
func readSet[T any](ctx context.Context, q querier, set records.Set[T]) ([]T, error) {
	return readSome(ctx, q, set, "TRUE")
}

// readSome reads the rows of a set that meet a condition, in order.
func readSome[T any](ctx context.Context, q querier, set records.Set[T], condition string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, `SELECT `+set.ColumnList()+` FROM `+set.Table+` WHERE `+condition+` ORDER BY `+set.Order, args...)
	return collect(rows, err, func(row *T) fields { return targets(set.Columns(row)) })
}

// upsertSet merges count rows into a set, the i-th by merge(i, row).
func upsertSet[T any](ctx context.Context, s *Store, operation string, set records.Set[T], count int, mode store.Mode,
	merge func(i int, row *T)) ([]store.Outcome, error) {
	query := upsertRow(set.Table, records.Names(set.Columns(new(T))), set.Keys)
	return s.upsert(ctx, operation, change{mode: mode, reference: true, plan: func(ctx context.Context, q querier) (plan, error) {
		held, err := readSet(ctx, q, set)
		if err != nil {
			return plan{}, err
		}
		merger := records.NewMerger(set, held)
		var p plan
		var changed []*T
		for i := range count {
			outcome, row := merger.Merge(func(row *T) { merge(i, row) })
			p.outcomes = append(p.outcomes, outcome)
			if row != nil {
				changed = append(changed, row)
			}
		}
		if len(changed) > 0 {
			p.write = func(ctx context.Context, tx pgx.Tx, _ cola.Revision) error {
				return executeEach(ctx, tx, query, len(changed), func(i int) []any { return values(set.Columns(changed[i])) })
			}
		}
		return p, nil
	}})
}
