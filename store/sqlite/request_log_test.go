package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestExpiredRequests(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := start
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), Now: func() time.Time { return now }})
	storetest.ExpiredRequests(t, s, start, func(d time.Duration) { now = now.Add(d) }, func() error { return nil })
}
