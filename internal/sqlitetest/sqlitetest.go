// Package sqlitetest creates SQLite databases for tests.
package sqlitetest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/colaregistry/colaregistry/store/sqlite"
	"github.com/colaregistry/colaregistry/store/storetest"
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
	return template.NewFile(t)
}

var template = storetest.FileTemplate{Open: func(ctx context.Context, path string) (storetest.Database, error) {
	return sqlite.Open(ctx, path, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
}}
