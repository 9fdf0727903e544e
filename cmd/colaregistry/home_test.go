package main

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store/postgres"
)

// home is where a registry under test keeps its data.
type home struct{ storeFlags }

// embedded returns a home whose first start is still to come.
func embedded(t *testing.T) home { return home{storeFlags: storeFlags{DataDir: t.TempDir()}} }

// onPostgres returns a home in an empty database of PostgreSQL.
func onPostgres(t *testing.T) home {
	t.Helper()
	return home{storeFlags: storeFlags{DataDir: t.TempDir(), DatabaseURL: pgtest.NewDatabase(t)}}
}

// furnished returns a home in PostgreSQL that holds the demonstration labels, as an embedded one does after its first start.
func furnished(t *testing.T) home {
	t.Helper()
	h := home{storeFlags: storeFlags{DataDir: t.TempDir()}}
	h.DatabaseURL = pgtest.CloneDatabase(t, demoDatabase(t))
	return h
}

// onBoth runs a test on each kind of database, furnished with the demonstration labels once a server runs.
func onBoth(t *testing.T, test func(t *testing.T, h home)) {
	t.Helper()
	for name, h := range map[string]func(*testing.T) home{"sqlite": embedded, "postgres": furnished} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h(t))
		})
	}
}

var demonstrated struct {
	once sync.Once
	url  string
	err  error
}

// demoDatabase returns the URL of a database with the demonstration labels, made once for all tests.
func demoDatabase(t *testing.T) string {
	t.Helper()
	server := pgtest.Shared(t)
	d := &demonstrated
	d.once.Do(func() {
		ctx := context.Background()
		if d.url, d.err = server.CreateDatabase(ctx); d.err != nil {
			return
		}
		st, err := postgres.Open(ctx, d.url, postgres.Options{})
		if err != nil {
			d.err = err
			return
		}
		defer st.Close()
		options := demo.Options{Colas: demoColas, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
		d.err = demo.Load(ctx, st, options, func(int, int) {})
	})
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.url
}

// flags returns what tells a command of the home.
func (h home) flags() []string {
	flags := []string{"--data-dir", h.DataDir}
	if h.DatabaseURL != "" {
		flags = append(flags, "--database-url", h.DatabaseURL)
	}
	return flags
}

// run runs a command on the home to its end and returns what it printed on standard output.
func (h home) run(t *testing.T, args ...string) string {
	t.Helper()
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
