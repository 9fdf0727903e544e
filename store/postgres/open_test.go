package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
)

func TestSchemaVersions(t *testing.T) {
	url := pgtest.NewDatabase(t)
	if _, err := Open(t.Context(), url, Options{NoMigrate: true}); err == nil ||
		!strings.Contains(err.Error(), "no schema") {
		t.Errorf("Open(empty database, NoMigrate) error = %v, want it to contain \"no schema\"", err)
	}
	current, latest, err := Versions(t.Context(), url)
	if err != nil || current != 0 || latest == 0 {
		t.Errorf("Versions(empty database) = %d, %d, %v; want 0, the latest, nil", current, latest, err)
	}
	var tables int
	query(t, url, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`, &tables)
	if tables != 0 {
		t.Errorf("Versions created %d tables, want 0", tables)
	}
	for _, want := range []int64{0, latest} {
		if from, to, err := Migrate(t.Context(), url, Options{Logger: quiet(), NoMigrate: true}); err != nil ||
			from != want || to != latest {
			t.Errorf("Migrate = %d, %d, %v; want %d, %d, nil", from, to, err, want, latest)
		}
	}
	if s := mustOpen(t, url, Options{NoMigrate: true}); s.Created() {
		t.Error("Created = true after Migrate, want false")
	}

	query(t, url, fmt.Sprintf(`DELETE FROM goose_db_version WHERE version_id = %d RETURNING 1`, latest), &tables)
	older, _, err := Versions(t.Context(), url)
	if err != nil || older >= latest {
		t.Errorf("Versions(older schema) = %d, %v; want one below %d", older, err, latest)
	}
	if _, err := Open(t.Context(), url, Options{NoMigrate: true}); !errors.Is(err, store.ErrOlderSchema) ||
		!strings.Contains(err.Error(), fmt.Sprintf("version %d, this program needs %d", older, latest)) {
		t.Errorf("Open(older schema, NoMigrate) error = %v, want ErrOlderSchema with both versions", err)
	}
	query(t, url, fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, TRUE), (%d, TRUE) RETURNING 1`, latest, latest+1), &tables)
	for name, err := range map[string]error{"Open": openError(t, url), "Migrate": migrateError(t, url)} {
		if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), fmt.Sprint(latest+1)) {
			t.Errorf("%s(newer schema) error = %v, want ErrNewerSchema with its version", name, err)
		}
	}
	if current, _, err := Versions(t.Context(), url); err != nil || current != latest+1 {
		t.Errorf("Versions(newer schema) = %d, %v; want %d", current, err, latest+1)
	}
}

// query reads one row with a separate connection.
func query(t testing.TB, url, sql string, into any, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		defer conn.Close(context.Background())
		err = conn.QueryRow(t.Context(), sql, args...).Scan(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openError(t *testing.T, url string) error {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Logger: quiet()})
	if err == nil {
		_ = s.Close()
	}
	return err
}

func migrateError(t *testing.T, url string) error {
	t.Helper()
	_, _, err := Migrate(t.Context(), url, Options{Logger: quiet()})
	return err
}

