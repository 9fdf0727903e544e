package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// fetchStatusWait is how long a scrape waits for the database. It is short because waiting
	// delays all other metrics.
	fetchStatusWait = time.Second
	// A status is not read again until it is older than both fetchStatusAge and fetchStatusShare
	// times the duration of the latest read, because counting a queue of millions of labels is
	// slow.
	fetchStatusAge   = 10 * time.Second
	fetchStatusShare = 50
	// A status that can't be refreshed is exported until it is older than fetchStatusMaxAge plus
	// fetchStatusShare times the duration of the latest read.
	fetchStatusMaxAge = 5 * time.Minute
	fetchStatusRead   = time.Minute // timeout of a read
)

// fetchMetrics exports the state of the collectors, which may run in other processes. It reads the
// state only when metrics are collected. If the store can't be read, it exports the latest state
// until that state is too old (see fetchStatusMaxAge), and then no samples.
type fetchMetrics struct {
	store  store.Fetches
	now    func() time.Time
	states []fetchState
	gauges []fetchGauge

	mu      sync.Mutex
	reading chan struct{} // closed when the read in progress ends; nil between reads
	status  store.FetchStatus
	read    time.Time // when status was read
	took    time.Duration
}

// fetchState is a metric with a sample for each state.
type fetchState struct {
	desc   *prometheus.Desc
	states []string
	counts func(s *store.FetchStatus) map[string]int
}

// fetchGauge is a metric with one sample.
type fetchGauge struct {
	desc  *prometheus.Desc
	value func(s *store.FetchStatus, now time.Time) float64
}

func newFetchMetrics(st store.Fetches) *fetchMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("colaregistry_fetch_"+name, help, labels, nil)
	}
	type status = store.FetchStatus
	return &fetchMetrics{store: st, now: time.Now, states: []fetchState{
		{
			desc("windows", "Planned days, by state: pending, split, complete or incomplete.", "state"),
			[]string{store.FetchPending, store.FetchSplit, store.FetchComplete, store.FetchIncomplete},
			func(s *status) map[string]int { return s.Windows },
		},
		{
			desc("queued_labels", "Labels in the queue, by state: pending or failed.", "state"),
			[]string{store.FetchPending, store.FetchFailed},
			func(s *status) map[string]int { return s.Labels },
		},
	}, gauges: []fetchGauge{
		{desc("requests", "Requests sent to TTB's site by all processes so far."),
			func(s *status, _ time.Time) float64 { return float64(s.Requests) }},
		{desc("last_request_timestamp_seconds", "Time of the latest request, which may be scheduled but not yet sent; 0 before the first request."),
			func(s *status, _ time.Time) float64 { return timestamp(s.LastRequest) }},
		{desc("blocked", "1 while the site refuses requests, otherwise 0."),
			func(s *status, _ time.Time) float64 { return asNumber(s.Blocked != "") }},
		{desc("paused", "1 while requests are paused, otherwise 0."),
			func(s *status, now time.Time) float64 { return asNumber(s.PausedUntil.After(now)) }},
		{desc("newest_day_timestamp_seconds", "Newest completion date of fetched labels; 0 if there are none."),
			func(s *status, _ time.Time) float64 { return dateSeconds(s.NewestDay) }},
		{desc("stale", "1 if the newest completion date is older than three business days, otherwise 0."),
			func(s *status, now time.Time) float64 { return asNumber(!s.StaleSince(now).IsZero()) }},
		{desc("oldest_pending_day_age_seconds", "Age of the oldest day that is pending or split; 0 if there are no such days."),
			func(s *status, now time.Time) float64 {
				if s.OldestPending == 0 {
					return 0
				}
				return max(0, now.Sub(s.OldestPending.Time()).Seconds())
			}},
	}}
}

// Describe implements prometheus.Collector.
func (m *fetchMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range m.states {
		ch <- s.desc
	}
	for _, g := range m.gauges {
		ch <- g.desc
	}
}

// Collect implements prometheus.Collector.
func (m *fetchMetrics) Collect(ch chan<- prometheus.Metric) {
	status, ok := m.current()
	if !ok {
		return
	}
	for _, s := range m.states {
		counts := s.counts(&status)
		for _, state := range s.states {
			ch <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(counts[state]), state)
		}
	}
	for _, g := range m.gauges {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(&status, m.now()))
	}
}

// current returns the latest status and reports whether it is recent enough to export. If a read is
// due or in progress, current waits up to fetchStatusWait for it.
func (m *fetchMetrics) current() (store.FetchStatus, bool) {
	m.mu.Lock()
	if m.reading == nil && m.now().Sub(m.read) >= max(fetchStatusAge, fetchStatusShare*m.took) {
		m.reading = make(chan struct{})
		go m.update(m.reading)
	}
	reading := m.reading
	m.mu.Unlock()
	if reading != nil {
		select {
		case <-reading:
		case <-time.After(fetchStatusWait):
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status, m.now().Sub(m.read) < fetchStatusMaxAge+fetchStatusShare*m.took
}

// update reads the status and closes done. If the read fails, it keeps the previous status.
func (m *fetchMetrics) update(done chan struct{}) {
	defer close(done)
	ctx, cancel := context.WithTimeout(context.Background(), fetchStatusRead)
	defer cancel()
	started := time.Now()
	status, err := m.store.FetchStatus(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading = nil
	if err == nil {
		m.status, m.read, m.took = status, m.now(), time.Since(started)
	}
}

func asNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// timestamp returns the seconds since the Unix epoch, or 0 for the zero time.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

func dateSeconds(d cola.Date) float64 {
	if d == 0 {
		return 0
	}
	return timestamp(d.Time())
}
