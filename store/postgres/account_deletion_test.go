package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// accountReferences lists the columns of the schema that refer to other tables.
const accountReferences = `SELECT c.conrelid::regclass::text, a.attname::text, c.confrelid::regclass::text, p.attname::text FROM pg_constraint c
		JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
		JOIN pg_attribute p ON p.attrelid = c.confrelid AND p.attnum = c.confkey[1] WHERE c.contype = 'f'
	UNION SELECT table_name::text, column_name::text, 'accounts', 'id' FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'account_id'`

func TestAccountRemoval(t *testing.T) {
	now := storetest.Epoch
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet(), Now: func() time.Time { return now }})
	rows, err := s.general.Query(t.Context(), accountReferences)
	if err != nil {
		t.Fatal(err)
	}
	references, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storetest.AccountReference])
	if err != nil {
		t.Fatal(err)
	}
	storetest.AccountRemoval(t, s, func(d time.Duration) { now = now.Add(d) }, references, func(table, where string) (n int) {
		if err := s.general.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE `+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
}
