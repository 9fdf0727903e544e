package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// noStep is a step that writes nothing.
type noStep struct{}

func (noStep) write(context.Context, *writer, cola.Revision) error { return nil }

// TestWriteConflict checks writes on systems without file locks, where records may change between
// planning and writing. The write is planned again from the first unstored record, and fails after
// too many conflicts.
func TestWriteConflict(t *testing.T) {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	for _, times := range []int{0, 1, 3, attempts} {
		path := filepath.Join(t.TempDir(), "registry.db")
		s := mustOpen(t, path, Options{Logger: quiet(), Now: func() time.Time { return now }})
		others, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer others.Close()
		plans := 0
		outcomes, err := s.apply(t.Context(),
			change{plan: func(ctx context.Context, q querier, done int) (*plan, error) {
				plans++
				var rev int
				if err := q.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil { // the snapshot starts here
					return nil, err
				}
				if plans <= times {
					if _, err := others.ExecContext(ctx, `UPDATE meta SET revision = ? + ?`, now.UnixMicro(), plans); err != nil {
						return nil, err
					}
				}
				return &plan{outcomes: []store.Outcome{store.Added}, steps: []step{noStep{}}}, nil
			}})
		if times == attempts {
			if !errors.Is(err, store.ErrUnavailable) || len(outcomes) > 0 {
				t.Errorf("after %d conflicts: apply = %v, %v; want no outcomes, ErrUnavailable", times, outcomes, err)
			}
			continue
		}
		if diff := cmp.Diff([]store.Outcome{store.Added}, outcomes); err != nil || diff != "" || plans != times+1 {
			t.Errorf("after %d conflicts: apply error = %v, %d plans; want nil, %d plans (-want +got):\n%s",
				times, err, plans, times+1, diff)
		}
		want := cola.Revision(now.UnixMicro())
		if times > 0 {
			want += cola.Revision(times) + 1 // after those of the other writer
		}
		if rev, err := s.Revision(t.Context()); err != nil || rev != want {
			t.Errorf("after %d conflicts: revision = %d (error %v), want %d", times, rev, err, want)
		}
	}
}

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

// TestRevisionRetention checks that old revisions are deleted gradually, except the one that was
// the latest 30 days ago.
func TestRevisionRetention(t *testing.T) {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"),
		Options{Logger: quiet(), Now: func() time.Time { return now }})
	var old []cola.Revision
	for i := range 50 {
		old = append(old, mustImport(t, s, i, 1))
	}
	latest := old[len(old)-1]
	now = now.Add(revisionRetention + time.Hour)
	var recent []cola.Revision
	for i := range 10 {
		recent = append(recent, mustImport(t, s, 50+i, 1))
	}
	for _, rev := range old {
		checkRevisionKnown(t, s, rev, rev == latest)
	}
	now = now.Add(revisionRetention - time.Second)
	recent = append(recent, mustImport(t, s, 60, 1))
	checkRevisionKnown(t, s, latest, true)
	for _, rev := range recent {
		checkRevisionKnown(t, s, rev, true)
	}
	now = now.Add(time.Second)
	recent = append(recent, mustImport(t, s, 61, 1))
	checkRevisionKnown(t, s, latest, false) // it ceased to be the latest 30 days ago
	for _, rev := range recent {
		checkRevisionKnown(t, s, rev, true)
	}
}

// TestSchemaBeforeRevisions checks that after migration from a schema without the revisions table,
// the current revision is known, and so are revisions assigned later by processes running the old
// version.
func TestSchemaBeforeRevisions(t *testing.T) {
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
	checkRevisionKnown(t, s, 500, true)
	checkRevisionKnown(t, s, 499, false)
	if _, err := db.Exec(`UPDATE meta SET revision = revision + 1`); err != nil {
		t.Fatal(err)
	}
	checkRevisionKnown(t, s, 501, true)
	before := time.Now().UnixMicro()
	if rev := mustImport(t, s, 0, 1); int64(rev) < before {
		t.Errorf("revision = %d, want at least the current time, %d", rev, before)
	}
	checkRevisionKnown(t, s, 501, true)
}
