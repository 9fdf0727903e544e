package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/colaregistry/colaregistry/internal/pgtest"
)

// TestMigrateDuringImport checks that the migration from schema 20 waits for an import that a
// process running the previous version has begun, and does not block other imports.
func TestMigrateDuringImport(t *testing.T) {
	url := pgtest.NewDatabase(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	mustMigrate(t, db, 20)
	importing, err := db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = importing.Exec(`LOCK TABLE cola_images IN ROW EXCLUSIVE MODE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() {
		_, _, err := Migrate(t.Context(), url, Options{Logger: quiet()})
		migrated <- err
	}()
	for waiting := 0; waiting == 0; time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-migrated:
			t.Fatalf("Migrate ended with %v, want it to wait for the import", err)
		default:
			query(t, url, `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE NOT l.granted AND a.datname = current_database()`, &waiting)
		}
	}
	if _, err := db.Exec(`DO $$ BEGIN LOCK TABLE fetch_windows, fetch_labels, cola_images IN ROW EXCLUSIVE MODE NOWAIT; END $$`); err != nil {
		t.Errorf("another import during the migration: %v", err)
	}
	if err := importing.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	var valid bool
	if query(t, url, `SELECT indisvalid FROM pg_index WHERE indexrelid = 'cola_images_drawn'::regclass`, &valid); !valid {
		t.Error("the index is invalid")
	}
}
