package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	signInNames   = `id, account_id, via, browser, created_at, last_used_at, ended_at, expires_at`
	selectSignIns = `SELECT ` + signInNames + ` FROM sign_ins
		WHERE account_id = $1 AND ended_at IS NULL AND expires_at > coalesce($2, clock_timestamp()) ORDER BY id DESC`
	insertSignIn = `INSERT INTO sign_ins (account_id, via, browser, created_at, expires_at)
		SELECT id, $2, $3, coalesce($4, clock_timestamp()), $5 FROM accounts WHERE id = $1 RETURNING ` + signInNames
	endSignIn       = `UPDATE sign_ins SET ended_at = coalesce(ended_at, $3, clock_timestamp()) WHERE account_id = $1 AND id = $2`
	endOtherSignIns = `UPDATE sign_ins SET ended_at = $3 WHERE account_id = $1 AND id <> $2 AND ended_at IS NULL AND expires_at > $3`
)

func signInColumns(i *store.SignIn) fields {
	return fields{&i.ID, &i.Account, &i.Via, &i.Browser, &i.CreatedAt, &i.LastUsedAt, &i.EndedAt, &i.ExpiresAt}
}

// CreateSignIn implements store.SignIns.
func (s *Store) CreateSignIn(ctx context.Context, i store.SignIn) (store.SignIn, error) {
	const operation = "create sign-in"
	if err := i.Check(); err != nil {
		return store.SignIn{}, failed(operation, err)
	}
	var made store.SignIn
	err := s.transact(ctx, operation, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, insertSignIn, int64(i.Account), i.Via, i.Browser, s.clock(), i.ExpiresAt)
		made, err = one(rows, err, signInColumns)
		return err
	})
	if err != nil {
		return store.SignIn{}, err
	}
	return made, nil
}

// SignIns implements store.SignIns.
func (s *Store) SignIns(ctx context.Context, account cola.AccountID) ([]store.SignIn, error) {
	var list []store.SignIn
	err := s.read(ctx, "list sign-ins", func() error {
		rows, err := s.general.Query(ctx, selectSignIns, int64(account), s.clock())
		list, err = collect(rows, err, signInColumns)
		return err
	})
	return list, err
}

// EndSignIn implements store.SignIns.
func (s *Store) EndSignIn(ctx context.Context, account cola.AccountID, id int64) error {
	return s.affectOne(ctx, "end sign-in", endSignIn, int64(account), id, s.clock())
}

// EndOtherSignIns implements store.SignIns. The account is held first, as by a settlement, which may note the use of several of them.
func (s *Store) EndOtherSignIns(ctx context.Context, account cola.AccountID, but int64) (int, error) {
	var ended int64
	err := s.transact(ctx, "end other sign-ins", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockAccounts, []int64{int64(account)}); err != nil {
			return err
		}
		now, err := s.instant(ctx, tx)
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, endOtherSignIns, int64(account), but, now)
		ended = done.RowsAffected()
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(ended), nil
}

func (d dumper) signIns() error {
	return d.rows(store.ItemSignIn, `SELECT `+signInNames+` FROM sign_ins ORDER BY id`,
		func(i *store.Item) fields { return signInColumns(&i.SignIn) }, nil)
}

// addSignIn adds a sign-in as it was.
func (f *filler) addSignIn(i *store.SignIn) {
	f.add(f.signIns, i.ID, int64(i.Account), i.Via, i.Browser, i.CreatedAt, encode(&i.LastUsedAt), encode(&i.EndedAt), i.ExpiresAt)
}
