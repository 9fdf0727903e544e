package alerts

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics holds the Prometheus metrics for ticks. Its methods are no-ops on a nil receiver.
type metrics struct {
	runs, matches, late, searchFailures, tickFailures prometheus.Counter
	took                                              prometheus.Observer
	due                                               dueTime
}

// newMetrics registers the metrics. It returns nil if registerer is nil.
func newMetrics(registerer prometheus.Registerer) *metrics {
	if registerer == nil {
		return nil
	}
	runs := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "colaregistry_alert_runs_total",
		Help: "Recorded runs of saved searches.",
	})
	matches := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_alert_matches_total",
		Help: "New matches of saved searches; late ones were approved before the run's window.",
	}, []string{"late"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_alert_failures_total",
		Help: "Failures of a single search or a whole tick; all are retried.",
	}, []string{"of"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "colaregistry_alert_tick_duration_seconds",
		Help:    "Duration of ticks with due searches.",
		Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
	})
	m := &metrics{
		runs: runs, matches: matches.WithLabelValues("false"), late: matches.WithLabelValues("true"),
		searchFailures: failures.WithLabelValues("search"), tickFailures: failures.WithLabelValues("tick"), took: took,
	}
	overdue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_alert_overdue_seconds",
		Help: "Time since the most overdue saved search became due, as of the latest successful tick; " +
			"0 if none is due.",
	}, func() float64 { return m.due.overdue(time.Now()) })
	registerer.MustRegister(runs, matches, failures, took, overdue)
	return m
}

// ticked records the results of a tick.
func (m *metrics) ticked(r *Report, err error, took time.Duration) {
	if m == nil {
		return
	}
	m.runs.Add(float64(r.Runs))
	m.matches.Add(float64(r.Matches - r.Late))
	m.late.Add(float64(r.Late))
	m.searchFailures.Add(float64(r.Failed))
	if err != nil {
		m.tickFailures.Inc()
	}
	if r.completed()+r.Released > 0 {
		m.took.Observe(took.Seconds())
	}
}

// nextDue sets the time at which the next search is due; zero means never.
func (m *metrics) nextDue(at time.Time) {
	if m != nil {
		m.due.set(at)
	}
}

// dueTime is a due time that can be read and set concurrently. The zero value means never.
type dueTime struct {
	at atomic.Int64 // Unix time in nanoseconds; 0 for never or unknown
}

func (d *dueTime) set(at time.Time) {
	if at.IsZero() {
		d.at.Store(0)
		return
	}
	d.at.Store(at.UnixNano())
}

// overdue returns the seconds since the due time. It is computed on demand, so it grows even if
// ticks stop.
func (d *dueTime) overdue(now time.Time) float64 {
	at := d.at.Load()
	if at == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, at)).Seconds())
}
