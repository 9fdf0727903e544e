package sqlite

import (
	"context"

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
	rows, err := q.query(ctx, `SELECT `+set.ColumnList()+` FROM `+set.Table+` WHERE `+condition+` ORDER BY `+set.Order, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	var row T // every column is scanned anew in each row
	into := targets(set.Columns(&row))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// upsertSet merges count rows into a set, the i-th by merge(i, row).
func upsertSet[T any](ctx context.Context, s *Store, operation string, set records.Set[T], count int, mode store.Mode,
	merge func(i int, row *T)) ([]store.Outcome, error) {
	return s.upsert(ctx, operation, change{mode: mode, reference: true,
		plan: func(ctx context.Context, q querier, _ int) (*plan, error) {
			held, err := readSet(ctx, q, set)
			if err != nil {
				return nil, err
			}
			merger := records.NewMerger(set, held)
			p := &plan{}
			for i := range count {
				outcome, row := merger.Merge(func(row *T) { merge(i, row) })
				if row == nil {
					p.add(outcome, nil)
					continue
				}
				p.add(outcome, rowStep{replaceRow(set), values(set.Columns(row))})
			}
			return p, nil
		}})
}

func replaceRow[T any](set records.Set[T]) string {
	return `INSERT OR REPLACE INTO ` + set.Table + ` (` + set.ColumnList() + `) VALUES (` + placeholders(len(set.Columns(new(T)))) + `)`
}

// rowStep writes one row by one statement.
type rowStep struct {
	query string
	args  []any
}

// write implements step.
func (s rowStep) write(ctx context.Context, w *writer, _ cola.Revision) error {
	return w.exec(ctx, s.query, s.args...)
}
