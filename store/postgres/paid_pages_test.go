package postgres

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store/sqlstore"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestExpiredPaidPages(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet(), Now: func() time.Time { return now }})
	storetest.ExpiredPaidPages(t, s, func(d time.Duration) { now = now.Add(d) },
		func() error { return sqlstore.DeleteExpired(t.Context(), s.control) },
		func() (n int) {
			query(t, url, `SELECT count(*) FROM paid_pages`, &n)
			return n
		})
}
