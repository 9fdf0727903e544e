package postgres

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
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

func TestCreationsAreForgotten(t *testing.T) {
	url := migratedDatabase(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	for key, within := range map[string]time.Duration{"old": time.Hour, "new": time.Hour + time.Microsecond} {
		_, _, err := s.CreateSavedSearch(t.Context(), store.NewSavedSearch{
			Account: account.ID, Search: cola.SavedSearch{UUID: key, Name: key}, Once: store.Once{Key: key, Within: within},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	var n int
	query(t, url, `WITH old AS (INSERT INTO saved_search_creations (account_id, once_key, fingerprint, uuid, kept_until)
		SELECT $1::bigint, n::text, sha256(''), '', $2::timestamptz FROM generate_series(1, 2 * $3::int + 1) n RETURNING 1) SELECT count(*) FROM old`,
		&n, int64(account.ID), now.Add(-time.Hour), oldAtOnce)
	if err := sqlstore.ForgetOld(t.Context(), s.Store); err != nil {
		t.Fatal(err)
	}
	var left string
	query(t, url, `SELECT count(*) FROM saved_search_creations`, &n)
	query(t, url, `SELECT min(once_key) FROM saved_search_creations`, &left)
	if n != 1 || left != "new" {
		t.Errorf("%d creations are left, the first is %q; want the new one", n, left)
	}
}
