package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/filelock"
	"github.com/colaregistry/colaregistry/store"
)

// Committed pages stay in the journal (SQLite's write-ahead log) until a checkpoint moves them into
// the database file. By default, SQLite runs the checkpoint within the commit that reaches 1,000
// pages, which delays that commit. Here, a background task, or an import between its transactions,
// runs checkpoints while other writers continue. Writers wait only for the last few pages; without
// that wait, the journal would keep growing instead of starting over.
const (
	pageSize           = 4096                // SQLite's default
	importBacklog      = 16 << 20 / pageSize // number of journal pages at which an import runs a checkpoint
	idleBacklog        = 4 << 20 / pageSize  // the same for the background task
	maxBlockingBacklog = 1 << 20 / pageSize  // maximum number of pages moved while writers wait
	checkpointAttempts = 3                   // attempts to reach maxBlockingBacklog while writers continue
	upkeepInterval     = time.Second
)

// upkeep runs checkpoints and deletes expired rows. Writes also delete some, but there may be no
// writes for a long time.
type upkeep struct {
	db    *sql.DB
	gate  *filelock.FairLock
	log   *slog.Logger
	wrote atomic.Bool // whether there have been commits since the background task last checked

	mu    sync.Mutex // serializes checkpoints
	stuck int        // pages that a long read kept in the journal

	importBacklog int // importBacklog, except in tests

	stop    context.CancelFunc
	running sync.WaitGroup
}

func newUpkeep(db *sql.DB, gate *filelock.FairLock, log *slog.Logger) *upkeep {
	return &upkeep{db: db, gate: gate, log: log, importBacklog: importBacklog}
}

// start starts the background tasks.
func (u *upkeep) start(deleteInterval time.Duration, deleteExpired func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	u.stop = stop
	u.running.Go(func() { u.runCheckpoints(ctx) })
	u.running.Go(func() {
		tick := time.NewTicker(deleteInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := deleteExpired(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errClosed) {
				u.log.Warn("deleting expired rows failed", "error", err)
			}
		}
	})
}

// runCheckpoints is the background task for checkpoints.
func (u *upkeep) runCheckpoints(ctx context.Context) {
	tick := time.NewTicker(upkeepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !u.wrote.Swap(false) {
			continue
		}
		if err := u.checkpointIfDue(ctx, idleBacklog); err != nil && ctx.Err() == nil {
			u.log.Warn("checkpoint failed", "error", err)
		}
	}
}

func (u *upkeep) markWritten() { u.wrote.Store(true) }

func (u *upkeep) close() error {
	u.stop()
	u.running.Wait()
	return errors.Join(u.db.Close(), u.gate.Close())
}

// checkpointIfDue runs a checkpoint if the journal has at least the given number of pages. It does
// nothing while another goroutine or process runs one.
func (u *upkeep) checkpointIfDue(ctx context.Context, atLeast int) error {
	if !u.mu.TryLock() {
		return nil
	}
	defer u.mu.Unlock()
	backlog, err := u.checkpoint(ctx, "NOOP")
	if err != nil || backlog < u.stuck+atLeast {
		return err
	}
	u.stuck = 0
	start, pages, waited := time.Now(), backlog, time.Duration(0)
	defer func() {
		u.log.Debug("checkpoint", "pages", pages, "left", backlog, "took", time.Since(start), "waited", waited)
	}()
	for range checkpointAttempts {
		if backlog, err = u.checkpoint(ctx, "PASSIVE"); err != nil || backlog <= maxBlockingBacklog {
			break
		}
	}
	switch {
	case err != nil || backlog == 0:
		return err
	case backlog > maxBlockingBacklog:
		u.stuck = backlog // a long read blocks the checkpoint: retry once there is much more to move
		return nil
	}
	if err := u.gate.Lock(ctx); err != nil {
		return err
	}
	defer u.gate.Unlock()
	blocking := time.Now()
	backlog, err = u.checkpoint(ctx, "PASSIVE")
	waited = time.Since(blocking)
	return err
}

// vacuum rewrites the whole file and empties the journal, while writers wait.
func (u *upkeep) vacuum(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.gate.Lock(ctx); err != nil {
		return err
	}
	defer u.gate.Unlock()
	if _, err := u.db.ExecContext(ctx, `VACUUM`); err != nil {
		return err
	}
	var busy bool
	var pages, moved int
	err := u.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	if err == nil && busy {
		err = errors.New("journal in use by a reader")
	}
	return err
}

const (
	selectToVacuum = `SELECT to_vacuum FROM meta`
	clearVacuum    = `UPDATE meta SET to_vacuum = 0`
)

// HashLinks implements store.SealedSecrets.
func (s *Store) HashLinks(ctx context.Context) (hashed int, err error) {
	if hashed, err = s.control.HashLinks(ctx); err == nil {
		err = s.eraseFreePages(ctx)
	}
	return hashed, err
}

// eraseFreePages rewrites the file once after an upgrade from a version that stored secrets in
// plaintext, since free pages of the file may contain copies. A failure, such as a full disk, is
// logged; the next start tries again.
func (s *Store) eraseFreePages(ctx context.Context) error {
	var due bool
	if err := s.start(); err != nil {
		return failed("erase free pages", err)
	}
	defer s.done()
	if err := s.read.row(ctx, selectToVacuum).Scan(&due); err != nil || !due {
		return failed("erase free pages", err)
	}
	start := time.Now()
	s.logger.Info("rewriting database file to erase plaintext secrets from free pages")
	if err := s.upkeep.vacuum(ctx); err != nil {
		s.logger.Warn("rewriting the database file failed; retrying on the next start", "error", err)
		return ctx.Err()
	}
	s.logger.Info("database file rewritten", "took", time.Since(start).Round(time.Millisecond))
	return s.transact(ctx, "record rewrite", func(ctx context.Context) error { return s.ledger.exec(ctx, clearVacuum) })
}

// checkpoint runs a checkpoint in one of SQLite's modes and returns the number of pages left in the
// journal.
func (u *upkeep) checkpoint(ctx context.Context, mode string) (backlog int, err error) {
	var busy, pages, moved int
	err = u.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+mode+`)`).Scan(&busy, &pages, &moved)
	return max(0, pages-moved), err
}

// journal syncs commits that were made without a sync. Its file is the database's write-ahead log,
// which exists while any connection is open.
type journal struct {
	path   string
	mu     sync.Mutex
	file   *os.File
	synced atomic.Int64 // highest revision known to be on disk
}

// syncTo ensures that everything up to a revision is on disk.
func (j *journal) syncTo(rev cola.Revision) error {
	if int64(rev) <= j.synced.Load() {
		return nil
	}
	if err := j.sync(); err != nil {
		return err
	}
	for {
		known := j.synced.Load()
		if known >= int64(rev) || j.synced.CompareAndSwap(known, int64(rev)) {
			return nil
		}
	}
}

// sync makes everything committed so far durable.
func (j *journal) sync() error {
	f, err := j.open()
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%w: sync journal: %w", store.ErrUnavailable, err)
	}
	return nil
}

// open opens the journal once. Unlike the journal, the database file must never be opened and
// closed outside SQLite: that would release SQLite's locks.
func (j *journal) open() (*os.File, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		return j.file, nil
	}
	f, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: open journal: %w", store.ErrUnavailable, err)
	}
	j.file = f
	return f, nil
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