// TestOpenErrors checks that errors state the reason and never contain the password.
func TestOpenErrors(t *testing.T) {
	server := pgtest.Shared(t)
	execute := func(sql string) {
		t.Helper()
		if err := server.Execute(t.Context(), "postgres", sql); err != nil {
			t.Fatal(err)
		}
	}
	execute(`CREATE DATABASE bytes_only ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	execute(`CREATE DATABASE belongs_to_another`)
	execute(`CREATE ROLE guest LOGIN`)
	t.Cleanup(func() {
		for _, sql := range []string{`DROP DATABASE bytes_only`, `DROP DATABASE belongs_to_another`, `DROP ROLE guest`} {
			if err := server.Execute(context.Background(), "postgres", sql); err != nil {
				t.Error(err)
			}
		}
	})
	closed := closedPort(t)
	guest := strings.Replace(server.URL("belongs_to_another"), "colaregistry@", "guest:sesame@", 1)
	for name, c := range map[string]struct{ url, want string }{
		"no such database": {
			strings.Replace(server.URL("missing"), "@", ":sesame@", 1),
			"does not exist; create it with CREATE DATABASE",
		},
		"no such user": {
			strings.Replace(server.URL("postgres"), "colaregistry@", "nobody:sesame@", 1),
			"user",
		},
		"port closed":                  {"postgres://u:sesame@" + closed + "/d?sslmode=disable", "connection refused"},
		"missing privilege":            {guest, "GRANT CREATE ON SCHEMA public"},
		"no schema":                    {server.URL("postgres") + "&search_path=nowhere", "search_path"},
		"SQL_ASCII encoding":           {strings.Replace(server.URL("bytes_only"), "@", ":sesame@", 1), "SQL_ASCII"},
		"simple protocol":              {server.URL("postgres") + "&default_query_exec_mode=simple_protocol", "binary"},
		"slash in the password":        {"postgres://u:sesa/me@localhost/d", "percent-encoded"},
		"@ in the password":            {"postgres://u:sesame@sesame@localhost/d", "percent-encoded"},
		"@ in the password, two hosts": {"postgres://u:sesame@sesame@localhost,localhost/d", "percent-encoded"},
		"bad escapes":                  {"postgres://u:%zsesame@localhost/d", "percent-encoded"},
		"another scheme":               {"mysql://u:sesame@localhost/d", "invalid database URL"},
		"unclosed quote":               {"host=localhost password='sesame", "invalid database URL"},
		"bad setting":                  {"host=localhost password=sesame pool_max_conns=many", "pool_max_conns"},
		"bad port":                     {"host=localhost password=sesame port=x", "invalid port"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, versions := Versions(t.Context(), c.url)
			for method, err := range map[string]error{
				"Open":     openError(t, c.url),
				"Migrate":  migrateError(t, c.url),
				"Versions": versions,
			} {
				if err == nil && method == "Versions" {
					continue // these errors do not prevent reading
				}
				if err == nil || !strings.Contains(err.Error(), c.want) && method == "Open" {
					t.Errorf("%s error = %v, want it to contain %q", method, err, c.want)
				}
				if err != nil && strings.Contains(err.Error(), "sesa") {
					t.Errorf("%s error contains the password: %v", method, err)
				}
			}
		})
	}
	if err := openError(t, "postgres://u@"+closed+"/d?sslmode=disable"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Open(server down) error = %v, want ErrUnavailable", err)
	}
}

func TestUnsupportedServers(t *testing.T) {
	for name, c := range map[string]struct {
		version               int
		named, encoding, want string
	}{
		"oldest supported version": {130000, "13.0", "UTF8", ""},
		"newer version":            {180001, "18.1", "UTF8", ""},
		"too old":                  {120022, "12.22 (Debian 12.22-1)", "UTF8", "PostgreSQL 12.22 (Debian 12.22-1)"},
		"another encoding":         {150000, "15.0", "LATIN1", "LATIN1"},
	} {
		err := checkVersion(c.version, c.named, c.encoding)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want it to contain %q", name, err, c.want)
		}
	}
}

// closedPort returns an address on which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestOpenContext checks that Open respects its context, even if a host accepts the
// connection and then stays silent.
func TestOpenContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Open(ctx, "postgres://u@"+l.Addr().String()+"/d?sslmode=disable", Options{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open error = %v, want context.DeadlineExceeded", err)
	}
	_, err = Open(t.Context(), "postgres://u@"+l.Addr().String()+"/d?sslmode=disable&connect_timeout=1", Options{})
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open error = %v, want ErrUnavailable without DeadlineExceeded", err)
	}
}

// TestMultipleHosts checks that the store picks the writable one of several hosts.
func TestMultipleHosts(t *testing.T) {
	url := migratedDatabase(t)
	url = strings.Replace(url, "@", "@"+closedPort(t)+",", 1) + "&target_session_attrs=read-write"
	if err := mustOpen(t, url, Options{Logger: quiet()}).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConnectionSettings(t *testing.T) {
	url := migratedDatabase(t)
	for name, c := range map[string]struct {
		params            map[string]string
		application, wait string
		connections       int32
	}{
		"defaults": {nil, "colaregistry ledger", "15s", 0},
		"from the URL": {
			map[string]string{"application_name": "copy", "statement_timeout": "7s", "pool_max_conns": "3"},
			"copy ledger",
			"7s",
			3,
		},
		"client encoding": {map[string]string{"client_encoding": "LATIN1"}, "colaregistry ledger", "15s", 0},
	} {
		s := mustOpen(t, withParams(t, url, c.params), Options{Logger: quiet()})
		var application, wait, encoding, isolation string
		err := s.ledger.QueryRow(t.Context(), `SELECT current_setting('application_name'), current_setting('statement_timeout'),
			current_setting('client_encoding'), current_setting('default_transaction_isolation')`).Scan(&application, &wait, &encoding, &isolation)
		if err != nil || application != c.application || wait != c.wait || encoding != "UTF8" ||
			isolation != "read committed" {
			t.Errorf("%s: settings = %q, %q, %q, %q (error %v), want %q, %q, \"UTF8\", \"read committed\"",
				name, application, wait, encoding, isolation, err, c.application, c.wait)
		}
		maxConns := s.general.Stat().MaxConns()
		if c.connections == 0 && maxConns < 8 || c.connections > 0 && maxConns != c.connections {
			t.Errorf("%s: MaxConns = %d, want %d, or at least 8 if 0", name, maxConns, c.connections)
		}
	}
}

func TestPoolMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, err := Open(t.Context(), migratedDatabase(t), Options{Logger: quiet(), Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint problems %v, error %v; want none", problems, err)
	}
	held, err := s.ledger.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `
		# HELP colaregistry_db_connections_max Maximum number of connections in a pool.
		# TYPE colaregistry_db_connections_max gauge
		colaregistry_db_connections_max{pool="general"} ` + fmt.Sprint(s.general.Stat().MaxConns()) + `
		colaregistry_db_connections_max{pool="ledger"} 4
		# HELP colaregistry_db_connections Database connections, by pool and state.
		# TYPE colaregistry_db_connections gauge
		colaregistry_db_connections{pool="general",state="constructing"} 0
		colaregistry_db_connections{pool="general",state="idle"} 1
		colaregistry_db_connections{pool="general",state="in_use"} 0
		colaregistry_db_connections{pool="ledger",state="constructing"} 0
		colaregistry_db_connections{pool="ledger",state="idle"} 0
		colaregistry_db_connections{pool="ledger",state="in_use"} 1
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "colaregistry_db_connections",
		"colaregistry_db_connections_max"); err != nil {
		t.Error(err)
	}
	held.Release()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 0 {
		t.Errorf("%d metrics left after Close (error %v), want 0", n, err)
	}
}

// TestPingOtherDatabase checks that Ping detects a different database at the same address.
func TestPingOtherDatabase(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id string
	query(t, url, `UPDATE meta SET store_id = 'another' RETURNING store_id`, &id)
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "another") {
		t.Errorf("Ping error = %v, want ErrUnavailable with the ID of the other database", err)
	}
}
