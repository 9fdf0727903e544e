package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// dumper gives the items of one state to whoever takes them.
type dumper struct {
	ctx   context.Context
	q     querier
	yield func(*store.Item) error
}

// Dump implements store.Moves.
func (s *Store) Dump(ctx context.Context, yield func(*store.Item) error) error {
	const operation = "read everything"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var f follower
	err := s.view(ctx, func(q querier) error {
		d := dumper{ctx, q, func(i *store.Item) error { return f.told(yield(i)) }}
		for _, dump := range d.dumps() {
			if err := dump(); err != nil {
				return err
			}
		}
		return nil
	})
	if f.err != nil {
		return fmt.Errorf("%s: %w", operation, f.err)
	}
	return s.failed(ctx, operation, err)
}

// dumps returns how the items of each kind are read, in the order of store.ItemKinds.
func (d dumper) dumps() []func() error {
	of := map[store.ItemKind]func() error{
		store.ItemGrant: d.grants, store.ItemReferences: d.references, store.ItemPermittee: d.permittees, store.ItemCola: d.colas,
	}
	for _, t := range sqlstore.Tables() {
		of[t.Kind] = func() error { return t.Dump(d.ctx, reader{d.q}, d.yield) }
	}
	var all []func() error
	for _, kind := range store.ItemKinds() {
		all = append(all, of[kind])
	}
	return all
}

// rows reads rows as items: columns says which fields of the item they fill.
func (d dumper) rows(kind store.ItemKind, query string, columns func(*store.Item) fields) error {
	return eachRow(d.ctx, d.q, query, nil, func(rows pgx.Rows) error {
		i := &store.Item{Kind: kind}
		if err := rows.Scan(columns(i)); err != nil {
			return err
		}
		return d.yield(i)
	})
}

func (d dumper) grants() error {
	const query = `SELECT w.account_id, g.at, g.requests FROM burst_windows w, unnest(w.granted_at, w.requests) AS g (at, requests)
		ORDER BY w.account_id, g.at`
	return d.rows(store.ItemGrant, query, func(i *store.Item) fields {
		return fields{&i.Grant.Account, &i.Grant.At, &i.Grant.Requests}
	})
}

func (d dumper) references() error {
	sets := &store.ReferenceSets{}
	if err := readSets(d.ctx, d.q, sets); err != nil {
		return err
	}
	return d.yield(&store.Item{Kind: store.ItemReferences, References: sets})
}

func (d dumper) permittees() error {
	return d.rows(store.ItemPermittee, `SELECT permit_number, from_labels, `+permitteeList+` FROM permittees ORDER BY permit_number`,
		func(i *store.Item) fields { return storedPermitteeColumns(&i.Permittee) })
}

// colas reads labels a chunk at a time, each with its parts.
func (d dumper) colas() error {
	for last := cola.TTBID(0); ; {
		rows, err := d.q.Query(d.ctx, `SELECT ttb_id FROM colas WHERE ttb_id > $1 ORDER BY ttb_id LIMIT $2`, int64(last), colaChunk)
		ids, err := collect(rows, err, func(id *cola.TTBID) fields { return fields{id} })
		if err != nil || len(ids) == 0 {
			return err
		}
		known := make(map[cola.TTBID]*cola.Cola, len(ids))
		if err := loadColas(d.ctx, d.q, ids, known); err != nil {
			return err
		}
		for _, id := range ids {
			if err := d.yield(&store.Item{Kind: store.ItemCola, Cola: known[id]}); err != nil {
				return err
			}
		}
		last = ids[len(ids)-1]
	}
}

// Sizes implements store.Moves.
func (s *Store) Sizes(ctx context.Context) (map[store.ItemKind]int, error) {
	const operation = "count records"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	var sizes map[store.ItemKind]int
	err := s.view(ctx, func(q querier) (err error) {
		sizes, err = sqlstore.Sizes(ctx, reader{q}, map[store.ItemKind]string{
			store.ItemGrant: `SELECT coalesce(sum(cardinality(granted_at)), 0) FROM burst_windows`, store.ItemReferences: sqlstore.CountReferences,
			store.ItemPermittee: `SELECT count(*) FROM permittees`, store.ItemCola: `SELECT count(*) FROM colas`,
		})
		return err
	})
	return sizes, s.failed(ctx, operation, err)
}

// checkEmpty fails with store.ErrExists unless the store, at its latest revision, holds nothing and never did. All but apps comes
// with an account or a revision.
func checkEmpty(ctx context.Context, tx pgx.Tx, latest cola.Revision) error {
	var filled bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM apps)`).Scan(fields{&filled})
	if err == nil && (latest > 0 || filled) {
		err = errors.Join(store.ErrExists, errors.New("the database holds records already"))
	}
	return err
}
