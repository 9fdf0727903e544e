package sqlstore

import (
	"context"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
)

// Sizes implements store.Copier.
func (s *Store) Sizes(ctx context.Context) (map[store.ItemKind]int, error) {
	counts := map[store.ItemKind]string{
		store.ItemReferences: countReferences,
		store.ItemCola:       `SELECT count(*) FROM colas`,
	}
	for _, t := range Tables(s.opts.Grants) {
		counts[t.Kind] = `SELECT count(*) FROM ` + t.Name
	}
	sizes := map[store.ItemKind]int{}
	err := s.db.View(ctx, "count records", func(q Querier) (err error) {
		for kind, count := range counts {
			if sizes[kind], err = value[int](ctx, q, count); err != nil {
				return err
			}
		}
		return nil
	})
	return sizes, err
}

// countReferences counts the rows of all reference sets.
var countReferences = `SELECT (SELECT count(*) FROM ` + strings.Join([]string{
	records.AVAs.Table, records.ProductionReports.Table, records.ProcessingTimes.Table,
	records.FormulaProcessingTimes.Table, records.RegistrationProcessingTimes.Table, records.CategoryAliases.Table,
}, `) + (SELECT count(*) FROM `) + `)`

// Dump calls yield with every item in the database, in the order of store.ItemKinds (see
// store.Copier).
func Dump(ctx context.Context, s *Store, q Querier, yield func(*store.Item) error) error {
	dumps := map[store.ItemKind]func() error{
		store.ItemReferences: func() error {
			sets, err := readReferences(ctx, q)
			if err != nil {
				return err
			}
			return yield(&store.Item{Kind: store.ItemReferences, References: &sets})
		},
		store.ItemCola: func() error { return s.dumpLabels(ctx, q, yield) },
	}
	for _, t := range Tables(s.opts.Grants) {
		dumps[t.Kind] = func() error { return t.dump(ctx, q, yield) }
	}
	for _, kind := range store.ItemKinds() {
		if err := dumps[kind](); err != nil {
			return err
		}
	}
	return nil
}

// dumpChunk is how many labels are read at a time.
const dumpChunk = 500

// dumpLabels reads labels a chunk at a time, each with its images and barcodes.
func (s *Store) dumpLabels(ctx context.Context, q Querier, yield func(*store.Item) error) error {
	for last := cola.TTBID(0); ; {
		ids, err := list(ctx, q, column[cola.TTBID],
			`SELECT ttb_id FROM colas WHERE ttb_id > $1 ORDER BY ttb_id LIMIT $2`, int64(last), dumpChunk)
		if err != nil || len(ids) == 0 {
			return err
		}
		known, err := s.db.Labels(ctx, q, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := yield(&store.Item{Kind: store.ItemCola, Cola: known[id]}); err != nil {
				return err
			}
		}
		last = ids[len(ids)-1]
	}
}

// dump calls yield with every row of the table as an item.
func (t Table) dump(ctx context.Context, q Querier, yield func(*store.Item) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := q.Query(ctx, `SELECT `+strings.Join(t.Columns, ", ")+` FROM `+t.Name+` ORDER BY `+t.Order)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		i := &store.Item{Kind: t.Kind}
		into, finish := t.Fields(i)
		err := rows.Scan(into...)
		if err == nil && finish != nil {
			err = finish()
		}
		if err == nil {
			err = yield(i)
		}
		if err != nil {
			cancel() // otherwise Close would read the rest
			return err
		}
	}
	return rows.Err()
}
