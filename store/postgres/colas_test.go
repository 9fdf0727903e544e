package postgres

import (
	"testing"

	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestTextsOfManyLabels: the reader of all labels remembers the texts that repeat, up to so many of a column.
func TestTextsOfManyLabels(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	const labels = mostSeen + 500
	if _, err := s.UpsertColas(t.Context(), storetest.Samples(0, labels), store.Commit); err != nil {
		t.Fatal(err)
	}
	if kept := storetest.CheckSamples(t, s); kept != labels {
		t.Errorf("%d labels, want %d", kept, labels)
	}
}
