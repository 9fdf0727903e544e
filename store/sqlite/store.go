// Package sqlite stores the registry in one SQLite file. It is the default backend.
//
// Any number of processes may open the file. All writers in all processes queue on one fair lock
// (package filelock). Readers never wait. In each process, two connections write:
//
//   - One writes data that must be exact and durable: accounts, credentials and the ledger. It
//     syncs every commit to disk.
//   - The other writes data that can be lost, such as sessions, and records, which can be imported
//     again. It commits without a sync. Records are synced later, outside the fair lock: at the end
//     of a call, before a follower sees a revision, and after each transaction of an import while
//     other writers are busy.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/internal/filelock"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// control is the control plane. Embedding it under an unexported name keeps callers from bypassing
// methods that Store overrides.
type control = sqlstore.Store

// Store implements store.Store over one SQLite file. Create it with Open.
type Store struct {
	*control

	id      string
	created bool
	now     func() time.Time
	logger  *slog.Logger

	read        *readers
	ledger      *writer        // writes accounts, credentials and the ledger
	records     *writer        // writes records, under recordsLock, and data that need not be durable
	recordsLock *filelock.Lock // held while changing records or the schema
	lastWaiter  time.Time      // when another writer last waited for a split write; guarded by recordsLock
	journal     *journal
	upkeep      *upkeep

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // active method calls
}

var _ store.Store = (*Store)(nil)

// ID implements store.Store.
func (s *Store) ID() string { return s.id }

// Created reports whether opening the store created the database.
func (s *Store) Created() bool { return s.created }

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	const operation = "ping database"
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	var id string
	err := s.read.row(ctx, `SELECT store_id FROM meta`).Scan(&id)
	if err == nil && id != s.id {
		err = fmt.Errorf("the file now contains database %s, not %s, which this process opened: %w", id, s.id, store.ErrUnavailable)
	}
	return failed(operation, err)
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
	return failed("close database", s.release())
}

// release closes everything that is open.
func (s *Store) release() error {
	var errs []error
	if s.upkeep != nil {
		errs = append(errs, s.upkeep.close())
	}
	if s.journal != nil {
		errs = append(errs, s.journal.close())
	}
	if s.read != nil {
		errs = append(errs, s.read.close())
	}
	for _, w := range []*writer{s.records, s.ledger} {
		if w != nil {
			errs = append(errs, w.close())
		}
	}
	if s.recordsLock != nil {
		errs = append(errs, s.recordsLock.Close())
	}
	return errors.Join(errs...)
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

// transact implements a Store method that runs in one durable transaction: it wraps any error with
// the operation.
func (s *Store) transact(ctx context.Context, operation string, work func(ctx context.Context) error) error {
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	err := s.ledger.transact(ctx, work)
	s.upkeep.markWritten()
	return failed(operation, err)
}

// transactUnsynced is like transact, but for data that may be lost if the machine fails: it does
// not wait for the disk. The next durable transaction also syncs this data.
func (s *Store) transactUnsynced(ctx context.Context, operation string, work func(ctx context.Context) error) error {
	if err := s.start(); err != nil {
		return failed(operation, err)
	}
	defer s.done()
	err := s.records.transact(ctx, work)
	s.upkeep.markWritten()
	return failed(operation, err)
}

// transactErasing is like transact, but for changes after which no copy of the old data may remain
// in the file, such as replacing plaintext secrets or erasing an address: SQLite overwrites the
// freed space.
func (s *Store) transactErasing(ctx context.Context, operation string, work func(ctx context.Context) error) error {
	return s.transact(ctx, operation, func(ctx context.Context) error {
		if err := s.ledger.setPragma(ctx, "secure_delete = ON"); err != nil {
			return err
		}
		defer func() { _ = s.ledger.setPragma(ctx, "secure_delete = OFF") }() // on failure, writes are only slower
		return work(ctx)
	})
}

// currentTime returns the time as it is stored: UTC, in whole microseconds.
func (s *Store) currentTime() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// checkpointIfDue keeps the journal short after records are written. A failure does not fail the
// write.
func (s *Store) checkpointIfDue(ctx context.Context) {
	if err := s.upkeep.checkpointIfDue(ctx, s.upkeep.importBacklog); err != nil && ctx.Err() == nil {
		s.logger.Warn("checkpoint failed", "error", err)
	}
}
