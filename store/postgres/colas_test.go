package postgres

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestKilledImportLeavesWholeLabels: after kill -9 in the middle of an import every label that was told of is there, every
// label is whole and has its permittee, and the import can be run again.
func TestKilledImportLeavesWholeLabels(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	for round := range 3 {
		p, _ := startProcess(t, "import", url)
		told := 0
		for range 1 + 2*round {
			if _, err := fmt.Sscanf(p.line(t), "kept %d", &told); err != nil {
				t.Fatal(err)
			}
		}
		p.kill()
		kept := checkSamples(t, s)
		if kept < told {
			t.Errorf("%d labels are kept, the process told of %d", kept, told)
		}
		outcomes, err := s.UpsertColas(t.Context(), samplePatches(kept-1, 2), store.Commit)
		if diff := cmp.Diff([]store.Outcome{store.Unchanged, store.Added}, outcomes); err != nil || diff != "" {
			t.Errorf("importing again: %v (-want +got):\n%s", err, diff)
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

// TestTextsOfManyLabels: the reader of all labels remembers the texts that repeat, up to so many of a column.
func TestTextsOfManyLabels(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	const labels = mostSeen + 500
	if _, err := s.UpsertColas(t.Context(), samplePatches(0, labels), store.Commit); err != nil {
		t.Fatal(err)
	}
	if kept := checkSamples(t, s); kept != labels {
		t.Errorf("%d labels, want %d", kept, labels)
	}
}

// TestImportAndLedgerTakeTurns: with another process importing without a pause, charges go through, and so does the import.
func TestImportAndLedgerTakeTurns(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := startProcess(t, "import", url)
	for range 3 {
		for range 100 {
			if granted, err := chargeNext(t.Context(), s, account.ID); err != nil || granted != 1 {
				t.Fatalf("granted %d, %v", granted, err)
			}
		}
		p.line(t) // the import has kept more
	}
}
