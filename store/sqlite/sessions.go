package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// Sessions go through the connection of the records, whose commits are not synced: a page view is not to wait for the disk, and no
// settlement for a page view. A machine that fails takes the latest of them with it, and somebody signs in again. One that was
// dropped and comes back so lets nobody in: the sign-in that it names was ended by the ledger.

const (
	selectSession = `SELECT data FROM sessions WHERE name = ? AND expires_at > ?`
	updateSession = `UPDATE sessions SET data = ?2, expires_at = ?3 WHERE name = ?1`
	insertSession = `INSERT INTO sessions (name, data, expires_at) VALUES (?, ?, ?)`
	dropSession   = `DELETE FROM sessions WHERE name = ? RETURNING expires_at > ?`
	// forgetSessions looks at the oldest few only: more than one for each new one, so that they do not pile up.
	forgetSessions = `DELETE FROM sessions WHERE name IN (SELECT name FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT 8)`
)

// Session implements store.Sessions.
func (s *Store) Session(ctx context.Context, name string) (data []byte, err error) {
	const operation = "read session"
	if store.CheckSessionName(name) != nil {
		return nil, failed(operation, store.ErrNotFound)
	}
	if err := s.start(); err != nil {
		return nil, failed(operation, err)
	}
	defer s.done()
	err = s.read.row(ctx, selectSession, name, s.instant().UnixMicro()).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return data, failed(operation, err)
}

// KeepSession implements store.Sessions.
func (s *Store) KeepSession(ctx context.Context, name string, data []byte, until time.Time) error {
	const operation = "keep session"
	if err := store.CheckSessionName(name); err != nil {
		return failed(operation, err)
	}
	data = append([]byte{}, data...) // not nil, which would be NULL
	return s.transactUnsynced(ctx, operation, func(ctx context.Context) error {
		n, err := s.records.affect(ctx, updateSession, name, data, until.UnixMicro())
		if err != nil || n > 0 {
			return err
		}
		if err := s.records.exec(ctx, forgetSessions, s.instant().UnixMicro()); err != nil {
			return err
		}
		return s.records.exec(ctx, insertSession, name, data, until.UnixMicro())
	})
}

// DropSession implements store.Sessions.
func (s *Store) DropSession(ctx context.Context, name string) (dropped bool, err error) {
	if store.CheckSessionName(name) != nil {
		return false, nil // nothing is kept under it
	}
	err = s.transactUnsynced(ctx, "drop session", func(ctx context.Context) error {
		err := s.records.row(ctx, dropSession, name, s.instant().UnixMicro()).Scan(&dropped)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return dropped && err == nil, err
}
