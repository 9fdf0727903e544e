package quota

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/cola"
)

// metrics are the metrics of a ledger. A charge is counted once, when its caller gets the outcome.
// docs/METRICS.md lists all metrics, with alerting rules.
type metrics struct {
	batchCharges prometheus.Histogram              // charges per batch
	commitTime   prometheus.Histogram              // seconds to settle a batch, including retries
	waitTime     prometheus.Histogram              // seconds from Charge to its outcome
	unclear      prometheus.Counter                // attempts to settle with an unknown outcome
	overloads    prometheus.Counter                // requests rejected because too many are waiting
	refused      map[string]prometheus.Counter     // charges, by reason: "burst", a meter or an error code
	charged      map[cola.Meter]prometheus.Counter // charged units, by meter
}

// newMetrics registers the metrics of a ledger. With a nil registerer they are counted but not
// exported.
func newMetrics(r prometheus.Registerer, l *Ledger) *metrics {
	factory := promauto.With(r)
	times := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	registerGauges(factory, l)
	return &metrics{
		batchCharges: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "colaregistry_ledger_batch_charges", Help: "Number of charges per batch. Each batch is settled in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}),
		commitTime: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "colaregistry_ledger_commit_duration_seconds",
			Help: "Time to settle a batch, including retries and failed batches.", Buckets: times,
		}),
		waitTime: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "colaregistry_ledger_wait_seconds",
			Help: "Time from a charge to its outcome, excluding charges refused immediately.", Buckets: times,
		}),
		unclear: factory.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_ledger_unclear_total", Help: "Attempts to settle a batch that ended with an unknown outcome.",
		}),
		overloads: factory.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_ledger_overload_rejections_total",
			Help: "Requests rejected because too many are waiting, also counted as unavailable.",
		}),
		refused: counters(factory, prometheus.CounterOpts{
			Name: "colaregistry_charges_refused_total", Help: "Refused charges, by reason.",
		}, "reason", reasonBurst, string(cola.MeterDetailViews), string(cola.MeterListRecords),
			string(cola.CodeUnauthorized), string(cola.CodeForbidden), string(cola.CodeInsufficientScope),
			string(cola.CodeAccountSuspended), string(cola.CodeUnavailable)),
		charged: counters(factory, prometheus.CounterOpts{
			Name: "colaregistry_charged_units_total", Help: "Charged units, by meter.",
		}, "meter", cola.MeterDetailViews, cola.MeterListRecords),
	}
}

// counters registers a counter for each value of a label. Registering them up front exports zeros
// instead of missing series.
func counters[V ~string](
	factory promauto.Factory, o prometheus.CounterOpts, label string, values ...V,
) map[V]prometheus.Counter {
	vec := factory.NewCounterVec(o, []string{label})
	by := make(map[V]prometheus.Counter, len(values))
	for _, v := range values {
		by[v] = vec.WithLabelValues(string(v))
	}
	return by
}

// registerGauges registers the gauges, which read the ledger on each scrape.
func registerGauges(factory promauto.Factory, l *Ledger) {
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_requests_in_progress", Help: "REST reads in progress, which are limited in number.",
	}, func() float64 { return float64(len(l.working)) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_requests_waiting", Help: "REST reads waiting their turn.",
	}, func() float64 { return float64(l.waiting.Load()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_queue_length", Help: "Charges waiting for the previous batch to finish.",
	}, func() float64 { return float64(l.queue.len()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_queue_seconds",
		Help: "Estimated time until all waiting charges are committed, from the duration of recent batches.",
	}, func() float64 { return l.queue.estimate().Seconds() })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_doubtful_batches",
		Help: "Refused batches that may have been committed and have not been voided yet.",
	}, func() float64 { return float64(l.inDoubt.len()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_up", Help: "1 while charges are accepted, 0 while the circuit breaker is open.",
	}, func() float64 {
		if l.breaker.isOpen() {
			return 0
		}
		return 1
	})
}

// observeBatch records a finished batch, committed or not, and the time since its first attempt.
func (m *metrics) observeBatch(charges int, took time.Duration) {
	m.batchCharges.Observe(float64(charges))
	m.commitTime.Observe(took.Seconds())
}

// observeCharge records the outcome of a charge that was queued, and the time it waited.
func (m *metrics) observeCharge(meter cola.Meter, o outcome, waited time.Duration) {
	m.waitTime.Observe(waited.Seconds())
	if o.err != nil {
		m.countRejection(o.err)
		return
	}
	if c := m.charged[meter]; c != nil {
		c.Add(float64(o.grant.Units))
	}
}

// countRejection counts a rejected charge by its reason. It ignores errors that are not a
// *cola.Error: the caller gave up, so the charge was not rejected.
func (m *metrics) countRejection(err error) {
	var e *cola.Error
	if !errors.As(err, &e) {
		return
	}
	reason, detail := string(e.Code), e.Details["reason"]
	if e.Code == cola.CodeQuotaExceeded {
		reason, _ = detail.(string)
	}
	if detail == cola.ReasonOverloaded {
		m.overloads.Inc()
	}
	if c := m.refused[reason]; c != nil {
		c.Inc()
	}
}
