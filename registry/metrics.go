package registry

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search"
)

// metrics measures index queries. A nil *metrics measures nothing.
type metrics struct {
	searches [numClasses]prometheus.Counter
	took     [numClasses]prometheus.Observer
}

// newMetrics registers the metrics of a service; it returns nil without a registerer.
func newMetrics(registerer prometheus.Registerer, s *Service) *metrics {
	if registerer == nil {
		return nil
	}
	searches := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_searches_total",
		Help: "Questions answered by the index, by class.",
	}, []string{"class"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "colaregistry_search_duration_seconds",
		Help: "Time that the index took for a question, without the ledger and the network, by class.",
		Buckets: []float64{
			10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, .001, .0025, .005, .01, .025, .05, .1, .25, 1,
		},
	}, []string{"class"})
	m := &metrics{}
	for c := range numClasses {
		m.searches[c] = searches.WithLabelValues(c.String())
		m.took[c] = took.WithLabelValues(c.String())
	}
	registerer.MustRegister(searches, took, newIndexCollector(s))
	return m
}

// observeSearch counts a question that the index began to work on at an instant and has answered.
func (m *metrics) observeSearch(c searchClass, begun time.Time) {
	if m != nil {
		m.searches[c].Inc()
		m.took[c].Observe(time.Since(begun).Seconds())
	}
}

// searchClass is a class of index queries with similar cost. It is a label of metrics, so the
// classes are few and fixed.
type searchClass uint8

const (
	browse           searchClass = iota // dates only
	byText                              // words
	byPrefix                            // words, one of them a beginning
	byPhrase                            // words next to one another
	byID                                // a text that is an id
	byBarcode                           // a text in the shape of a barcode, a main barcode, a barcode lookup
	byBrand                             // part of a brand
	byPermit                            // a permit number or part of one
	byFilters                           // anything else that narrows
	permitteeSearch                     // a list of permittees
	permitteeDetails                    // one permittee with its recent labels
	facetCounts                         // facets of a search
	numClasses                          // how many there are
)

// String returns the class as a metric label.
func (c searchClass) String() string {
	return [numClasses]string{
		"browse", "text", "prefix", "phrase", "id", "barcode", "brand", "permit", "filters", "permittees", "permittee",
		"facets",
	}[c]
}

// classifyQuery returns the class of a label search: that of the condition that decides how the
// index works. Text comes before brand, brand before permit, and permit before other filters. The
// text is not parsed; its shape decides.
func classifyQuery(q *cola.Query) searchClass {
	switch {
	case q.Text != "":
		return classifyText(q.Text)
	case q.Barcode != "":
		return byBarcode
	case q.BrandName != "":
		return byBrand
	case q.PermitNumber != "" || q.PermitPart != "":
		return byPermit
	case q.IsFiltered():
		return byFilters
	}
	return browse
}

func classifyText(text string) searchClass {
	if _, ok := cola.ParseTTBID(text); ok {
		return byID
	}
	switch {
	case vocabulary.BarcodeShaped(text):
		return byBarcode
	case strings.ContainsAny(text, `"“”„‟«»`):
		return byPhrase
	case strings.Contains(text, "*"):
		return byPrefix
	}
	return byText
}

// indexCollector exports metrics of the index and the follower. It reads them on collection only.
type indexCollector struct {
	service *Service
	facts   []indexMetric
}

// indexMetric is one metric: how it is read from a moment of the index.
type indexMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*indexState) float64
}

