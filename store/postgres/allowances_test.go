package postgres

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// TestAllowancesAreForgotten: upkeep forgets rows of days before yesterday, however many there are.
func TestAllowancesAreForgotten(t *testing.T) {
	url := migratedDatabase(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	query(t, url, `WITH old AS (INSERT INTO previewed_labels (account_id, day, ttb_id)
		SELECT $1::bigint, '2026-11-18'::date, n FROM generate_series(1, 2 * $2::int + 1) n RETURNING 1) SELECT count(*) FROM old`,
		&n, int64(account.ID), oldAtOnce)
	for _, day := range []cola.Date{cola.DateOf(now), cola.DateOf(now) - 1, cola.DateOf(now) - 2} {
		if _, err := s.NamePreviewLabels(t.Context(), account.ID, day, []cola.TTBID{1e9}, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := sqlstore.ForgetOld(t.Context(), s.Store); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"daily_allowances", "previewed_labels"} {
		if query(t, url, `SELECT count(*) FROM `+table, &n); n != 2 {
			t.Errorf("%s has %d rows, want those of today and yesterday", table, n)
		}
	}
}
