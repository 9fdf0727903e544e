package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// storeFlags say where the data is.
type storeFlags struct {
	DataDir     string `default:"./data" placeholder:"DIR" help:"Folder of the embedded database and the index snapshot (${default})."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"Database to use in place of the embedded one in the data folder: sqlite:PATH."`
}

// database is a registry's database, open.
type database interface {
	store.Store
	// Created reports whether the database was made by this opening of it.
	Created() bool
}

// open opens the database, making it and bringing its schema up to date as needed.
func (f storeFlags) open(env *environment) (database, error) {
	p, err := f.place()
	if err != nil {
		return nil, err
	}
	return p.open(env)
}

// openExisting opens the database, and fails when there is none: a command that only asks for something must not make one,
// which would pass for a first start.
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
	return p.open(env)
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

// snapshot returns the file that the index is saved in: beside the embedded database.
func (f storeFlags) snapshot() string {
	p, err := f.place()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(p.path, ".db") + ".index"
}

// embedded reports whether the database is the default one in the data folder.
func (f storeFlags) embedded() bool { return f.DatabaseURL == "" }

// place is where a database is: a file of SQLite.
type place struct {
	path string
}

// parsePlace reads the URL of a database.
func parsePlace(url string) (place, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		if path := strings.TrimPrefix(rest, "//"); path != "" && !strings.Contains(path, "?") {
			return place{path: path}, nil
		}
		return place{}, fmt.Errorf("%q is not sqlite: and the path of a file; it takes no options", url)
	case "postgres", "postgresql":
		return place{}, errors.New("this version keeps its data in the embedded database only; leave the flag out, or give sqlite:PATH")
	}
	return place{}, fmt.Errorf("%q is no database URL this version knows; leave the flag out, or give sqlite:PATH", url)
}

// String names the place without any secret.
func (p place) String() string { return p.path }

// exists reports whether there is a registry, of whatever version.
func (p place) exists(context.Context) (bool, error) {
	_, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// open opens the database, making it and bringing its schema up to date as needed.
func (p place) open(env *environment) (database, error) {
	st, err := sqlite.Open(env, p.path, sqlite.Options{Logger: env.log})
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", p, err)
	}
	return st, nil
}

// migrate brings the schema up to date and returns the versions it had and has.
func (p place) migrate(env *environment) (from, to int64, err error) {
	from, to, err = sqlite.Migrate(env, p.path, sqlite.Options{Logger: env.log})
	if err != nil {
		return from, to, fmt.Errorf("migrate database %s: %w", p, err)
	}
	return from, to, nil
}

// versions returns the version of the schema, 0 for none, and the one that this program brings it to.
func (p place) versions(ctx context.Context) (current, latest int64, err error) {
	current, latest, err = sqlite.Versions(ctx, p.path)
	if err != nil {
		return current, latest, fmt.Errorf("read schema version of %s: %w", p, err)
	}
	return current, latest, nil
}
