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

// storeFlags name the database.
type storeFlags struct {
	DataDir     string `default:"./data" placeholder:"DIR" help:"Folder of the embedded database and the index snapshot (${default})."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"Database to use instead of the embedded one in the data folder: postgres://… (missing parts come from the PG… environment), or sqlite:PATH."`

	DatabaseURLFile secretFile `name:"database-url-file" placeholder:"PATH" help:"File with the value of --database-url, for a URL with a password."`
}

// database is a registry's database, open.
type database interface {
	store.Store
	// Created reports whether the database was made by this opening of it.
	Created() bool
}

// open opens the database, making it and bringing its schema up to date as needed. Metrics, if any, gets what there is to
// tell of its connections.
func (f storeFlags) open(env *environment, metrics prometheus.Registerer) (database, error) {
	p, err := f.place()
	if err != nil {
		return nil, err
	}
	return p.open(env, metrics)
}

// openExisting opens the database, and fails when there is none: a command that only asks for something must not make one,
// which would pass for a first start. It leaves the schema as it is, too: an older program may be serving it.
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
		return nil, fmt.Errorf("there is no registry at %s yet; serve, import and account create make one", p)
	}
	return p.openAsItIs(env, nil)
}

// place returns where the flags say that the database is.
func (f storeFlags) place() (place, error) {
	if f.DatabaseURL == "" {
		return place{path: filepath.Join(f.DataDir, "registry.db")}, nil
	}
	p, err := parsePlace(f.DatabaseURL)
	if err != nil {
		return p, fmt.Errorf("--database-url: %w", err)
	}
	return p, nil
}

// snapshot returns the file that the index is saved in: beside a file of SQLite, else in the data folder.
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

// embedded reports whether the database is the default one in the data folder.
func (f storeFlags) embedded() bool { return f.DatabaseURL == "" }

// place is where a database is: a file of SQLite, or a server of PostgreSQL.
type place struct {
	path string // empty for PostgreSQL
	url  string
}

// parsePlace reads the URL of a database.
func parsePlace(given string) (place, error) {
	scheme, rest, _ := strings.Cut(given, ":")
	switch scheme {
	case "sqlite":
		if path := strings.TrimPrefix(rest, "//"); path != "" && !strings.Contains(path, "?") {
			return place{path: path}, nil
		}
		return place{}, fmt.Errorf("%q is not sqlite: and the path of a file; it takes no options", given)
	case "postgres", "postgresql":
		if strings.HasPrefix(rest, "//") {
			return place{url: given}, nil
		}
		return place{}, errors.New("a PostgreSQL URL begins with postgres://")
	}
	return place{}, errors.New("this is no database URL; leave the flag out, or give postgres://… or sqlite:PATH")
}

// String names the place without any secret.
func (p place) String() string {
	if p.path != "" {
		return p.path
	}
	return describe(p.url)
}

// describe names a PostgreSQL database by its hosts and its name.
func describe(url string) string {
	config, err := pgx.ParseConfig(url)
	if err != nil || strings.Contains(config.Host, "@") { // which would be the end of a password
		return "PostgreSQL" // what is wrong with the URL is told by whoever uses it
	}
	hosts := []string{net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))}
	for _, f := range config.Fallbacks {
		if host := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return fmt.Sprintf("PostgreSQL at %s, database %s", strings.Join(hosts, " or "), config.Database)
}

// exists reports whether there is a registry, of whatever version.
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

// open opens the database, making it and bringing its schema up to date as needed.
func (p place) open(env *environment, metrics prometheus.Registerer) (database, error) {
	return p.openWith(env, postgres.Options{Logger: env.log, Metrics: metrics})
}

// openAsItIs opens a database that there is, and fails when its schema is not that of this program.
func (p place) openAsItIs(env *environment, metrics prometheus.Registerer) (database, error) {
	st, err := p.openWith(env, postgres.Options{Logger: env.log, Metrics: metrics, NoMigrate: true})
	if errors.Is(err, store.ErrOlderSchema) {
		err = fmt.Errorf("%w; run colaregistry migrate, or start the server, once every process is of this version", err)
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

// migrate brings the schema up to date and returns the versions it had and has.
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

// versions returns the version of the schema, 0 for none, and the one that this program brings it to.
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

// list prints a line for each record that there is.
func list[T any](f *storeFlags, env *environment, read func(store.Store) ([]T, error), line func(T) string) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	records, err := read(st)
	if err != nil {
		return err
	}
	for _, r := range records {
		fmt.Fprintln(env.stdout, line(r))
	}
	return nil
}

// change does something to one record by its id, and says so.
func (f *storeFlags) change(env *environment, what func(store.Store, context.Context, int64) error, id int64, done, missing string) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	switch err := what(st, env, id); {
	case errors.Is(err, store.ErrNotFound):
		return errors.New(missing)
	case err != nil:
		return err
	}
	fmt.Fprintln(env.stderr, done)
	return nil
}

// ofAny is what changes a record of an account, for records of any account: the operator names them by their ids alone.
func ofAny(what func(store.Store, context.Context, cola.AccountID, int64) error) func(store.Store, context.Context, int64) error {
	return func(st store.Store, ctx context.Context, id int64) error { return what(st, ctx, 0, id) }
}
