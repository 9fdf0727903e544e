package postings

import "math/bits"

// Documents are looked at in blocks of 65,536, whose bitmap of 8 KiB stays in the nearest cache.
const (
	BlockShift = 16
	BlockDocs  = 1 << BlockShift
	BlockWords = BlockDocs / 64
)

// WordsFor returns how many words a bitmap over n documents has.
func WordsFor(n uint32) int { return int((uint64(n) + 63) / 64) }

// BlockCount returns how many blocks n documents fill.
func BlockCount(n uint32) uint32 { return uint32((uint64(n) + BlockDocs - 1) >> BlockShift) }

// BlockWidth returns how many words block b of n documents has; only the last one is narrower than the others.
func BlockWidth(n, b uint32) int { return min(BlockWords, WordsFor(n-b<<BlockShift)) }

func SetBit(w []uint64, i uint32) { w[i>>6] |= 1 << (i & 63) }

func HasBit(w []uint64, i uint32) bool { return w[i>>6]>>(i&63)&1 != 0 }

func PopCount(w []uint64) (n int) {
	for _, x := range w {
		n += bits.OnesCount64(x)
	}
	return n
}

func orWords(dst, src []uint64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] |= src[i]
	}
}

func AndWords(dst, src []uint64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] &= src[i]
	}
}

func AndNotWords(dst, src []uint64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] &^= src[i]
	}
}

func Fill(dst []uint64) {
	for i := range dst {
		dst[i] = ^uint64(0)
	}
}

// KeepRange clears all of w but the bits from lo to below hi.
func KeepRange(w []uint64, lo, hi int) {
	hi = min(hi, len(w)*64)
	if lo >= hi {
		clear(w)
		return
	}
	clear(w[:lo>>6])
	w[lo>>6] &= ^uint64(0) << (lo & 63)
	if hi&63 != 0 {
		w[hi>>6] &= 1<<(hi&63) - 1
	}
	if end := (hi + 63) >> 6; end < len(w) {
		clear(w[end:])
	}
}

// AppendBits appends base plus the number of each set bit, until out holds limit numbers.
func AppendBits(out []uint32, w []uint64, base uint32, limit int) []uint32 {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			if len(out) >= limit {
				return out
			}
			out = append(out, base+uint32(i<<6+bits.TrailingZeros64(x)))
		}
	}
	return out
}

// EachBit calls yield with base plus the number of each set bit until it returns false, and then returns false too.
func EachBit(w []uint64, base uint32, yield func(uint32) bool) bool {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			if !yield(base + uint32(i<<6+bits.TrailingZeros64(x))) {
				return false
			}
		}
	}
	return true
}

// bit returns 1 when a bit is set, and else 0.
func bit(w []uint64, i uint32) uint32 { return uint32(w[i>>6]>>(i&63)) & 1 }

// commonBits returns how many bits are set in both.
func commonBits(a, b []uint64) (n int) {
	b = b[:len(a)]
	for i, x := range a {
		n += bits.OnesCount64(x & b[i])
	}
	return n
}

// PopCountRange counts the bits of w from lo to below hi.
func PopCountRange(w []uint64, lo, hi int) int {
	if lo >= hi {
		return 0
	}
	first, last := lo>>6, (hi-1)>>6
	head, tail := ^uint64(0)<<(lo&63), ^uint64(0)>>(63-(hi-1)&63)
	if first == last {
		return bits.OnesCount64(w[first] & head & tail)
	}
	return bits.OnesCount64(w[first]&head) + PopCount(w[first+1:last]) + bits.OnesCount64(w[last]&tail)
}
