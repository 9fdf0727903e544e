package search

import (
	"slices"
	"sort"
)

// sparseMost is the length up to which a list is kept as plain numbers: beyond it, containers take less memory.
const sparseMost = 256

// postings holds numbered lists of documents, each ascending. A short list is a run of numbers. A long one is cut into
// blocks, and each block is kept in a container: a run of 16-bit numbers where it is sparse, a bitmap where it is dense.
type postings struct {
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

// list is one list of documents. The zero list is empty.
type list struct {
	docs   []uint32  // of a short list
	p      *postings // of a long one, with its containers
	lo, hi uint32
	n      int // documents
}

func (p *postings) lists() int { return max(0, len(p.off)-1) }

// numDocs returns the number that all documents are below.
func (p *postings) numDocs() uint32 { return p.n }

func (p *postings) list(i uint32) list {
	if docs := p.docs[p.off[i]:p.off[i+1]]; len(docs) > 0 {
		return listOf(docs)
	}
	j, ok := slices.BinarySearch(p.long, i)
	if !ok {
		return list{}
	}
	return list{p: p, lo: p.first[j], hi: p.first[j+1], n: int(p.count[j])}
}

// listOf returns a list of ascending, distinct documents.
func listOf(docs []uint32) list { return list{docs: docs, n: len(docs)} }

// len returns the number of documents.
func (l list) len() int { return l.n }

// dense reports whether a container of card documents in block b is a bitmap: above one document in sixteen, where it takes
// no more room than numbers do.
func dense(n, b uint32, card int) bool { return card > blockWidth(n, b)*4 }

// bitmap returns container c as words, or nil when it is kept as numbers.
func (p *postings) bitmap(c uint32) []uint64 {
	b := uint32(p.key[c])
	if !dense(p.n, b, int(p.card[c])+1) {
		return nil
	}
	return p.words[p.at[c]:][:blockWidth(p.n, b)]
}

// numbers returns a container that is not a bitmap.
func (p *postings) numbers(c uint32) []uint16 { return p.small[p.at[c]:][:int(p.card[c])+1] }

// each calls yield with every document, in order, until it returns false.
func (l list) each(yield func(doc uint32) bool) {
	for _, doc := range l.docs {
		if !yield(doc) {
			return
		}
	}
	for c := l.lo; c < l.hi; c++ {
		base := uint32(l.p.key[c]) << blockShift
		if w := l.p.bitmap(c); w != nil {
			if !eachBit(w, base, yield) {
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

// span is a range of blocks, first to last.
type span struct{ first, last uint32 }

// allBlocks returns the span of n documents.
func allBlocks(n uint32) span { return span{0, blockCount(n) - 1} }

// blocksOf returns the span of the documents from lo to below hi, of which there must be one.
func blocksOf(lo, hi uint32) span { return span{lo >> blockShift, (hi - 1) >> blockShift} }

// within returns the part of a short list in the span's blocks.
func (s span) within(docs []uint32) []uint32 {
	lo, hi := s.first<<blockShift, uint64(s.last+1)<<blockShift
	if len(docs) > 0 && docs[0] < lo {
		docs = docs[sort.Search(len(docs), func(i int) bool { return docs[i] >= lo }):]
	}
	if len(docs) > 0 && uint64(docs[len(docs)-1]) >= hi {
		docs = docs[:sort.Search(len(docs), func(i int) bool { return uint64(docs[i]) >= hi })]
	}
	return docs
}

// orInto adds the documents in the span's blocks to a bitmap over all documents.
func (l list) orInto(w []uint64, s span) {
	for _, doc := range s.within(l.docs) {
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
		dst := w[b*blockWords:]
		if src := l.p.bitmap(c); src != nil {
			orWords(dst[:len(src)], src)
			continue
		}
		for _, x := range l.p.numbers(c) {
			dst[x>>6] |= 1 << (x & 63)
		}
	}
}

// andNotInto takes the documents in the span's blocks out of a bitmap over all documents.
func (l list) andNotInto(w []uint64, s span) {
	for _, doc := range s.within(l.docs) {
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
		dst := w[b*blockWords:]
		if src := l.p.bitmap(c); src != nil {
			andNotWords(dst[:len(src)], src)
			continue
		}
		for _, x := range l.p.numbers(c) {
			dst[x>>6] &^= 1 << (x & 63)
		}
	}
}

// countBitmapCost is the estimated time, in nanoseconds, of counting the bits that a block and a bitmap share.
const countBitmapCost = 300

// countCost estimates, in nanoseconds, how long cursor.countIn takes for all blocks of the list together.
func (l list) countCost() int {
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

// cost estimates, in nanoseconds, what uniting the list takes.
func (l list) cost() int {
	if l.p == nil {
		return 8 + 2*len(l.docs)
	}
	cost := 30
	for c := l.lo; c < l.hi; c++ {
		cost += 10 + min(int(l.p.card[c])+1, blockWords/3)
	}
	return cost
}

func (p *postings) carry(c carrier) {
	carryNumber(c, &p.n)
	carry(c, &p.off)
	carry(c, &p.docs)
	carry(c, &p.long)
	carry(c, &p.count)
	carry(c, &p.first)
	carry(c, &p.key)
	carry(c, &p.card)
	carry(c, &p.at)
	carry(c, &p.small)
	carry(c, &p.words)
}