// indexState is the consistent state for one collection.
type indexState struct {
	search.Stats
	followerSnapshot
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

func (c *indexCollector) add(kind prometheus.ValueType, name, help string, read func(*indexState) float64) {
	c.facts = append(c.facts, indexMetric{prometheus.NewDesc("colaregistry_"+name, help, nil, nil), kind, read})
}

// addIndex adds the metrics of the index.
func (c *indexCollector) addIndex() {
	const gauge = prometheus.GaugeValue
	c.add(gauge, "index_labels", "Labels that can be found.", func(m *indexState) float64 { return float64(m.Labels) })
	c.add(gauge, "index_undated_labels", "Labels that can be found and have no approval date.",
		func(m *indexState) float64 { return float64(m.Undated) })
	c.add(gauge, "index_replaced_labels", "Labels that were replaced and are held until their segment is folded.",
		func(m *indexState) float64 { return float64(m.Tombstones) })
	c.add(gauge, "index_permittees", "Permittees that can be found.",
		func(m *indexState) float64 { return float64(m.Permittees) })
	c.add(gauge, "index_segments", "Parts of the index that a search visits.",
		func(m *indexState) float64 { return float64(m.Segments) })
	c.add(gauge, "index_bytes", "Memory that the segments hold.",
		func(m *indexState) float64 { return float64(m.Bytes) })
	c.add(gauge, "ready", "1 when requests should be sent here: the index is built, the latest attempt to follow the "+
		"store succeeded, and the process is not about to end.", func(m *indexState) float64 {
		if m.ready && !m.failing {
			return 1
		}
		return 0
	})
}

// addFollowing adds how the index follows the store.
func (c *indexCollector) addFollowing() {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "index_revision", "Revision of the store up to which the index shows everything: microseconds since "+
		"1970 at the earliest.", func(m *indexState) float64 { return float64(indexedRevision(m.marks)) })
	c.add(gauge, "store_revision",
		"Latest revision that the store was seen to have: microseconds since 1970 at the earliest.",
		func(m *indexState) float64 { return float64(m.store) })
	c.add(gauge, "index_lag_seconds", "How long the index has not been what the store was seen to be; 0 while it is.",
		func(m *indexState) float64 {
			if m.behindSince.IsZero() {
				return 0
			}
			return max(0, m.now.Sub(m.behindSince).Seconds())
		})
	c.add(gauge, "index_changed_timestamp_seconds", "When the index last took something over; 0 before it did.",
		func(m *indexState) float64 { return unixSeconds(m.changedAt) })
	c.add(gauge, "index_checked_timestamp_seconds", "When the store last told its revision; 0 before it did.",
		func(m *indexState) float64 { return unixSeconds(m.checkedAt) })
	c.add(counter, "index_labels_followed_total",
		"Labels taken over from the store, those of the first build included.",
		func(m *indexState) float64 { return float64(m.appliedLabels) })
	c.add(counter, "index_follow_failures_total", "Attempts to follow the store that failed.",
		func(m *indexState) float64 { return float64(m.failures) })
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
	seen := s.followed.snapshot() // before the view, so that the view is never behind the stats
	view := s.index.View()
	m := &indexState{Stats: view.Stats(), followerSnapshot: seen, marks: view.Marks(),
		ready: s.ready.Load() && !s.draining.Load(), now: time.Now()}
	for _, f := range c.facts {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.read(m))
	}
}

// followerStats records the progress of a follower, for metrics. The zero value is ready to use. It
// is safe for concurrent use.
type followerStats struct {
	mu sync.Mutex
	followerSnapshot
}

// followerSnapshot is one reading of sightings.
type followerSnapshot struct {
	store         cola.Revision // the latest revision seen
	behindSince   time.Time     // since when the index is behind the store; zero if it is not
	checkedAt     time.Time     // when the store last reported its revision
	changedAt     time.Time     // when the index last took something over
	appliedLabels uint64        // how many labels it has taken over
	failures      uint64        // how many attempts to follow have failed
	failing       bool          // the latest one did
}

// snapshot returns the current stats.
func (s *followerStats) snapshot() followerSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.followerSnapshot
}

// sawRevision notes the revision of the store, beside the marks of the index.
func (s *followerStats) sawRevision(store cola.Revision, index search.Marks, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.checkedAt = store, at
	if level := store == indexedRevision(index); level {
		s.behindSince = time.Time{}
	} else if s.behindSince.IsZero() {
		s.behindSince = at
	}
}

// applied notes that the index was brought up to all that was seen, and to marks, with a number of
// labels.
func (s *followerStats) applied(index search.Marks, labels int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.changedAt, s.behindSince = max(s.store, indexedRevision(index)), at, time.Time{}
	s.appliedLabels += uint64(labels)
}

// finished notes how an attempt to follow ended.
func (s *followerStats) finished(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing = err != nil; s.failing {
		s.failures++
	}
}

// indexedRevision returns the revision up to which an index shows everything.
func indexedRevision(m search.Marks) cola.Revision { return min(m.Labels, m.Permittees, m.References) }
