package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// Session writes aren't synced: a page view must wait neither for the disk nor for a standby. A
// machine that fails loses the latest sessions, and their users sign in again. A dropped session
// that comes back this way lets nobody in, because the sign-in that it names has ended durably.

const (
	selectSession = `SELECT data FROM sessions WHERE name = $1 AND expires_at > coalesce($2, clock_timestamp())`
	updateSession = `UPDATE sessions SET data = $2, expires_at = $3 WHERE name = $1`
	upsertSession = `INSERT INTO sessions (name, data, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`
	dropSession    = `DELETE FROM sessions WHERE name = $1 RETURNING expires_at > coalesce($2, clock_timestamp())`
	forgetSessions = `DELETE FROM sessions WHERE name IN (SELECT name FROM sessions
		WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, name string) ([]byte, error) {
	const operation = "read session"
	if store.CheckSessionName(name) != nil {
		return nil, s.db.Failed(operation, store.ErrNotFound)
	}
	return readOne(ctx, s, operation, column[[]byte], selectSession, name, s.clock())
}

// KeepSession implements store.Sessions.
func (s *Store) KeepSession(ctx context.Context, name string, data []byte, until time.Time) error {
	const operation = "keep session"
	if err := store.CheckSessionName(name); err != nil {
		return s.db.Failed(operation, err)
	}
	data = append([]byte{}, data...) // not nil, which would be NULL
	return s.db.TransactUnsynced(ctx, operation, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, updateSession, name, data, until)
		if err != nil || n > 0 {
			return err
		}
		if err := s.forgetSome(ctx, tx, sessionsOver); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, upsertSession, name, data, until)
		return err
	})
}

// DropSession implements store.Sessions.
func (s *Store) DropSession(ctx context.Context, name string) (dropped bool, err error) {
	if store.CheckSessionName(name) != nil {
		return false, nil // no session has such a name
	}
	err = s.db.TransactUnsynced(ctx, "drop session", func(ctx context.Context, tx Tx) error {
		dropped, err = value[bool](ctx, tx, dropSession, name, s.clock())
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return dropped && err == nil, err
}
