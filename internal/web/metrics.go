package web

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Other is the label for unknown routes and methods in metrics and logs, so that clients cannot
// create new time series or log values.
const Other = "other"

// metrics measures requests. A nil *metrics is a no-op.
type metrics struct {
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	routes   map[string]*routeMetrics // by pattern or Other
}

// routeMetrics measures the requests of one route. It looks up collectors by label once, so that
// requests avoid the cost.
type routeMetrics struct {
	duration prometheus.Observer
	bytes    prometheus.Counter
	requests *prometheus.CounterVec // by method and status
	counters atomic.Pointer[map[outcome]prometheus.Counter]
	mu       sync.Mutex // serializes the replacement of counters
}

// outcome distinguishes a route's requests.
type outcome struct {
	method string // from methodLabel
	status int
}

// newMetrics registers the metrics of an API with these routes, or returns nil without a
// registerer. Servers that share a registerer share its metrics.
func newMetrics(registerer prometheus.Registerer, patterns []string) *metrics {
	if registerer == nil {
		return nil
	}
	requests := registerOrReuse(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_http_requests_total",
		Help: "Requests by route pattern and status. Status 499: the client disconnected; 0: no response.",
	}, []string{"method", "route", "status"}))
	durations := registerOrReuse(registerer, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "colaregistry_http_request_duration_seconds",
		Help:    "Time from receiving the request headers to writing the response.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route"}))
	bytes := registerOrReuse(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_http_response_bytes_total",
		Help: "Bytes of response bodies, after compression.",
	}, []string{"route"}))
	m := &metrics{
		inFlight: registerOrReuse(registerer, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colaregistry_http_requests_in_flight",
			Help: "Requests in flight.",
		})),
		panics: registerOrReuse(registerer, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_http_panics_total",
			Help: "Requests that panicked. The log has the stack traces.",
		})),
		routes: map[string]*routeMetrics{},
	}
	for _, route := range slices.Concat(patterns, []string{Other}) {
		r := &routeMetrics{
			duration: durations.WithLabelValues(route),
			bytes:    bytes.WithLabelValues(route),
			requests: requests.MustCurryWith(prometheus.Labels{"route": route}),
		}
		r.counters.Store(&map[outcome]prometheus.Counter{})
		m.routes[route] = r
	}
	return m
}

// registerOrReuse registers a collector, or returns the one already registered under its name.
func registerOrReuse[C prometheus.Collector](registerer prometheus.Registerer, c C) C {
	err := registerer.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return already.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // names and labels are constants
	}
	return c
}

// startRequest records the start of a request.
func (m *metrics) startRequest() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// skipRequest records the end of a request that another Recorder measures.
func (m *metrics) skipRequest() {
	if m != nil {
		m.inFlight.Dec()
	}
}

// finishRequest records the end of a request. route is one of the patterns or Other, and o.method
// comes from methodLabel.
func (m *metrics) finishRequest(route string, o outcome, took time.Duration, bytes int, panicked bool) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	if panicked {
		m.panics.Inc()
	}
	r := m.routes[route]
	r.counter(o).Inc()
	r.duration.Observe(took.Seconds())
	r.bytes.Add(float64(bytes))
}

// counter returns the counter for an outcome. There are few outcomes, because methods and statuses
// come from fixed lists.
func (r *routeMetrics) counter(o outcome) prometheus.Counter {
	if c, ok := (*r.counters.Load())[o]; ok {
		return c
	}
	c := r.requests.WithLabelValues(o.method, strconv.Itoa(o.status))
	r.mu.Lock()
	defer r.mu.Unlock()
	counters := maps.Clone(*r.counters.Load())
	counters[o] = c
	r.counters.Store(&counters)
	return c
}

// methodLabel returns the metric label of a method. Clients can send any method.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete:
		return method
	}
	return Other
}
