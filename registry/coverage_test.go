package registry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// LastImports fails while mute is set.
func (f flaky) LastImports(ctx context.Context) ([]cola.LastImport, error) {
	if f.w.mute.Load() {
		return nil, fmt.Errorf("read: %w", store.ErrUnavailable)
	}
	return f.Store.LastImports(ctx)
}

// TestCoverage checks the coverage of demo labels. It also checks that reading it is free, and that
// usage and searches report the same date.
func TestCoverage(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "coverage@example.com", cola.TierFree)
	got, state, err := w.Coverage(t.Context(), c)
	if err != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Fatalf("Coverage = %+v, %v, want no charge", state, err)
	}
	if got.Labels != 300 || got.Labels != got.KnownDates+got.EstimatedDates+got.Undated || got.DataAsOf == 0 {
		t.Errorf("Coverage = %+v", got)
	}
	if got.LastImports == nil || len(got.LastImports) > 0 {
		t.Errorf("imports = %#v, want an empty list", got.LastImports)
	}
	usage, _, err := w.Usage(t.Context(), c)
	if err != nil || usage.DataAsOf != got.DataAsOf {
		t.Errorf("usage is as of %s, %v; want %s", usage.DataAsOf, err, got.DataAsOf)
	}
	page, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{})
	if err != nil || page.DataAsOf != got.DataAsOf {
		t.Errorf("search is as of %s, %v; want %s", page.DataAsOf, err, got.DataAsOf)
	}
	for name, want := range map[string]float64{
		"index_labels_without_detail":  float64(300 - got.WithDetail),
		"data_as_of_timestamp_seconds": float64(got.DataAsOf.Time().Unix()),
	} {
		if measured := w.gauge(t, name); measured != want {
			t.Errorf("%s = %v, want %v", name, measured, want)
		}
	}
}

// TestCoverageImports checks that the latest imports are listed and exported as metrics, and cached
// briefly.
func TestCoverageImports(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustCaller(t, "coverage@example.com", cola.TierFree)
	at := cola.TimestampOf(testNow)
	record := func(kind string, at cola.Timestamp, failed bool) cola.Import {
		t.Helper()
		i := cola.Import{Kind: kind, StartedAt: at - 1e6, FinishedAt: at, Read: 5, Added: 5, Failed: failed}
		must(t, func() error { return w.store.RecordImport(t.Context(), i) })
		return i
	}
	list := func() []cola.LastImport {
		t.Helper()
		got, _, err := w.Coverage(t.Context(), c)
		must(t, func() error { return err })
		if got.DataAsOf != 0 || got.Years == nil {
			t.Errorf("empty registry: %+v", got)
		}
		return got.LastImports
	}
	first := record("colas", at, false)
	want := []cola.LastImport{{Import: first, SucceededAt: cola.Some(at)}}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	second := record("colas", at+60e6, true)
	w.advance(6 * time.Second)
	want = []cola.LastImport{{Import: second, SucceededAt: cola.Some(at)}}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("imports after a failed one (-want +got):\n%s", diff)
	}
	for name, want := range map[string]float64{
		"finished_timestamp_seconds": float64(testNow.Unix()) + 60, "succeeded_timestamp_seconds": float64(testNow.Unix()), "failed": 1,
	} {
		if got := w.measured(t, "last_import_"+name)["colas"]; int64(got) != int64(want) {
			t.Errorf("last_import_%s = %v, want %v", name, got, want)
		}
	}
	w.mute.Store(true)
	w.advance(6 * time.Second)
	if _, _, err := w.Coverage(t.Context(), c); code(err) != cola.CodeUnavailable {
		t.Errorf("Coverage without the database: error = %v, want unavailable", err)
	}
	if got := w.measured(t, "last_import_failed"); len(got) > 0 {
		t.Errorf("last_import_failed = %v without the database, want no samples", got)
	}
}
