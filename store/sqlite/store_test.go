package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
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
		s := mustOpen(t, migratedFile(t), Options{Now: now, Logger: quiet()})
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
		New:   migratedFile,
		Check: func(t *testing.T, db storetest.Database) { checkFile(t, db.(*Store)) },
	})
}

// empty is an empty database with the schema.
type empty struct {
	file []byte
	id   string // store ID, which the file contains once
}

// template migrates a database once per process. Copying it takes much less time than migrating.
var template = sync.OnceValues(func() (e empty, err error) {
	folder, err := os.MkdirTemp("", "colaregistry-template")
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "template.db")
	s, err := Open(context.Background(), path, Options{Logger: quiet()})
	if err != nil {
		return e, err
	}
	e.id = s.ID()
	if err := s.Close(); err != nil {
		return e, err
	}
	e.file, err = os.ReadFile(path)
	if err == nil && (len(e.id) != 32 || bytes.Count(e.file, []byte(e.id)) != 1) {
		err = errors.New("the template doesn't contain its store ID, 32 hex digits, exactly once")
	}
	return e, err
})

// migratedFile returns the path of a new database with the schema and a unique store ID, like
// package sqlitetest, which this package's tests can't import.
func migratedFile(t testing.TB) string {
	t.Helper()
	original, err := template()
	if err != nil {
		t.Fatal(err)
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	file := bytes.Replace(original.file, []byte(original.id), hex.AppendEncode(nil, id[:]), 1)
	path := filepath.Join(t.TempDir(), "registry.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

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
