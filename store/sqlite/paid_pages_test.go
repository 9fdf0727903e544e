package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestExpiredPaidPages(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), Now: func() time.Time { return now }})
	storetest.ExpiredPaidPages(t, s, func(d time.Duration) { now = now.Add(d) }, func() error { return nil },
		func() (n int) {
			if err := s.read.db.QueryRow(`SELECT count(*) FROM paid_pages`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		})
}
