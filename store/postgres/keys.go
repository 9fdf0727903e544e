package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectKeys = `SELECT k.id, k.account_id, a.email, k.name, k.prefix, k.last_four,
	k.created_at, k.last_used_at, k.revoked_at, k.expires_at FROM api_keys k JOIN accounts a ON a.id = k.account_id`
	keyByHash = selectKeys + ` WHERE k.hash = $1`
	holdKey   = selectKeys + ` WHERE k.id = $1 AND k.account_id = $2 FOR NO KEY UPDATE OF k`
	insertKey = `INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	countKeys = `SELECT count(*) FROM api_keys WHERE account_id = $1 AND id <> $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`
	endKeyBy  = `UPDATE api_keys SET expires_at = least(expires_at, $2) WHERE id = $1` // of a key without an end NULL counts for nothing
	revokeKey = `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $3, clock_timestamp()) WHERE id = $2 AND $1::bigint IN (0, account_id)`
)

func keyColumns(k *store.Key) fields {
	return fields{&k.ID, &k.AccountID, &k.Email, &k.Name, &k.Prefix, &k.LastFour,
		&k.CreatedAt, &k.LastUsedAt, &k.RevokedAt, &k.ExpiresAt}
}

// CreateKey implements store.Keys. The account is held first, so that its keys are counted by one at a time.
func (s *Store) CreateKey(ctx context.Context, key store.Key, hash store.KeyHash, most int) (store.Key, error) {
	var made store.Key
	err := s.transact(ctx, "create key", func(tx pgx.Tx) error {
		if err := holdAccount(ctx, tx, key.AccountID); err != nil {
			return err
		}
		now, err := s.instant(ctx, tx)
		if err != nil {
			return err
		}
		if err := roomForKey(ctx, tx, key.AccountID, 0, now, most); err != nil {
			return err
		}
		made, err = keepKey(ctx, tx, key, hash, now)
		return err
	})
	if err != nil {
		return store.Key{}, err
	}
	return made, nil
}

// roomForKey fails with a LimitError when an account that is held has as many keys that hold as it may, not counting one of them.
func roomForKey(ctx context.Context, tx pgx.Tx, account cola.AccountID, but int64, now time.Time, most int) error {
	if most == 0 {
		return nil
	}
	var held int
	err := tx.QueryRow(ctx, countKeys, int64(account), but, now).Scan(fields{&held})
	if err == nil && held >= most {
		err = store.LimitError{Limit: most}
	}
	return err
}

// keepKey writes a new key down, and reads it back.
func keepKey(ctx context.Context, tx pgx.Tx, key store.Key, hash store.KeyHash, now time.Time) (store.Key, error) {
	_, err := tx.Exec(ctx, insertKey, int64(key.AccountID), hash[:], key.Name, key.Prefix, key.LastFour, now, encode(&key.ExpiresAt))
	if isDuplicate(err) {
		return store.Key{}, store.ErrExists
	}
	if err != nil {
		return store.Key{}, err
	}
	rows, err := tx.Query(ctx, keyByHash, hash[:])
	return one(rows, err, keyColumns)
}

// ReplaceKey implements store.Keys. The account is held first, as by a creation, and then the key, which is revoked by whoever holds it
// alone.
func (s *Store) ReplaceKey(ctx context.Context, account cola.AccountID, id int64, key store.Key, hash store.KeyHash, until time.Time, most int) (store.Key, error) {
	var made store.Key
	err := s.transact(ctx, "replace key", func(tx pgx.Tx) error {
		if err := holdAccount(ctx, tx, account); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, holdKey, id, int64(account))
		old, err := one(rows, err, keyColumns)
		if err != nil {
			return err
		}
		now, err := s.instant(ctx, tx)
		switch {
		case err != nil:
			return err
		case !old.RevokedAt.IsZero() || !old.ExpiresAt.IsZero() && !old.ExpiresAt.After(now):
			return store.ErrNotActive
		}
		if err := roomForKey(ctx, tx, account, id, now, most); err != nil {
			return err
		}
		if until.Before(now) {
			until = now // ends it as well; the zero time would mean that it never ends
		}
		if _, err := tx.Exec(ctx, endKeyBy, id, until); err != nil {
			return err
		}
		key.AccountID, key.Name = old.AccountID, old.Name
		made, err = keepKey(ctx, tx, key, hash, now)
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
		query, args := ofAccount(selectKeys, `k.account_id`, account)
		rows, err := s.general.Query(ctx, query+` ORDER BY k.id`, args...)
		list, err = collect(rows, err, keyColumns)
		return err
	})
	return list, err
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "revoke key", func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, revokeKey, int64(account), id, s.clock())
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
