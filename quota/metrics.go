package quota

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/cola"
)

// metrics is what is measured of a ledger.
type metrics struct {
	batchCharges prometheus.Histogram
	commitTime   prometheus.Histogram
	waitTime     prometheus.Histogram
	unclear      prometheus.Counter
	refused      map[string]prometheus.Counter     // by reason
	charged      map[cola.Meter]prometheus.Counter // units
}

// newMetrics registers the metrics of a ledger; with a nil registerer they are counted and never
// seen.
func newMetrics(r prometheus.Registerer, l *Ledger) *metrics {
	factory := promauto.With(r)
	times := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	watch(factory, l)
	return &metrics{
		batchCharges: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "colaregistry_ledger_batch_charges", Help: "Charges that were settled together in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}),
		commitTime: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "colaregistry_ledger_commit_duration_seconds",
			Help: "Time to settle a batch, all attempts together, also of batches that were given up.", Buckets: times,
		}),
		waitTime: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "colaregistry_ledger_wait_seconds",
			Help: "Time from a charge to its answer; charges refused at once are left out.", Buckets: times,
		}),
		unclear: factory.NewCounter(prometheus.CounterOpts{
			Name: "colaregistry_ledger_unclear_total", Help: "Attempts to settle a batch that failed with an unknown outcome.",
		}),
		refused: counters(factory, prometheus.CounterOpts{
			Name: "colaregistry_charges_refused_total", Help: "Charges that were refused, by reason.",
		}, "reason", reasonBurst, string(cola.MeterDetailViews), string(cola.MeterListRecords),
			string(cola.CodeUnauthorized), string(cola.CodeAccountSuspended), string(cola.CodeUnavailable)),
		charged: counters(factory, prometheus.CounterOpts{
			Name: "colaregistry_charged_units_total", Help: "Units that were granted and charged, by meter.",
		}, "meter", cola.MeterDetailViews, cola.MeterListRecords),
	}
}

// counters registers a counter for each value of a label, so that all are seen from the start.
func counters[V ~string](factory promauto.Factory, o prometheus.CounterOpts, label string, values ...V) map[V]prometheus.Counter {
	vec := factory.NewCounterVec(o, []string{label})
	by := make(map[V]prometheus.Counter, len(values))
	for _, v := range values {
		by[v] = vec.WithLabelValues(string(v))
	}
	return by
}

// watch registers the gauges, which are read when they are asked for.
func watch(factory promauto.Factory, l *Ledger) {
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_queue_length", Help: "Charges that wait for the batch before theirs.",
	}, func() float64 { return float64(len(l.queue)) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_doubtful_batches",
		Help: "Batches that were refused, may have been committed all the same, and are still to be voided.",
	}, func() float64 { return float64(l.inDoubt.len()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_ledger_up", Help: "1 while charges are let through, 0 while the store is known not to commit.",
	}, func() float64 {
		if l.breaker.isOpen() {
			return 0
		}
		return 1
	})
}

// settled notes a batch, committed or given up.
func (m *metrics) settled(charges int, took time.Duration) {
	m.batchCharges.Observe(float64(charges))
	m.commitTime.Observe(took.Seconds())
}

// answer notes the answer to a charge that was queued.
func (m *metrics) answer(meter cola.Meter, o outcome, waited time.Duration) {
	m.waitTime.Observe(waited.Seconds())
	if o.err != nil {
		m.refuse(o.err)
		return
	}
	if c := m.charged[meter]; c != nil {
		c.Add(float64(o.grant.Units))
	}
}

// refuse counts a refusal; a caller that went away was not refused.
func (m *metrics) refuse(err error) {
	var e *cola.Error
	if !errors.As(err, &e) {
		return
	}
	reason := string(e.Code)
	if e.Code == cola.CodeQuotaExceeded {
		reason, _ = e.Details["reason"].(string)
	}
	if c := m.refused[reason]; c != nil {
		c.Inc()
	}
}
