package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/postgres"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// home is where a registry under test keeps its data.
type home struct {
	storeFlags
	keyFile string // of servers on PostgreSQL
	key     string // of the demonstration account; empty where its first start prints one, or there is none
}

// embedded returns a home whose first start is still to come.
func embedded(t *testing.T) home { return home{storeFlags: storeFlags{DataDir: t.TempDir()}} }

// onPostgres returns a home in an empty database of PostgreSQL.
func onPostgres(t *testing.T) home {
	t.Helper()
	return homeOnPostgres(t, pgtest.NewDatabase(t))
}

func homeOnPostgres(t *testing.T, url string) home {
	t.Helper()
	return home{storeFlags: storeFlags{DataDir: t.TempDir(), DatabaseURL: url}, keyFile: filepath.Join(t.TempDir(), "secret.key")}
}

// furnished returns a home in PostgreSQL that holds the demonstration labels, as an embedded one does after its first start.
func furnished(t *testing.T) home {
	t.Helper()
	return homeOnPostgres(t, pgtest.CloneDatabase(t, demoDatabase(t)))
}

// furnishedFile returns a home whose embedded database holds the demonstration labels, as after its first start, and no account.
func furnishedFile(t *testing.T) home {
	t.Helper()
	h := embedded(t)
	if err := os.CopyFS(h.DataDir, os.DirFS(demoFolder(t))); err != nil {
		t.Fatal(err)
	}
	return h
}

// settled returns a home as after a first start: furnished, with the demonstration account, whose key its servers have.
func settled(t *testing.T) home {
	t.Helper()
	h := furnishedFile(t)
	st := mustOpen(t, h)
	_, secret, _ := mustAccount(t, st, demoEmail, cola.TierPro)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	h.key = secret.Reveal()
	return h
}

// onBoth runs a test on each kind of database, furnished with the demonstration labels.
func onBoth(t *testing.T, test func(t *testing.T, h home)) {
	t.Helper()
	for name, h := range map[string]func(*testing.T) home{"sqlite": furnishedFile, "postgres": furnished} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h(t))
		})
	}
}

// furnishing is what the demonstration labels were loaded into, once for all tests.
type furnishing struct {
	once  sync.Once
	place string
	err   error
}

// where returns the place that load makes, by its URL or path, and fills.
func (d *furnishing) where(t *testing.T, load func(ctx context.Context) (place string, st store.Store, err error)) string {
	t.Helper()
	d.once.Do(func() {
		ctx := context.Background()
		var st store.Store
		if d.place, st, d.err = load(ctx); d.err != nil {
			return
		}
		options := demo.Options{Colas: demoColas, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
		d.err = errors.Join(demo.Load(ctx, st, options, func(int, int) {}), st.Close())
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.place
}

var loadedOnPostgres, loadedInFile furnishing

// demoFolder returns a folder with an embedded database that holds the demonstration labels.
func demoFolder(t *testing.T) string {
	t.Helper()
	return loadedInFile.where(t, func(ctx context.Context) (string, store.Store, error) {
		folder, err := os.MkdirTemp("", "colaregistry-demo")
		if err != nil {
			return "", nil, err
		}
		st, err := sqlite.Open(ctx, filepath.Join(folder, "registry.db"), sqlite.Options{})
		return folder, st, err
	})
}

// demoDatabase returns the URL of a database with the demonstration labels, made once for all tests.
func demoDatabase(t *testing.T) string {
	t.Helper()
	server := pgtest.Shared(t)
	return loadedOnPostgres.where(t, func(ctx context.Context) (string, store.Store, error) {
		url, err := server.CreateDatabase(ctx)
		if err != nil {
			return "", nil, err
		}
		st, err := postgres.Open(ctx, url, postgres.Options{})
		return url, st, err
	})
}

// flags returns what tells a command of the home.
func (h home) flags() []string {
	flags := []string{"--data-dir", h.DataDir}
	if h.DatabaseURL != "" {
		flags = append(flags, "--database-url", h.DatabaseURL)
	}
	return flags
}

// keyFlags names the key file that all servers of a home on PostgreSQL share.
func (h home) keyFlags(t *testing.T) []string {
	t.Helper()
	if h.DatabaseURL == "" {
		return nil // a key file appears beside the embedded database
	}
	if _, err := keyring.LoadOrCreate(h.keyFile); err != nil {
		t.Fatal(err)
	}
	return []string{"--secret-key-file", h.keyFile}
}

// run runs a command on the home to its end and returns what it printed on standard output.
func (h home) run(t *testing.T, args ...string) string {
	t.Helper()
	if args[0] == "alerts" {
		args = append(args, h.keyFlags(t)...)
	}
	return mustRun(t, append(args, h.flags()...)...)
}

// mustOpen opens the home's database in this process.
func mustOpen(t *testing.T, h home) database {
	t.Helper()
	env := &environment{Context: t.Context(), log: slog.New(slog.DiscardHandler)}
	st, err := h.open(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}
