// Package postgres stores the registry in PostgreSQL, for any number of processes on any number of
// machines.
//
// A process uses two connection pools. One settles and voids the ledger's batches, so a charge
// never waits for a connection because of a long read or an import. The other serves all other
// reads and writes. One more connection listens for changes by other processes. All coordination
// uses rows and locks in the database.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// control is the control plane. Embedding it under an unexported name keeps callers from bypassing
// methods that Store overrides.
type control = sqlstore.Store

// Store implements store.Store over a PostgreSQL database. Create it with Open.
type Store struct {
	*control

	id      string
	created bool
	now     func() time.Time // nil for the database's clock
	logger  *slog.Logger

	general *pgxpool.Pool
	ledger  *pgxpool.Pool // settles and voids batches
	upkeep  *upkeep
	metrics *poolCollector // nil without metrics

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // active method calls
}

var _ store.Store = (*Store)(nil)

// ID implements store.Store.
func (s *Store) ID() string { return s.id }

// Created reports whether opening the database created its schema.
func (s *Store) Created() bool { return s.created }

// Ping implements store.Store. It fails on a standby, which cannot serve metered requests.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping database", func() error { return s.ping(ctx) })
}

func (s *Store) ping(ctx context.Context) error {
	var id string
	var standby bool
	err := s.general.QueryRow(ctx, `SELECT store_id, pg_is_in_recovery() FROM meta`).Scan(fields{&id, &standby})
	switch {
	case err != nil:
		return err
	case id != s.id:
		return fmt.Errorf("the server now has database %s, not %s, which this process opened: %w", id, s.id, store.ErrUnavailable)
	case standby:
		s.reconnect()
		return fmt.Errorf("server is a standby: %w", store.ErrUnavailable)
	}
	return nil
}

// Close implements store.Store. Closing twice is not an error.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.running.Wait()
	s.release()
	return nil
}

// release closes everything that is open.
func (s *Store) release() {
	if s.upkeep != nil {
		s.upkeep.close()
	}
	if s.metrics != nil {
		s.metrics.close()
	}
	for _, pool := range []*pgxpool.Pool{s.ledger, s.general} {
		if pool != nil {
			pool.Close()
		}
	}
}

// start begins a method. If it succeeds, the caller must call done.
func (s *Store) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.running.Add(1)
	return nil
}

func (s *Store) done() { s.running.Done() }

// reconnect closes all connections as they become idle, so that new ones find the writable server.
func (s *Store) reconnect() {
	s.general.Reset()
	s.ledger.Reset()
}

// failed wraps a method's error. It reconnects after a lost connection and reports the end of ctx.
func (s *Store) failed(ctx context.Context, operation string, err error) error {
	if err != nil && ctx.Err() == nil && isConnectionLost(err) {
		s.reconnect()
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("%s: %w", operation, wrapContextError(ctx, err))
	}
	return failed(operation, err)
}

// clock returns the time argument of statements, which use the database's clock if it is NULL.
func (s *Store) clock() *time.Time {
	if s.now == nil {
		return nil
	}
	now := s.now().UTC().Truncate(time.Microsecond)
	return &now
}

// today returns the current date in UTC.
func (s *Store) today() cola.Date {
	if now := s.clock(); now != nil {
		return cola.DateOf(*now)
	}
	return cola.DateOf(time.Now())
}
