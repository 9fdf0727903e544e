//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// victimVariable is an environment variable that makes the test binary start a server and wait to
// be killed.
const victimVariable = "COLAREGISTRY_PGTEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) != "" {
		runVictim()
	}
	os.Exit(Main(m))
}

func mustStart(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustExecute(t *testing.T, s *Server, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout) // a commit may wait for a standby indefinitely
	defer cancel()
	if err := s.Execute(ctx, "postgres", sql); err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, s.Log())
	}
}

// mustText runs a query that returns one string.
func mustText(t *testing.T, url, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	mustDo(t, err)
	defer conn.Close(context.Background())
	var text string
	if err := conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

func TestUnusualSettings(t *testing.T) {
	url := NewDatabase(t)
	for setting, want := range map[string]string{
		"TimeZone": "America/Los_Angeles", "DateStyle": "SQL, DMY", "fsync": "off", "max_connections": "300",
		"server_encoding": "UTF8", "cluster_name": "primary", "listen_addresses": "127.0.0.1",
	} {
		if got := mustText(t, url, "SELECT current_setting('"+setting+"')"); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
}

func TestSeparateDatabases(t *testing.T) {
	first, second := NewDatabase(t), NewDatabase(t)
	if first == second {
		t.Fatalf("two databases have the URL %s", first)
	}
	conn, err := pgx.Connect(t.Context(), first)
	mustDo(t, err)
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `CREATE TABLE mine ()`); err != nil {
		t.Fatal(err)
	}
	if got := mustText(t, second, `SELECT coalesce(to_regclass('mine')::text, 'none')`); got != "none" {
		t.Errorf("second database has the first database's table")
	}
}

func TestDropDatabase(t *testing.T) {
	s := Shared(t)
	url, err := s.CreateDatabase(t.Context())
	mustDo(t, err)
	conn, err := pgx.Connect(t.Context(), url) // an open connection does not prevent the drop
	mustDo(t, err)
	defer conn.Close(context.Background())
	mustDo(t, s.DropDatabase(t.Context(), url))
	if _, err := pgx.Connect(t.Context(), url); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("connecting to a dropped database: %v", err)
	}
	for name, url := range map[string]string{
		"dropped database": url,
		"another server":   "postgres://colaregistry@127.0.0.1:1/postgres?sslmode=disable",
		"invalid URL":      "postgres://%",
	} {
		if err := s.DropDatabase(t.Context(), url); err == nil {
			t.Errorf("DropDatabase(%s) = nil, want an error", name)
		}
	}
}

func TestCutConnections(t *testing.T) {
	s := mustStart(t, Options{})
	conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
	mustDo(t, err)
	defer conn.Close(context.Background())
	mustDo(t, conn.Ping(t.Context()))
	mustDo(t, s.CutConnections(t.Context()))
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("connection still works after it was cut")
	}
	mustText(t, s.URL("postgres"), `SELECT 'let in again'`)
}

