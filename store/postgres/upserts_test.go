package postgres

import (
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/pgtest"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// checkRevisionKnown checks whether a revision is in the store's history.
func checkRevisionKnown(t *testing.T, s *Store, rev cola.Revision, want bool) {
	t.Helper()
	if has, err := s.HasRevision(t.Context(), rev); err != nil || has != want {
		t.Errorf("HasRevision(%d) = %v (error %v), want %v", rev, has, err, want)
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

// TestRevisionRetention checks that old revisions are deleted, except the one that was the latest
// 30 days ago.
func TestRevisionRetention(t *testing.T) {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet(), Now: func() time.Time { return now }})
	deleteOld := func() {
		t.Helper()
		if err := s.deleteOldRevisions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var old []cola.Revision
	for i := range 5 {
		old = append(old, mustImport(t, s, i, 1))
	}
	latest := old[len(old)-1]
	now = now.Add(revisionRetention + time.Hour)
	deleteOld()
	checkRevisionKnown(t, s, latest, true)
	recent := []cola.Revision{mustImport(t, s, 5, 1), mustImport(t, s, 6, 1)}
	deleteOld()
	for _, rev := range old {
		checkRevisionKnown(t, s, rev, rev == latest)
	}
	now = now.Add(revisionRetention - time.Second)
	deleteOld()
	checkRevisionKnown(t, s, latest, true)
	now = now.Add(time.Second + time.Microsecond)
	deleteOld()
	checkRevisionKnown(t, s, latest, false)
	checkRevisionKnown(t, s, recent[0], false)
	checkRevisionKnown(t, s, recent[1], true)
}

// TestSchemaBeforeRevisions checks that a database created before the revisions table existed has
// its current revision in its history, and records revisions assigned by processes running the old
// version. New revisions come from the server's clock.
func TestSchemaBeforeRevisions(t *testing.T) {
	url := pgtest.NewDatabase(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	mustMigrate(t, db, 5)
	if _, err := db.Exec(`UPDATE meta SET revision = 500, reference_revision = 17`); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, url, Options{Logger: quiet()})
	checkRevisionKnown(t, s, 500, true)
	checkRevisionKnown(t, s, 499, false)
	if _, err := db.Exec(`UPDATE meta SET revision = revision + 1`); err != nil {
		t.Fatal(err)
	}
	checkRevisionKnown(t, s, 501, true)
	before := time.Now().Add(-time.Second).UnixMicro() // the server runs on this machine
	if rev := mustImport(t, s, 0, 1); int64(rev) < before {
		t.Errorf("revision = %d, want at least %d, the time before the import", rev, before)
	}
	checkRevisionKnown(t, s, 501, true)
}

// mustMigrate migrates a database to a schema version.
func mustMigrate(t *testing.T, db *sql.DB, version int64) {
	t.Helper()
	p, err := newProvider(db)
	if err == nil {
		_, err = p.UpTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
}
