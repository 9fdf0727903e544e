package postgres

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

var benchLabels = flag.Int("labels", 20_000, "number of stored labels in benchmarks that start with stored labels")

var benchSearches = flag.Int("searches", 10_000, "number of saved searches due at once in BenchmarkRuns")

// BenchmarkRuns claims and records runs of many searches, 1,000 at a time.
func BenchmarkRuns(b *testing.B) {
	s := mustOpen(b, migratedDatabase(b), Options{Logger: quiet()})
	if err := s.Fill(b.Context(), storetest.SampleSearches(*benchSearches)); err != nil {
		b.Fatal(err)
	}
	total := 0
	for day := 1; b.Loop(); day++ {
		runs, err := storetest.RunSampleSearches(b.Context(), s, day)
		if err != nil || runs != *benchSearches {
			b.Fatalf("RunSampleSearches = %d runs, %v", runs, err)
		}
		total += runs
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "runs/s")
}

func BenchmarkHotPaths(b *testing.B) {
	storetest.BenchmarkHotPaths(b, mustOpen(b, migratedDatabase(b), Options{Logger: quiet()}))
}

// BenchmarkUpsertColas imports new labels, 5,000 per call.
func BenchmarkUpsertColas(b *testing.B) {
	s := mustOpen(b, migratedDatabase(b), Options{Logger: quiet()})
	n := 0
	for b.Loop() {
		b.StopTimer()
		patches := storetest.Samples(n, 5000)
		n += len(patches)
		b.StartTimer()
		if _, err := s.UpsertColas(b.Context(), patches, store.Commit); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "labels/s")
}

// BenchmarkUpsertColasAgain imports existing labels, either unchanged or with one field changed in
// each.
func BenchmarkUpsertColasAgain(b *testing.B) {
	for _, name := range []string{"unchanged", "changed"} {
		b.Run(name, func(b *testing.B) {
			s := sampleStore(b, *benchLabels)
			n := 0
			for b.Loop() {
				b.StopTimer()
				patches := storetest.Samples(n%*benchLabels, 5000)
				n += len(patches)
				for i := range patches {
					if name == "changed" {
						patches[i].Record.ProductName = cola.Text(fmt.Sprint("CHANGED ", n))
					}
				}
				b.StartTimer()
				if _, err := s.UpsertColas(b.Context(), patches, store.Commit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "labels/s")
		})
	}
}

// BenchmarkColasSince reads every label, as the first build of an index does.
func BenchmarkColasSince(b *testing.B) {
	s := sampleStore(b, *benchLabels)
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.ColasSince(b.Context(), 0, func(*cola.IndexRecord) error { rows++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkCola reads one label, as a detail view does.
func BenchmarkCola(b *testing.B) {
	s := sampleStore(b, *benchLabels)
	n := 0
	for b.Loop() {
		n = (n + 7919) % *benchLabels
		if _, err := s.Cola(b.Context(), storetest.SampleID(n)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSettle(b *testing.B) {
	storetest.BenchmarkSettle(b, func(b *testing.B) store.Store {
		return mustOpen(b, migratedDatabase(b), Options{Logger: quiet()})
	}, measure.OwnCPUTime)
}

// BenchmarkSettleDuringImport commits batches of one charge each, first on an idle database, then
// while another process imports labels, and reports the commit times of both phases.
func BenchmarkSettleDuringImport(b *testing.B) {
	url := migratedDatabase(b)
	s := mustOpen(b, url, Options{Logger: quiet()})
	// Spread the charges over enough accounts that no window exceeds the tier's rate limit.
	accounts := storetest.SampleAccounts(b, s, 200)
	measure := func() []time.Duration {
		var took []time.Duration
		for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			start := time.Now()
			n := len(took) % len(accounts)
			if err := storetest.ChargeAll(b.Context(), s, accounts[n:n+1]); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took
	}
	for b.Loop() {
		report(b, "idle", measure())
		p := storetest.StartImport(b, url)
		for range 20 { // wait until the import is well under way
			p.Line(b)
		}
		report(b, "import", measure())
		p.Kill()
	}
}

func report(b *testing.B, name string, took []time.Duration) {
	for unit, q := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		b.ReportMetric(float64(took[min(int(q*float64(len(took))), len(took)-1)].Microseconds()), name+"-"+unit+"-µs")
	}
}

func sampleStore(b *testing.B, labels int) *Store {
	b.Helper()
	s := mustOpen(b, migratedDatabase(b), Options{Logger: quiet()})
	for n := 0; n < labels; n += 5000 {
		if _, err := s.UpsertColas(b.Context(), storetest.Samples(n, min(5000, labels-n)), store.Commit); err != nil {
			b.Fatal(err)
		}
	}
	return s
}
