// Package sqlitetest creates SQLite databases for tests. It copies a template, because migrating
// takes much longer, especially with the race detector.
package sqlitetest

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

	"github.com/colaregistry/colaregistry/store/sqlite"
)

// Open opens a new database and closes it when the test ends. The default logger discards
// everything.
func Open(t testing.TB, o sqlite.Options) *sqlite.Store {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	st, err := sqlite.Open(context.Background(), NewFile(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return st
}

// NewFile returns the path of a new database with the current schema. A store that opens it doesn't
// report it as created.
func NewFile(t testing.TB) string {
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

// empty is an empty database with the current schema.
type empty struct {
	file []byte
	id   string // store ID, which the file contains once
}

// template migrates a database once per process.
var template = sync.OnceValues(func() (e empty, err error) {
	folder, err := os.MkdirTemp("", "colaregistry-template")
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "template.db")
	st, err := sqlite.Open(context.Background(), path, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return e, err
	}
	e.id = st.ID()
	if err := st.Close(); err != nil {
		return e, err
	}
	e.file, err = os.ReadFile(path)
	if err == nil && (len(e.id) != 32 || bytes.Count(e.file, []byte(e.id)) != 1) {
		err = errors.New("the template doesn't contain its store ID, 32 hex digits, exactly once")
	}
	return e, err
})
