package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// rejectingServer returns the address of a server without TLS that rejects every connection with
// the given error.
func rejectingServer(t *testing.T, code, message string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			reject(conn, code, message)
			conn.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

func reject(conn net.Conn, code, message string) {
	backend := pgproto3.NewBackend(conn, conn)
	for {
		switch msg, _ := backend.ReceiveStartupMessage(); msg.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := conn.Write([]byte("N")); err != nil {
				return
			}
		case *pgproto3.StartupMessage:
			backend.Send(&pgproto3.ErrorResponse{
				Severity:            "FATAL",
				SeverityUnlocalized: "FATAL",
				Code:                code,
				Message:             message,
			})
			_ = backend.Flush() // the client may be gone
			return
		default: // the client is gone or broken
			return
		}
	}
}

// TestRejectedConnections checks that a running store treats any rejected connection as an
// unavailable server, while opening a database reports the reason and returns ErrUnavailable only
// if retrying may help.
func TestRejectedConnections(t *testing.T) {
	for code, c := range map[string]struct {
		unavailable bool // whether opening also returns ErrUnavailable
		hint        string
	}{
		"28P01": {false, "wrong user or password"},
		"28000": {false, "pg_hba.conf"},
		"3D000": {false, "CREATE DATABASE"},
		"42501": {false, "missing privilege"},
		"55000": {false, ""}, // the database accepts no connections
		"53300": {true, ""},
		"57P03": {true, ""},
	} {
		url := "postgres://u:sesame@" + rejectingServer(t, code, "not today") + "/d"
		_, err := pgx.Connect(t.Context(), url)
		if got := failed("read", err); !errors.Is(got, store.ErrUnavailable) {
			t.Errorf("%s while running: error = %v, want ErrUnavailable", code, got)
		}
		if isConnectionLost(err) {
			t.Errorf("%s: isConnectionLost = true, want false", code)
		}
		got := openError(t, url)
		if errors.Is(got, store.ErrUnavailable) != c.unavailable || !strings.Contains(fmt.Sprint(got), "not today") ||
			!strings.Contains(fmt.Sprint(got), c.hint) {
			t.Errorf("%s while opening: error = %v, want the reason and %q, ErrUnavailable = %v",
				code, got, c.hint, c.unavailable)
		}
	}
}

// TestOneLine checks that an error lists each address once, with the relevant reason.
func TestOneLine(t *testing.T) {
	closed, rejecting := closedPort(t), rejectingServer(t, "28000", "no entry\nfor you")
	for name, c := range map[string]struct {
		url  string
		once []string
	}{
		"port closed": {"postgres://u:sesame@" + closed + "/d", []string{closed, "connection refused"}},
		"without TLS": {"postgres://u:sesame@" + rejecting + "/d", []string{rejecting, "no entry for you"}},
		"several hosts": {
			"postgres://u:sesame@" + closed + "," + rejecting + "/d",
			[]string{closed, "connection refused", rejecting, "no entry for you"},
		},
		"no address": {"postgres://u:sesame@host.invalid/d", []string{"lookup host.invalid"}},
		"TLS disabled": {
			"postgres://u:sesame@" + rejecting + "/d?sslmode=disable",
			[]string{rejecting, "no entry for you"},
		},
		"TLS required": {"postgres://u:sesame@" + rejecting + "/d?sslmode=require", []string{rejecting, "refused TLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pgx.Connect(t.Context(), c.url)
			for _, got := range []string{
				oneLine(err).Error(), failed("read", err).Error(),
				openError(t, c.url).Error(),
			} {
				for _, want := range c.once {
					if strings.Count(got, want) != 1 {
						t.Errorf("error = %q, want exactly one %q", got, want)
					}
				}
				for _, bad := range []string{"\n", "\t", "sesame"} {
					if strings.Contains(got, bad) {
						t.Errorf("error = %q, want no %q", got, bad)
					}
				}
			}
			if !errors.Is(oneLine(err), err) {
				t.Error("oneLine(err) does not wrap err")
			}
		})
	}
	if err := errors.New("one\nother"); oneLine(err) != err {
		t.Error("oneLine(other error) changed the error")
	}
}

