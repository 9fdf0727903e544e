package alerts

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// outcomes are what attempts come to, by what their deliveries are then.
var outcomes = map[string]string{cola.DeliveryDelivered: "delivered", cola.DeliveryPending: "retry", cola.DeliveryFailed: "failed"}

// courierMetrics measures deliveries. A nil *courierMetrics measures nothing.
type courierMetrics struct {
	attempts *prometheus.CounterVec
	took     *prometheus.HistogramVec
	due      dueSince
}

// newCourierMetrics registers the metrics of what is sent to destinations of the kinds; there are none without a registerer.
func newCourierMetrics(registerer prometheus.Registerer, kinds []string) *courierMetrics {
	if registerer == nil {
		return nil
	}
	m := &courierMetrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_delivery_attempts_total",
			Help: "Attempts to deliver a message, by the kind of destination and what came of them.",
		}, []string{"kind", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colaregistry_delivery_duration_seconds",
			Help:    "Time that an attempt to deliver took, until the receiver had answered.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 20},
		}, []string{"kind"}),
	}
	for _, kind := range kinds {
		m.took.WithLabelValues(kind)
		for _, outcome := range outcomes {
			m.attempts.WithLabelValues(kind, outcome)
		}
	}
	overdue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_delivery_overdue_seconds",
		Help: "For how long the message that is due first has been due to be sent, as of the latest time that could be asked; 0 while none is.",
	}, func() float64 { return m.due.overdue(time.Now()) })
	registerer.MustRegister(m.attempts, m.took, overdue)
	return m
}

// tried counts an attempt.
func (m *courierMetrics) tried(a store.Attempt) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(a.Due.Kind, outcomes[a.State]).Inc()
	m.took.WithLabelValues(a.Due.Kind).Observe(a.Took.Seconds())
}

// oldest notes since when the message is due that is due longest; the zero time is for none.
func (m *courierMetrics) oldest(at time.Time) {
	if m != nil {
		m.due.set(at)
	}
}
