package sqlite

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.RunChild(openDatabase)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	var log statementLog
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s := mustOpen(t, template.NewFile(t), Options{Now: now, Logger: quiet()})
		t.Cleanup(func() { log.add(s) })
		return s
	})
	t.Run("QueryPlans", func(t *testing.T) {
		log.checkPlans(t, mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()}))
	})
}

func TestProcesses(t *testing.T) {
	storetest.RunProcesses(t, storetest.Backend{
		Open:  openDatabase,
		Empty: func(t testing.TB) string { return filepath.Join(t.TempDir(), "registry.db") },
		New:   template.NewFile,
		Check: func(t *testing.T, db storetest.Database) { checkFile(t, db.(*Store)) },
	})
}

var template = storetest.FileTemplate{Open: openDatabase}

// openDatabase opens a store for package storetest.
func openDatabase(ctx context.Context, path string) (storetest.Database, error) {
	return Open(ctx, path, Options{Logger: quiet()})
}

// mustOpen opens a store and closes it when the test ends.
func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, o)
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

// checkFile runs SQLite's integrity checks.
func checkFile(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := s.read.db.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check = %s, %v; want ok, nil", verdict, err)
	}
	var orphans int
	if err := s.read.db.QueryRow(`SELECT count(*) FROM pragma_foreign_key_check`).Scan(&orphans); err != nil ||
		orphans > 0 {
		t.Errorf("%d foreign key violations (error %v), want 0", orphans, err)
	}
}

// TestConcurrentViews checks that views do not deadlock if they use up all connections and each
// need a statement that is not prepared.
func TestConcurrentViews(t *testing.T) {
	s := mustOpen(t, t.TempDir()+"/registry.db", Options{})
	const query = `SELECT 40 + 2`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var started, ended sync.WaitGroup
	started.Add(readConnections)
	for range readConnections {
		ended.Go(func() {
			err := s.read.view(ctx, func(q querier) error {
				started.Done()
				started.Wait() // all connections are in use
				var got int
				return q.row(ctx, query).Scan(&got)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
	if _, ok := s.read.stmts.Load(query); !ok {
		t.Error("statement is not prepared after the views")
	}
}
