package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"github.com/colaregistry/colaregistry/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate creates the database in a file if necessary, upgrades its schema, and returns the
// versions before and after, which are equal if the schema was current. Open does the same.
func Migrate(ctx context.Context, path string, opts Options) (from, to int64, err error) {
	opts = opts.withDefaults()
	opts.NoMigrate = false
	path, err = filepath.Abs(path)
	if err == nil {
		from, to, err = prepare(ctx, path, opts)
	}
	return from, to, failed("migrate database", err)
}

// Versions returns the schema version of the database in a file, or 0 if it has none, and the
// latest version that this program supports. It does not change the database.
func Versions(ctx context.Context, path string) (current, latest int64, err error) {
	const operation = "read schema version"
	if path, err = filepath.Abs(path); err != nil {
		return 0, 0, failed(operation, err)
	}
	db, err := openDB(path, 1, "query_only(1)")
	if err != nil {
		return 0, 0, failed(operation, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := newProvider(db)
	if err != nil {
		return 0, 0, failed(operation, err)
	}
	latest = latestVersion(p)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, latest, nil
	}
	current, err = schemaVersion(ctx, db)
	return current, latest, failed(operation, err)
}

// migrate applies the missing migrations. The caller must hold the records lock.
func migrate(ctx context.Context, db *sql.DB, opts Options) (from, to int64, err error) {
	if from, err = schemaVersion(ctx, db); err != nil {
		return 0, 0, err
	}
	p, err := newProvider(db)
	if err != nil {
		return from, from, err
	}
	to = latestVersion(p)
	switch {
	case from > to:
		return from, from, fmt.Errorf("schema version %d, this program supports versions up to %d: %w",
			from, to, store.ErrNewerSchema)
	case from < to && opts.NoMigrate && from == 0:
		return from, from, fmt.Errorf("database has no schema; migrate it to version %d", to)
	case from < to && opts.NoMigrate:
		return from, from, fmt.Errorf("schema version %d, this program needs %d: %w", from, to, store.ErrOlderSchema)
	}
	// Do this even if the schema is current: a restored backup may have a different journal mode.
	if err := enableWAL(ctx, db); err != nil || from == to {
		return from, from, err
	}
	if _, err := p.Up(ctx); err != nil {
		return from, from, err
	}
	return from, to, nil
}

// enableWAL switches a database to write-ahead logging permanently.
func enableWAL(ctx context.Context, db *sql.DB) error {
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("file system does not support write-ahead logging (journal mode %q); put the database on a local disk", mode)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
}

func latestVersion(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// schemaVersion returns the schema version of a database, or 0 for an empty one.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var migrated bool
	err = db.QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')`).Scan(&migrated)
	if err != nil || !migrated {
		return 0, err
	}
	err = db.QueryRowContext(ctx,
		`SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	return version, err
}
