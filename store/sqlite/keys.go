package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	selectKeys = `SELECT k.id, k.account_id, a.email, k.name, k.prefix, k.last_four,
	k.created_at, k.last_used_at, k.revoked_at, k.expires_at FROM api_keys k JOIN accounts a ON a.id = k.account_id`
	keyOfAccount = selectKeys + ` WHERE k.id = ? AND k.account_id = ?`
	countKeys    = `SELECT count(*) FROM api_keys WHERE account_id = ?1 AND id <> ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)`
	endKeyBy     = `UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE id = ?2`
	revokeKey    = `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?1) WHERE id = ?2 AND ?3 IN (0, account_id)`
)

func scanKey(row scanner) (k store.Key, err error) {
	err = row.Scan(&k.ID, &k.AccountID, &k.Email, &k.Name, &k.Prefix, &k.LastFour,
		target{&k.CreatedAt}, target{&k.LastUsedAt}, target{&k.RevokedAt}, target{&k.ExpiresAt})
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return k, err
}

// CreateKey implements store.Keys.
func (s *Store) CreateKey(ctx context.Context, key store.Key, hash store.KeyHash, most int) (store.Key, error) {
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
		if err := s.roomForKey(ctx, key.AccountID, 0, now, most); err != nil {
			return err
		}
		made, err = s.keepKey(ctx, key, hash, now)
		return err
	})
	if err != nil {
		return store.Key{}, err
	}
	return made, nil
}

// roomForKey fails with a LimitError when an account has as many keys that hold as it may, not counting one of them; only within a
// transaction that writes.
func (s *Store) roomForKey(ctx context.Context, account cola.AccountID, but int64, now time.Time, most int) error {
	if most == 0 {
		return nil
	}
	var held int
	err := s.ledger.row(ctx, countKeys, int64(account), but, now.UnixMicro()).Scan(&held)
	if err == nil && held >= most {
		err = store.LimitError{Limit: most}
	}
	return err
}

// keepKey writes a new key down, and reads it back.
func (s *Store) keepKey(ctx context.Context, key store.Key, hash store.KeyHash, now time.Time) (store.Key, error) {
	err := s.ledger.exec(ctx, `INSERT INTO api_keys (account_id, hash, name, prefix, last_four, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, int64(key.AccountID), hash[:], key.Name, key.Prefix, key.LastFour,
		encode(&now), encode(&key.ExpiresAt))
	if isDuplicate(err) {
		return store.Key{}, store.ErrExists
	}
	if err != nil {
		return store.Key{}, err
	}
	return scanKey(s.ledger.row(ctx, selectKeys+` WHERE k.hash = ?`, hash[:]))
}

// ReplaceKey implements store.Keys.
func (s *Store) ReplaceKey(ctx context.Context, account cola.AccountID, id int64, key store.Key, hash store.KeyHash, until time.Time, most int) (store.Key, error) {
	var made store.Key
	err := s.transact(ctx, "replace key", func(ctx context.Context) error {
		now := s.instant()
		old, err := scanKey(s.ledger.row(ctx, keyOfAccount, id, int64(account)))
		switch {
		case err != nil:
			return err
		case !old.RevokedAt.IsZero() || !old.ExpiresAt.IsZero() && !old.ExpiresAt.After(now):
			return store.ErrNotActive
		}
		if err := s.roomForKey(ctx, account, id, now, most); err != nil {
			return err
		}
		if until.Before(now) {
			until = now // ends it as well; the zero time would mean that it never ends
		}
		if err := s.ledger.exec(ctx, endKeyBy, until.UnixMicro(), id); err != nil {
			return err
		}
		key.AccountID, key.Name = old.AccountID, old.Name
		made, err = s.keepKey(ctx, key, hash, now)
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
	query, args := ofAccount(selectKeys, `k.account_id`, account)
	rows, err := s.read.query(ctx, query+` ORDER BY k.id`, args...)
	list, err := collect(rows, err, scanKey)
	return list, failed(operation, err)
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, account cola.AccountID, id int64) error {
	return s.transact(ctx, "revoke key", func(ctx context.Context) error {
		now := s.instant()
		n, err := s.ledger.affect(ctx, revokeKey, encode(&now), id, int64(account))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return err
	})
}
