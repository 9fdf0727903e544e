package sqlite

import (
	"context"
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeEstimates checks that labels stored by an earlier version get estimated dates.
func TestSchemaBeforeEstimates(t *testing.T) {
	s := mustOpen(t, oldDatabase(t, 15, storetest.RowsBeforeEstimates()), Options{Logger: quiet()})
	storetest.CheckRowsBeforeEstimates(t, s, func(sql string) {
		t.Helper()
		err := s.records.transact(t.Context(), func(ctx context.Context) error { return s.records.exec(ctx, sql) })
		if err != nil {
			t.Fatal(err)
		}
	})
}
