// Package postings stores posting lists (the documents that match a term), combines them with
// bitmaps and intersects them.
//
// Documents are numbered from 0 to n-1. Operations process one block of 65,536 documents at a time,
// so that the block's 8 KiB bitmap stays in the L1 cache. Lists resemble roaring bitmaps but are
// stored in a few large slices without pointers. The garbage collector does not scan these, and a
// snapshot stores them unchanged.
package postings

import "math/bits"

// The size of a block.
const (
	BlockShift = 16 // the block of a document is doc>>BlockShift
	BlockDocs  = 1 << BlockShift
	BlockWords = BlockDocs / 64
)

// WordsFor returns the number of words in a bitmap over n documents.
func WordsFor(n uint32) int { return int((uint64(n) + 63) / 64) }

// BlockCount returns the number of blocks for n documents.
func BlockCount(n uint32) uint32 { return uint32((uint64(n) + BlockDocs - 1) >> BlockShift) }

// BlockWidth returns the number of words in block b of n documents. Only the last block is narrower
// than BlockWords.
func BlockWidth(n, b uint32) int { return min(BlockWords, WordsFor(n-b<<BlockShift)) }

// SetBit sets bit i.
func SetBit(w []uint64, i uint32) { w[i>>6] |= 1 << (i & 63) }

// HasBit reports whether bit i is set.
func HasBit(w []uint64, i uint32) bool { return w[i>>6]>>(i&63)&1 != 0 }

// PopCount returns the number of set bits.
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

// AndWords clears the bits of dst that are not set in src.
func AndWords(dst, src []uint64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] &= src[i]
	}
}

// AndNotWords clears the bits of dst that are set in src.
func AndNotWords(dst, src []uint64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] &^= src[i]
	}
}

// Fill sets all bits.
func Fill(dst []uint64) {
	for i := range dst {
		dst[i] = ^uint64(0)
	}
}

// KeepRange clears all bits except those in [lo, hi).
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

// AppendBits appends base plus the index of each set bit, until out has limit elements.
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

// AppendBitsBackward appends the indexes of the set bits in [lo, hi), highest first, until out has
// limit elements.
func AppendBitsBackward(out []uint32, w []uint64, lo, hi uint32, limit int) []uint32 {
	if lo >= hi {
		return out
	}
	first, last := lo>>6, (hi-1)>>6
	for i := last + 1; i > first; {
		i--
		x := w[i]
		if i == last {
			x &= ^uint64(0) >> (63 - (hi-1)&63)
		}
		if i == first {
			x &= ^uint64(0) << (lo & 63)
		}
		for x != 0 {
			if len(out) >= limit {
				return out
			}
			top := uint32(63 - bits.LeadingZeros64(x))
			out = append(out, i<<6+top)
			x &^= 1 << top
		}
	}
	return out
}

// EachBit calls yield with base plus the index of each set bit. If yield returns false, EachBit
// stops and returns false.
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

// bit returns bit i as a number.
func bit(w []uint64, i uint32) uint32 { return uint32(w[i>>6]>>(i&63)) & 1 }

// commonBits returns the number of bits that are set in both a and b.
func commonBits(a, b []uint64) (n int) {
	b = b[:len(a)]
	for i, x := range a {
		n += bits.OnesCount64(x & b[i])
	}
	return n
}

// PopCountRange returns the number of set bits of w in [lo, hi).
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
