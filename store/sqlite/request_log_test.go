package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestExpiredRequests(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := start
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), Now: func() time.Time { return now }})
	storetest.ExpiredRequests(t, s, start, func(d time.Duration) { now = now.Add(d) }, func() error { return nil })
}

// TestPeriodicDeletion checks that expired requests are deleted without further writes.
func TestPeriodicDeletion(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), deleteInterval: time.Millisecond})
	a, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	expired := store.RecordedRequest{Account: a.ID, ExpiresAt: time.Now()}
	if err := s.RecordRequests(t.Context(), []store.RecordedRequest{expired}, nil); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		list, err := s.Requests(t.Context(), a.ID, store.RequestFilter{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal("expired request was not deleted")
		}
	}
}
