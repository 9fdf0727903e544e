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

// Dump implements store.Moves.
func (s *Store) Dump(ctx context.Context, yield func(*store.Item) error) error {
	const operation = "read everything"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var f follower
	err := s.view(ctx, func(q querier) error {
		return sqlstore.Dump(ctx, s.Store, reader{q}, func(i *store.Item) error { return f.told(yield(i)) })
	})
	if f.err != nil {
		return fmt.Errorf("%s: %w", operation, f.err)
	}
	return s.failed(ctx, operation, err)
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
