package sqlite

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// Dump implements store.Moves.
func (s *Store) Dump(ctx context.Context, yield func(*store.Item) error) error {
	const operation = "read everything"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	return failed(operation, s.read.view(ctx, func(q querier) error {
		for _, dump := range dumps() {
			if err := dump(ctx, q, yield); err != nil {
				return err
			}
		}
		return nil
	}))
}

type dump func(ctx context.Context, q querier, yield func(*store.Item) error) error

// dumps returns how the items of each kind are read, in the order of store.ItemKinds.
func dumps() []dump {
	of := map[store.ItemKind]dump{
		store.ItemGrant: dumpGrants, store.ItemReferences: dumpReferences, store.ItemPermittee: dumpPermittees, store.ItemCola: dumpColas,
	}
	for _, t := range sqlstore.Tables() {
		of[t.Kind] = func(ctx context.Context, q querier, yield func(*store.Item) error) error {
			return t.Dump(ctx, reader{q}, yield)
		}
	}
	var all []dump
	for _, kind := range store.ItemKinds() {
		all = append(all, of[kind])
	}
	return all
}

// dumpRows reads rows as items: scan fills in what the row says.
func dumpRows(ctx context.Context, q querier, yield func(*store.Item) error, kind store.ItemKind, query string,
	scan func(row scanner, i *store.Item) error) error {
	rows, err := q.query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		i := &store.Item{Kind: kind}
		if err := scan(rows, i); err != nil {
			return err
		}
		if err := yield(i); err != nil {
			return err
		}
	}
	return rows.Err()
}

func dumpGrants(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT account_id, granted_at, requests FROM burst_grants ORDER BY account_id, granted_at`
	return dumpRows(ctx, q, yield, store.ItemGrant, query, func(row scanner, i *store.Item) error {
		return row.Scan(&i.Grant.Account, target{&i.Grant.At}, &i.Grant.Requests)
	})
}

func dumpReferences(ctx context.Context, q querier, yield func(*store.Item) error) error {
	sets := &store.ReferenceSets{}
	if err := readSets(ctx, q, sets); err != nil {
		return err
	}
	return yield(&store.Item{Kind: store.ItemReferences, References: sets})
}

func dumpPermittees(ctx context.Context, q querier, yield func(*store.Item) error) error {
	query := `SELECT permit_number, from_labels, ` + permitteeNames + ` FROM permittees ORDER BY permit_number`
	return dumpRows(ctx, q, yield, store.ItemPermittee, query, func(row scanner, i *store.Item) error {
		p := &i.Permittee
		return row.Scan(append([]any{&p.PermitNumber, target{&p.FromLabels}}, targets(records.PermitteeColumns(&p.Permittee))...)...)
	})
}

// dumpColas reads labels a chunk at a time, each with its parts.
func dumpColas(ctx context.Context, q querier, yield func(*store.Item) error) error {
	for last := cola.TTBID(0); ; {
		rows, err := q.query(ctx, `SELECT ttb_id FROM colas WHERE ttb_id > ? ORDER BY ttb_id LIMIT ?`, int64(last), colaChunk)
		ids, err := collect(rows, err, func(row scanner) (id cola.TTBID, err error) { return id, row.Scan(target{&id}) })
		if err != nil || len(ids) == 0 {
			return err
		}
		known := make(map[cola.TTBID]*cola.Cola, len(ids))
		if err := loadColas(ctx, q, ids, known); err != nil {
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

// Sizes implements store.Moves.
func (s *Store) Sizes(ctx context.Context) (map[store.ItemKind]int, error) {
	const operation = "count records"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	var sizes map[store.ItemKind]int
	err := s.read.view(ctx, func(q querier) (err error) {
		sizes, err = sqlstore.Sizes(ctx, reader{q}, map[store.ItemKind]string{
			store.ItemGrant: `SELECT count(*) FROM burst_grants`, store.ItemReferences: sqlstore.CountReferences,
			store.ItemPermittee: `SELECT count(*) FROM permittees`, store.ItemCola: `SELECT count(*) FROM colas`,
		})
		return err
	})
	return sizes, failed(operation, err)
}

// checkEmpty fails with store.ErrExists unless the store holds nothing and never did. All but apps comes with an account or a
// revision.
func checkEmpty(ctx context.Context, q querier) error {
	var rev cola.Revision
	if err := q.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil {
		return err
	}
	var filled bool
	err := q.row(ctx, `SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM apps)`).Scan(&filled)
	if err == nil && (rev > 0 || filled) {
		err = errors.Join(store.ErrExists, errors.New("the database holds records already"))
	}
	return err
}
