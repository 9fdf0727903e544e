package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Now: now, Logger: quiet()})
	})
}

// mustOpen opens a store and closes it when the test ends.
func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
