package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// storeFlags select the database.
type storeFlags struct {
	DataDir     string `group:"Database flags:" default:"./data" placeholder:"DIR" help:"Directory for the SQLite database and the index snapshot (default: ${default})."`
	DatabaseURL string `group:"Database flags:" name:"database-url" placeholder:"URL" help:"Database URL: postgres://… (defaults from PGHOST etc.) or sqlite:PATH (default: SQLite in the data directory)."`

	DatabaseURLFile secretFile `group:"Database flags:" name:"database-url-file" placeholder:"PATH" help:"File with the database URL, to keep its password off the command line."`
}

// database is an open registry.
type database interface {
	store.Store
	// Created reports whether opening created the database.
	Created() bool
}

// open opens the database. It creates the database or migrates its schema if necessary. If metrics
// is not nil, open registers connection metrics.
func (f storeFlags) open(env *environment, metrics prometheus.Registerer) (database, error) {
	p, err := f.place()
	if err != nil {
		return nil, err
	}
	return p.open(env, metrics)
}

// openExisting opens an existing database without changing its schema. Most commands must not
// create a database, which would prevent the first-start setup, or migrate one that an older server
// is using.
func (f storeFlags) openExisting(env *environment) (database, error) {
	p, err := f.place()
	if err != nil {
		return nil, err
	}
	exists, err := p.exists(env)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, fmt.Errorf("%s: no registry yet; create one with serve, import or account create", p)
	}
	return p.openCurrent(env, nil)
}

// place returns the database that the flags select.
func (f storeFlags) place() (place, error) {
	if f.DatabaseURL == "" {
		return place{path: filepath.Join(f.DataDir, "registry.db")}, nil
	}
	p, err := parsePlace(f.DatabaseURL)
	if err != nil {
		return p, flagError("--database-url", err)
	}
	return p, nil
}

// snapshot returns the path of the index snapshot: next to an SQLite file, otherwise in the data
// directory.
func (f storeFlags) snapshot() string {
	p, err := f.place()
	switch {
	case err != nil:
		return ""
	case p.path != "":
		return strings.TrimSuffix(p.path, ".db") + ".index"
	}
	return filepath.Join(f.DataDir, "registry.index")
}

// urlFile returns the path of the file, next to the index snapshot, that contains the public URL of
// the server last started with the database.
func (f storeFlags) urlFile() string { return strings.TrimSuffix(f.snapshot(), ".index") + ".url" }

// embedded reports whether the database is the default one in the data directory.
func (f storeFlags) embedded() bool { return f.DatabaseURL == "" }

// place is the location of a database: an SQLite file or a PostgreSQL URL.
type place struct {
	path string // empty for PostgreSQL
	url  string
}

// parsePlace reads the URL of a database.
func parsePlace(text string) (place, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "sqlite":
		if path := strings.TrimPrefix(rest, "//"); path != "" && !strings.Contains(path, "?") {
			return place{path: path}, nil
		}
		return place{}, fmt.Errorf("%q must be sqlite: followed by a file path, without options", text)
	case "postgres", "postgresql":
		if strings.HasPrefix(rest, "//") {
			return place{url: text}, nil
		}
		return place{}, errors.New("a PostgreSQL URL starts with postgres://")
	}
	return place{}, errors.New("invalid database URL; use postgres://… or sqlite:PATH, or omit the flag")
}

// String returns the place without secrets.
func (p place) String() string {
	if p.path != "" {
		return p.path
	}
	return describe(p.url)
}

// describe returns the hosts and name of a PostgreSQL database.
func describe(url string) string {
	config, err := pgx.ParseConfig(url)
	if err != nil || strings.Contains(config.Host, "@") { // possibly part of a password
		return "PostgreSQL" // opening the database reports the error
	}
	hosts := []string{net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))}
	for _, f := range config.Fallbacks {
		if host := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return fmt.Sprintf("PostgreSQL at %s, database %s", strings.Join(hosts, " or "), config.Database)
}

// exists reports whether a registry of any version exists.
func (p place) exists(ctx context.Context) (bool, error) {
	if p.path == "" {
		current, _, err := p.versions(ctx)
		return current > 0, err
	}
	_, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// open opens the database. It creates the database or migrates its schema if necessary.
func (p place) open(env *environment, metrics prometheus.Registerer) (database, error) {
	return p.openWith(env, postgres.Options{Logger: env.log, Metrics: metrics})
}

// openCurrent opens an existing database with the current schema. It never migrates.
func (p place) openCurrent(env *environment, metrics prometheus.Registerer) (database, error) {
	st, err := p.openWith(env, postgres.Options{Logger: env.log, Metrics: metrics, NoMigrate: true})
	if errors.Is(err, store.ErrOlderSchema) {
		err = fmt.Errorf("%w; once every process runs this version, run colaregistry migrate or start the server", err)
	}
	return st, err
}

func (p place) openWith(env *environment, o postgres.Options) (st database, err error) {
	if p.path != "" {
		st, err = sqlite.Open(env, p.path, sqlite.Options{Logger: o.Logger, NoMigrate: o.NoMigrate})
	} else {
		st, err = postgres.Open(env, p.url, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return st, nil
}

// migrate migrates the schema and returns its old and new versions.
func (p place) migrate(env *environment) (from, to int64, err error) {
	if p.path != "" {
		from, to, err = sqlite.Migrate(env, p.path, sqlite.Options{Logger: env.log})
	} else {
		from, to, err = postgres.Migrate(env, p.url, postgres.Options{Logger: env.log})
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p, err)
	}
	return from, to, err
}

// versions returns the schema version of the database, 0 if there is none, and the latest version.
func (p place) versions(ctx context.Context) (current, latest int64, err error) {
	if p.path != "" {
		current, latest, err = sqlite.Versions(ctx, p.path)
	} else {
		current, latest, err = postgres.Versions(ctx, p.url)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p, err)
	}
	return current, latest, err
}

// change updates the record with the given ID and prints done. If the record does not exist, it
// returns missing as the error.
func (f *storeFlags) change(
	env *environment, update func(store.Store, context.Context, int64) error, id int64, done, missing string,
) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	switch err := update(st, env, id); {
	case errors.Is(err, store.ErrNotFound):
		return errors.New(missing)
	case err != nil:
		return err
	}
	fmt.Fprintln(env.stderr, done)
	return nil
}

// ofAny adapts a method that changes a record of one account so that it can change a record of any
// account.
func ofAny(
	update func(store.Store, context.Context, cola.AccountID, int64) error,
) func(store.Store, context.Context, int64) error {
	return func(st store.Store, ctx context.Context, id int64) error { return update(st, ctx, 0, id) }
}