// TestRestart stops a durable server in every mode. No committed data may be lost, and while
// the server is stopped, connections must be refused rather than hang.
func TestRestart(t *testing.T) {
	s := mustStart(t,
		Options{Durable: true, Settings: map[string]string{"work_mem": "7MB", "cluster_name": `it's\a "name"`}})
	mustExecute(t, s, `CREATE TABLE kept (mode text)`)
	address := s.Addr()
	for name, mode := range map[string]Mode{"fast": Fast, "immediate": Immediate, "kill": Kill} {
		if err := s.Restart(t.Context()); err == nil {
			t.Errorf("%s: Restart on a running server succeeded", name)
		}
		mustExecute(t, s, `INSERT INTO kept VALUES ('`+name+`')`)
		memory := mustSharedMemory(t, s)
		mustDo(t, s.Stop(t.Context(), mode))
		mustDo(t, s.Stop(t.Context(), mode)) // stopping is idempotent
		if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: connecting to the stopped server: %v", name, err)
		}
		if pids := serverProcesses(t, s); len(pids) > 0 {
			t.Errorf("%s: processes %v are still running", name, pids)
		}
		if slices.Contains(sharedMemory(t), memory) {
			t.Errorf("%s: shared memory %s still exists", name, memory)
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := mustText(t, s.URL("postgres"), `SELECT count(*)::text FROM kept WHERE mode = '`+name+`'`); got != "1" {
			t.Errorf("%s: %s committed rows, want 1", name, got)
		}
	}
	if s.Addr() != address {
		t.Errorf("address changed from %s to %s", address, s.Addr())
	}
	for setting, want := range map[string]string{"work_mem": "7MB", "cluster_name": `it's\a "name"`, "fsync": "on"} {
		if got := mustText(t, s.URL("postgres"), "SELECT current_setting('"+setting+"')"); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
}

func TestStartError(t *testing.T) {
	useTempDir(t)
	_, err := Start(t.Context(), Options{Settings: map[string]string{"shared_buffers": "much"}})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers": "much"`) {
		t.Errorf("Start = %v, want the server's error", err)
	}
	if _, err := Start(t.Context(), Options{Settings: map[string]string{"port": "5432"}}); err == nil ||
		!strings.Contains(err.Error(), "the port") {
		t.Error("Start accepted a port setting")
	}
}

func TestStartCanceled(t *testing.T) {
	useTempDir(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no more time")
	cancel(why)
	if _, err := Start(ctx, Options{}); !errors.Is(err, why) {
		t.Errorf("Start = %v, want %v", err, why)
	}
}

// TestPortInUse checks that Start tries another port if the first one is taken, and that Restart,
// which must keep the port, fails.
func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	defer listener.Close()
	number := listener.Addr().(*net.TCPAddr).Port
	tries := 0
	s, err := start(t.Context(), Options{}, "primary", func() (*reservation, error) {
		r, err := reservePort()
		if tries++; tries == 1 && err == nil {
			r.number = number
		}
		return r, err
	}, initialize)
	mustDo(t, err)
	defer s.Close()
	if strings.HasSuffix(s.Addr(), fmt.Sprint(":", number)) || tries != 2 {
		t.Errorf("server on %s after %d attempts; port %d is in use", s.Addr(), tries, number)
	}
	mustDo(t, s.Stop(t.Context(), Fast))
	s.port.number = number
	if err := s.Restart(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("Restart on a port in use: %v", err)
	}
}

func TestPermanentFolder(t *testing.T) {
	useTempDir(t)
	o := Options{Dir: filepath.Join(os.TempDir(), "made", "for it")}
	defer os.RemoveAll(filepath.Dir(o.Dir))
	s, err := Start(t.Context(), o)
	mustDo(t, err)
	mustDo(t, s.Close())
	if _, err := os.Stat(filepath.Join(o.Dir, "data", "PG_VERSION")); err != nil {
		t.Error(err)
	}
	if _, err := Start(t.Context(), o); !errors.Is(err, os.ErrExist) {
		t.Errorf("second server in the folder: %v", err)
	}
}

func TestClose(t *testing.T) {
	useTempDir(t)
	s, err := Start(t.Context(), Options{})
	mustDo(t, err)
	if len(serverProcesses(t, s)) == 0 {
		t.Fatal("no server processes found")
	}
	mustDo(t, s.Close())
	mustDo(t, s.Close()) // closing is idempotent
	if pids := serverProcesses(t, s); len(pids) > 0 {
		t.Errorf("processes %v are still running", pids)
	}
	if _, err := os.Stat(s.folder.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder still exists: %v", err)
	}
	if !strings.Contains(s.Log(), "database system is ready to accept connections") {
		t.Errorf("log after Close = %q, want the server's output", s.Log())
	}
	if err := s.Restart(t.Context()); err == nil {
		t.Error("Restart on a closed server succeeded")
	}
}

func TestSettingLines(t *testing.T) {
	got := settingLines(map[string]string{"b": `it's`, "a": `C:\x`, "c": "two\nlines", "d": ""})
	want := "a = 'C:\\\\x'\nb = 'it''s'\nc = 'two\\nlines'\nd = ''\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
