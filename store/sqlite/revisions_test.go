package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// mustHave holds a store to what is in its past.
func mustHave(t *testing.T, s *Store, rev cola.Revision, want bool) {
	t.Helper()
	if has, err := s.HasRevision(t.Context(), rev); err != nil || has != want {
		t.Errorf("revision %d is in the store's past: %v (%v), want %v", rev, has, err, want)
	}
}

func mustImport(t *testing.T, s *Store, from, count int) cola.Revision {
	t.Helper()
	if _, err := s.UpsertColas(t.Context(), storetest.Samples(from, count), store.Commit); err != nil {
		t.Fatal(err)
	}
	rev, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// TestRevisionsAreForgotten, by and by, but not the one that was the latest 30 days ago.
func TestRevisionsAreForgotten(t *testing.T) {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet(), Now: func() time.Time { return now }})
	var old []cola.Revision
	for i := range 50 {
		old = append(old, mustImport(t, s, i, 1))
	}
	latest := old[len(old)-1]
	now = now.Add(revisionsKept + time.Hour)
	var lately []cola.Revision
	for i := range 10 {
		lately = append(lately, mustImport(t, s, 50+i, 1))
	}
	for _, rev := range old {
		mustHave(t, s, rev, rev == latest)
	}
	now = now.Add(revisionsKept - time.Second)
	lately = append(lately, mustImport(t, s, 60, 1))
	mustHave(t, s, latest, true)
	for _, rev := range lately {
		mustHave(t, s, rev, true)
	}
	now = now.Add(time.Second)
	lately = append(lately, mustImport(t, s, 61, 1))
	mustHave(t, s, latest, false) // it is 30 days since it was not the latest any more
	for _, rev := range lately {
		mustHave(t, s, rev, true)
	}
}

// TestRevisionsOfTheVersionBefore: a database that had none keeps where it stood, and notes those that a process takes which
// knows nothing of them.
func TestRevisionsOfTheVersionBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := newProvider(db)
	if err == nil {
		_, err = p.UpTo(t.Context(), 5)
	}
	if err == nil {
		_, err = db.Exec(`UPDATE meta SET revision = 500, reference_revision = 17`)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path, Options{Logger: quiet()})
	mustHave(t, s, 500, true)
	mustHave(t, s, 499, false)
	if _, err := db.Exec(`UPDATE meta SET revision = revision + 1`); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s, 501, true)
	before := time.Now().UnixMicro()
	if rev := mustImport(t, s, 0, 1); int64(rev) < before {
		t.Errorf("revision %d, want the time, which was %d before", rev, before)
	}
	mustHave(t, s, 501, true)
}
