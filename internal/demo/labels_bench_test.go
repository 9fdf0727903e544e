package demo

import (
	"io"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

var benchDay = cola.NewDate(2026, 11, 20)

func BenchmarkLabels(b *testing.B) {
	n := 0
	for b.Loop() {
		for range Labels(Options{Colas: DefaultColas, Seed: 1, AsOf: benchDay}) {
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "labels/s")
}

func BenchmarkWriteColas(b *testing.B) {
	const colas = 200_000
	for b.Loop() {
		if err := WriteColas(io.Discard, Options{Colas: colas, Seed: 1, AsOf: benchDay}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*colas)/b.Elapsed().Seconds(), "labels/s")
}
