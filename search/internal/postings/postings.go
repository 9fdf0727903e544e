package postings

import (
	"math"
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/search/internal/codec"
)

// maxShort is the maximum length of a short list. Containers take less memory for longer lists.
const maxShort = 256

// Lists holds numbered posting lists. A short list is an array of documents. A long list has a
// container for each block with documents: an array of 16-bit numbers if the block is sparse, a
// bitmap if it is dense.
type Lists struct {
	n    uint32   // documents are numbered below n
	off  []uint32 // short list i is docs[off[i]:off[i+1]], which is empty for a long one
	docs []uint32

	long  []uint32 // indexes of the long lists, ascending
	count []uint32 // documents in each long list
	first []uint32 // first container of each long list, then the end of the last one

	key   []uint16 // block of each container
	card  []uint16 // documents in each container, minus one
	at    []uint32 // where each container begins: in words if it is a bitmap, else in small
	small []uint16
	words []uint64
}

// List is one posting list. The zero List is empty.
type List struct {
	docs   []uint32 // documents of a short list
	p      *Lists   // Lists that hold a long list, in the containers [lo, hi)
	lo, hi uint32
	n      int // number of documents
}

// Len returns the number of lists.
func (p *Lists) Len() int { return max(0, len(p.off)-1) }

// NumDocs returns the number of documents that the lists cover.
func (p *Lists) NumDocs() uint32 { return p.n }

// At returns list i.
func (p *Lists) At(i uint32) List {
	if docs := p.docs[p.off[i]:p.off[i+1]]; len(docs) > 0 {
		return Of(docs)
	}
	j, ok := slices.BinarySearch(p.long, i)
	if !ok {
		return List{}
	}
	return List{p: p, lo: p.first[j], hi: p.first[j+1], n: int(p.count[j])}
}

// Of returns a list of ascending, distinct documents.
func Of(docs []uint32) List { return List{docs: docs, n: len(docs)} }

// Len returns the number of documents.
func (l List) Len() int { return l.n }

// dense reports whether a container of card documents in block b is stored as a bitmap: above one
// document in sixteen, a bitmap takes no more memory than an array.
func dense(n, b uint32, card int) bool { return card > BlockWidth(n, b)*4 }

// bitmap returns container c, or nil if it is an array.
func (p *Lists) bitmap(c uint32) []uint64 {
	b := uint32(p.key[c])
	if !dense(p.n, b, int(p.card[c])+1) {
		return nil
	}
	return p.words[p.at[c]:][:BlockWidth(p.n, b)]
}

// numbers returns container c, which must be an array.
func (p *Lists) numbers(c uint32) []uint16 { return p.small[p.at[c]:][:int(p.card[c])+1] }

// Each calls yield with every document in ascending order until yield returns false.
func (l List) Each(yield func(doc uint32) bool) {
	for _, doc := range l.docs {
		if !yield(doc) {
			return
		}
	}
	for c := l.lo; c < l.hi; c++ {
		base := uint32(l.p.key[c]) << BlockShift
		if w := l.p.bitmap(c); w != nil {
			if !EachBit(w, base, yield) {
				return
			}
			continue
		}
		for _, x := range l.p.numbers(c) {
			if !yield(base + uint32(x)) {
				return
			}
		}
	}
}

// AppendTo appends every document in ascending order.
func (l List) AppendTo(dst []uint32) []uint32 {
	dst = append(dst, l.docs...)
	for c := l.lo; c < l.hi; c++ {
		base := uint32(l.p.key[c]) << BlockShift
		if w := l.p.bitmap(c); w != nil {
			dst = AppendBits(dst, w, base, math.MaxInt)
			continue
		}
		for _, x := range l.p.numbers(c) {
			dst = append(dst, base+uint32(x))
		}
	}
	return dst
}

// Span is an inclusive range of blocks.
type Span struct{ first, last uint32 }

// AllBlocks returns the blocks of n documents.
func AllBlocks(n uint32) Span { return Span{0, BlockCount(n) - 1} }

// BlocksOf returns the blocks of the documents in [lo, hi). lo must be less than hi.
func BlocksOf(lo, hi uint32) Span { return Span{lo >> BlockShift, (hi - 1) >> BlockShift} }

// clip returns the documents of a short list that are in the span.
func (s Span) clip(docs []uint32) []uint32 {
	lo, hi := s.first<<BlockShift, uint64(s.last+1)<<BlockShift
	if len(docs) > 0 && docs[0] < lo {
		docs = docs[sort.Search(len(docs), func(i int) bool { return docs[i] >= lo }):]
	}
	if len(docs) > 0 && uint64(docs[len(docs)-1]) >= hi {
		docs = docs[:sort.Search(len(docs), func(i int) bool { return uint64(docs[i]) >= hi })]
	}
	return docs
}

// OrInto adds the documents in the span to a bitmap over all documents.
func (l List) OrInto(w []uint64, s Span) {
	for _, doc := range s.clip(l.docs) {
		w[doc>>6] |= 1 << (doc & 63)
	}
	for c := l.lo; c < l.hi; c++ {
		b := uint32(l.p.key[c])
		if b < s.first {
			continue
		}
		if b > s.last {
			return
		}
		dst := w[b*BlockWords:]
		if src := l.p.bitmap(c); src != nil {
			orWords(dst[:len(src)], src)
			continue
		}
		for _, x := range l.p.numbers(c) {
			dst[x>>6] |= 1 << (x & 63)
		}
	}
}

// AndNotInto removes the documents in the span from a bitmap over all documents.
func (l List) AndNotInto(w []uint64, s Span) {
	for _, doc := range s.clip(l.docs) {
		w[doc>>6] &^= 1 << (doc & 63)
	}
	for c := l.lo; c < l.hi; c++ {
		b := uint32(l.p.key[c])
		if b < s.first {
			continue
		}
		if b > s.last {
			return
		}
		dst := w[b*BlockWords:]
		if src := l.p.bitmap(c); src != nil {
			AndNotWords(dst[:len(src)], src)
			continue
		}
		for _, x := range l.p.numbers(c) {
			dst[x>>6] &^= 1 << (x & 63)
		}
	}
}

// countBitmapCost is the estimated time, in nanoseconds, to count the common bits of two bitmaps of
// a block.
const countBitmapCost = 300

// CountCost estimates, in nanoseconds, how long Cursor.CountIn takes for all blocks of the list.
func (l List) CountCost() int {
	cost := len(l.docs)
	for c := l.lo; c < l.hi; c++ {
		if card := int(l.p.card[c]) + 1; dense(l.p.n, uint32(l.p.key[c]), card) {
			cost += countBitmapCost
		} else {
			cost += card
		}
	}
	return cost
}

// Cost estimates, in nanoseconds, how long OrInto takes for all blocks.
func (l List) Cost() int {
	if l.p == nil {
		return 8 + 2*len(l.docs)
	}
	cost := 30
	for c := l.lo; c < l.hi; c++ {
		cost += 10 + min(int(l.p.card[c])+1, BlockWords/3)
	}
	return cost
}

// Serialize transfers the lists.
func (p *Lists) Serialize(c codec.Codec) {
	codec.Int(c, &p.n)
	codec.Slice(c, &p.off)
	codec.Slice(c, &p.docs)
	codec.Slice(c, &p.long)
	codec.Slice(c, &p.count)
	codec.Slice(c, &p.first)
	codec.Slice(c, &p.key)
	codec.Slice(c, &p.card)
	codec.Slice(c, &p.at)
	codec.Slice(c, &p.small)
	codec.Slice(c, &p.words)
}
