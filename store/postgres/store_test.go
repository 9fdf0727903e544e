package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.RunChild(openDatabase)
	code := pgtest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestConformance(t *testing.T) {
	var log statementLog
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s := mustOpen(t, migratedDatabase(t), Options{Now: now, Logger: quiet()})
		log.attach(t, s)
		return s
	})
	t.Run("QueryPlans", log.checkPlans)
}

func TestProcesses(t *testing.T) {
	storetest.RunProcesses(t, storetest.Backend{Open: openDatabase, Empty: pgtest.NewDatabase, New: migratedDatabase})
}

// TestOpenMigrates checks that Open migrates an empty database and reports it as created.
func TestOpenMigrates(t *testing.T) {
	for range 2 {
		s := mustOpen(t, pgtest.NewDatabase(t), Options{Logger: quiet()})
		if !s.Created() {
			t.Error("Created = false, want true")
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// openDatabase opens a store for package storetest.
func openDatabase(ctx context.Context, url string) (storetest.Database, error) {
	return Open(ctx, url, Options{Logger: quiet()})
}

// mustOpen opens a store and closes it when the test ends.
func mustOpen(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// template is the state of a migrated database that tests copy: copying takes a fifth as long as
// migrating. Like the shared server, the database lives as long as the test binary.
var template struct {
	once   sync.Once
	err    error
	copies atomic.Int64
}

// oddDefaults are database settings that an operator may have changed for other reasons. The
// server's own defaults are unusual, too.
var oddDefaults = map[string]string{
	"default_transaction_isolation": "serializable",
	"client_encoding":               "LATIN1",
	"bytea_output":                  "escape",
	"extra_float_digits":            "-10",
	"standard_conforming_strings":   "off",
	"intervalstyle":                 "sql_standard",
	"timezone":                      "Pacific/Kiritimati",
	"datestyle":                     "Postgres, DMY",
	"array_nulls":                   "off",
	"statement_timeout":             "20s",
}

const templateName = "template_registry"

// migratedDatabase returns the URL of a new database with the schema and a unique store ID.
func migratedDatabase(t testing.TB) string {
	t.Helper()
	server := pgtest.Shared(t)
	template.once.Do(func() {
		ctx := context.Background()
		if template.err = server.Execute(ctx, "postgres", "CREATE DATABASE "+templateName); template.err == nil {
			_, _, template.err = Migrate(ctx, server.URL(templateName), Options{Logger: quiet()})
		}
	})
	name := fmt.Sprintf("registry_%d", template.copies.Add(1))
	execute := func(database, sql string) {
		t.Helper()
		if err := server.Execute(context.Background(), database, sql); err != nil {
			t.Fatalf("%v\n%s", err, server.Log())
		}
	}
	if template.err != nil {
		t.Fatal(template.err)
	}
	execute("postgres", fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, templateName))
	t.Cleanup(func() { execute("postgres", fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)) })
	sql := "UPDATE meta SET store_id = replace(gen_random_uuid()::text, '-', '');"
	for setting, value := range oddDefaults {
		sql += fmt.Sprintf("ALTER DATABASE %s SET %s = '%s';", name, setting, value)
	}
	execute(name, sql)
	return server.URL(name)
}

// withParams returns a URL with changed parameters.
func withParams(t testing.TB, address string, params map[string]string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, value := range params {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// mustReplicate starts a server with a database, and a standby. Commits do not wait for the standby
// yet.
func mustReplicate(t *testing.T) (primary, standby *pgtest.Server, url string) {
	t.Helper()
	start := func(begin func(context.Context, pgtest.Options) (*pgtest.Server, error)) *pgtest.Server {
		s, err := begin(t.Context(), pgtest.Options{Durable: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // its data is discarded
		return s
	}
	primary = start(pgtest.Start)
	url, err := primary.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return primary, start(primary.StartStandby), url
}
