package registry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/search"
)

// indexCollector tells of the index and of how it follows the store. It reads what there is when it is asked, and so costs
// nothing between.
type indexCollector struct {
	service *Service
	facts   []indexFact
}

// indexFact is one metric: how it is read from a moment of the index.
type indexFact struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*indexMoment) float64
}

// indexMoment is what all the metrics of one collection are read from, so that they belong together.
type indexMoment struct {
	search.Stats
	sighting
	marks search.Marks
	ready bool
	now   time.Time
}

func newIndexCollector(s *Service) *indexCollector {
	c := &indexCollector{service: s}
	c.addIndex()
	c.addFollowing()
	return c
}

func (c *indexCollector) add(kind prometheus.ValueType, name, help string, read func(*indexMoment) float64) {
	c.facts = append(c.facts, indexFact{prometheus.NewDesc("colaregistry_"+name, help, nil, nil), kind, read})
}

// addIndex adds what the index holds.
func (c *indexCollector) addIndex() {
	const gauge = prometheus.GaugeValue
	c.add(gauge, "index_labels", "Labels that can be found.", func(m *indexMoment) float64 { return float64(m.Labels) })
	c.add(gauge, "index_undated_labels", "Labels that can be found and have no approval date.", func(m *indexMoment) float64 { return float64(m.Undated) })
	c.add(gauge, "index_replaced_labels", "Labels that were replaced and are held until their segment is folded.", func(m *indexMoment) float64 { return float64(m.Tombstones) })
	c.add(gauge, "index_permittees", "Permittees that can be found.", func(m *indexMoment) float64 { return float64(m.Permittees) })
	c.add(gauge, "index_segments", "Parts of the index that a search visits.", func(m *indexMoment) float64 { return float64(m.Segments) })
	c.add(gauge, "index_bytes", "Memory that the segments hold.", func(m *indexMoment) float64 { return float64(m.Bytes) })
	c.add(gauge, "ready", "1 when requests should be sent here: the index is built, the latest attempt to follow the store succeeded, and the process is not about to end.", func(m *indexMoment) float64 {
		if m.ready && !m.failing {
			return 1
		}
		return 0
	})
}

// addFollowing adds how the index follows the store.
func (c *indexCollector) addFollowing() {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "index_revision", "Revision of the store up to which the index shows everything: microseconds since 1970 at the earliest.", func(m *indexMoment) float64 { return float64(shownUpTo(m.marks)) })
	c.add(gauge, "store_revision", "Latest revision that the store was seen to have: microseconds since 1970 at the earliest.", func(m *indexMoment) float64 { return float64(m.store) })
	c.add(gauge, "index_lag_seconds", "How long the index has not been what the store was seen to be; 0 while it is.", func(m *indexMoment) float64 {
		if m.behind.IsZero() {
			return 0
		}
		return max(0, m.now.Sub(m.behind).Seconds())
	})
	c.add(gauge, "index_changed_timestamp_seconds", "When the index last took something over; 0 before it did.", func(m *indexMoment) float64 { return unixSeconds(m.changed) })
	c.add(gauge, "index_checked_timestamp_seconds", "When the store last told its revision; 0 before it did.", func(m *indexMoment) float64 { return unixSeconds(m.checked) })
	c.add(counter, "index_labels_followed_total", "Labels taken over from the store, those of the first build included.", func(m *indexMoment) float64 { return float64(m.labels) })
	c.add(counter, "index_follow_failures_total", "Attempts to follow the store that failed.", func(m *indexMoment) float64 { return float64(m.failed) })
}

// unixSeconds returns an instant as Prometheus writes it; the zero one is 0.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// Describe implements prometheus.Collector.
func (c *indexCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range c.facts {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *indexCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.service
	seen := s.seen.now() // before the view: what was seen is then never missing from it without being behind
	view := s.index.View()
	m := &indexMoment{Stats: view.Stats(), sighting: seen, marks: view.Marks(), ready: s.ready.Load() && !s.draining.Load(), now: time.Now()}
	for _, f := range c.facts {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.read(m))
	}
}