// TestRejectionWhileRunning checks that a running store is unavailable while the server rejects its
// connections, and recovers afterward.
func TestRejectionWhileRunning(t *testing.T) {
	server := pgtest.Shared(t)
	execute := func(sql string) {
		t.Helper()
		if err := server.Execute(t.Context(), "postgres", sql); err != nil {
			t.Fatal(err)
		}
	}
	url := migratedDatabase(t)
	name := url[strings.LastIndex(url, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	execute(`CREATE ROLE visitor LOGIN SUPERUSER`)
	t.Cleanup(func() {
		if err := server.Execute(context.Background(), "postgres", `DROP ROLE visitor`); err != nil {
			t.Error(err)
		}
	})
	s := mustOpen(t, strings.Replace(url, "colaregistry@", "visitor@", 1), Options{Logger: quiet()})
	cut := fmt.Sprintf(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '%s'`, name)
	for _, c := range []struct{ name, reject, recover string }{
		{"no login", `ALTER ROLE visitor NOLOGIN`, `ALTER ROLE visitor LOGIN`},
		{
			"no connections",
			`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS false`,
			`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS true`,
		},
	} {
		execute(c.reject)
		execute(cut)
		for method, err := range callMethods(t.Context(), s) {
			if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s error = %v, want ErrUnavailable on one line", c.name, method, err)
			}
		}
		execute(c.recover)
		for method, err := range callMethods(t.Context(), s) {
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %s after recovery: error = %v, want nil", c.name, method, err)
			}
		}
	}
}

// callMethods calls one method of each kind and returns the errors, keyed by method name.
func callMethods(ctx context.Context, s *Store) map[string]error {
	_, readErr := s.Cola(ctx, 1)
	_, keyErr := s.KeyByHash(ctx, store.KeyHash{})
	_, sinceErr := s.ColasSince(ctx, 0, func(*cola.IndexRecord) error { return nil })
	_, upsertErr := s.UpsertColas(ctx, storetest.Samples(0, 1), store.Commit)
	return map[string]error{
		"Ping": s.Ping(ctx), "Cola": readErr, "KeyByHash": keyErr, "ColasSince": sinceErr, "UpsertColas": upsertErr,
		"SetTier": s.SetTier(ctx, 1, cola.TierFree), "Void": s.Void(ctx, storetest.NewBatchID(), nil),
		"Settle": s.Settle(ctx, store.Batch{ID: storetest.NewBatchID()},
			func(time.Time, []store.AccountState) []store.Entry { return nil }),
	}
}

// lines is a log handler that sends its records to a channel.
type lines chan slog.Record

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l lines) WithGroup(string) slog.Handler            { return l }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	l <- r.Clone()
	return nil
}

// TestListenerLog checks that the store logs the loss of its listening connection once, regardless
// of the number of failed attempts to reconnect, and its recovery once.
func TestListenerLog(t *testing.T) {
	url := migratedDatabase(t)
	name := url[strings.LastIndex(url, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	log := make(lines, 100)
	s := mustOpen(t, url, Options{Logger: slog.New(log)})
	<-s.Wakeups() // the listener is connected
	execute := func(sql string) {
		t.Helper()
		if err := pgtest.Shared(t).Execute(t.Context(), "postgres", sql); err != nil {
			t.Fatal(err)
		}
	}
	execute(`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS false`)
	execute(fmt.Sprintf(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '%s'`, name))
	first := <-log
	time.Sleep(15 * minReconnectPause) // enough time for several failed attempts
	execute(`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS true`)
	second := <-log
	levels := []slog.Level{first.Level, second.Level}
	if !slices.Equal(levels, []slog.Level{slog.LevelWarn, slog.LevelInfo}) ||
		!strings.Contains(second.Message, "again") {
		t.Errorf("logged %q, then %q; want a warning, then an info", first.Message, second.Message)
	}
}
