package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const selectKeys = `SELECT k.id, k.account_id, a.email, k.name, k.prefix, k.last_four,
	k.created_at, k.last_used_at, k.revoked_at, k.expires_at FROM api_keys k JOIN accounts a ON a.id = k.account_id`

func scanKey(row scanner) (k store.Key, err error) {
	err = row.Scan(&k.ID, &k.AccountID, &k.Email, &k.Name, &k.Prefix, &k.LastFour,
		target{&k.CreatedAt}, target{&k.LastUsedAt}, target{&k.RevokedAt}, target{&k.ExpiresAt})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return k, err
}

// CreateKey implements store.Keys.
func (s *Store) CreateKey(ctx context.Context, key store.Key, hash store.KeyHash) (store.Key, error) {
	var made store.Key
	err := s.transact(ctx, "create key", func(ctx context.Context) error {
		var exists bool
		err := s.ledger.row(ctx, `SELECT EXISTS (SELECT 1 FROM accounts WHERE id = ?)`, int64(key.AccountID)).Scan(&exists)
		if err != nil {
			return err
		}
		if !exists {
			return store.ErrNotFound
		}
		now := s.instant()
		err = s.ledger.exec(ctx, `INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, int64(key.AccountID), hash[:], key.Name, key.Prefix, key.LastFour,
			encode(&now), encode(&key.ExpiresAt))
		if isDuplicate(err) {
			return store.ErrExists
		}
		if err != nil {
			return err
		}
		made, err = scanKey(s.ledger.row(ctx, selectKeys+` WHERE k.hash = ?`, hash[:]))
		return err
	})
	if err != nil {
		return store.Key{}, err
	}
	return made, nil
}

// KeyByHash implements store.Keys.
func (s *Store) KeyByHash(ctx context.Context, hash store.KeyHash) (store.Key, error) {
	const operation = "find key"
	if err := s.start(); err != nil {
		return store.Key{}, failed(operation, err)
	}
	defer s.done()
	k, err := scanKey(s.read.row(ctx, selectKeys+` WHERE k.hash = ?`, hash[:]))
	return k, failed(operation, err)
}

// Keys implements store.Keys.
func (s *Store) Keys(ctx context.Context, account cola.AccountID) ([]store.Key, error) {
	const operation = "list keys"
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	rows, err := s.read.query(ctx, selectKeys+` WHERE ?1 IN (0, k.account_id) ORDER BY k.id`, int64(account))
	list, err := collect(rows, err, scanKey)
	return list, failed(operation, err)
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, id int64) error {
	return s.transact(ctx, "revoke key", func(ctx context.Context) error {
		now := s.instant()
		n, err := s.ledger.affect(ctx, `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?`, encode(&now), id)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
