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

// metrics measures index queries. A nil *metrics is a no-op.
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
		Help: "Index queries, by class.",
	}, []string{"class"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "colaregistry_search_duration_seconds",
		Help: "Duration of index queries, excluding the ledger and the network, by class.",
		Buckets: []float64{
			10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, .001, .0025, .005, .01, .025, .05, .1, .25, 1,
		},
	}, []string{"class"})
	m := &metrics{}
	for c := range numClasses {
		m.searches[c] = searches.WithLabelValues(c.String())
		m.took[c] = took.WithLabelValues(c.String())
	}
	registerer.MustRegister(searches, took, newIndexCollector(s), newImportCollector(s))
	return m
}

// observeSearch records a query that started at start and ends now.
func (m *metrics) observeSearch(c searchClass, start time.Time) {
	if m != nil {
		m.searches[c].Inc()
		m.took[c].Observe(time.Since(start).Seconds())
	}
}

// searchClass is a class of index queries with similar cost. It is a metric label, so the classes
// are few and fixed.
type searchClass uint8

const (
	browse           searchClass = iota // dates only
	byText                              // words
	byPrefix                            // words, at least one a prefix
	byPhrase                            // quoted words
	byID                                // text that is a TTB ID
	byBarcode                           // a barcode filter, a barcode lookup, or text shaped like a barcode
	byBrand                             // a brand name or part of one
	byPermit                            // a permit number or part of one
	byFilters                           // any other filter
	permitteeSearch                     // a list of permittees
	permitteeDetails                    // one permittee with its recent labels
	facetCounts                         // facets of a search
	labelCounts                         // label counts by one or two dimensions
	suggestions                         // completions of a value
	similarBrands                       // a list of brands with similar names
	numClasses
)

// String returns the class as a metric label.
func (c searchClass) String() string {
	return [numClasses]string{
		"browse", "text", "prefix", "phrase", "id", "barcode", "brand", "permit", "filters", "permittees", "permittee",
		"facets", "counts", "suggestions", "similar_brands",
	}[c]
}

// classifyQuery returns the class of a label search by the condition that determines its cost:
// text, then barcode, brand, permit, and other filters. The text is classified by its shape, not
// parsed.
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
	case strings.ContainsFunc(text, vocabulary.IsQuote):
		return byPhrase
	case strings.Contains(text, "*"):
		return byPrefix
	}
	return byText
}

// indexCollector exports metrics of the index and the follower. It reads them only when scraped.
type indexCollector struct {
	service *Service
	metrics []indexMetric
}

// indexMetric is one metric, read from an indexState.
type indexMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*indexState) float64
}

// indexState is the consistent state for one scrape.
type indexState struct {
	search.Stats
	followerSnapshot
	coverage *cola.Coverage
	marks    search.Marks
	ready    bool
	now      time.Time
}

func newIndexCollector(s *Service) *indexCollector {
	c := &indexCollector{service: s}
	c.addIndex()
	c.addFollowing()
	return c
}

func (c *indexCollector) add(kind prometheus.ValueType, name, help string, read func(*indexState) float64) {
	c.metrics = append(c.metrics, indexMetric{prometheus.NewDesc("colaregistry_"+name, help, nil, nil), kind, read})
}

// addIndex adds the metrics of the index.
func (c *indexCollector) addIndex() {
	const gauge = prometheus.GaugeValue
	c.add(gauge, "index_labels", "Labels in the index.", func(m *indexState) float64 { return float64(m.Labels) })
	c.add(gauge, "index_undated_labels", "Labels in the index without an approval date or an estimate.",
		func(m *indexState) float64 { return float64(m.Undated) })
	c.add(gauge, "index_labels_without_detail",
		"Labels in the index without a status, which TTB's search export lacks.",
		func(m *indexState) float64 { return float64(m.coverage.Labels - m.coverage.WithDetail) })
	c.add(gauge, "data_as_of_timestamp_seconds",
		"Date of the latest change in TTB's registry that the data includes; 0 if there are no labels.",
		func(m *indexState) float64 {
			if m.coverage.DataAsOf == 0 {
				return 0
			}
			return unixSeconds(m.coverage.DataAsOf.Time())
		})
	c.add(gauge, "index_replaced_labels", "Replaced labels that stay in memory until their segment is compacted.",
		func(m *indexState) float64 { return float64(m.Tombstones) })
	c.add(gauge, "index_permittees", "Permittees in the index.",
		func(m *indexState) float64 { return float64(m.Permittees) })
	c.add(gauge, "index_segments", "Index segments that a search visits.",
		func(m *indexState) float64 { return float64(m.Segments) })
	c.add(gauge, "index_bytes", "Memory used by index segments, in bytes.",
		func(m *indexState) float64 { return float64(m.Bytes) })
	c.add(gauge, "ready", "1 if the index is built, the latest sync with the store succeeded, and the process is not "+
		"shutting down; otherwise 0.", func(m *indexState) float64 {
		if m.ready && !m.failing {
			return 1
		}
		return 0
	})
}

