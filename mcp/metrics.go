package mcp

import (
	"slices"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/internal/web"
)

// metrics measures calls. A nil *metrics measures nothing.
type metrics struct {
	calls *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// newMetrics registers the metrics of an edge with these tools; there are none without a registerer. Reads of resources and
// prompts are told among the tools, by their methods.
func newMetrics(registerer prometheus.Registerer, names []string) *metrics {
	if registerer == nil {
		return nil
	}
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_mcp_calls_total",
			Help: "Calls of tools, and reads of resources and prompts, by outcome: ok, or the code of the error.",
		}, []string{"tool", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colaregistry_mcp_call_duration_seconds",
			Help:    "Time that a call took, the ledger's commit included, without the network.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"tool"}),
	}
	registerer.MustRegister(m.calls, m.took)
	for _, name := range slices.Concat(names, []string{string(protocol.MethodResourcesRead), string(protocol.MethodPromptsGet), web.Other}) {
		m.calls.WithLabelValues(name, "ok")
		m.took.WithLabelValues(name)
	}
	return m
}

// called counts a call. Both labels are words of ours.
func (m *metrics) called(tool, outcome string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(tool, outcome).Inc()
		m.took.WithLabelValues(tool).Observe(took.Seconds())
	}
}
