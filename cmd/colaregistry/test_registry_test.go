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

// testRegistry is the database and data directory of a registry under test.
type testRegistry struct {
	storeFlags
	keyFile string // for servers on PostgreSQL
	key     string // the demo account's key; empty if the first start prints it or there is no account
}

// embedded returns a registry on SQLite that has not been started.
func embedded(t *testing.T) testRegistry {
	return testRegistry{storeFlags: storeFlags{DataDir: t.TempDir()}}
}

// onPostgres returns a registry on an empty PostgreSQL database.
func onPostgres(t *testing.T) testRegistry {
	t.Helper()
	return registryOnPostgres(t, pgtest.NewDatabase(t))
}

func registryOnPostgres(t testing.TB, url string) testRegistry {
	t.Helper()
	return testRegistry{
		storeFlags: storeFlags{DataDir: t.TempDir(), DatabaseURL: url},
		keyFile:    filepath.Join(t.TempDir(), "secret.key"),
	}
}

// withDemoData returns a registry on PostgreSQL with the demo labels.
func withDemoData(t *testing.T) testRegistry {
	t.Helper()
	return registryOnPostgres(t, pgtest.CloneDatabase(t, demoDatabase(t)))
}

// demoFile returns a registry on SQLite with the demo labels and no account.
func demoFile(t *testing.T) testRegistry {
	t.Helper()
	h := embedded(t)
	if err := os.CopyFS(h.DataDir, os.DirFS(demoFolder(t))); err != nil {
		t.Fatal(err)
	}
	return h
}

// seeded returns a registry on SQLite in the state after its first start, with the demo labels and
// account.
func seeded(t *testing.T) testRegistry {
	t.Helper()
	h := demoFile(t)
	st := mustOpen(t, h)
	_, secret, _ := mustAccount(t, st, demoEmail, cola.TierPro)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	h.key = secret.Reveal()
	return h
}

// onBoth runs a test on each database with the demo labels.
func onBoth(t *testing.T, test func(t *testing.T, h testRegistry)) {
	t.Helper()
	for name, h := range map[string]func(*testing.T) testRegistry{"sqlite": demoFile, "postgres": withDemoData} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h(t))
		})
	}
}

// testColas is the number of demo labels in test registries: enough for every filter to match, and
// few enough for a fast index build.
const testColas = 4_000

// demoCache loads the demo labels once for all tests.
type demoCache struct {
	once  sync.Once
	place string
	err   error
}

// location returns the URL or path of a database that load creates. The first call fills it with
// the demo labels.
func (d *demoCache) location(
	t *testing.T, load func(ctx context.Context) (place string, st store.Store, err error),
) string {
	t.Helper()
	d.once.Do(func() {
		ctx := context.Background()
		var st store.Store
		if d.place, st, d.err = load(ctx); d.err != nil {
			return
		}
		options := demo.Options{Colas: testColas, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
		d.err = errors.Join(demo.Load(ctx, st, options, func(int, int) {}), st.Close())
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.place
}

var loadedOnPostgres, loadedInFile demoCache

// demoFolder returns a folder with an embedded database of demo labels.
func demoFolder(t *testing.T) string {
	t.Helper()
	return loadedInFile.location(t, func(ctx context.Context) (string, store.Store, error) {
		folder, err := os.MkdirTemp("", "colaregistry-demo")
		if err != nil {
			return "", nil, err
		}
		st, err := sqlite.Open(ctx, filepath.Join(folder, "registry.db"), sqlite.Options{})
		return folder, st, err
	})
}

// demoDatabase returns the URL of a database with the demo labels, created once for all tests.
func demoDatabase(t *testing.T) string {
	t.Helper()
	server := pgtest.Shared(t)
	return loadedOnPostgres.location(t, func(ctx context.Context) (string, store.Store, error) {
		url, err := server.CreateDatabase(ctx)
		if err != nil {
			return "", nil, err
		}
		st, err := postgres.Open(ctx, url, postgres.Options{})
		return url, st, err
	})
}

// flags returns the flags that select the registry.
func (h testRegistry) flags() []string {
	flags := []string{"--data-dir", h.DataDir}
	if h.DatabaseURL != "" {
		flags = append(flags, "--database-url", h.DatabaseURL)
	}
	return flags
}

// keyFlags returns the flags for the key file that all servers of a registry on PostgreSQL share.
func (h testRegistry) keyFlags(t testing.TB) []string {
	t.Helper()
	if h.DatabaseURL == "" {
		return nil // the server creates a key file next to the embedded database
	}
	if _, err := keyring.LoadOrCreate(h.keyFile); err != nil {
		t.Fatal(err)
	}
	return []string{"--secret-key-file", h.keyFile}
}

// run runs a command on the registry to completion and returns its standard output.
func (h testRegistry) run(t *testing.T, args ...string) string {
	t.Helper()
	if args[0] == "alerts" {
		args = append(args, h.keyFlags(t)...)
	}
	return mustRun(t, append(args, h.flags()...)...)
}

// mustOpen opens the registry's database in this process.
func mustOpen(t testing.TB, h testRegistry) database {
	t.Helper()
	env := &environment{Context: t.Context(), log: slog.New(slog.DiscardHandler)}
	st, err := h.open(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}
