package postgres

import (
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestSchemaBeforeEstimates checks that labels stored by an earlier version get estimated dates.
func TestSchemaBeforeEstimates(t *testing.T) {
	s := mustOpen(t, oldDatabase(t, 15, storetest.RowsBeforeEstimates()), Options{Logger: quiet()})
	storetest.CheckRowsBeforeEstimates(t, s, func(sql string) {
		t.Helper()
		if _, err := s.general.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	})
}
