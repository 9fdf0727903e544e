package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
)

// TestMetrics checks that the metrics match the outcomes of the charges.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierFree)
		b.start[7] = cola.Used{DetailViews: 199, ListRecords: 9_975}
		registry := prometheus.NewRegistry()
		l := New(b, Options{Metrics: registry})
		defer l.Close()
		list, detail := request(key1, cola.MeterListRecords, 20), request(key1, cola.MeterDetailViews, 1)
		free, revoked := request(key1, cola.MeterNone, 0), request(key2, cola.MeterNone, 0)
		for _, q := range []Request{list, list, list, detail, detail, detail, revoked, free} {
			_, _ = l.Charge(t.Context(), q)
		}
		b.suspend("Unpaid.")
		_, _ = l.Charge(t.Context(), list)
		b.suspend("")
		time.Sleep(rejectionCacheTTL)
		for range 6 { // three over the quota, then three over the rate limit: one from the store, two from the cache
			_, _ = l.Charge(t.Context(), list)
		}
		if _, err := l.Precheck(list); err == nil {
			t.Error("Precheck in a full window: error = nil, want burst")
		}
		checkMetrics(t, registry, map[string]float64{
			`charged_units_total{meter="detail_views"}`:          1,
			`charged_units_total{meter="list_records"}`:          25,
			`charges_refused_total{reason="account_suspended"}`:  1,
			`charges_refused_total{reason="burst"}`:              4,
			`charges_refused_total{reason="detail_views"}`:       2,
			`charges_refused_total{reason="forbidden"}`:          0,
			`charges_refused_total{reason="insufficient_scope"}`: 0,
			`charges_refused_total{reason="list_records"}`:       4,
			`charges_refused_total{reason="unauthorized"}`:       1,
			`charges_refused_total{reason="unavailable"}`:        0,
			`ledger_unclear_total`:                               0,
		}, "charged_units_total", "charges_refused_total", "ledger_unclear_total")
		for _, name := range []string{
			"colaregistry_ledger_batch_charges", "colaregistry_ledger_commit_duration_seconds",
			"colaregistry_ledger_wait_seconds",
		} {
			if got := observed(t, registry, name); got != 13 {
				t.Errorf("%s has %d observations, want 13: one for each charge that reached the store", name, got)
			}
		}
	})
}

// TestOutageMetrics checks the gauges during and after an outage.
func TestOutageMetrics(t *testing.T) {
	expect := func(t *testing.T, registry *prometheus.Registry, doubtful, waiting, unclear, up float64) {
		t.Helper()
		want := map[string]float64{
			"ledger_doubtful_batches": doubtful, "ledger_queue_length": waiting,
			"ledger_unclear_total": unclear, "ledger_up": up,
		}
		checkMetrics(t, registry, want, slices.Collect(maps.Keys(want))...)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newFakeLedger(cola.TierPro)
		b.settle = until(time.Now().Add(10*time.Second), hangsAfter)
		registry := prometheus.NewRegistry()
		l := New(b, Options{Metrics: registry})
		defer l.Close()
		expect(t, registry, 0, 0, 0, 1)
		go charge(t, l)
		synctest.Wait()
		go charge(t, l)
		synctest.Wait()
		expect(t, registry, 0, 1, 0, 1)
		time.Sleep(chargeTimeout)
		synctest.Wait()
		expect(t, registry, 1, 0, 1, 0) // the waiting caller has given up
		time.Sleep(10 * time.Second)
		expect(t, registry, 0, 0, 1, 1)
		checkMetrics(t, registry, map[string]float64{
			`charges_refused_total{reason="account_suspended"}`:  0,
			`charges_refused_total{reason="burst"}`:              0,
			`charges_refused_total{reason="detail_views"}`:       0,
			`charges_refused_total{reason="forbidden"}`:          0,
			`charges_refused_total{reason="insufficient_scope"}`: 0,
			`charges_refused_total{reason="list_records"}`:       0,
			`charges_refused_total{reason="unauthorized"}`:       0,
			`charges_refused_total{reason="unavailable"}`:        2,
		}, "charges_refused_total")
	})
}

func TestMetricsLint(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	l := New(newFakeLedger(cola.TierPro), Options{Metrics: registry})
	defer l.Close()
	charge(t, l)
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n < 9 {
		t.Errorf("GatherAndCount = %d, %v; want at least 9 series", n, err)
	}
}

// checkMetrics compares all series of the named metrics with want. Names lack the prefix
// "colaregistry_".
func checkMetrics(t *testing.T, registry *prometheus.Registry, want map[string]float64, names ...string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		name := strings.TrimPrefix(f.GetName(), "colaregistry_")
		if !slices.Contains(names, name) {
			continue
		}
		for _, m := range f.GetMetric() {
			series := name
			for _, l := range m.GetLabel() {
				series += fmt.Sprintf("{%s=%q}", l.GetName(), l.GetValue())
			}
			got[series] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// observed returns a histogram's number of observations.
func observed(t *testing.T, registry *prometheus.Registry, name string) uint64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	t.Fatalf("metric %s missing", name)
	return 0
}
