package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestAsksAreForgotten: with every new request some of those that no limit looks back to are.
func TestAsksAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(n int) {
		t.Helper()
		_, err := s.CreateDestination(t.Context(), store.NewDestination{
			Account: account.ID, Kind: cola.KindEmail, Address: fmt.Sprintf("x%d@example.com", n), State: cola.DestinationUnconfirmed, MaxDestinations: 100,
			Ask: &store.Ask{Due: now, Limits: store.AskLimits{Within: time.Hour, ByAccount: 100, OfAddress: 100}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		ask(n)
	}
	for i, want := range []int{11, 4, 2, 3} { // eight at a time, and a new one each
		var left int
		ask(20 + i)
		if err := s.read.db.QueryRow(`SELECT count(*) FROM confirmations_asked`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left != want {
			t.Errorf("%d requests are known after %d new ones, want %d", left, i+1, want)
		}
		if i == 0 {
			now = now.Add(store.AsksKept)
		}
	}
}
