package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/store"
)

// A page view is not to wait for the disk, and less for a standby. A server that fails takes the latest sessions with it, and somebody
// signs in again. One that was dropped and comes back so lets nobody in: the sign-in that it names was ended for good.

// forgottenSome is how many sessions or links one statement forgets.
const forgottenSome = 1_000

const (
	selectSession = `SELECT data FROM sessions WHERE name = $1 AND expires_at > coalesce($2, clock_timestamp())`
	upsertSession = `INSERT INTO sessions (name, data, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`
	dropSession    = `DELETE FROM sessions WHERE name = $1 RETURNING expires_at > coalesce($2, clock_timestamp())`
	forgetSessions = `DELETE FROM sessions WHERE name IN (SELECT name FROM sessions
		WHERE expires_at <= coalesce($1, clock_timestamp()) ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, name string) (data []byte, err error) {
	const operation = "read session"
	if store.CheckSessionName(name) != nil {
		return nil, failed(operation, store.ErrNotFound)
	}
	err = s.read(ctx, operation, func() error {
		rows, err := s.general.Query(ctx, selectSession, name, s.clock())
		data, err = one(rows, err, func(data *[]byte) fields { return fields{data} })
		return err
	})
	return data, err
}

// KeepSession implements store.Sessions.
func (s *Store) KeepSession(ctx context.Context, name string, data []byte, until time.Time) error {
	const operation = "keep session"
	if err := store.CheckSessionName(name); err != nil {
		return failed(operation, err)
	}
	data = append([]byte{}, data...) // not nil, which would be NULL
	return s.transactUnsynced(ctx, operation, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, upsertSession, name, data, until)
		return err
	})
}

// DropSession implements store.Sessions.
func (s *Store) DropSession(ctx context.Context, name string) (dropped bool, err error) {
	if store.CheckSessionName(name) != nil {
		return false, nil // nothing is kept under it
	}
	err = s.transactUnsynced(ctx, "drop session", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, dropSession, name, s.clock())
		dropped, err = one(rows, err, func(dropped *bool) fields { return fields{dropped} })
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return dropped && err == nil, err
}

// forgetSessions forgets sessions that are over, some at a time.
func (s *Store) forgetSessions(ctx context.Context) error { return s.forgetSome(ctx, forgetSessions) }

// forgetSome runs a statement that forgets what is over, until there is no more of it.
func (s *Store) forgetSome(ctx context.Context, query string) error {
	for {
		done, err := s.general.Exec(ctx, query, s.clock(), forgottenSome)
		if err != nil || done.RowsAffected() < forgottenSome {
			return err
		}
	}
}
