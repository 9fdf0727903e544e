package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	signInNames   = `id, account_id, via, browser, created_at, last_used_at, ended_at, expires_at`
	selectSignIns = `SELECT ` + signInNames + ` FROM sign_ins WHERE account_id = ? AND ended_at IS NULL AND expires_at > ? ORDER BY id DESC`
	insertSignIn  = `INSERT INTO sign_ins (account_id, via, browser, created_at, expires_at) SELECT id, ?2, ?3, ?4, ?5 FROM accounts WHERE id = ?1
		RETURNING ` + signInNames
	endSignIn       = `UPDATE sign_ins SET ended_at = coalesce(ended_at, ?) WHERE id = ? AND account_id = ?`
	endOtherSignIns = `UPDATE sign_ins SET ended_at = ?1 WHERE account_id = ?2 AND id <> ?3 AND ended_at IS NULL AND expires_at > ?1`
)

func scanSignIn(row scanner) (i store.SignIn, err error) {
	err = row.Scan(&i.ID, &i.Account, &i.Via, &i.Browser,
		target{&i.CreatedAt}, target{&i.LastUsedAt}, target{&i.EndedAt}, target{&i.ExpiresAt})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return i, err
}

// CreateSignIn implements store.SignIns.
func (s *Store) CreateSignIn(ctx context.Context, i store.SignIn) (store.SignIn, error) {
	const operation = "create sign-in"
	if err := i.Check(); err != nil {
		return store.SignIn{}, failed(operation, err)
	}
	var made store.SignIn
	err := s.transact(ctx, operation, func(ctx context.Context) (err error) {
		now := s.instant()
		made, err = scanSignIn(s.ledger.row(ctx, insertSignIn, int64(i.Account), i.Via, i.Browser, encode(&now), encode(&i.ExpiresAt)))
		return err
	})
	if err != nil {
		return store.SignIn{}, err
	}
	return made, nil
}

// SignIns implements store.SignIns.
func (s *Store) SignIns(ctx context.Context, account cola.AccountID) ([]store.SignIn, error) {
	const operation = "list sign-ins"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, selectSignIns, int64(account), s.instant().UnixMicro())
	list, err := collect(rows, err, scanSignIn)
	return list, failed(operation, err)
}

// EndSignIn implements store.SignIns.
func (s *Store) EndSignIn(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "end sign-in", func(ctx context.Context) error {
		n, err := s.ledger.affect(ctx, endSignIn, s.instant().UnixMicro(), id, int64(account))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}

// EndOtherSignIns implements store.SignIns.
func (s *Store) EndOtherSignIns(ctx context.Context, account cola.AccountID, but int64) (int, error) {
	var ended int64
	err := s.transact(ctx, "end other sign-ins", func(ctx context.Context) (err error) {
		ended, err = s.ledger.affect(ctx, endOtherSignIns, s.instant().UnixMicro(), int64(account), but)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(ended), nil
}

func dumpSignIns(ctx context.Context, q querier, yield func(*store.Item) error) error {
	const query = `SELECT ` + signInNames + ` FROM sign_ins ORDER BY id`
	return dumpRows(ctx, q, yield, store.ItemSignIn, query, func(row scanner, i *store.Item) (err error) {
		i.SignIn, err = scanSignIn(row)
		return err
	})
}

// fillSignIn writes a sign-in as it was.
func (s *Store) fillSignIn(ctx context.Context, i *store.SignIn) error {
	return s.records.exec(ctx, `INSERT INTO sign_ins (`+signInNames+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, i.ID, int64(i.Account), i.Via, i.Browser,
		encode(&i.CreatedAt), encode(&i.LastUsedAt), encode(&i.EndedAt), encode(&i.ExpiresAt))
}
