package search

import "slices"

// cursor walks the documents of one condition, block by block: those of a list, or of a bitmap over all documents.
type cursor struct {
	list
	bits []uint64 // when the condition is a bitmap
	pos  int      // in list.docs: the first that is not before the block
}

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
