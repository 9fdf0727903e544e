package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestRunRows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	storetest.CheckRunRows(t, s, func(sql string) {
		t.Helper()
		err := s.transact(t.Context(), "change rows", func(ctx context.Context) error { return s.ledger.exec(ctx, sql) })
		if err != nil {
			t.Fatal(err)
		}
	})
}
