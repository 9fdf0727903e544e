package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
	return failed(operation, s.read.view(ctx, func(q querier) error {
		return sqlstore.Dump(ctx, s.control, reader{q}, yield)
	}))
}

const selectFilled = `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM apps) OR EXISTS (SELECT 1 FROM imports)
	OR EXISTS (SELECT 1 FROM image_files) OR EXISTS (SELECT 1 FROM fetch_windows) OR EXISTS (SELECT 1 FROM fetch_labels)
	OR EXISTS (SELECT 1 FROM reference_fetches)`

// checkEmpty fails with store.ErrExists unless the store is empty and has never had records.
// Records in tables that selectFilled omits require an account or a revision.
func checkEmpty(ctx context.Context, q querier) error {
	var rev cola.Revision
	if err := q.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil {
		return err
	}
	var filled bool
	err := q.row(ctx, selectFilled).Scan(&filled)
	if err == nil && (rev > 0 || filled) {
		err = errors.Join(store.ErrExists, errors.New("database is not empty"))
	}
	return err
}

// fillChunk is the maximum number of items per transaction. A single transaction would make the
// journal as large as the database.
const fillChunk = 5_000

// Fill implements store.Copier in several transactions. After the first one, errors wrap
// store.ErrHalfFilled.
func (s *Store) Fill(ctx context.Context, items iter.Seq2[*store.Item, error]) error {
	const operation = "fill database"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	if err := s.recordsLock.Lock(ctx); err != nil {
		return failed(operation, err)
	}
	defer s.recordsLock.Unlock()
	next, stop := iter.Pull2(items)
	defer stop()
	more := true
	var known cola.Revision
	for started := false; more; started = true {
		err := s.records.transact(ctx, func(ctx context.Context) (err error) {
			if !started {
				if err := checkEmpty(ctx, s.records); err != nil {
					return err
				}
			}
			more, err = s.fillSome(ctx, next, &known)
			return err
		})
		if err != nil && started {
			err = fmt.Errorf("%w: %w", store.ErrHalfFilled, err)
		}
		if err != nil {
			return failed(operation, err)
		}
		s.checkpointIfDue(ctx)
	}
	return failed(operation, s.journal.sync())
}

// fillSome writes the next items and reports whether there are more. It raises known to the highest
// revision of the items. After the last item, it assigns the store a higher revision, so that
// followers see a change. The records get revision 1, since no reader has seen them.
func (s *Store) fillSome(
	ctx context.Context, next func() (*store.Item, error, bool), known *cola.Revision,
) (more bool, err error) {
	for range fillChunk {
		item, err, ok := next()
		if err != nil {
			return false, err
		}
		if !ok {
			return false, s.firstRevision(ctx, *known)
		}
		*known = max(*known, item.Search.Mark.Revision, item.Arrival.At)
		if err := s.fill(ctx, item); err != nil {
			return false, fmt.Errorf("%s: %w", item.Kind, err)
		}
	}
	return true, nil
}

// fill writes one item.
func (s *Store) fill(ctx context.Context, i *store.Item) error {
	w := s.records
	switch i.Kind {
	case store.ItemReferences:
		return statements(sqlstore.FillReferences(i.References)).write(ctx, w, 1)
	case store.ItemCola:
		return colaStep{&records.ColaChange{Label: i.Cola, Images: true, Barcodes: true}}.write(ctx, w, 1)
	}
	t, ok := filled[i.Kind]
	if !ok {
		return errors.New("unknown item kind")
	}
	row, err := t.Row(i)
	if err != nil {
		return err
	}
	if err := w.exec(ctx, t.insert, arguments(row)...); err != nil || i.Kind != store.ItemAccount {
		return err
	}
	// A trigger created the account's own destination, which the items also include.
	return w.exec(ctx, `DELETE FROM destinations WHERE account_id = ?`, int64(i.Account.ID))
}

// filledTable is a table with its INSERT statement.
type filledTable struct {
	sqlstore.Table
	insert string
}

var filled = func() map[store.ItemKind]filledTable {
	tables := map[store.ItemKind]filledTable{}
	for _, t := range sqlstore.Tables(grants) {
		insert := t.Insert()
		if t.Kind == store.ItemGrant {
			insert = insertGrant
		}
		tables[t.Kind] = filledTable{t, insert}
	}
	return tables
}()
