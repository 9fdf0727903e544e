package search

import "github.com/colaregistry/colaregistry/cola/vocabulary"

// layer is a segment as one view sees it.
type layer struct {
	*segment
	dead   []uint64 // documents replaced or moved to a later segment; nil for none
	deaths int
	moved  []movedCategory
	tree   *categoryTree
}

// movedCategory is a value of the category column whose path a published transition leads elsewhere.
type movedCategory struct {
	value    uint32
	was, now string
}

func (l *layer) alive(doc uint32) bool { return l.dead == nil || !hasBit(l.dead, doc) }

func (l *layer) living() int { return int(l.t.n) - l.deaths }

// resolve has the layer's categories follow the transitions.
func (l *layer) resolve(aliases map[string]string) {
	l.moved = l.moveCategories(aliases)
	l.tree = l.growTree(l.moved)
}

// moveCategories works out which categories transitions lead elsewhere.
func (s *segment) moveCategories(aliases map[string]string) (moved []movedCategory) {
	if len(aliases) == 0 {
		return nil
	}
	c := &s.t.text[colCategory]
	for v := range uint32(c.len()) {
		if was := c.at(v); was != "" {
			if now := vocabulary.ResolveCategory(was, aliases); vocabulary.FoldPath(now) != vocabulary.FoldPath(was) {
				moved = append(moved, movedCategory{v, was, now})
			}
		}
	}
	return moved
}

// bury returns the layer with more documents dead; the old one is unchanged.
func (l layer) bury(docs []uint32) layer {
	if len(docs) == 0 {
		return l
	}
	dead := make([]uint64, blockCount(l.t.n)*blockWords)
	copy(dead, l.dead)
	for _, doc := range docs {
		if !hasBit(dead, doc) {
			setBit(dead, doc)
			l.deaths++
		}
	}
	l.dead = dead
	return l
}

// livingBits returns a bit for each living document; nil is all of them.
func (l *layer) livingBits() []uint64 {
	if l.deaths == 0 {
		return nil
	}
	w := make([]uint64, wordsFor(l.t.n))
	fillWords(w)
	andNotWords(w, l.dead)
	keepBits(w, 0, int(l.t.n))
	return w
}

// selection is what is asked of one layer.
type selection struct {
	lo, hi     uint32   // the date window
	conditions []cursor // all must hold
	from       uint32   // documents before it are counted, but not taken
	take       int      // documents to take at most
}

// run counts the documents that a selection matches, and takes the first.
func (l *layer) run(sel *selection, sc *scratch) (total int, docs []uint32) {
	l.blocks(sel, sc, func(b uint32, w []uint64) {
		total += popcount(w)
		base := int(b) << blockShift
		if len(docs) < sel.take && int(sel.from) < base+blockDocs {
			if int(sel.from) > base {
				keepBits(w, int(sel.from)-base, blockDocs)
			}
			docs = appendBits(docs, w, uint32(base), sel.take)
		}
	})
	return total, docs
}

// blocks calls yield with the living documents that a selection matches, block by block. The words are yield's until it returns.
func (l *layer) blocks(sel *selection, sc *scratch, yield func(b uint32, w []uint64)) {
	if sel.lo >= sel.hi {
		return
	}
	bySelectivity(sel.conditions)
	for b := sel.lo >> blockShift; b <= (sel.hi-1)>>blockShift; b++ {
		w := sc.block[:blockWidth(l.t.n, b)]
		if len(sel.conditions) == 0 {
			fillWords(w)
		} else if !sc.intersect(b, w, sel.conditions) {
			continue
		}
		base := int(b) << blockShift
		if int(sel.lo) > base || int(sel.hi) < base+blockDocs {
			keepBits(w, max(0, int(sel.lo)-base), int(sel.hi)-base)
		}
		if l.dead != nil {
			andNotWords(w, l.dead[b*blockWords:])
		}
		yield(b, w)
	}
}
