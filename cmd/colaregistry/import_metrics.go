package main

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/ingest"
)

// importMetrics reports the progress of an import.
type importMetrics struct {
	rows, outcomes, read, size, sources, done *prometheus.Desc

	total   int64 // total size in bytes of the sources with a known size
	unsized bool  // at least one source has an unknown size
	count   int   // number of sources

	mu     sync.Mutex
	last   ingest.Progress
	before int64 // bytes read from earlier sources
}

func newImportMetrics(sources []ingest.Source) *importMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("colaregistry_import_"+name, help, labels, nil)
	}
	m := &importMetrics{
		rows:     desc("rows_read_total", "Rows processed."),
		outcomes: desc("rows_total", "Rows processed, by outcome: added, changed, unchanged or rejected.", "outcome"),
		read:     desc("read_bytes_total", "Compressed bytes read from the files; runs ahead of the rows stored."),
		size:     desc("source_bytes", "Size of the files in bytes, excluding standard input."),
		sources:  desc("sources", "Files to read."),
		done:     desc("sources_done", "Files read completely."),
		count:    len(sources),
	}
	for _, s := range sources {
		m.total += max(0, s.Size)
		m.unsized = m.unsized || s.Size < 0
	}
	return m
}

// set updates the progress.
func (m *importMetrics) set(p ingest.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.Index != m.last.Index {
		m.before += m.last.BytesRead
	}
	m.last = p
}

// expectedRows estimates the number of rows from the share of bytes read. It returns -1 if there is
// no estimate.
func (m *importMetrics) expectedRows() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, read := float64(m.last.Read), m.before+m.last.BytesRead
	if m.unsized || read <= 0 {
		return -1
	}
	return int64(rows * max(1, float64(m.total)/float64(read)))
}

// Describe implements prometheus.Collector.
func (m *importMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.rows, m.outcomes, m.read, m.size, m.sources, m.done} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *importMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	p, read := m.last, m.before+m.last.BytesRead
	m.mu.Unlock()
	done := p.Index
	if p.Done {
		done++
	}
	emit := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	emit(m.rows, prometheus.CounterValue, float64(p.Read))
	emit(m.outcomes, prometheus.CounterValue, float64(p.Added), "added")
	emit(m.outcomes, prometheus.CounterValue, float64(p.Changed), "changed")
	emit(m.outcomes, prometheus.CounterValue, float64(p.Unchanged), "unchanged")
	emit(m.outcomes, prometheus.CounterValue, float64(p.Rejected), "rejected")
	emit(m.read, prometheus.CounterValue, float64(read))
	emit(m.size, prometheus.GaugeValue, float64(m.total))
	emit(m.sources, prometheus.GaugeValue, float64(m.count))
	emit(m.done, prometheus.GaugeValue, float64(done))
}
