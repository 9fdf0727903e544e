package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// TestFreshLabels checks that a registry with demo data gets labels once a day until labels are
// imported, and that other registries get none.
func TestFreshLabels(t *testing.T) {
	t.Parallel()
	h := embedded(t)
	st := mustOpen(t, h)
	c := &serveCommand{storeFlags: h.storeFlags, Demo: "auto"}
	noDemo := &serveCommand{storeFlags: h.storeFlags, Demo: "never"}
	first, total := cola.NewDate(2026, time.November, 20), 0
	add := func(c *serveCommand, today, last, wantDay cola.Date, wantAdded int) {
		t.Helper()
		day, err := c.addFreshLabels(t.Context(), st, today, last)
		if err != nil || day != wantDay {
			t.Errorf("addFreshLabels(%s, %s) = %s, %v, want %s", today, last, day, err, wantDay)
		}
		n := 0
		if _, err := st.ColasSince(t.Context(), 0, func(*cola.IndexRecord) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		if n-total != wantAdded {
			t.Errorf("addFreshLabels(%s, %s) adds %d labels, want %d", today, last, n-total, wantAdded)
		}
		total = n
	}
	mustImport := func(kind ingest.Kind) {
		t.Helper()
		if err := st.RecordImport(t.Context(), cola.Import{Kind: string(kind), StartedAt: cola.TimestampOf(time.Now()),
			FinishedAt: cola.TimestampOf(time.Now())}); err != nil {
			t.Fatal(err)
		}
	}

	add(c, first, 0, 0, 0) // no demo data
	if err := writeMarker(filepath.Join(h.DataDir, demoRecord), demo.Options{Colas: 100, Seed: 1, AsOf: first}); err != nil {
		t.Fatal(err)
	}
	add(noDemo, first, 0, 0, 0)
	add(c, first, 0, first, demo.FreshPerDay)
	add(c, first, first, first, 0)
	add(c, first, 0, first, 0) // after a restart
	mustImport(ingest.Permittees)
	add(c, first+1, first, first+1, demo.FreshPerDay)
	mustImport(ingest.Colas)
	add(c, first+2, first+1, first+1, 0)
}
