package postings

import (
	"math/bits"
	"math/rand/v2"
	"slices"
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

func TestAppendBitsBackward(t *testing.T) {
	d := rand.New(rand.NewPCG(2, 2))
	w := []uint64{d.Uint64(), ^uint64(0), 0, d.Uint64() & d.Uint64()}
	for lo := range uint32(256) {
		for hi := range uint32(257) {
			limit := d.IntN(100)
			want := []uint32{7}
			for i := int(hi) - 1; i >= int(lo) && len(want) < limit; i-- {
				if HasBit(w, uint32(i)) {
					want = append(want, uint32(i))
				}
			}
			if got := AppendBitsBackward([]uint32{7}, w, lo, hi, limit); !slices.Equal(got, want) {
				t.Fatalf("AppendBitsBackward(%d, %d, limit %d) = %v, want %v", lo, hi, limit, got, want)
			}
		}
	}
}
