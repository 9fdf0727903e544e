package records

import (
	"math/rand/v2"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestGranted checks that an allowance grants the limit in total, or all requested units if fewer.
func TestGranted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1_000 {
		limit, used, granted := r.IntN(60), 0, 0
		for range r.IntN(12) {
			requested := r.IntN(26)
			used += requested
			got := Granted(requested, used, limit)
			granted += got
			if got < 0 || got > requested || granted != min(used, limit) {
				t.Fatalf("Granted(%d, %d, %d) = %d, total %d; want total %d", requested, used, limit, got, granted, min(used, limit))
			}
		}
	}
}

// TestNewPreviewLabels checks that previews name at most limit distinct labels, and that labels
// named before can be named again.
func TestNewPreviewLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		limit := r.IntN(12)
		var named []cola.TTBID
		known := map[cola.TTBID]bool{}
		for range 20 {
			requested := make([]cola.TTBID, r.IntN(6))
			for i := range requested {
				requested[i] = cola.TTBID(1 + r.IntN(20))
			}
			n := NewPreviewLabels(requested, named, len(named), limit)
			for _, id := range n.New {
				if known[id] {
					t.Fatalf("NewPreviewLabels: label %d appears in New twice", id)
				}
				known[id], named = true, append(named, id)
			}
			inLabels := map[cola.TTBID]bool{}
			for _, id := range n.Labels {
				inLabels[id] = true
			}
			for _, id := range requested {
				if inLabels[id] != known[id] {
					t.Fatalf("NewPreviewLabels: label %d in Labels = %t, want %t", id, inLabels[id], known[id])
				}
			}
			if len(named) > limit {
				t.Fatalf("NewPreviewLabels named %d labels, want at most %d", len(named), limit)
			}
		}
	}
}
