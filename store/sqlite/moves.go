package sqlite

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
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
		return sqlstore.Dump(ctx, s.Store, reader{q}, yield)
	}))
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
