package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// Dump implements store.Copier.
func (s *Store) Dump(ctx context.Context, yield func(*store.Item) error) error {
	const operation = "dump database"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var f callbackErrors
	err := s.view(ctx, func(q querier) error {
		return sqlstore.Dump(ctx, s.control, reader{q}, func(i *store.Item) error { return f.keep(yield(i)) })
	})
	if f.err != nil {
		return fmt.Errorf("%s: %w", operation, f.err)
	}
	return s.failed(ctx, operation, err)
}

const selectFilled = `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM apps) OR EXISTS (SELECT 1 FROM imports)
	OR EXISTS (SELECT 1 FROM image_files) OR EXISTS (SELECT 1 FROM fetch_windows) OR EXISTS (SELECT 1 FROM fetch_labels)
	OR EXISTS (SELECT 1 FROM reference_fetches)`

// checkEmpty fails with store.ErrExists unless the store is empty and has never had records.
// Records in tables that selectFilled omits require an account or a revision.
func checkEmpty(ctx context.Context, tx pgx.Tx, latest cola.Revision) error {
	var filled bool
	err := tx.QueryRow(ctx,
		selectFilled).Scan(fields{&filled})
	if err == nil && (latest > 0 || filled) {
		err = errors.Join(store.ErrExists, errors.New("database is not empty"))
	}
	return err
}

// fillChunk is the number of rows to buffer before copying them.
const fillChunk = 5_000

// Fill implements store.Copier in one transaction. It does not retry, because the items can be read
// only once.
func (s *Store) Fill(ctx context.Context, items iter.Seq2[*store.Item, error]) error {
	const operation = "fill database"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var f callbackErrors
	err := inTransactionOnce(ctx, s.general, fillTimeout, func(tx pgx.Tx) error {
		latest, rev, err := s.nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkEmpty(ctx, tx, latest); err != nil {
			return err
		}
		w := newFiller(ctx, tx)
		for item, err := range items {
			if err != nil {
				return f.keep(err)
			}
			if err := w.fill(item); err != nil {
				return fmt.Errorf("%s: %w", item.Kind, err)
			}
		}
		return w.finish(rev)
	})
	if f.err != nil {
		return fmt.Errorf("%s: %w", operation, f.err)
	}
	return s.failed(ctx, operation, err)
}

// filler copies items into empty tables.
type filler struct {
	ctx     context.Context
	tx      pgx.Tx
	tables  []*filledTable // ordered by foreign keys
	waiting int            // buffered rows
	windows sqlstore.Sums[cola.AccountID, window]
	known   cola.Revision // highest revision of the items

	byKind                          map[store.ItemKind]*filledTable
	colas, images, barcodes, bursts *filledTable
}

// filledTable is a table with its buffered rows.
type filledTable struct {
	name    string
	columns []string
	row     func(*store.Item) ([]any, error)
	rows    [][]any
}

func newFiller(ctx context.Context, tx pgx.Tx) *filler {
	f := &filler{ctx: ctx, tx: tx, byKind: map[store.ItemKind]*filledTable{}}
	table := func(name string, columns ...string) *filledTable {
		t := &filledTable{name: name, columns: columns}
		f.tables = append(f.tables, t)
		return t
	}
	for _, t := range sqlstore.Tables(grants) {
		switch t.Kind {
		case store.ItemGrant:
			f.bursts = table("burst_windows", "account_id", "granted_at", "requests")
			continue
		case store.ItemArrival: // written after the labels
			f.colas = table("colas", copiedCola...)
			f.images = table("cola_images", copiedImage...)
			f.barcodes = table("cola_barcodes", copiedBarcode...)
		}
		f.byKind[t.Kind] = table(t.Name, t.Columns...)
		f.byKind[t.Kind].row = t.Row
	}
	return f
}

// fill adds one item.
func (f *filler) fill(i *store.Item) error {
	f.known = max(f.known, i.Search.Mark.Revision, i.Arrival.At)
	switch i.Kind {
	case store.ItemGrant:
		f.windows.Change(i.Grant.Account, func(w *window) {
			w.add(i.Grant.Grant)
		})
	case store.ItemReferences:
		_, err := tx{reader{f.tx}, f.tx}.ExecAll(f.ctx, sqlstore.FillReferences(i.References)...)
		return err
	case store.ItemCola:
		f.addCola(i.Cola)
	default:
		t, ok := f.byKind[i.Kind]
		if !ok {
			return errors.New("unknown item kind")
		}
		row, err := t.row(i)
		if err != nil {
			return err
		}
		f.add(t, arguments(row)...)
	}
	if f.waiting < fillChunk {
		return nil
	}
	return f.flush()
}

func (f *filler) add(t *filledTable, row ...any) {
	t.rows = append(t.rows, row)
	f.waiting++
}

func (f *filler) addCola(c *cola.Cola) {
	id := int64(c.TTBID)
	f.add(f.colas, append([]any{id, int64(1)}, values(records.ColaColumns(c))...)...)
	for n := range c.Images {
		f.add(f.images, append([]any{id, int64(n)}, values(records.ImageColumns(&c.Images[n]))...)...)
	}
	for n := range c.Barcodes {
		f.add(f.barcodes, append([]any{id, int64(n)}, values(records.BarcodeColumns(&c.Barcodes[n]))...)...)
	}
}

// flush copies the buffered rows.
func (f *filler) flush() error {
	for _, t := range f.tables {
		if err := copyRows(f.ctx, f.tx, t.name, t.columns, len(t.rows),
			func(i int) []any { return t.rows[i] }); err != nil {
			return err
		}
		// Delete the destinations that a trigger created; the items include their own.
		if t == f.byKind[store.ItemAccount] && len(t.rows) > 0 {
			if _, err := f.tx.Exec(f.ctx, `DELETE FROM destinations`); err != nil {
				return err
			}
		}
		t.rows = t.rows[:0]
	}
	f.waiting = 0
	return nil
}

// finish copies the remaining rows, advances the sequences, and assigns a revision above those of
// the items. The records get revision 1, since no reader has seen them.
func (f *filler) finish(rev cola.Revision) error {
	for _, id := range f.windows.Keys {
		w := f.windows.Values[id]
		f.add(f.bursts, int64(id), w.at, w.requests)
	}
	if err := f.flush(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, t := range f.tables {
		if t.columns[0] == "id" {
			b.Queue(fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', 'id'), max(id)) FROM %[1]s`, t.name))
		}
	}
	b.Queue(setBoth, int64(max(rev, f.known+1)))
	b.Queue(notifyChange)
	return closeBatch(f.tx.SendBatch(f.ctx, b), nil)
}
