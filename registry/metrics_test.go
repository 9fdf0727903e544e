package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// ColasSince fails while mute is set.
func (f flaky) ColasSince(ctx context.Context, after cola.Revision, yield func(*cola.IndexRecord) error) (cola.Revision, error) {
	if f.w.mute.Load() {
		return 0, fmt.Errorf("read: %w", store.ErrUnavailable)
	}
	return f.Store.ColasSince(ctx, after, yield)
}

// measured returns a metric's values by label values. For a histogram, the value is the number of
// observations.
func (w *world) measured(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "colaregistry_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			found[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return found
}

// gauge returns the value of a metric without labels.
func (w *world) gauge(t *testing.T, name string) float64 {
	t.Helper()
	value, ok := w.measured(t, name)[""]
	if !ok {
		t.Fatalf("metric %s is missing", name)
	}
	return value
}

// TestSearchMetrics checks that searches are counted by class, and that searches that never
// reach the index are not counted.
func TestSearchMetrics(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "measured@example.com", cola.TierPro)
	for _, p := range []cola.SearchParams{
		{}, {Q: "oak"}, {Q: "elm", Status: "approved"}, {Q: "oak*"}, {BrandName: "oak"}, {PerPage: cola.Some(1_000)}, {Status: "approved"},
	} {
		w.SearchColas(t.Context(), c, p)
	}
	w.CountColas(t.Context(), c, cola.CountParams{GroupBy: []string{cola.ByYear}})
	w.CountColas(t.Context(), c, cola.CountParams{})
	w.SearchPermittees(t.Context(), c, cola.PermitteeParams{})
	w.Permittee(t.Context(), c, "NO-SUCH-1", "")
	w.SearchBrands(t.Context(), c, cola.BrandParams{Q: "oak"})
	w.SearchBrands(t.Context(), c, cola.BrandParams{})
	w.Barcode(t.Context(), c, "1")
	w.Barcode(t.Context(), c, "2")
	w.Usage(t.Context(), c)
	w.Suggest(t.Context(), c, cola.SuggestParams{Field: cola.SuggestClass})
	w.Suggest(t.Context(), c, cola.SuggestParams{})
	want := map[string]float64{
		"browse": 1, "text": 2, "prefix": 1, "phrase": 0, "id": 0, "barcode": 2, "brand": 1, "permit": 0, "filters": 1, "permittees": 1, "permittee": 1, "facets": 0, "counts": 1, "suggestions": 1,
		"similar_brands": 1,
	}
	for _, name := range []string{"searches_total", "search_duration_seconds"} {
		if diff := cmp.Diff(want, w.measured(t, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if problems, err := testutil.GatherAndLint(w.metrics); err != nil || len(problems) > 0 {
		t.Errorf("lint problems = %v, %v", problems, err)
	}
}

// TestIndexMetrics checks that the index metrics match the stored records.
func TestIndexMetrics(t *testing.T) {
	start := time.Now().Add(-time.Second)
	w := mustWorld(t, 300)
	stats, marks := w.index.View().Stats(), w.index.View().Marks()
	revision, err := w.store.Revision(t.Context())
	must(t, func() error { return err })
	for name, want := range map[string]float64{
		"index_labels": 300, "index_undated_labels": float64(stats.Undated), "index_permittees": float64(stats.Permittees),
		"index_segments": float64(stats.Segments), "index_bytes": float64(stats.Bytes), "index_replaced_labels": 0,
		"index_revision": float64(marks.Labels), "store_revision": float64(revision), "index_lag_seconds": 0,
		"index_labels_followed_total": 300, "index_follow_failures_total": 0, "ready": 1,
	} {
		if got := w.gauge(t, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	w.Drain()
	if got := w.gauge(t, "ready"); got != 0 {
		t.Errorf("ready = %v after shutdown started, want 0", got)
	}
	if stats.Permittees == 0 || stats.Bytes == 0 || revision == 0 {
		t.Errorf("statistics are empty: %+v, revision %d", stats, revision)
	}
	for _, name := range []string{"index_changed_timestamp_seconds", "index_checked_timestamp_seconds"} {
		at := time.UnixMilli(int64(w.gauge(t, name) * 1000))
		if at.Before(start) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("%s = %v, want between %v and now", name, at, start)
		}
	}
}

// TestLagMetrics checks that the lag grows while changes can't be read, and that the metrics
// recover.
func TestLagMetrics(t *testing.T) {
	w := mustWorld(t, 10)
	before := w.gauge(t, "index_revision")
	w.mute.Store(true)
	label := cola.Patch[cola.Cola]{Record: cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 11054001000049, BrandName: "LENZ MOSER", ProductType: vocabulary.Wine, PermitNumber: "NJ-I-721",
	}}, Fields: ^cola.Fields(0)}
	must(t, func() error {
		_, err := w.store.UpsertColas(t.Context(), []cola.Patch[cola.Cola]{label}, store.Commit)
		return err
	})
	latest, err := w.store.Revision(t.Context())
	must(t, func() error { return err })
	eventually(t, "a lag", func() bool { return w.gauge(t, "index_follow_failures_total") >= 2 })
	first := w.gauge(t, "index_lag_seconds")
	if store, index, ready := w.gauge(t, "store_revision"), w.gauge(t, "index_revision"), w.gauge(t, "ready"); store != float64(latest) || index != before || ready != 0 {
		t.Errorf("store revision = %v, index revision = %v, ready = %v, want %d, %v, 0", store, index, ready, latest, before)
	}
	if second := w.gauge(t, "index_lag_seconds"); first <= 0 || second <= first {
		t.Errorf("lag = %v s, then %v s, want it to increase", first, second)
	}
	followed := w.gauge(t, "index_labels_followed_total")
	w.mute.Store(false)
	eventually(t, "the new label", func() bool { return w.gauge(t, "index_revision") == float64(latest) })
	eventually(t, "the lag to return to 0", func() bool { return w.gauge(t, "index_lag_seconds") == 0 && w.gauge(t, "ready") == 1 })
	if got := w.gauge(t, "index_labels_followed_total") - followed; got != 1 {
		t.Errorf("followed %v labels, want 1", got)
	}
}

// TestImageErrorPrivacy checks that the error from a failed image read, which may be logged,
// contains the label's ID but no other part of the image path.
func TestImageErrorPrivacy(t *testing.T) {
	w := mustWorld(t, 1)
	id := w.newest(t, w.mustCaller(t, "image@example.com", cola.TierPro), cola.SearchParams{})[0].TTBID.String()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := w.DrawableImage(ctx, id+"-987")
	if err == nil || !strings.Contains(err.Error(), id) || strings.Contains(err.Error(), "-987") {
		t.Errorf("error = %v, want the label ID only", err)
	}
}
