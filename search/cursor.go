package search

import (
	"slices"
	"sync"
)

// cursor walks the documents of one condition, block by block: those of a list, or of a bitmap over all documents.
type cursor struct {
	list
	bits []uint64 // when the condition is a bitmap
	pos  int      // in list.docs: the first that is not before the block
}

// newCursor returns a cursor over a list.
func newCursor(l list) cursor { return cursor{list: l} }

// newBitmapCursor returns a cursor over a bitmap, which holds at most n documents.
func newBitmapCursor(w []uint64, n int) cursor { return cursor{bits: w, list: list{n: n}} }

// bitmap returns the bitmap that the cursor walks; nil if it walks a list.
func (c *cursor) bitmap() []uint64 { return c.bits }

// seek returns the part of a short list in block b. Blocks must not go backwards.
func (c *cursor) seek(b uint32) []uint32 {
	docs := c.docs
	for c.pos < len(docs) && docs[c.pos]>>blockShift < b {
		c.pos++
	}
	end := c.pos
	for end < len(docs) && docs[end]>>blockShift == b {
		end++
	}
	return docs[c.pos:end]
}

// container returns the number of block b's container of a long list. Blocks must not go backwards.
func (c *cursor) container(b uint32) (uint32, bool) {
	for c.lo < c.hi && uint32(c.p.key[c.lo]) < b {
		c.lo++
	}
	return c.lo, c.lo < c.hi && uint32(c.p.key[c.lo]) == b
}

// load fills w with block b. It returns false, and w is undefined, when the block is empty.
func (c *cursor) load(b uint32, w []uint64) bool {
	if c.bits != nil {
		copy(w, c.bits[b*blockWords:])
		return true
	}
	if c.p == nil {
		docs := c.seek(b)
		if len(docs) == 0 {
			return false
		}
		clear(w)
		for _, d := range docs {
			setBit(w, d&(blockDocs-1))
		}
		return true
	}
	k, ok := c.container(b)
	if !ok {
		return false
	}
	if src := c.p.bitmap(k); src != nil {
		copy(w, src)
		return true
	}
	clear(w)
	for _, d := range c.p.numbers(k) {
		w[d>>6] |= 1 << (d & 63)
	}
	return true
}

// and keeps in w what is in block b, too. It returns false, and w is undefined, when the block is empty. other is as wide as
// w and is overwritten.
func (c *cursor) and(b uint32, w, other []uint64) bool {
	if c.bits != nil {
		andWords(w, c.bits[b*blockWords:][:len(w)])
		return true
	}
	if c.p != nil {
		k, ok := c.container(b)
		if !ok {
			return false
		}
		if src := c.p.bitmap(k); src != nil {
			andWords(w, src)
			return true
		}
	}
	if !c.load(b, other) {
		return false
	}
	andWords(w, other)
	return true
}

// intersect fills w with the documents of block b that meet every condition, and reports whether there may be any. There
// must be a condition; the most selective one should come first.
func (sc *scratch) intersect(b uint32, w []uint64, conditions []cursor) bool {
	if !conditions[0].load(b, w) {
		return false
	}
	for i := 1; i < len(conditions); i++ {
		if !conditions[i].and(b, w, sc.other[:len(w)]) {
			return false
		}
	}
	return true
}

// bySelectivity puts the conditions with the fewest documents first.
func bySelectivity(conditions []cursor) {
	slices.SortStableFunc(conditions, func(a, b cursor) int { return a.n - b.n })
}

// countIn returns how many documents of the cursor's list are in w, which is block b; all tells that every document of the block is. Blocks
// must not go backwards.
func (c *cursor) countIn(b uint32, w []uint64, all bool) (n uint32) {
	if c.p == nil {
		for _, d := range c.seek(b) {
			n += bit(w, d&(blockDocs-1))
		}
		return n
	}
	k, ok := c.container(b)
	switch {
	case !ok:
		return 0
	case all:
		return uint32(c.p.card[k]) + 1
	}
	if src := c.p.bitmap(k); src != nil {
		return uint32(common(w, src))
	}
	for _, d := range c.p.numbers(k) {
		n += bit(w, uint32(d))
	}
	return n
}

// scratch is the working memory of one search at a time.
type scratch struct {
	block [blockWords]uint64
	other [blockWords]uint64
	lists []list
	free  [][]uint64
}

// scratches keeps the working memory of searches for the next ones.
type scratches struct{ pool sync.Pool }

func (s *scratches) get() *scratch {
	if sc, ok := s.pool.Get().(*scratch); ok {
		return sc
	}
	return &scratch{}
}

func (s *scratches) put(sc *scratch) {
	clear(sc.lists)
	sc.lists = sc.lists[:0]
	s.pool.Put(sc)
}

// bitmap returns a bitmap over n documents that is clear in the span's blocks and holds anything outside them.
func (sc *scratch) bitmap(n uint32, s span) []uint64 {
	need := wordsFor(n)
	var w []uint64
	for i, f := range sc.free {
		if cap(f) >= need {
			sc.free = append(sc.free[:i], sc.free[i+1:]...)
			w = f[:need]
			break
		}
	}
	if w == nil {
		w = make([]uint64, need)
	}
	if lo := int(s.first) * blockWords; lo < need {
		clear(w[lo:min(int(s.last+1)*blockWords, need)])
	}
	return w
}

// bitmapsKept bounds what a scratch holds between searches.
const bitmapsKept = 8

// release gives a bitmap back; nil is none.
func (sc *scratch) release(w []uint64) {
	if w != nil && len(sc.free) < bitmapsKept {
		sc.free = append(sc.free, w)
	}
}

// unite returns the union of lists in the span's blocks.
func (sc *scratch) unite(n uint32, s span, lists []list) []uint64 {
	w := sc.bitmap(n, s)
	for _, l := range lists {
		l.orInto(w, s)
	}
	return w
}
