//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// mustStandby starts a durable primary and its durable standby.
func mustStandby(t *testing.T) (primary, standby *Server) {
	t.Helper()
	primary = mustStart(t, Options{Durable: true, Settings: map[string]string{"max_connections": "310"}})
	// The base backup copies this setting. If it were not cleared, the promoted server would wait
	// for itself.
	mustExecute(t, primary, `ALTER SYSTEM SET synchronous_standby_names = 'standby1'`)
	standby, err := primary.StartStandby(t.Context(), Options{Durable: true})
	mustDo(t, err)
	t.Cleanup(func() {
		if err := standby.Close(); err != nil {
			t.Error(err)
		}
	})
	return primary, standby
}

// TestPromote promotes a synchronous standby after the loss of its primary. Every committed row
// must exist afterward.
func TestPromote(t *testing.T) {
	primary, standby := mustStandby(t)
	if standby.Name() != "standby1" {
		t.Errorf("Name() = %q, want standby1", standby.Name())
	}
	mustDo(t, primary.SetSynchronous(t.Context(), standby.Name()))
	mustExecute(t, primary, `CREATE TABLE kept (); INSERT INTO kept DEFAULT VALUES`)
	requireReadOnly(t, standby)
	mustDo(t, primary.Stop(t.Context(), Kill))
	mustDo(t, standby.Promote(t.Context()))
	// The promoted server has the old primary's settings but does not wait for a standby.
	mustExecute(t, standby, `INSERT INTO kept DEFAULT VALUES`)
	if got := mustText(t, standby.URL("postgres"), `SELECT count(*)::text FROM kept`); got != "2" {
		t.Errorf("after the promotion the table has %s rows, want 2", got)
	}
	if err := standby.Promote(t.Context()); err == nil {
		t.Error("Promote on a primary succeeded")
	}
}

// TestSynchronousCommit stops the standby. A commit must not return until the standby is back,
// and must return at once when no standby is synchronous.
func TestSynchronousCommit(t *testing.T) {
	primary, standby := mustStandby(t)
	mustExecute(t, primary, `CREATE TABLE kept ()`)
	mustDo(t, primary.SetSynchronous(t.Context(), "FIRST 1 ("+standby.Name()+")"))
	mustDo(t, standby.Stop(t.Context(), Immediate))
	committed := insertInBackground(t, primary)
	requireWaiting(t, primary, committed)
	mustDo(t, standby.Restart(t.Context()))
	mustDo(t, <-committed)

	mustDo(t, standby.Stop(t.Context(), Kill))
	committed = insertInBackground(t, primary)
	requireWaiting(t, primary, committed)
	mustDo(t, primary.SetSynchronous(t.Context(), ""))
	mustDo(t, <-committed)
	mustExecute(t, primary, `INSERT INTO kept DEFAULT VALUES`)
}

func TestSetSynchronousErrors(t *testing.T) {
	fast := mustStart(t, Options{})
	if err := fast.SetSynchronous(t.Context(), "any"); err == nil || !strings.Contains(err.Error(), "Durable") {
		t.Errorf("server that is not durable: %v", err)
	}
	s := mustStart(t, Options{Durable: true})
	var pgErr *pgconn.PgError
	if err := s.SetSynchronous(t.Context(), "FIRST of 'all"); !errors.As(err, &pgErr) {
		t.Errorf("SetSynchronous = %v, want a PostgreSQL error", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.SetSynchronous(ctx, "nobody"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("missing standby: %v", err)
	}
}

func TestStandbyStoppedServer(t *testing.T) {
	useTempDir(t)
	s := mustStart(t, Options{})
	mustDo(t, s.Stop(t.Context(), Fast))
	if _, err := s.StartStandby(t.Context(), Options{}); err == nil ||
		!strings.Contains(err.Error(), "pg_basebackup: error") {
		t.Errorf("standby of a stopped server: %v", err)
	}
}

func insertInBackground(t *testing.T, s *Server) <-chan error {
	committed := make(chan error, 1)
	go func() { committed <- s.Execute(t.Context(), "postgres", `INSERT INTO kept DEFAULT VALUES`) }()
	return committed
}

// requireWaiting waits until a commit is waiting for a standby.
func requireWaiting(t *testing.T, s *Server, committed <-chan error) {
	t.Helper()
	err := poll(t.Context(), func() error {
		select {
		case err := <-committed:
			return final{errors.Join(errors.New("the commit did not wait"), err)}
		default:
		}
		return s.with(t.Context(), "postgres", func(conn *pgx.Conn) error {
			var waiting bool
			err := conn.QueryRow(t.Context(),
				`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`).Scan(&waiting)
			if err == nil && !waiting {
				err = errors.New("no commit is waiting yet")
			}
			return err
		})
	})
	mustDo(t, err)
}

func requireReadOnly(t *testing.T, s *Server) {
	t.Helper()
	const readOnly = "25006"
	var pgErr *pgconn.PgError
	err := s.Execute(t.Context(), "postgres", `CREATE TABLE mine ()`)
	if !errors.As(err, &pgErr) || pgErr.Code != readOnly {
		t.Errorf("writing to a standby: %v, want SQLSTATE %s", err, readOnly)
	}
}
