package quota

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
)

// TestMetrics checks that the metrics match what callers saw.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierFree)
		b.start[7] = cola.Used{DetailViews: 199, ListRecords: 9_975}
		registry := prometheus.NewRegistry()
		l := New(b, Options{Metrics: registry})
		defer l.Close()
		list, detail := request(key1, cola.MeterListRecords, 20), request(key1, cola.MeterDetailViews, 1)
		for _, q := range []Request{list, list, list, detail, detail, detail, request(key2, cola.MeterNone, 0), request(key1, cola.MeterNone, 0)} {
			_, _ = l.Charge(t.Context(), q)
		}
		b.suspend("Unpaid.")
		_, _ = l.Charge(t.Context(), list)
		b.suspend("")
		for range 6 { // three are granted, one is refused by the store and two by the cache
			_, _ = l.Charge(t.Context(), list)
		}
		if _, err := l.Precheck(list); err == nil {
			t.Error("the window is not known to be full")
		}
		mustMeasure(t, registry, `
			# HELP colaregistry_charged_units_total Units that were granted and charged, by meter.
			# TYPE colaregistry_charged_units_total counter
			colaregistry_charged_units_total{meter="detail_views"} 1
			colaregistry_charged_units_total{meter="list_records"} 25
			# HELP colaregistry_charges_refused_total Charges that were refused, by reason.
			# TYPE colaregistry_charges_refused_total counter
			colaregistry_charges_refused_total{reason="account_suspended"} 1
			colaregistry_charges_refused_total{reason="burst"} 4
			colaregistry_charges_refused_total{reason="detail_views"} 2
			colaregistry_charges_refused_total{reason="list_records"} 4
			colaregistry_charges_refused_total{reason="unauthorized"} 1
			colaregistry_charges_refused_total{reason="unavailable"} 0
			# HELP colaregistry_ledger_unclear_total Attempts to settle a batch that failed with an unknown outcome.
			# TYPE colaregistry_ledger_unclear_total counter
			colaregistry_ledger_unclear_total 0
		`, "colaregistry_charged_units_total", "colaregistry_charges_refused_total", "colaregistry_ledger_unclear_total")
		for _, name := range []string{
			"colaregistry_ledger_batch_charges", "colaregistry_ledger_commit_duration_seconds", "colaregistry_ledger_wait_seconds",
		} {
			if got := observed(t, registry, name); got != 13 {
				t.Errorf("%s counts %d, want the 13 charges that the store was asked for, one at a time", name, got)
			}
		}
	})
}

// TestMetricsOfAnOutage checks the gauges during and after an outage.
func TestMetricsOfAnOutage(t *testing.T) {
	const names = `
		# HELP colaregistry_ledger_doubtful_batches Batches that were refused, may have been committed all the same, and are still to be voided.
		# TYPE colaregistry_ledger_doubtful_batches gauge
		colaregistry_ledger_doubtful_batches DOUBTFUL
		# HELP colaregistry_ledger_queue_length Charges that wait for the batch before theirs.
		# TYPE colaregistry_ledger_queue_length gauge
		colaregistry_ledger_queue_length WAITING
		# HELP colaregistry_ledger_unclear_total Attempts to settle a batch that failed with an unknown outcome.
		# TYPE colaregistry_ledger_unclear_total counter
		colaregistry_ledger_unclear_total UNCLEAR
		# HELP colaregistry_ledger_up 1 while charges are let through, 0 while the store is known not to commit.
		# TYPE colaregistry_ledger_up gauge
		colaregistry_ledger_up UP
	`
	expect := func(t *testing.T, registry *prometheus.Registry, doubtful, waiting, unclear, up string) {
		t.Helper()
		want := strings.NewReplacer("es DOUBTFUL", "es "+doubtful, "WAITING", waiting, "UNCLEAR", unclear, "up UP", "up "+up).Replace(names)
		mustMeasure(t, registry, want, "colaregistry_ledger_doubtful_batches", "colaregistry_ledger_queue_length",
			"colaregistry_ledger_unclear_total", "colaregistry_ledger_up")
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBook(cola.TierPro)
		b.settle = until(time.Now().Add(10*time.Second), hangsAfter)
		registry := prometheus.NewRegistry()
		l := New(b, Options{Metrics: registry})
		defer l.Close()
		expect(t, registry, "0", "0", "0", "1")
		go charge(t, l)
		synctest.Wait()
		go charge(t, l)
		synctest.Wait()
		expect(t, registry, "0", "1", "0", "1")
		time.Sleep(chargeTimeout)
		synctest.Wait()
		expect(t, registry, "1", "1", "1", "0") // the waiting caller has given up, but its charge is still queued
		time.Sleep(10 * time.Second)
		expect(t, registry, "0", "0", "1", "1")
		mustMeasure(t, registry, `
			# HELP colaregistry_charges_refused_total Charges that were refused, by reason.
			# TYPE colaregistry_charges_refused_total counter
			colaregistry_charges_refused_total{reason="account_suspended"} 0
			colaregistry_charges_refused_total{reason="burst"} 0
			colaregistry_charges_refused_total{reason="detail_views"} 0
			colaregistry_charges_refused_total{reason="list_records"} 0
			colaregistry_charges_refused_total{reason="unauthorized"} 0
			colaregistry_charges_refused_total{reason="unavailable"} 2
		`, "colaregistry_charges_refused_total")
	})
}

func TestMetricsLint(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	l := New(newBook(cola.TierPro), Options{Metrics: registry})
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
		t.Errorf("%d series, %v; want those of nine metrics", n, err)
	}
}

func mustMeasure(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
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
	t.Fatalf("there is no metric %s", name)
	return 0
}
