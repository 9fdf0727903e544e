package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestListsRoundTrip: any list of text survives being a column.
func TestListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		var got []string
		if err := (target{&got}).Scan(encode(&list)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestWrongColumns: a value that a field cannot hold is an error, not a zero.
func TestWrongColumns(t *testing.T) {
	var n int
	var date cola.Date
	var list []string
	var known cola.Opt[float64]
	for _, c := range []struct {
		field any
		value any
	}{{&n, "1"}, {&n, nil}, {&n, 1.5}, {&date, "tomorrow"}, {&date, int64(1)}, {&list, `{"a":1}`}, {&known, "1"}, {&known, []byte("1")}} {
		if err := (target{c.field}).Scan(c.value); err == nil {
			t.Errorf("scanning %#v into %T: no error", c.value, c.field)
		}
	}
}

// TestKilledImportLeavesWholeLabels: after kill -9 in the middle of an import every label that was told of is there, every
// label is whole and has its permittee, and the import can be run again.
func TestKilledImportLeavesWholeLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	for round := range 3 {
		p, _ := startProcess(t, "import", path)
		told := 0
		for range 1 + 2*round {
			if _, err := fmt.Sscanf(p.line(t), "kept %d", &told); err != nil {
				t.Fatal(err)
			}
		}
		p.kill()
		s := mustOpen(t, path, Options{Logger: quiet()})
		kept := checkSamples(t, s)
		if kept < told {
			t.Errorf("%d labels are kept, the process told of %d", kept, told)
		}
		checkFile(t, s)
		outcomes, err := s.UpsertColas(t.Context(), samplePatches(kept-1, 2), store.Commit)
		if diff := cmp.Diff([]store.Outcome{store.Unchanged, store.Added}, outcomes); err != nil || diff != "" {
			t.Errorf("importing again: %v (-want +got):\n%s", err, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkSamples holds the labels of a store to the samples they were made of, of which they must be the first so many.
func checkSamples(t *testing.T, s *Store) (kept int) {
	t.Helper()
	permittees := map[string]bool{}
	if _, err := s.PermitteesSince(t.Context(), 0, func(p *cola.Permittee) error { permittees[p.PermitNumber] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	_, err := s.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		want := samplePatch(kept).Record
		want.Derive()
		record := want.IndexRecord()
		if diff := cmp.Diff(&record, r); diff != "" {
			return fmt.Errorf("label %d (-want +got):\n%s", kept, diff)
		}
		if !permittees[r.Summary.PermitNumber] {
			return fmt.Errorf("label %d has no permittee", kept)
		}
		kept++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := max(0, kept-100); n < kept; n++ { // the last ones, with all their parts
		want := samplePatch(n).Record
		want.Derive()
		got, err := s.Cola(t.Context(), want.TTBID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("label %d: %v (-want +got):\n%s", n, err, diff)
		}
	}
	return kept
}

// checkFile has SQLite look for damage.
func checkFile(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := s.read.db.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check: %s, %v", verdict, err)
	}
	var orphans int
	if err := s.read.db.QueryRow(`SELECT count(*) FROM pragma_foreign_key_check`).Scan(&orphans); err != nil || orphans > 0 {
		t.Errorf("%d rows refer to none (%v)", orphans, err)
	}
}

// TestImportAndLedgerTakeTurns: with another process importing without a pause, charges go through, and so does the import.
func TestImportAndLedgerTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	s := mustOpen(t, path, Options{Logger: quiet()})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := startProcess(t, "import", path)
	for range 3 {
		for range 100 {
			if granted, err := chargeNext(t.Context(), s, account.ID); err != nil || granted != 1 {
				t.Fatalf("granted %d, %v", granted, err)
			}
		}
		p.line(t) // the import has kept more
	}
}
