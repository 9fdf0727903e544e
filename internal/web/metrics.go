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

// Other is the label of unknown routes and methods in metrics and in the log: clients must not be
// able to create new time series or log values.
const Other = "other"

// metrics measures requests. A nil *metrics measures nothing.
type metrics struct {
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	routes   map[string]*routeMetrics // by pattern, and Other
}

// routeMetrics measures the requests of one route. Everything that is known beforehand is looked up
// by its labels once, here; a request does not pay for it.
type routeMetrics struct {
	duration prometheus.Observer
	bytes    prometheus.Counter
	requests *prometheus.CounterVec // by method and status
	met      atomic.Pointer[map[outcome]prometheus.Counter]
	meeting  sync.Mutex // held while met is replaced
}

// outcome distinguishes the requests of a route.
type outcome struct {
	method string // as methodLabel gives it
	status int
}

// newMetrics registers the metrics of an edge with these routes; it returns nil without a
// registerer. Edges that share a registerer share the metrics.
func newMetrics(registerer prometheus.Registerer, patterns []string) *metrics {
	if registerer == nil {
		return nil
	}
	requests := registerOrReuse(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_http_requests_total",
		Help: "Requests answered, by route pattern and status. Status 499: the caller went away; 0: cut off without an answer.",
	}, []string{"method", "route", "status"}))
	durations := registerOrReuse(registerer, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "colaregistry_http_request_duration_seconds",
		Help:    "Time from the head of a request until its answer was handed to the network.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route"}))
	sent := registerOrReuse(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_http_response_bytes_total",
		Help: "Bytes of answers' bodies, as sent: after compression.",
	}, []string{"route"}))
	m := &metrics{
		inFlight: registerOrReuse(registerer, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colaregistry_http_requests_in_flight",
			Help: "Requests being answered.",
		})),
		panics: registerOrReuse(registerer, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_http_panics_total",
			Help: "Requests that made the program panic. Each is an error in the log, with its stack.",
		})),
		routes: map[string]*routeMetrics{},
	}
	for _, route := range slices.Concat(patterns, []string{Other}) {
		r := &routeMetrics{
			duration: durations.WithLabelValues(route),
			bytes:    sent.WithLabelValues(route),
			requests: requests.MustCurryWith(prometheus.Labels{"route": route}),
		}
		r.met.Store(&map[outcome]prometheus.Counter{})
		m.routes[route] = r
	}
	return m
}

// registerOrReuse registers a collector, and returns it or the one of its name that is there
// already.
func registerOrReuse[C prometheus.Collector](registerer prometheus.Registerer, c C) C {
	err := registerer.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return already.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // the names and labels are ours
	}
	return c
}

// startRequest counts a request in.
func (m *metrics) startRequest() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// finishRequest counts a request out. route and o.method are labels, of routeLabel and methodLabel.
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

// counter returns the counter of an outcome. Outcomes are few, because methods and statuses are
// from fixed lists.
func (r *routeMetrics) counter(o outcome) prometheus.Counter {
	if c, ok := (*r.met.Load())[o]; ok {
		return c
	}
	c := r.requests.WithLabelValues(o.method, strconv.Itoa(o.status))
	r.meeting.Lock()
	defer r.meeting.Unlock()
	met := maps.Clone(*r.met.Load())
	met[o] = c
	r.met.Store(&met)
	return c
}

// methodLabel returns the metric label of a method; clients can send any word.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete:
		return method
	}
	return Other
}
