package registry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collectTimeout limits how long a scrape waits for the store, because waiting delays all other
// metrics.
const collectTimeout = time.Second

// importCollector exports metrics about the latest imports by any process. It reads them only when
// scraped. If the store can't be read in time, there are no samples.
type importCollector struct {
	service                     *Service
	finished, succeeded, failed *prometheus.Desc
}

func newImportCollector(s *Service) *importCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("colaregistry_last_import_"+name, help, []string{"kind"}, nil)
	}
	return &importCollector{
		service:  s,
		finished: desc("finished_timestamp_seconds", "When the latest import finished, by record kind."),
		succeeded: desc("succeeded_timestamp_seconds",
			"When the latest successful import finished, by record kind; 0 before the first one."),
		failed: desc("failed", "1 if the latest import ended before it read everything, otherwise 0; by record kind."),
	}
}

// Describe implements prometheus.Collector.
func (c *importCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.finished
	ch <- c.succeeded
	ch <- c.failed
}

// Collect implements prometheus.Collector.
func (c *importCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	imports, err := c.service.imports.last(ctx)
	if err != nil {
		return
	}
	for _, i := range imports {
		emit := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, i.Kind)
		}
		emit(c.finished, unixSeconds(i.FinishedAt.Time()))
		emit(c.succeeded, unixSeconds(i.SucceededAt.V.Time()))
		failed := 0.0
		if i.Failed {
			failed = 1
		}
		emit(c.failed, failed)
	}
}
