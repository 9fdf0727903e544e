package sqlstore

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectKeys = `SELECT k.id, k.account_id, a.email, k.name, k.prefix, k.last_four,
	k.created_at, k.last_used_at, k.revoked_at, k.expires_at, k.scopes, k.networks FROM api_keys k JOIN accounts a ON a.id = k.account_id`
	keyByHash = selectKeys + ` WHERE k.hash = $1`
	lockKey   = selectKeys + ` WHERE k.id = $1 AND k.account_id = $2 FOR NO KEY UPDATE OF k`
	insertKey = `INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at, expires_at, scopes, networks)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	countKeys = `SELECT count(*) FROM api_keys WHERE account_id = $1 AND id <> $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`
	changeKey = `UPDATE api_keys SET name = $2, scopes = $3, networks = $4 WHERE id = $1`
	expireKey = `UPDATE api_keys SET expires_at = least(coalesce(expires_at, $2), $2) WHERE id = $1`
	revokeKey = `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3, clock_timestamp()) WHERE id = $2 AND $1::bigint IN (0, account_id)`
)

func keyColumns(k *store.Key) []any {
	return []any{
		&k.ID, &k.AccountID, &k.Email, &k.Name, &k.Prefix, &k.LastFour,
		&k.CreatedAt, &k.LastUsedAt, &k.RevokedAt, &k.ExpiresAt, &k.Scopes, &k.Networks,
	}
}

// CreateKey implements store.Keys. It locks the account first, so that concurrent calls count its
// keys one after another.
func (s *Store) CreateKey(ctx context.Context, key store.Key, hash store.KeyHash, maxKeys int) (store.Key, error) {
	var created store.Key
	err := s.db.Transact(ctx, "create key", func(ctx context.Context, tx Tx) error {
		if err := lockAccountRow(ctx, tx, key.AccountID); err != nil {
			return err
		}
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkKeyLimit(ctx, tx, key.AccountID, 0, now, maxKeys); err != nil {
			return err
		}
		created, err = s.insertKeyRow(ctx, tx, key, hash, now)
		return err
	})
	if err != nil {
		return store.Key{}, err
	}
	return created, nil
}

// checkKeyLimit fails with a LimitError if a locked account has maxKeys valid keys, not counting
// the key with ID except.
func checkKeyLimit(ctx context.Context, tx Tx, account cola.AccountID, except int64, now time.Time, maxKeys int) error {
	if maxKeys == 0 {
		return nil
	}
	held, err := value[int](ctx, tx, countKeys, int64(account), except, now)
	if err == nil && held >= maxKeys {
		err = store.LimitError{Limit: maxKeys}
	}
	return err
}

// insertKeyRow inserts a key and returns it.
func (s *Store) insertKeyRow(ctx context.Context, tx Tx, key store.Key, hash store.KeyHash,
	now time.Time) (store.Key, error) {
	_, err := tx.Exec(ctx, insertKey, int64(key.AccountID), hash[:],
		key.Name, key.Prefix, key.LastFour, now, &key.ExpiresAt, &key.Scopes, &key.Networks)
	if s.db.IsDuplicate(err) {
		return store.Key{}, store.ErrExists
	}
	if err != nil {
		return store.Key{}, err
	}
	return one(ctx, tx, keyColumns, keyByHash, hash[:])
}

// ReplaceKey implements store.Keys. It locks the account first, as CreateKey does, and then the
// key.
func (s *Store) ReplaceKey(ctx context.Context, account cola.AccountID, id int64, key store.Key, hash store.KeyHash,
	until time.Time, maxKeys int) (store.Key, error) {
	var created store.Key
	err := s.db.Transact(ctx, "replace key", func(ctx context.Context, tx Tx) error {
		if err := lockAccountRow(ctx, tx, account); err != nil {
			return err
		}
		old, now, err := s.lockValidKey(ctx, tx, account, id)
		if err != nil {
			return err
		}
		if err := checkKeyLimit(ctx, tx, account, id, now, maxKeys); err != nil {
			return err
		}
		end := until
		if end.Before(now) {
			end = now // expires now; the zero time would mean never
		}
		if _, err := tx.Exec(ctx, expireKey, id, end); err != nil {
			return err
		}
		key.AccountID, key.Name, key.KeyAccess = old.AccountID, old.Name, old.KeyAccess
		created, err = s.insertKeyRow(ctx, tx, key, hash, now)
		return err
	})
	if err != nil {
		return store.Key{}, err
	}
	return created, nil
}

// lockValidKey locks one of the account's keys, and returns it and the current time. It fails with
// store.ErrNotActive if the key is no longer valid.
func (s *Store) lockValidKey(
	ctx context.Context, tx Tx, account cola.AccountID, id int64,
) (key store.Key, now time.Time, err error) {
	if key, err = one(ctx, tx, keyColumns, lockKey, id, int64(account)); err != nil {
		return key, now, err
	}
	now, err = s.currentTime(ctx, tx)
	if err == nil && (!key.RevokedAt.IsZero() || !key.ExpiresAt.IsZero() && !key.ExpiresAt.After(now)) {
		err = store.ErrNotActive
	}
	return key, now, err
}

// ChangeKey implements store.Keys. It locks only the key, like RevokeKey.
func (s *Store) ChangeKey(
	ctx context.Context, account cola.AccountID, id int64, name string, access store.KeyAccess,
) error {
	return s.db.Transact(ctx, "change key", func(ctx context.Context, tx Tx) error {
		if _, _, err := s.lockValidKey(ctx, tx, account, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, changeKey, id, name, &access.Scopes, &access.Networks)
		return err
	})
}

// KeyByHash implements store.Keys.
func (s *Store) KeyByHash(ctx context.Context, hash store.KeyHash) (store.Key, error) {
	return readOne(ctx, s, "find key", keyColumns, keyByHash, hash[:])
}

// Keys implements store.Keys.
func (s *Store) Keys(ctx context.Context, account cola.AccountID) ([]store.Key, error) {
	query, args := ofAccount(selectKeys, `k.account_id`, account)
	return readList(ctx, s, "list keys", keyColumns, query+` ORDER BY k.id`, args...)
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, account cola.AccountID, id int64) error {
	return s.affectOne(ctx, "revoke key", revokeKey, int64(account), id, s.clock)
}
