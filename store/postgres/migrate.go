package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/colaregistry/colaregistry/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// lockAttempts is the number of attempts, one per second, to lock the schema while another process
// migrates.
const lockAttempts = 600

// Migrate upgrades the schema of an existing database and returns the versions before and after,
// which are equal if the schema was current. Open does the same.
func Migrate(ctx context.Context, url string, opts Options) (from, to int64, err error) {
	const operation = "migrate database"
	opts = opts.withDefaults()
	opts.NoMigrate = false
	config, err := parse(url)
	if err != nil {
		return 0, 0, failed(operation, err)
	}
	from, to, err = prepare(ctx, config.ConnConfig, opts)
	return from, to, failedToOpen(ctx, operation, err)
}

// Versions returns the schema version of a database, or 0 if it has none, and the latest version
// that this program supports. It does not change the database.
func Versions(ctx context.Context, url string) (current, latest int64, err error) {
	const operation = "read schema version"
	config, err := parse(url)
	if err != nil {
		return 0, 0, failed(operation, err)
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := newProvider(db)
	if err != nil {
		return 0, 0, failed(operation, err)
	}
	current, err = schemaVersion(ctx, db)
	return current, latestVersion(p), failedToOpen(ctx, operation, err)
}

// prepare ensures that the database has the program's schema, and returns the versions before and
// after.
func prepare(ctx context.Context, config *pgx.ConnConfig, opts Options) (from, to int64, err error) {
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := checkServer(ctx, db); err != nil {
		return 0, 0, err
	}
	return migrate(ctx, db, opts)
}

// migrate applies the missing migrations. If several processes call it, one migrates and the others
// wait.
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
	case from == to:
		return from, to, nil
	case opts.NoMigrate && from == 0:
		return from, from, fmt.Errorf("database has no schema; migrate it to version %d", to)
	case opts.NoMigrate:
		return from, from, fmt.Errorf("schema version %d, this program needs %d: %w", from, to, store.ErrOlderSchema)
	}
	if err := checkPrivilege(ctx, db); err != nil {
		return from, from, err
	}
	applied, err := p.Up(ctx)
	if err != nil {
		return from, from, err
	}
	if len(applied) == 0 { // another process has migrated, perhaps to an even newer version
		return migrate(ctx, db, Options{Logger: opts.Logger, NoMigrate: true})
	}
	return applied[0].Source.Version - 1, to, nil
}

// checkPrivilege reports missing privileges immediately. The migration would fail only after
// several attempts.
func checkPrivilege(ctx context.Context, db *sql.DB) error {
	var user, schema sql.NullString
	var allowed sql.NullBool
	err := db.QueryRowContext(ctx, `SELECT current_user, current_schema(), has_schema_privilege(current_schema(), 'CREATE')`).Scan(&user, &schema, &allowed)
	switch {
	case err != nil:
		return err
	case !schema.Valid:
		return errors.New("no schema to create tables in; check search_path")
	case !allowed.Bool:
		return fmt.Errorf("user %s may not create tables; make it the owner of the database, or run GRANT CREATE ON SCHEMA %s", user.String, schema.String)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, lockAttempts))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
}

func latestVersion(p *goose.Provider) int64 {
	sources := p.ListSources()
	return sources[len(sources)-1].Version
}

// schemaVersion returns the schema version of a database, or 0 for an empty one.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var migrated bool
	err = db.QueryRowContext(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL`).Scan(&migrated)
	if err != nil || !migrated {
		return 0, err
	}
	err = db.QueryRowContext(ctx,
		`SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	return version, err
}
