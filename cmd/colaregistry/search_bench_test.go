package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/internal/pgtest"
)

// BenchmarkChargedSearch measures searches over HTTP on a server in this process, so that -benchmem
// counts every allocation of a request: connection, search, charge and logs. As in make perf-http,
// 64 clients search 20,000 labels. They rotate through 2,000 accounts, whose rate limits allow
// 240,000 requests per minute in total; beyond that, the benchmark fails.
func BenchmarkChargedSearch(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchmarkSearch(b, testRegistry{storeFlags: storeFlags{DataDir: b.TempDir()}})
	})
	b.Run("postgres", func(b *testing.B) { benchmarkSearch(b, registryOnPostgres(b, pgtest.NewDatabase(b))) })
}

func benchmarkSearch(b *testing.B, h testRegistry) {
	st := mustOpen(b, h)
	data := demo.Options{Colas: 20_000, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
	if err := demo.Load(b.Context(), st, data, nil); err != nil {
		b.Fatal(err)
	}
	keys, err := measure.Accounts(b.Context(), st, 2_000)
	if err != nil {
		b.Fatal(err)
	}
	address := serveHere(b, h)
	const clients = 64
	if _, err := measure.Search(b.Context(), address, keys, clients, len(keys)); err != nil { // fills the caches
		b.Fatal(err)
	}
	b.Run("64clients", func(b *testing.B) { // separate from the setup, which would run for each b.N
		b.ReportAllocs()
		found, err := measure.Search(b.Context(), address, keys, clients, b.N)
		if err != nil || found.Check() != nil || found.Refused() > 0 {
			b.Fatal(err, found.Statuses)
		}
	})
}

// serveHere runs serve in this process until the test ends, and returns its address.
func serveHere(t testing.TB, h testRegistry) (address string) {
	t.Helper()
	address, err := measure.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	var out output
	args := slices.Concat([]string{"serve", "--listen", address, "--demo", "never"}, h.flags(), h.keyFlags(t))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended, code := make(chan struct{}), 0
	go func() {
		defer close(ended)
		code = program{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: io.Discard}.run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	for !printedBase.MatchString(out.String()) {
		select {
		case <-ended:
			t.Fatalf("serve exited with code %d", code)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return address
}
