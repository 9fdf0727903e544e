package alerts

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// gathered returns metric values by name and label values. The value of a histogram is its number
// of observations.
func gathered(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			switch f.GetType().String() {
			case "COUNTER":
				values[name] = m.GetCounter().GetValue()
			case "GAUGE":
				values[name] = m.GetGauge().GetValue()
			case "HISTOGRAM":
				values[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	f := withSearches(4)
	f.write(oak(2, date(11, 1)), false)
	f.searches["search 03"].fault = errors.New("newer")
	registry := prometheus.NewRegistry()
	r := New(Options{Store: f, Metrics: registry})
	mustTick(t, r, f.clock)
	mustTick(t, r, f.clock) // not observed: no search is due
	f.before = func(string) error { return errors.New("broken") }
	if _, err := r.Tick(t.Context(), f.clock); err == nil {
		t.Fatal("Tick succeeded without a database")
	}
	got := gathered(t, registry)
	overdue := got["colaregistry_alert_overdue_seconds"]
	delete(got, "colaregistry_alert_overdue_seconds")
	want := map[string]float64{
		"colaregistry_alert_runs_total": 3, "colaregistry_alert_matches_total false": 3,
		"colaregistry_alert_matches_total true":    3,
		"colaregistry_alert_failures_total search": 1, "colaregistry_alert_failures_total tick": 1,
		"colaregistry_alert_tick_duration_seconds": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if want := max(0, time.Since(at(11, 10, 6)).Seconds()); overdue < 0 || overdue > want {
		t.Errorf("overdue = %vs, want the time since the failing search became due, at most %vs", overdue, want)
	}
}

func TestOverdue(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())
	for _, tt := range []struct {
		due  time.Time
		want float64
	}{
		{time.Time{}, 0}, {at(11, 10, 5), 3600}, {at(11, 10, 6), 0}, {at(11, 10, 7), 0}, {time.Time{}, 0},
	} {
		m.nextDue(tt.due)
		if got := m.due.overdue(at(11, 10, 6)); got != tt.want {
			t.Errorf("due at %v: overdue = %vs, want %v", tt.due, got, tt.want)
		}
	}
}
