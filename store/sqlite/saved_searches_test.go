package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestSearchRows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	storetest.CheckSearchRows(t, s, func(sql string) {
		t.Helper()
		err := s.transact(t.Context(), "change rows",
			func(ctx context.Context) error { return s.ledger.exec(ctx, sql) })
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestCreationRetention checks that creating a search deletes some of the expired creation records.
func TestCreationRetention(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"),
		Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	create := func(n int, retention time.Duration) {
		t.Helper()
		name := fmt.Sprintf("n%d", n)
		_, _, err := s.CreateSavedSearch(t.Context(), store.NewSavedSearch{
			Account: account.ID,
			Search:  cola.SavedSearch{UUID: name, Name: name},
			Once:    store.Once{Key: name, Within: retention},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		t.Helper()
		if err := s.read.db.QueryRow(`SELECT count(*) FROM saved_search_creations`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for n := range 20 {
		create(n, time.Hour)
	}
	create(20, 2*time.Hour)
	if n := left(); n != 21 {
		t.Errorf("%d creations left, want all 21", n)
	}
	now = now.Add(time.Hour)
	for i, want := range []int{14, 7, 4, 5} { // each creation deletes up to eight expired records and adds one
		create(30+i, time.Hour)
		if n := left(); n != want {
			t.Errorf("%d creations left after %d new ones, want %d", n, i+1, want)
		}
	}
}

func TestRunRows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	storetest.CheckRunRows(t, s, func(sql string) {
		t.Helper()
		err := s.transact(t.Context(), "change rows",
			func(ctx context.Context) error { return s.ledger.exec(ctx, sql) })
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestSchemaBeforeRuns checks that existing searches are marked at their last run or creation, and
// that existing labels are history.
func TestSchemaBeforeRuns(t *testing.T) {
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
		_, err = db.Exec(storetest.RowsBeforeRuns("1763640000000000", "1763650000000000"))
	}
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckRowsBeforeRuns(t, mustOpen(t, path, Options{Logger: quiet()}))
}
