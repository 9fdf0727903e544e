package sqlite

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

var benchLabels = flag.Int("labels", 20_000, "number of stored labels in benchmarks that start with stored labels")

var benchSearches = flag.Int("searches", 10_000,
	"number of saved searches due at once in BenchmarkRuns and BenchmarkSettleDuringRuns")

// BenchmarkRuns claims and records runs of many searches, 1,000 at a time.
func BenchmarkRuns(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "registry.db"), Options{Logger: quiet()})
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
	storetest.BenchmarkHotPaths(b, mustOpen(b, filepath.Join(b.TempDir(), "registry.db"), Options{Logger: quiet()}))
}

// BenchmarkUpsertColas imports new labels, 500 per call.
func BenchmarkUpsertColas(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "registry.db"), Options{Logger: quiet()})
	n := 0
	for b.Loop() {
		b.StopTimer()
		patches := storetest.Samples(n, 500)
		n += len(patches)
		b.StartTimer()
		if _, err := s.UpsertColas(b.Context(), patches, store.Commit); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "labels/s")
}

// BenchmarkUpsertColasUnchanged imports the same labels again.
func BenchmarkUpsertColasUnchanged(b *testing.B) {
	s := sampleStore(b, *benchLabels)
	n := 0
	for b.Loop() {
		b.StopTimer()
		patches := storetest.Samples(n%*benchLabels, 500)
		n += len(patches)
		b.StartTimer()
		if _, err := s.UpsertColas(b.Context(), patches, store.Commit); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "labels/s")
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
		return mustOpen(b, filepath.Join(b.TempDir(), "registry.db"), Options{Logger: quiet()})
	}, measure.OwnCPUTime)
}

// BenchmarkSettleDuringImport commits batches of one charge each, first on an idle database, then
// while another process imports labels, and reports the commit times in both cases.
func BenchmarkSettleDuringImport(b *testing.B) {
	path := filepath.Join(b.TempDir(), "registry.db")
	s := mustOpen(b, path, Options{Logger: quiet()})
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
		idle := measure()
		p := storetest.StartImport(b, path)
		for range 20 { // wait until the import is well under way
			p.Line(b)
		}
		lines := make(chan int)
		go func() {
			n := 0
			for _, ok := p.Next(); ok; _, ok = p.Next() {
				n++
			}
			lines <- n
		}()
		start := time.Now()
		busy := measure()
		imported := time.Since(start)
		p.Kill()
		report(b, "idle", idle)
		report(b, "import", busy)
		b.ReportMetric(float64(<-lines*storetest.ImportBatch)/imported.Seconds(), "import-labels/s")
		b.ReportMetric(float64(at(busy, 0.99))/float64(at(idle, 0.99)), "p99-ratio")
	}
}

// BenchmarkSettleDuringRuns commits batches of one charge each while the same process runs all its
// searches, and reports the commit times.
func BenchmarkSettleDuringRuns(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "registry.db"), Options{Logger: quiet()})
	if err := s.Fill(b.Context(), storetest.SampleSearches(*benchSearches)); err != nil {
		b.Fatal(err)
	}
	charged := make([]cola.AccountID, 200)
	for i := range charged {
		charged[i] = cola.AccountID(i + 1)
	}
	storetest.SampleKeys(b, s, charged)
	for day := 1; b.Loop(); day++ {
		done := make(chan error, 1)
		go func() {
			_, err := storetest.RunSampleSearches(b.Context(), s, day)
			done <- err
		}()
		var took []time.Duration
		for running := true; running; time.Sleep(2 * time.Millisecond) {
			select {
			case err := <-done:
				if running = false; err != nil {
					b.Fatal(err)
				}
			default:
			}
			start := time.Now()
			n := len(took) % len(charged)
			if err := storetest.ChargeAll(b.Context(), s, charged[n:n+1]); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		report(b, "runs", took)
	}
}

func report(b *testing.B, name string, took []time.Duration) {
	for unit, q := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		b.ReportMetric(float64(at(took, q).Microseconds()), name+"-"+unit+"-µs")
	}
}

// at returns a quantile of sorted durations.
func at(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func sampleStore(b *testing.B, labels int) *Store {
	b.Helper()
	s := mustOpen(b, filepath.Join(b.TempDir(), "registry.db"), Options{Logger: quiet()})
	for n := 0; n < labels; n += 500 {
		if _, err := s.UpsertColas(b.Context(), storetest.Samples(n, 500), store.Commit); err != nil {
			b.Fatal(err)
		}
	}
	return s
}
