package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestAllowancesAreForgotten: counting an allowance forgets rows of days before yesterday.
func TestAllowancesAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	day := cola.DateOf(now)
	name := func(day cola.Date) {
		t.Helper()
		if _, err := s.NamePreviewLabels(t.Context(), account.ID, day, []cola.TTBID{1, 2}, 100); err != nil {
			t.Fatal(err)
		}
	}
	name(day)
	name(day + 1)
	for _, k := range []struct {
		after      time.Duration
		days, rows int
	}{{24 * time.Hour, 3, 6}, {24 * time.Hour, 3, 6}, {48 * time.Hour, 2, 4}} {
		now = now.Add(k.after)
		name(cola.DateOf(now) + 1)
		for query, want := range map[string]int{`SELECT count(*) FROM daily_allowances`: k.days, `SELECT count(*) FROM previewed_labels`: k.rows} {
			var got int
			if err := s.read.db.QueryRow(query).Scan(&got); err != nil || got != want {
				t.Errorf("%v: %s is %d, %v; want %d", now, query, got, err, want)
			}
		}
	}
}
