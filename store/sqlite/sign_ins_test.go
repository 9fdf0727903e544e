package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func checkCount(t *testing.T, s *Store, table string, want int, when string) {
	t.Helper()
	var n int
	if err := s.read.db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != want {
		t.Errorf("%s: %s has %d rows, want %d", when, table, n, want)
	}
}

// TestSessionRetention checks that a new session deletes some expired ones, and that a page view,
// which rewrites a session, deletes none.
func TestSessionRetention(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"),
		Options{Logger: quiet(), Now: func() time.Time { return now }})
	save := func(name string, until time.Time) {
		t.Helper()
		if err := s.SaveSession(t.Context(), name, []byte("data"), until); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		save(fmt.Sprint("old", n), now.Add(time.Hour))
	}
	save("lasting", now.Add(3*time.Hour))
	now = now.Add(time.Hour)
	save("lasting", now.Add(3*time.Hour))
	checkCount(t, s, "sessions", 21, "after a page view")
	for i, want := range []int{21 - 8 + 1, 21 - 16 + 2, 1 + 3, 1 + 4} { // each new session deletes up to eight expired ones
		save(fmt.Sprint("new", i), now.Add(time.Hour))
		checkCount(t, s, "sessions", want, fmt.Sprintf("after %d new ones", i+1))
	}
}

func TestSignInLinkRetention(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"),
		Options{Logger: quiet(), Now: func() time.Time { return now }})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	link := func(n byte) {
		t.Helper()
		if err := s.CreateSignInLink(t.Context(), account.ID, store.SignInLinkHash{n}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for n := range byte(10) {
		link(n)
	}
	now = now.Add(time.Hour)
	for i, want := range []int{10 - 8 + 1, 2, 3} {
		link(byte(20 + i))
		checkCount(t, s, "sign_in_links", want, fmt.Sprintf("after %d new ones", i+1))
	}
	if _, err := s.UseSignInLink(t.Context(), store.SignInLinkHash{20}, false); err != nil {
		t.Fatal(err)
	}
	checkCount(t, s, "sign_in_links", 2, "after using one")
}

// TestSessionsDuringImport checks that a page view does not wait for the end of an import, which
// releases the database between transactions.
func TestSessionsDuringImport(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	if err := s.recordsLock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.recordsLock.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.SaveSession(ctx, "a", nil, time.Now().Add(time.Hour)); err != nil {
		t.Errorf("SaveSession during an import: %v", err)
	}
	if _, err := s.DeleteSession(ctx, "a"); err != nil {
		t.Errorf("DeleteSession during an import: %v", err)
	}
}

// TestAllowanceRetention checks that using an allowance deletes the rows from days before
// yesterday.
func TestAllowanceRetention(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"),
		Options{Logger: quiet(), Now: func() time.Time { return now }})
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
	}{
		{24 * time.Hour, 3, 6},
		{24 * time.Hour, 3, 6},
		{48 * time.Hour, 2, 4},
	} {
		now = now.Add(k.after)
		name(cola.DateOf(now) + 1)
		for query, want := range map[string]int{
			`SELECT count(*) FROM daily_allowances`: k.days,
			`SELECT count(*) FROM previewed_labels`: k.rows,
		} {
			var got int
			if err := s.read.db.QueryRow(query).Scan(&got); err != nil || got != want {
				t.Errorf("at %v: %s = %d (error %v), want %d", now, query, got, err, want)
			}
		}
	}
}
