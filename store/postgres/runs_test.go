package postgres

import (
	"testing"

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
