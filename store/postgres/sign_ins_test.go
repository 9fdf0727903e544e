package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// rowsPerDelete is the number of rows that one statement of sqlstore.DeleteExpired deletes.
const rowsPerDelete = 1_000

// TestSessionRetention checks that all expired sessions and sign-in links are deleted, however
// many there are.
func TestSessionRetention(t *testing.T) {
	url := migratedDatabase(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	const old = 2*rowsPerDelete + 1
	var n int
	query(t, url, `WITH old AS (INSERT INTO sessions SELECT 'old' || n, '', $1::timestamptz FROM generate_series(1, $2::int) n RETURNING 1)
		SELECT count(*) FROM old`, &n, now, old)
	query(t, url, `WITH old AS (INSERT INTO sign_in_links SELECT sha256(n::text::bytea), $3::bigint, $1::timestamptz FROM generate_series(1, $2::int) n RETURNING 1)
		SELECT count(*) FROM old`, &n, now, old, int64(account.ID))
	if err := s.SaveSession(t.Context(), "lasting", nil, now.Add(time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateSignInLink(t.Context(), account.ID, [32]byte{}, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	if err := sqlstore.DeleteExpired(t.Context(), s.control); err != nil {
		t.Fatal(err)
	}
	var left string
	query(t, url, `SELECT string_agg(name, ' ') FROM sessions`, &left)
	query(t, url, `SELECT count(*) FROM sign_in_links`, &n)
	if left != "lasting" || n != 1 {
		t.Errorf("sessions left = %q, %d links; want lasting, 1", left, n)
	}
}

// TestUnsyncedCommit checks that an unsynced transaction turns off synchronous_commit, but not for
// later transactions.
func TestUnsyncedCommit(t *testing.T) {
	s := mustOpen(t, withParams(t, migratedDatabase(t), map[string]string{"synchronous_commit": "on"}),
		Options{Logger: quiet()})
	for _, k := range []struct {
		transact func(work func(tx pgx.Tx) error) error
		want     string
	}{
		{func(work func(tx pgx.Tx) error) error { return s.transactUnsynced(t.Context(), "test", work) }, "off"},
		{func(work func(tx pgx.Tx) error) error { return s.transact(t.Context(), "test", work) }, "on"},
	} {
		var waits string
		err := k.transact(func(tx pgx.Tx) error { return tx.QueryRow(t.Context(), `SHOW synchronous_commit`).Scan(&waits) })
		if err != nil || waits != k.want {
			t.Errorf("synchronous_commit = %q (error %v), want %q", waits, err, k.want)
		}
	}
}

// TestInvalidIndex checks that a migration replaces an invalid index that an interrupted migration
// left behind.
func TestInvalidIndex(t *testing.T) {
	url := oldDatabase(t, 12)
	var n int
	query(t, url, `WITH cut AS (UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'colas_by_resubmitted'::regclass RETURNING 1) SELECT count(*) FROM cut`, &n)
	query(t, url, `DELETE FROM goose_db_version WHERE version_id = 12 RETURNING 1`, &n)
	if _, _, err := Migrate(t.Context(), url, Options{Logger: quiet()}); err != nil {
		t.Fatal(err)
	}
	var valid bool
	query(t, url, `SELECT indisvalid FROM pg_index WHERE indexrelid = 'colas_by_resubmitted'::regclass`, &valid)
	if !valid {
		t.Error("index is still invalid after the migration")
	}
}

// TestAllowanceRetention checks that upkeep deletes all rows from days before yesterday.
func TestAllowanceRetention(t *testing.T) {
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
		&n, int64(account.ID), rowsPerDelete)
	for _, day := range []cola.Date{cola.DateOf(now), cola.DateOf(now) - 1, cola.DateOf(now) - 2} {
		if _, err := s.NamePreviewLabels(t.Context(), account.ID, day, []cola.TTBID{1e9}, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := sqlstore.DeleteExpired(t.Context(), s.control); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"daily_allowances", "previewed_labels"} {
		if query(t, url, `SELECT count(*) FROM `+table, &n); n != 2 {
			t.Errorf("%s has %d rows, want 2, for today and yesterday", table, n)
		}
	}
}
