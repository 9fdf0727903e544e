package postings

import (
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/search/internal/codec"
)

// maxShort is the length up to which a list is kept as plain numbers: beyond it, containers take less memory.
const maxShort = 256

// Lists holds numbered lists of documents, each ascending. A short list is a run of numbers. A long one is cut into
// blocks, and each block is kept in a container: a run of 16-bit numbers where it is sparse, a bitmap where it is dense.
type Lists struct {
	n    uint32   // documents are numbered below n
	off  []uint32 // short list i is docs[off[i]:off[i+1]]; a long list is empty there
	docs []uint32

	long  []uint32 // numbers of the long lists, ascending
	count []uint32 // documents in each
	first []uint32 // its containers begin here; one more at the end

	key   []uint16 // block of each container
	card  []uint16 // documents in it, less one
	at    []uint32 // where it begins: in words when it is a bitmap, else in small
	small []uint16
	words []uint64
}

// List is one list of documents. The zero list is empty.
type List struct {
	docs   []uint32 // of a short list
	p      *Lists   // of a long one, with its containers
	lo, hi uint32
	n      int // documents
}

func (p *Lists) Len() int { return max(0, len(p.off)-1) }

// NumDocs returns the number that all documents are below.
func (p *Lists) NumDocs() uint32 { return p.n }

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

// dense reports whether a container of card documents in block b is a bitmap: above one document in sixteen, where it takes
// no more room than numbers do.
func dense(n, b uint32, card int) bool { return card > BlockWidth(n, b)*4 }

// bitmap returns container c as words, or nil when it is kept as numbers.
func (p *Lists) bitmap(c uint32) []uint64 {
	b := uint32(p.key[c])
	if !dense(p.n, b, int(p.card[c])+1) {
		return nil
	}
	return p.words[p.at[c]:][:BlockWidth(p.n, b)]
}

// numbers returns a container that is not a bitmap.
func (p *Lists) numbers(c uint32) []uint16 { return p.small[p.at[c]:][:int(p.card[c])+1] }

// Each calls yield with every document, in order, until it returns false.
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

// Span is a range of blocks, first to last.
type Span struct{ first, last uint32 }

// AllBlocks returns the span of n documents.
func AllBlocks(n uint32) Span { return Span{0, BlockCount(n) - 1} }

// BlocksOf returns the span of the documents from lo to below hi, of which there must be one.
func BlocksOf(lo, hi uint32) Span { return Span{lo >> BlockShift, (hi - 1) >> BlockShift} }

// clip returns the part of a short list in the span's blocks.
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

// OrInto adds the documents in the span's blocks to a bitmap over all documents.
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

// AndNotInto takes the documents in the span's blocks out of a bitmap over all documents.
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

// countBitmapCost is the estimated time, in nanoseconds, of counting the bits that a block and a bitmap share.
const countBitmapCost = 300

// CountCost estimates, in nanoseconds, how long cursor.countIn takes for all blocks of the list together.
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

// Cost estimates, in nanoseconds, what uniting the list takes.
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
