package postgres

import (
	"database/sql"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlstore"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeDeliveries checks that existing accounts and searches get notifications after the
// migration.
func TestSchemaBeforeDeliveries(t *testing.T) {
	url := oldDatabase(t, 9, storetest.RowsBeforeDeliveries("to_timestamp(1763640000)", "to_timestamp(1763650000)"),
		`SELECT setval(pg_get_serial_sequence('accounts', 'id'), 2)`)
	storetest.CheckRowsBeforeDeliveries(t, mustOpen(t, url, Options{Logger: quiet()}))
}

// TestSchemaBeforeSecrets checks that endpoints that accepted a message stay active, and that
// processes running the previous version, which can't sign with sealed secrets, claim no
// deliveries.
func TestSchemaBeforeSecrets(t *testing.T) {
	const created = "to_timestamp(1763640000)"
	url := oldDatabase(t, 14, storetest.RowsBeforeSecrets(created),
		`SELECT setval(pg_get_serial_sequence('accounts', 'id'), 1)`)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := mustOpen(t, url, Options{Logger: quiet()})
	storetest.CheckRowsBeforeSecrets(t, s, created, func(statement string) error {
		_, err := db.Exec(statement)
		return err
	}, func(uuid string) (token string) {
		if err := db.QueryRow(`SELECT token FROM destinations WHERE uuid = $1`, uuid).Scan(&token); err != nil {
			t.Fatal(err)
		}
		return token
	})
	due := time.Now()
	if _, err := s.AddTest(t.Context(), 1, "taken", due); err != nil {
		t.Fatal(err)
	}
	claim := `UPDATE deliveries SET hold = hold + 1, held_until = now() + interval '1 hour' RETURNING id`
	if rows, err := db.Exec(claim); err != nil {
		t.Fatal(err)
	} else if n, _ := rows.RowsAffected(); n != 0 {
		t.Errorf("previous version claimed %d deliveries, want 0", n)
	}
	if claimed, err := s.ClaimDeliveries(t.Context(), due, []string{cola.KindWebhook}, 10, time.Hour); err != nil ||
		len(claimed) != 1 {
		t.Errorf("ClaimDeliveries = %v, %v; want the test message", claimed, err)
	}
}

// TestRunDuringDeletion checks that recording a run waits for the concurrent deletion of a
// destination and then creates no delivery for it.
func TestRunDuringDeletion(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	plan := &cola.Schedule{Active: true, Cadence: cola.CadenceDaily, NextRunAt: cola.Some(cola.TimestampOf(now))}
	search := cola.SavedSearch{UUID: "x", Name: "x", Schedule: plan}
	if _, _, err := s.CreateSavedSearch(t.Context(),
		store.NewSavedSearch{Account: account.ID, Search: search, MaxActive: 1}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.ClaimDue(t.Context(), now, 1, time.Hour)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("ClaimDue = %v, %v; want one search", claimed, err)
	}
	deletion, err := s.general.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t.Context(), deletion)
	if _, err := deletion.Exec(t.Context(), `DELETE FROM destinations`); err != nil {
		t.Fatal(err)
	}
	recorded := make(chan error, 1)
	go func() {
		run := store.RunRecord{Due: claimed[0], Mark: store.Mark{At: now}, Matches: []store.RunMatch{{TTBID: 1}}}
		outcomes, err := s.RecordRuns(t.Context(), []store.RunRecord{run})
		if err == nil && !outcomes[0].Recorded {
			t.Error("run not recorded")
		}
		recorded <- err
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		query(t, url,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
			&waiting)
	}
	if err := deletion.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-recorded; err != nil {
		t.Error(err)
	}
	if list, n, err := s.DeliveriesOf(t.Context(), account.ID, store.DeliveryFilter{},
		store.Slice{Limit: 10}); err != nil || n != 0 {
		t.Errorf("DeliveriesOf = %+v, %v; want none", list, err)
	}
}

func TestConfirmationRetention(t *testing.T) {
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
		SELECT count(*) FROM old`, &n, int64(account.ID), now.Add(time.Microsecond-store.ConfirmationRetention), rowsPerDelete)
	if err := sqlstore.DeleteExpired(t.Context(), s.control); err != nil {
		t.Fatal(err)
	}
	var left string
	query(t, url, `SELECT count(*) FROM confirmations_asked`, &n)
	query(t, url, `SELECT min(address_folded) FROM confirmations_asked`, &left)
	if n != 1 || left != "0" {
		t.Errorf("%d confirmation requests left, the first for %q; want only the new one", n, left)
	}
}
