package postings

import (
	"slices"
	"sync"
)

// Cursor reads a list, or a bitmap over all documents, block by block. Blocks must be read in
// ascending order.
type Cursor struct {
	List
	bits []uint64 // the bitmap, or nil
	pos  int      // position in docs of a short list
}

// NewCursor returns a cursor over a list.
func NewCursor(l List) Cursor { return Cursor{List: l} }

// NewBitmapCursor returns a cursor over a bitmap of at most n documents.
func NewBitmapCursor(w []uint64, n int) Cursor { return Cursor{bits: w, List: List{n: n}} }

// Bitmap returns the bitmap that the cursor reads, or nil if it reads a list.
func (c *Cursor) Bitmap() []uint64 { return c.bits }

// seek returns the documents of a short list that are in block b.
func (c *Cursor) seek(b uint32) []uint32 {
	docs := c.docs
	for c.pos < len(docs) && docs[c.pos]>>BlockShift < b {
		c.pos++
	}
	end := c.pos
	for end < len(docs) && docs[end]>>BlockShift == b {
		end++
	}
	return docs[c.pos:end]
}

// container returns the container of a long list for block b; ok is false if the block is empty.
func (c *Cursor) container(b uint32) (k uint32, ok bool) {
	for c.lo < c.hi && uint32(c.p.key[c.lo]) < b {
		c.lo++
	}
	return c.lo, c.lo < c.hi && uint32(c.p.key[c.lo]) == b
}

// load writes block b to w. If the block is empty, load returns false and leaves w undefined.
func (c *Cursor) load(b uint32, w []uint64) bool {
	if c.bits != nil {
		copy(w, c.bits[b*BlockWords:])
		return true
	}
	if c.p == nil {
		docs := c.seek(b)
		if len(docs) == 0 {
			return false
		}
		clear(w)
		for _, d := range docs {
			SetBit(w, d&(BlockDocs-1))
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

// and intersects w with block b. It returns false and leaves w undefined if the block is empty.
// other is working memory of w's length.
func (c *Cursor) and(b uint32, w, other []uint64) bool {
	if c.bits != nil {
		AndWords(w, c.bits[b*BlockWords:][:len(w)])
		return true
	}
	if c.p != nil {
		k, ok := c.container(b)
		if !ok {
			return false
		}
		if src := c.p.bitmap(k); src != nil {
			AndWords(w, src)
			return true
		}
	}
	if !c.load(b, other) {
		return false
	}
	AndWords(w, other)
	return true
}

// Intersect writes to w the documents of block b that are in every cursor, and reports whether
// there may be any. Pass at least one cursor, the most selective one first.
func (sc *Scratch) Intersect(b uint32, w []uint64, cursors []Cursor) bool {
	if !cursors[0].load(b, w) {
		return false
	}
	for i := 1; i < len(cursors); i++ {
		if !cursors[i].and(b, w, sc.other[:len(w)]) {
			return false
		}
	}
	return true
}

// SortBySelectivity sorts cursors by their number of documents.
func SortBySelectivity(cursors []Cursor) {
	slices.SortStableFunc(cursors, func(a, b Cursor) int { return a.n - b.n })
}

// CountIn returns the number of documents of the cursor's list that are in w, the bitmap of block
// b. Set all only if w contains every document of the block.
func (c *Cursor) CountIn(b uint32, w []uint64, all bool) (n uint32) {
	if c.p == nil {
		for _, d := range c.seek(b) {
			n += bit(w, d&(BlockDocs-1))
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
		return uint32(commonBits(w, src))
	}
	for _, d := range c.p.numbers(k) {
		n += bit(w, uint32(d))
	}
	return n
}

// Scratch is the working memory of a search. It must not be used by two searches at the same time.
type Scratch struct {
	Block   [BlockWords]uint64 // bitmap of the block being searched
	other   [BlockWords]uint64
	Lists   []List     // lists being collected
	bitmaps [][]uint64 // released bitmaps, for reuse
}

// ScratchPool is a pool of Scratch. The zero pool is ready for use.
type ScratchPool struct{ pool sync.Pool }

// Get returns a Scratch.
func (s *ScratchPool) Get() *Scratch {
	if sc, ok := s.pool.Get().(*Scratch); ok {
		return sc
	}
	return &Scratch{}
}

// Put returns a Scratch to the pool.
func (s *ScratchPool) Put(sc *Scratch) {
	clear(sc.Lists)
	sc.Lists = sc.Lists[:0]
	s.pool.Put(sc)
}

// Bitmap returns a bitmap over n documents that is clear in the span and undefined outside it.
func (sc *Scratch) Bitmap(n uint32, s Span) []uint64 {
	need := WordsFor(n)
	var w []uint64
	for i, f := range sc.bitmaps {
		if cap(f) >= need {
			sc.bitmaps = append(sc.bitmaps[:i], sc.bitmaps[i+1:]...)
			w = f[:need]
			break
		}
	}
	if w == nil {
		w = make([]uint64, need)
	}
	if lo := int(s.first) * BlockWords; lo < need {
		clear(w[lo:min(int(s.last+1)*BlockWords, need)])
	}
	return w
}

// maxFreeBitmaps limits the memory that a Scratch retains.
const maxFreeBitmaps = 8

// Release makes a bitmap available for reuse. It ignores nil.
func (sc *Scratch) Release(w []uint64) {
	if w != nil && len(sc.bitmaps) < maxFreeBitmaps {
		sc.bitmaps = append(sc.bitmaps, w)
	}
}

// Union returns the union of lists, limited to the span, as a bitmap over n documents.
func (sc *Scratch) Union(n uint32, s Span, lists []List) []uint64 {
	w := sc.Bitmap(n, s)
	for _, l := range lists {
		l.OrInto(w, s)
	}
	return w
}
