package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectKeys = `SELECT k.id, k.account_id, a.email, k.name, k.prefix, k.last_four,
	k.created_at, k.last_used_at, k.revoked_at, k.expires_at FROM api_keys k JOIN accounts a ON a.id = k.account_id`
	keyByHash = selectKeys + ` WHERE k.hash = $1`
)

func keyColumns(k *store.Key) fields {
	return fields{&k.ID, &k.AccountID, &k.Email, &k.Name, &k.Prefix, &k.LastFour,
		&k.CreatedAt, &k.LastUsedAt, &k.RevokedAt, &k.ExpiresAt}
}

// CreateKey implements store.Keys.
func (s *Store) CreateKey(ctx context.Context, key store.Key, hash store.KeyHash) (store.Key, error) {
	var made store.Key
	err := s.transact(ctx, "create key", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at, expires_at)
			SELECT id, $2, $3, $4, $5, coalesce($6, clock_timestamp()), $7 FROM accounts WHERE id = $1`,
			int64(key.AccountID), hash[:], key.Name, key.Prefix, key.LastFour, s.clock(), encode(&key.ExpiresAt))
		switch {
		case isDuplicate(err):
			return store.ErrExists
		case err != nil:
			return err
		case done.RowsAffected() == 0:
			return store.ErrNotFound
		}
		rows, err := tx.Query(ctx, keyByHash, hash[:])
		made, err = one(rows, err, keyColumns)
		return err
	})
	if err != nil {
		return store.Key{}, err
	}
	return made, nil
}

// KeyByHash implements store.Keys.
func (s *Store) KeyByHash(ctx context.Context, hash store.KeyHash) (store.Key, error) {
	var k store.Key
	err := s.read(ctx, "find key", func() error {
		rows, err := s.general.Query(ctx, keyByHash, hash[:])
		k, err = one(rows, err, keyColumns)
		return err
	})
	return k, err
}

// Keys implements store.Keys.
func (s *Store) Keys(ctx context.Context, account cola.AccountID) ([]store.Key, error) {
	var list []store.Key
	err := s.read(ctx, "list keys", func() error {
		rows, err := s.general.Query(ctx, selectKeys+` WHERE k.account_id = $1 OR $1 = 0 ORDER BY k.id`, int64(account))
		list, err = collect(rows, err, keyColumns)
		return err
	})
	return list, err
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, id int64) error {
	return s.transact(ctx, "revoke key", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $1, clock_timestamp()) WHERE id = $2`, s.clock(), id)
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
