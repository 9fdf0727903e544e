package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestRowWrite checks that any number of rows is written exactly once, in a few statements.
func TestRowWrite(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	accounts := storetest.SampleAccounts(t, s, 150)
	for n := range len(accounts) + 1 {
		var rows []any
		for _, id := range accounts[:n] {
			rows = append(rows, int64(id), 1, 2)
		}
		err := s.ledger.transact(t.Context(), func(ctx context.Context) error {
			return addMonths.exec(ctx, s.ledger, []any{"2026-11"}, rows)
		})
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		statements := 0
		for left := n; left > 0; statements++ {
			_, rows := addMonths.split(left)
			left -= rows
		}
		if statements > 6 {
			t.Errorf("%d rows took %d statements, want at most 6", n, statements)
		}
	}
	for i, id := range accounts {
		var views, list int
		err := s.read.row(t.Context(), `SELECT detail_views, list_records FROM usage_months WHERE account_id = ?`,
			int64(id)).Scan(&views, &list)
		if want := len(accounts) - i; err != nil || views != want || list != 2*want {
			t.Errorf("account %d: %d, %d (%v), want %d, %d", id, views, list, err, want, 2*want)
		}
	}
}
