package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/internal/filelock"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

const (
	readConnections = 8
	// busyMilliseconds is the time limit for polling for SQLite's own lock, which is normally free
	// for the holder of the fair lock. Polling matters only where files cannot be locked, or while
	// another program, such as a backup, uses the file.
	busyMilliseconds = 5000
	// maxJournalSize is the size in bytes to which SQLite truncates the journal when it starts over.
	maxJournalSize = 64 << 20
)

// Options configures Open and Migrate. The zero value is suitable for production.
type Options struct {
	Now       func() time.Time // the database's clock; default: time.Now
	Logger    *slog.Logger     // default: slog.Default()
	NoMigrate bool             // fail if the schema is missing or older than the program

	deleteInterval time.Duration // time between deletions of expired rows; default: an hour
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.deleteInterval == 0 {
		o.deleteInterval = time.Hour
	}
	return o
}

// Open opens the database in a file, creates it if necessary, and upgrades its schema. If several
// processes open it concurrently, one migrates and the others wait. Open fails with
// store.ErrNewerSchema if a newer version of the program has migrated the database. A new folder
// has mode 0700, a new file 0600. All files whose names start with the name of the database file
// belong to the database.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	const operation = "open database"
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(operation, err)
	}
	from, to, err := prepare(ctx, path, opts)
	if err != nil {
		return nil, failed(operation, err)
	}
	if from != to {
		opts.Logger.Info("database schema migrated", "from", from, "to", to)
	}
	s := &Store{created: from == 0, now: opts.Now, logger: opts.Logger, journal: &journal{path: path + walFile}}
	s.control = sqlstore.New(database{s},
		sqlstore.Options{Now: opts.Now, DeleteWithWrites: deletedWithWrites, Grants: grants, MaxRows: maxRows})
	if err := s.connect(ctx, path, opts.deleteInterval); err != nil {
		return nil, failed(operation, errors.Join(err, s.release()))
	}
	return s, nil
}

// connect opens the connections and locks, and starts upkeep.
func (s *Store) connect(ctx context.Context, path string, deleteInterval time.Duration) (err error) {
	if s.recordsLock, err = openRecordsLock(path); err != nil {
		return err
	}
	if s.ledger, err = openWriter(ctx, s.logger, path, "synchronous(FULL)", "cache_size(-8192)"); err != nil {
		return err
	}
	if s.records, err = openWriter(ctx, s.logger, path, "synchronous(NORMAL)", "cache_size(-65536)"); err != nil {
		return err
	}
	if !s.ledger.gate.Shared() {
		s.logger.Warn("file locking is unavailable; concurrent writers may wait longer")
	}
	db, err := openDB(path, readConnections, "query_only(1)", "cache_size(-4096)")
	if err != nil {
		return err
	}
	s.read = &readers{db: db}
	if db, err = openDB(path, 1, "synchronous(NORMAL)"); err != nil {
		return err
	}
	gate, err := openGate(path)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.upkeep = newUpkeep(db, gate, s.logger)
	s.upkeep.start(deleteInterval, func(ctx context.Context) error { return sqlstore.DeleteExpired(ctx, s.control) })
	return s.read.row(ctx, `SELECT store_id FROM meta`).Scan(&s.id)
}

func openWriter(ctx context.Context, log *slog.Logger, path string, pragmas ...string) (*writer, error) {
	gate, err := openGate(path)
	if err != nil {
		return nil, err
	}
	// A checkpoint within a commit would delay the ledger; see upkeep.
	pragmas = append(pragmas, "wal_autocheckpoint(0)", fmt.Sprintf("journal_size_limit(%d)", maxJournalSize))
	db, err := openDB(path, 1, pragmas...)
	if err != nil {
		return nil, errors.Join(err, gate.Close())
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close(), gate.Close())
	}
	w := &writer{log: log, gate: gate, db: db, conn: conn, stmts: map[string]*sql.Stmt{}}
	// After its first read, a connection keeps the journal open, so that no other connection
	// removes it when closing.
	var rev int64
	if err := w.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// openDB opens a pool of connections that stay open.
func openDB(path string, connections int, pragmas ...string) (*sql.DB, error) {
	pragmas = append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyMilliseconds), "foreign_keys(1)")
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // path with a drive letter
	}
	u := url.URL{
		Scheme:   "file",
		Path:     slashed,
		RawQuery: url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}.Encode(),
	}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Suffixes of the files next to the database.
const (
	walFile          = "-wal"
	sharedMemoryFile = "-shm"
	turnLockFile     = "-turn.lock"
	writerLockFile   = "-writer.lock"
	recordsLockFile  = "-records.lock"
)

func openGate(path string) (*filelock.FairLock, error) {
	return filelock.OpenFair(path+turnLockFile, path+writerLockFile)
}

func openRecordsLock(path string) (*filelock.Lock, error) {
	return filelock.OpenLock(path + recordsLockFile)
}

// Remove deletes a database and all its files. No process may have it open.
func Remove(path string) error {
	var errs []error
	for _, end := range []string{"", walFile, sharedMemoryFile, turnLockFile, writerLockFile, recordsLockFile} {
		if err := os.Remove(path + end); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return failed("remove database", errors.Join(errs...))
}

// prepare ensures that there is a database with the program's schema, and returns the versions
// before and after.
func prepare(ctx context.Context, path string, opts Options) (from, to int64, err error) {
	if !opts.NoMigrate {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return 0, 0, err
		}
	} else if _, err := os.Stat(path); err != nil {
		return 0, 0, err
	}
	lock, err := openRecordsLock(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := lock.Lock(ctx); err != nil {
		return 0, 0, err
	}
	defer lock.Unlock()
	if err := createFile(path); err != nil {
		return 0, 0, err
	}
	db, err := openDB(path, 1)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return migrate(ctx, db, opts)
}

// createFile creates the empty database file, readable only by its owner; SQLite gives its other
// files the same mode. It does not open an existing file, because closing it would release this
// process's locks on it.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
