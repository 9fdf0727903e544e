package postgres

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

func TestAsksAreForgotten(t *testing.T) {
	url := migratedDatabase(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	query(t, url, `WITH old AS (INSERT INTO confirmations_asked (account_id, address_folded, asked_at)
		SELECT $1::bigint, n::text, $2::timestamptz - make_interval(secs => CASE n WHEN 0 THEN 0 ELSE 1 END) FROM generate_series(0, 2 * $3::int + 1) n RETURNING 1)
		SELECT count(*) FROM old`, &n, int64(account.ID), now.Add(time.Microsecond-store.AsksKept), oldAtOnce)
	if err := sqlstore.ForgetOld(t.Context(), s.Store); err != nil {
		t.Fatal(err)
	}
	var left string
	query(t, url, `SELECT count(*) FROM confirmations_asked`, &n)
	query(t, url, `SELECT min(address_folded) FROM confirmations_asked`, &left)
	if n != 1 || left != "0" {
		t.Errorf("%d requests are left, the first is of %q; want the new one", n, left)
	}
}
