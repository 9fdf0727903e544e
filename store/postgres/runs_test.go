package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestRunRows(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	storetest.CheckRunRows(t, s, func(sql string) {
		t.Helper()
		if _, err := s.general.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRunsOfTheVersionBefore: searches that are there are marked where they ran last or were created, and labels that are there are
// history.
func TestRunsOfTheVersionBefore(t *testing.T) {
	url := pgtest.NewDatabase(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	mustMigrate(t, db, 8)
	if _, err := db.Exec(storetest.RowsOfTheVersionBefore("to_timestamp(1763640000)", "to_timestamp(1763650000)")); err != nil {
		t.Fatal(err)
	}
	storetest.CheckRowsOfTheVersionBefore(t, mustOpen(t, url, Options{Logger: quiet()}))
}
