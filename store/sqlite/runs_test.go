package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestRunRows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	storetest.CheckRunRows(t, s, func(sql string) {
		t.Helper()
		err := s.transact(t.Context(), "change rows", func(ctx context.Context) error { return s.ledger.exec(ctx, sql) })
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestRunsOfTheVersionBefore: searches that are there are marked where they ran last or were created, and labels that are there are
// history.
func TestRunsOfTheVersionBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := newProvider(db)
	if err == nil {
		_, err = p.UpTo(t.Context(), 8)
	}
	if err == nil {
		_, err = db.Exec(storetest.RowsOfTheVersionBefore("1763640000000000", "1763650000000000"))
	}
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckRowsOfTheVersionBefore(t, mustOpen(t, path, Options{Logger: quiet()}))
}
