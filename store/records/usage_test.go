package records

import (
	"math/rand/v2"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestGranted checks that an allowance grants the limit in total, or all wanted units if fewer.
func TestGranted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1_000 {
		limit, used, granted := r.IntN(60), 0, 0
		for range r.IntN(12) {
			wanted := r.IntN(26)
			used += wanted
			got := Granted(wanted, used, limit)
			if granted += got; got < 0 || got > wanted || granted != min(used, limit) {
				t.Fatalf("of %d wanted %d are granted, %d of %d in all", wanted, got, granted, limit)
			}
		}
	}
}

// TestNaming checks that any previews name at most the limit of distinct labels, and that labels named
// before can be named again.
func TestNaming(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		limit := r.IntN(12)
		var named []cola.TTBID
		known := map[cola.TTBID]bool{}
		for range 20 {
			asked := make([]cola.TTBID, r.IntN(6))
			for i := range asked {
				asked[i] = cola.TTBID(1 + r.IntN(20))
			}
			n := NewPreviewLabels(asked, named, len(named), limit)
			for _, id := range n.New {
				if known[id] {
					t.Fatalf("label %d is new twice", id)
				}
				known[id], named = true, append(named, id)
			}
			shown := map[cola.TTBID]bool{}
			for _, id := range n.Labels {
				shown[id] = true
			}
			for _, id := range asked {
				if shown[id] != known[id] {
					t.Fatalf("label %d: named %t, known %t", id, shown[id], known[id])
				}
			}
			if len(named) > limit {
				t.Fatalf("%d labels are named, of %d", len(named), limit)
			}
		}
	}
}
