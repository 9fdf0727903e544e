package registry_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// BenchmarkSearchColas measures a search through the whole service: parameters, index, and the charge committed to the
// embedded ledger. Many run at once, as they would in a server, and share commits.
func BenchmarkSearchColas(b *testing.B) {
	w := mustWorld(b, 20_000)
	callers := make([]cola.Caller, 200)
	for i := range callers {
		callers[i] = w.mustCaller(b, string(rune('a'+i/26))+string(rune('a'+i%26))+"@example.com", cola.TierPro)
	}
	b.SetParallelism(64)
	var next atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.clock.Add(time.Minute.Microseconds()) // so that no window fills
			p := cola.SearchParams{Q: "oak", ApprovalDateFrom: cola.NewDate(2005, 1, 1), PerPage: cola.Some(1)}
			if _, _, err := w.SearchColas(b.Context(), callers[next.Add(1)%int64(len(callers))], p); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
