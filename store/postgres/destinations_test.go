package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeDeliveries: accounts and searches that are there can be told what is found.
func TestSchemaBeforeDeliveries(t *testing.T) {
	url := pgtest.NewDatabase(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	mustMigrate(t, db, 9)
	if _, err := db.Exec(storetest.RowsBeforeDeliveries("to_timestamp(1763640000)", "to_timestamp(1763650000)")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`SELECT setval(pg_get_serial_sequence('accounts', 'id'), 2)`); err != nil {
		t.Fatal(err)
	}
	storetest.CheckRowsBeforeDeliveries(t, mustOpen(t, url, Options{Logger: quiet()}))
}
