package registry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics measures what the index is asked. A nil *metrics measures nothing.
type metrics struct {
	searches [classes]prometheus.Counter
	took     [classes]prometheus.Observer
}

// newMetrics registers the metrics of a service; there are none without a registerer.
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
	for c := range classes {
		m.searches[c] = searches.WithLabelValues(c.String())
		m.took[c] = took.WithLabelValues(c.String())
	}
	registerer.MustRegister(searches, took, newIndexCollector(s))
	return m
}

// searched counts a question that the index began to work on at an instant and has answered.
func (m *metrics) searched(c class, begun time.Time) {
	if m != nil {
		m.searches[c].Inc()
		m.took[c].Observe(time.Since(begun).Seconds())
	}
}