// addFollowing adds the metrics of the follower.
func (c *indexCollector) addFollowing() {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	c.add(gauge, "index_revision", "Store revision up to which the index is complete, roughly in microseconds since 1970.",
		func(m *indexState) float64 { return float64(indexedRevision(m.marks)) })
	c.add(gauge, "store_revision", "Latest known revision of the store, roughly in microseconds since 1970.",
		func(m *indexState) float64 { return float64(m.store) })
	c.add(gauge, "index_lag_seconds", "How long the index has been behind the store; 0 if it is current.",
		func(m *indexState) float64 {
			if m.behindSince.IsZero() {
				return 0
			}
			return max(0, m.now.Sub(m.behindSince).Seconds())
		})
	c.add(gauge, "index_changed_timestamp_seconds", "When the index last changed; 0 before the first change.",
		func(m *indexState) float64 { return unixSeconds(m.changedAt) })
	c.add(gauge, "index_checked_timestamp_seconds",
		"When the store's revision was last read; 0 before the first read.",
		func(m *indexState) float64 { return unixSeconds(m.checkedAt) })
	c.add(counter, "index_labels_followed_total", "Labels read from the store, including the first build.",
		func(m *indexState) float64 { return float64(m.appliedLabels) })
	c.add(counter, "index_follow_failures_total", "Failed syncs with the store.",
		func(m *indexState) float64 { return float64(m.failures) })
}

// unixSeconds returns t in seconds since 1970, or 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// Describe implements prometheus.Collector.
func (c *indexCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *indexCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.service
	seen := s.followed.snapshot() // before the view, so that the view is never behind the stats
	view := s.index.View()
	state := &indexState{
		Stats:            view.Stats(),
		followerSnapshot: seen,
		coverage:         view.Coverage(s.today()),
		marks:            view.Marks(),
		ready:            s.ready.Load() && !s.draining.Load(),
		now:              time.Now(),
	}
	for _, m := range c.metrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(state))
	}
}

// followerStats records the progress of a follower, for metrics. The zero value is ready to use. It
// is safe for concurrent use.
type followerStats struct {
	mu sync.Mutex
	followerSnapshot
}

// followerSnapshot contains the values of followerStats.
type followerSnapshot struct {
	store         cola.Revision // latest known revision of the store
	behindSince   time.Time     // when the index fell behind the store; zero if it is current
	checkedAt     time.Time     // when the store's revision was last read
	changedAt     time.Time     // when the index last changed
	appliedLabels uint64        // labels read from the store
	failures      uint64        // failed syncs
	failing       bool          // the latest sync failed
}

// snapshot returns the current stats.
func (s *followerStats) snapshot() followerSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.followerSnapshot
}

// sawRevision records the store's revision and compares it with the index's marks.
func (s *followerStats) sawRevision(store cola.Revision, index search.Marks, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.checkedAt = store, at
	if current := store == indexedRevision(index); current {
		s.behindSince = time.Time{}
	} else if s.behindSince.IsZero() {
		s.behindSince = at
	}
}

// applied records that the index has caught up with the store at the given marks.
func (s *followerStats) applied(index search.Marks, labels int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.changedAt, s.behindSince = max(s.store, indexedRevision(index)), at, time.Time{}
	s.appliedLabels += uint64(labels)
}

// finished records the outcome of a sync.
func (s *followerStats) finished(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err != nil
	if s.failing {
		s.failures++
	}
}

// indexedRevision returns the revision that an index is complete up to.
func indexedRevision(m search.Marks) cola.Revision { return min(m.Labels, m.Permittees, m.References) }
