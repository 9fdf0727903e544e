package postgres

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestInterning checks the strings that ColasSince returns when a column has more distinct strings
// than maxInterned.
func TestInterning(t *testing.T) {
	s := mustOpen(t, migratedDatabase(t), Options{Logger: quiet()})
	const labels = maxInterned + 500
	if _, err := s.UpsertColas(t.Context(), storetest.Samples(0, labels), store.Commit); err != nil {
		t.Fatal(err)
	}
	if n := storetest.CheckSamples(t, s); n != labels {
		t.Errorf("ColasSince reported %d labels, want %d", n, labels)
	}
}

// TestLegacyNulls checks that labels stored by earlier versions have no nulls where clients expect
// none.
func TestLegacyNulls(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	patch := storetest.Sample(1)
	if _, err := s.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		t.Fatal(err)
	}
	var id int64
	for _, statement := range storetest.LegacyNulls() {
		query(t, url, statement+" RETURNING ttb_id", &id)
	}
	storetest.CheckLegacyNulls(t, s, patch)
}
