package postings

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestPopCountRange(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 1))
	w := []uint64{d.Uint64(), ^uint64(0), d.Uint64(), 0, d.Uint64()}
	for lo := range 320 {
		for hi := range 321 {
			want := 0
			for i := lo; i < hi; i++ {
				want += bits.OnesCount64(w[i>>6] >> (i & 63) & 1)
			}
			if got := PopCountRange(w, lo, hi); got != want {
				t.Fatalf("PopCountRange(%d, %d) = %d, want %d", lo, hi, got, want)
			}
		}
	}
}
