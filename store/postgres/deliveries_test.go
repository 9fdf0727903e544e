package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestDeadlocks checks that concurrent changes to deliveries do not deadlock.
func TestDeadlocks(t *testing.T) {
	before := deadlocks(t)
	storetest.CheckDeadlocks(t, mustOpen(t, migratedDatabase(t), Options{Logger: quiet()}))
	if n := deadlocks(t) - before; n > 0 {
		t.Errorf("server reported %d deadlocks, want 0:\n%s", n, pgtest.Shared(t).Log())
	}
}

// deadlocks returns the number of deadlocks reported in the tail of the server's log.
func deadlocks(t *testing.T) int {
	return strings.Count(pgtest.Shared(t).Log(), "deadlock detected")
}

// TestRejectedClaims checks that a process whose claims the database rejects gets no deliveries to
// send.
func TestRejectedClaims(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	if err := s.Fill(t.Context(), storetest.SampleSearches(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.RunSampleSearches(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	fenced := mustOpen(t, withParams(t, url, map[string]string{"colaregistry.opens_secrets": "off"}),
		Options{Logger: quiet()})
	later := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		s    *Store
		want int
	}{{fenced, 0}, {s, 6}} {
		claimed, err := c.s.ClaimDeliveries(t.Context(), later, []string{cola.KindEmail}, 100, time.Hour)
		if err != nil || len(claimed) != c.want {
			t.Errorf("ClaimDeliveries = %d deliveries, %v; want %d", len(claimed), err, c.want)
		}
	}
}

// TestLockedDeliveries checks that claiming, releasing and deleting deliveries skip rows that
// another transaction has locked, for example to record an attempt.
func TestLockedDeliveries(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	if err := s.Fill(t.Context(), storetest.SampleSearches(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.RunSampleSearches(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the time limit for waiting on the lock
	defer cancel()
	later := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	claim := func(want int) []store.DueDelivery {
		t.Helper()
		claimed, err := s.ClaimDeliveries(ctx, later, []string{cola.KindEmail}, 100, time.Hour)
		if err != nil || len(claimed) != want {
			t.Fatalf("ClaimDeliveries = %d deliveries, %v; want %d", len(claimed), err, want)
		}
		return claimed
	}
	all := claim(6)
	if err := s.ReleaseDeliveries(ctx, all[1:]); err != nil {
		t.Fatal(err)
	}
	tx, err := s.general.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t.Context(), tx)
	if _, err := tx.Exec(t.Context(), `SELECT 1 FROM deliveries WHERE id = ANY($1) FOR NO KEY UPDATE`, []int64{all[0].ID, all[1].ID}); err != nil {
		t.Fatal(err)
	}
	claim(4)
	if err := s.ReleaseDeliveries(ctx, all[:1]); err != nil {
		t.Error(err)
	}
	if n, err := s.DeleteOldDeliveries(ctx, later); n != 4 || err != nil {
		t.Errorf("DeleteOldDeliveries = %d, %v; want the 4 that are not locked", n, err)
	}
	rollback(t.Context(), tx)
	claim(1) // all[1]; all[0] is still claimed, since its release skipped the locked row
}
