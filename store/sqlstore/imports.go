package sqlstore

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	importNames  = `kind, started_at, finished_at, rows_read, added, changed, unchanged, refused, failed`
	insertImport = `INSERT INTO imports (` + importNames + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	pruneImports = `DELETE FROM imports WHERE kind = $1 AND id <=
		(SELECT id FROM imports WHERE kind = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`
	selectLastImports = `SELECT ` + importNames + `,
			(SELECT max(finished_at) FROM imports s WHERE s.kind = i.kind AND NOT s.failed)
		FROM imports i WHERE id IN (SELECT max(id) FROM imports GROUP BY kind) ORDER BY kind COLLATE "C"`
)

func importColumns(i *cola.Import) []any {
	return []any{
		&i.Kind, &i.StartedAt, &i.FinishedAt, &i.Read, &i.Added, &i.Changed, &i.Unchanged, &i.Rejected, &i.Failed,
	}
}

// RecordImport implements store.Imports.
func (s *Store) RecordImport(ctx context.Context, i cola.Import) error {
	return s.db.Transact(ctx, "record import", func(ctx context.Context, tx Tx) error {
		_, err := tx.ExecAll(ctx,
			Statement{insertImport, importColumns(&i)},
			Statement{pruneImports, []any{i.Kind, store.KeptImports}})
		return err
	})
}

// LastImports implements store.Imports.
func (s *Store) LastImports(ctx context.Context) ([]cola.LastImport, error) {
	return readList(ctx, s, "list last imports",
		func(i *cola.LastImport) []any { return append(importColumns(&i.Import), &i.SucceededAt) }, selectLastImports)
}
