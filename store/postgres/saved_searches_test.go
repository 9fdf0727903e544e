package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestSearchRows(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	storetest.CheckSearchRows(t, s, func(sql string) {
		t.Helper()
		if _, err := s.general.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCreationRetention(t *testing.T) {
	url := migratedDatabase(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	for key, retention := range map[string]time.Duration{"old": time.Hour, "new": time.Hour + time.Microsecond} {
		_, _, err := s.CreateSavedSearch(t.Context(), store.NewSavedSearch{
			Account: account.ID,
			Search:  cola.SavedSearch{UUID: key, Name: key},
			Once:    store.Once{Key: key, Within: retention},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	var n int
	query(t, url, `WITH old AS (INSERT INTO saved_search_creations (account_id, once_key, fingerprint, uuid, kept_until)
		SELECT $1::bigint, n::text, sha256(''), '', $2::timestamptz FROM generate_series(1, 2 * $3::int + 1) n RETURNING 1) SELECT count(*) FROM old`,
		&n, int64(account.ID), now.Add(-time.Hour), rowsPerDelete)
	if err := sqlstore.DeleteExpired(t.Context(), s.control); err != nil {
		t.Fatal(err)
	}
	var left string
	query(t, url, `SELECT count(*) FROM saved_search_creations`, &n)
	query(t, url, `SELECT min(once_key) FROM saved_search_creations`, &left)
	if n != 1 || left != "new" {
		t.Errorf("%d creations left, the first %q; want only the new one", n, left)
	}
}

func TestRunRows(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	storetest.CheckRunRows(t, s, func(sql string) {
		t.Helper()
		if _, err := s.general.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSchemaBeforeRuns checks that existing searches are marked at their last run or creation, and
// that existing labels are history.
func TestSchemaBeforeRuns(t *testing.T) {
	url := pgtest.NewDatabase(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	mustMigrate(t, db, 8)
	if _, err := db.Exec(storetest.RowsBeforeRuns("to_timestamp(1763640000)", "to_timestamp(1763650000)")); err != nil {
		t.Fatal(err)
	}
	storetest.CheckRowsBeforeRuns(t, mustOpen(t, url, Options{Logger: quiet()}))
}

// TestClaimDueLockedSearches checks that a claim skips a search that another transaction has
// locked, for example to change it.
func TestClaimDueLockedSearches(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	if err := s.Fill(t.Context(), storetest.SampleSearches(2)); err != nil {
		t.Fatal(err)
	}
	tx, err := s.general.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t.Context(), tx)
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM saved_searches WHERE id = 1 FOR NO KEY UPDATE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the time limit for waiting on the lock
	defer cancel()
	due := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	claimed, err := s.ClaimDue(ctx, due, 10, time.Hour)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("ClaimDue = %d searches, %v; want the one that is not locked", len(claimed), err)
	}
	rollback(t.Context(), tx)
	if claimed, err = s.ClaimDue(ctx, due, 10, time.Hour); err != nil || len(claimed) != 1 {
		t.Errorf("ClaimDue = %d searches, %v; want the one that was locked", len(claimed), err)
	}
}
