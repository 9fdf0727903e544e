package collect

import "github.com/prometheus/client_golang/prometheus"

// metrics counts a follower's failures and images. Methods on nil are no-ops.
type metrics struct {
	siteFailures, contentFailures, blocks prometheus.Counter
	imagesStored, imagesMissing           prometheus.Counter
}

// newMetrics registers the metrics. It returns nil without a registerer.
func newMetrics(registerer prometheus.Registerer) *metrics {
	if registerer == nil {
		return nil
	}
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_fetch_failures_total",
		Help: "Failed attempts to fetch a day or label: the site failed, its content was wrong or could not be stored, or it blocked the process.",
	}, []string{"kind"})
	images := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_fetch_images_total",
		Help: "Label images stored, and images that are missing from the site or unusable.",
	}, []string{"result"})
	registerer.MustRegister(failures, images)
	return &metrics{
		siteFailures: failures.WithLabelValues("site"), contentFailures: failures.WithLabelValues("content"),
		blocks: failures.WithLabelValues("block"), imagesStored: images.WithLabelValues("stored"),
		imagesMissing: images.WithLabelValues("missing"),
	}
}

// failed counts a failure.
func (m *metrics) failed(site bool) {
	switch {
	case m == nil:
	case site:
		m.siteFailures.Inc()
	default:
		m.contentFailures.Inc()
	}
}

func (m *metrics) blocked() {
	if m != nil {
		m.blocks.Inc()
	}
}

// images counts a label's images.
func (m *metrics) images(stored, missing int) {
	if m != nil {
		m.imagesStored.Add(float64(stored))
		m.imagesMissing.Add(float64(missing))
	}
}
