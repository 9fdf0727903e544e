package postings

import (
	"slices"
	"sync"
)

// Cursor walks the documents of one condition, block by block: those of a list, or of a bitmap over all documents.
type Cursor struct {
	List
	bits []uint64 // when the condition is a bitmap
	pos  int      // in list.docs: the first that is not before the block
}

// NewCursor returns a cursor over a list.
func NewCursor(l List) Cursor { return Cursor{List: l} }

// NewBitmapCursor returns a cursor over a bitmap, which holds at most n documents.
func NewBitmapCursor(w []uint64, n int) Cursor { return Cursor{bits: w, List: List{n: n}} }

// Bitmap returns the bitmap that the cursor walks; nil if it walks a list.
func (c *Cursor) Bitmap() []uint64 { return c.bits }

// seek returns the part of a short list in block b. Blocks must not go backwards.
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

// container returns the number of block b's container of a long list. Blocks must not go backwards.
func (c *Cursor) container(b uint32) (uint32, bool) {
	for c.lo < c.hi && uint32(c.p.key[c.lo]) < b {
		c.lo++
	}
	return c.lo, c.lo < c.hi && uint32(c.p.key[c.lo]) == b
}

// load fills w with block b. It returns false, and w is undefined, when the block is empty.
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

// and keeps in w what is in block b, too. It returns false, and w is undefined, when the block is empty. other is as wide as
// w and is overwritten.
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

// Intersect fills w with the documents of block b that meet every condition, and reports whether there may be any. There
// must be a condition; the most selective one should come first.
func (sc *Scratch) Intersect(b uint32, w []uint64, conditions []Cursor) bool {
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

// SortBySelectivity puts the conditions with the fewest documents first.
func SortBySelectivity(conditions []Cursor) {
	slices.SortStableFunc(conditions, func(a, b Cursor) int { return a.n - b.n })
}

// CountIn returns how many documents of the cursor's list are in w, which is block b; all tells that every document of the block is. Blocks
// must not go backwards.
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

// Scratch is the working memory of one search at a time.
type Scratch struct {
	Block   [BlockWords]uint64
	other   [BlockWords]uint64
	Lists   []List
	bitmaps [][]uint64
}

// ScratchPool keeps the working memory of searches for the next ones.
type ScratchPool struct{ pool sync.Pool }

func (s *ScratchPool) Get() *Scratch {
	if sc, ok := s.pool.Get().(*Scratch); ok {
		return sc
	}
	return &Scratch{}
}

func (s *ScratchPool) Put(sc *Scratch) {
	clear(sc.Lists)
	sc.Lists = sc.Lists[:0]
	s.pool.Put(sc)
}

// Bitmap returns a bitmap over n documents that is clear in the span's blocks and holds anything outside them.
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

// maxFreeBitmaps bounds what a scratch holds between searches.
const maxFreeBitmaps = 8

// Release gives a bitmap back; nil is none.
func (sc *Scratch) Release(w []uint64) {
	if w != nil && len(sc.bitmaps) < maxFreeBitmaps {
		sc.bitmaps = append(sc.bitmaps, w)
	}
}

// Union returns the union of lists in the span's blocks.
func (sc *Scratch) Union(n uint32, s Span, lists []List) []uint64 {
	w := sc.Bitmap(n, s)
	for _, l := range lists {
		l.OrInto(w, s)
	}
	return w
}
