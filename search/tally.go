package search

import "math/bits"

// tally counts the documents of a layer by their values in a column, block by block. Where few documents of a block count it looks up the value of
// each; where many do it holds them against the lists of the values.
type tally struct {
	column  *packed
	lists   *postings
	cursors []cursor // of the lists, once one is needed
	dear    int      // what counting a block by the lists costs, in estimated nanoseconds; known with the cursors

	byValue []uint32 // by the number of the value in the column
	byList  []uint32
}

func newTally(column *textColumn, lists *postings) *tally {
	return &tally{column: &column.ids, lists: lists, byValue: make([]uint32, column.len()), byList: make([]uint32, lists.lists())}
}

// What counting takes, in nanoseconds on one processor of 2025.
const (
	perDoc     = 2   // looking up the value of a document
	perCursor  = 4   // moving a list on to a block
	perBitmap  = 300 // holding a block against a bitmap
	lookupMost = 512 // documents of a block, up to which they are looked up without asking what the lists cost
)

// add counts block b, of which n documents count: those in w.
func (t *tally) add(b uint32, w []uint64, n int) {
	if n > lookupMost && t.cursors == nil {
		t.open()
	}
	if n <= lookupMost || n*perDoc <= t.dear {
		t.lookUp(b, w)
		return
	}
	all := n == len(w)*64
	for i := range t.cursors {
		t.byList[i] += t.cursors[i].countIn(b, w, all)
	}
}

// open makes the cursors, and works out what counting by them costs.
func (t *tally) open() {
	t.cursors = make([]cursor, t.lists.lists())
	total := 0
	for i := range t.cursors {
		l := t.lists.list(uint32(i))
		t.cursors[i] = cursor{list: l}
		total += len(l.docs)
		for c := l.lo; c < l.hi; c++ {
			if card := int(t.lists.card[c]) + 1; dense(t.lists.n, uint32(t.lists.key[c]), card) {
				total += perBitmap
			} else {
				total += card
			}
		}
	}
	t.dear = total/int(blockCount(t.lists.n)) + len(t.cursors)*perCursor
}

// lookUp counts the documents in w one by one.
func (t *tally) lookUp(b uint32, w []uint64) {
	switch from := int(b) << blockShift; {
	case t.column.one != nil:
		count(t.byValue, t.column.one[from:], w)
	case t.column.two != nil:
		count(t.byValue, t.column.two[from:], w)
	default:
		count(t.byValue, t.column.four[from:], w)
	}
}

// count counts the values of the documents in w.
func count[T uint8 | uint16 | uint32](counts []uint32, values []T, w []uint64) {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			counts[values[i<<6+bits.TrailingZeros64(x)]]++
		}
	}
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

// bit returns 1 when a bit is set, and else 0.
func bit(w []uint64, i uint32) uint32 { return uint32(w[i>>6]>>(i&63)) & 1 }

// common returns how many bits are set in both.
func common(a, b []uint64) (n int) {
	b = b[:len(a)]
	for i, x := range a {
		n += bits.OnesCount64(x & b[i])
	}
	return n
}

// popcountBetween counts the bits of w from lo to below hi.
func popcountBetween(w []uint64, lo, hi int) int {
	if lo >= hi {
		return 0
	}
	first, last := lo>>6, (hi-1)>>6
	head, tail := ^uint64(0)<<(lo&63), ^uint64(0)>>(63-(hi-1)&63)
	if first == last {
		return bits.OnesCount64(w[first] & head & tail)
	}
	return bits.OnesCount64(w[first]&head) + popcount(w[first+1:last]) + bits.OnesCount64(w[last]&tail)
}
