package quota_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/perf/measure"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// BenchmarkCharge measures committed charges on SQLite, with one caller per processor and with many
// callers, which share commits. The store's clock runs fast, so that no window fills.
func BenchmarkCharge(b *testing.B) {
	for _, accounts := range []int{1, 64, 10_000} {
		b.Run(fmt.Sprintf("accounts=%d", accounts), func(b *testing.B) {
			var ticks atomic.Int64
			start := time.Now()
			now := func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * time.Minute) }
			quiet := slog.New(slog.DiscardHandler)
			st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"),
				sqlite.Options{Now: now, Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			requests := make([]quota.Request, accounts)
			for i := range requests {
				requests[i] = quota.Request{Caller: mustCaller(b, st, i), Meter: cola.MeterListRecords, Units: 0}
			}
			l := quota.New(st, quota.Options{})
			defer l.Close()
			for _, callers := range []int{1, 64, 1024} { // per processor; see SetParallelism
				if callers*runtime.GOMAXPROCS(0)/accounts < cola.TierPro.Limits().PerMinute { // one batch must fit in the window
					b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchmarkCharge(b, l, requests, callers) })
				}
			}
		})
	}
}

func benchmarkCharge(b *testing.B, l *quota.Ledger, requests []quota.Request, callers int) {
	b.ReportAllocs()
	b.SetParallelism(callers)
	var next atomic.Int64
	before := measure.OwnCPUTime()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Charge(b.Context(), requests[next.Add(1)%int64(len(requests))]); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
	// On a busy machine, only the CPU time is comparable.
	cpu := measure.OwnCPUTime() - before
	b.ReportMetric(cpu.Seconds()*1e6/float64(b.N), "cpu-µs/charge")
}

func mustCaller(b *testing.B, st store.Store, i int) cola.Caller {
	account, err := st.CreateAccount(b.Context(), fmt.Sprintf("bench%d@example.com", i), cola.TierPro)
	if err != nil {
		b.Fatal(err)
	}
	key, err := st.CreateKey(b.Context(), store.Key{AccountID: account.ID, Name: "bench"},
		store.KeyHash{byte(i), byte(i >> 8), 1}, 0)
	if err != nil {
		b.Fatal(err)
	}
	return cola.Caller{
		Account:    account.ID,
		Credential: cola.Credential{Kind: cola.CredentialKey, ID: key.ID},
		Channel:    cola.ChannelREST,
	}
}
