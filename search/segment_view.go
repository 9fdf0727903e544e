package search

import (
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// segmentView is a segment as one view sees it.
type segmentView struct {
	*segment
	tombstones   []uint64 // documents replaced or moved to a later segment; nil for none
	deleted      int
	redirected   []redirectedCategory
	categoryTree *categoryTree
}

// redirectedCategory is a value of the category column whose path a published transition leads elsewhere.
type redirectedCategory struct {
	value    uint32
	from, to string
}

func (l *segmentView) isLive(doc uint32) bool {
	return l.tombstones == nil || !postings.HasBit(l.tombstones, doc)
}

func (l *segmentView) liveCount() int { return int(l.t.n) - l.deleted }

// applyAliases has the layer's categories follow the transitions.
func (l *segmentView) applyAliases(aliases map[string]string) {
	l.redirected = l.redirectedCategories(aliases)
	l.categoryTree = l.newCategoryTree(l.redirected)
}

// redirectedCategories works out which categories transitions lead elsewhere.
func (s *segment) redirectedCategories(aliases map[string]string) (moved []redirectedCategory) {
	if len(aliases) == 0 {
		return nil
	}
	c := &s.t.text[colCategory]
	for v := range uint32(c.Len()) {
		if was := c.At(v); was != "" {
			if now := vocabulary.ResolveCategory(was, aliases); vocabulary.FoldPath(now) != vocabulary.FoldPath(was) {
				moved = append(moved, redirectedCategory{v, was, now})
			}
		}
	}
	return moved
}

// withTombstones returns the layer with more documents dead; the old one is unchanged.
func (l segmentView) withTombstones(docs []uint32) segmentView {
	if len(docs) == 0 {
		return l
	}
	dead := make([]uint64, postings.BlockCount(l.t.n)*postings.BlockWords)
	copy(dead, l.tombstones)
	for _, doc := range docs {
		if !postings.HasBit(dead, doc) {
			postings.SetBit(dead, doc)
			l.deleted++
		}
	}
	l.tombstones = dead
	return l
}

// liveBits returns a bit for each living document; nil is all of them.
func (l *segmentView) liveBits() []uint64 {
	if l.deleted == 0 {
		return nil
	}
	w := make([]uint64, postings.WordsFor(l.t.n))
	postings.Fill(w)
	postings.AndNotWords(w, l.tombstones)
	postings.KeepRange(w, 0, int(l.t.n))
	return w
}

// selection is what is asked of one layer.
type selection struct {
	lo, hi     uint32            // the date window
	conditions []postings.Cursor // all must hold
	from       uint32            // documents before it are counted, but not taken
	take       int               // documents to take at most
}

// run counts the documents that a selection matches, and takes the first.
func (l *segmentView) run(sel *selection, sc *postings.Scratch) (total int, docs []uint32) {
	l.eachBlock(sel, sc, func(b uint32, w []uint64) {
		total += postings.PopCount(w)
		base := int(b) << postings.BlockShift
		if len(docs) < sel.take && int(sel.from) < base+postings.BlockDocs {
			if int(sel.from) > base {
				postings.KeepRange(w, int(sel.from)-base, postings.BlockDocs)
			}
			docs = postings.AppendBits(docs, w, uint32(base), sel.take)
		}
	})
	return total, docs
}

// eachBlock calls yield with the living documents that a selection matches, block by block. The words are yield's until it returns.
func (l *segmentView) eachBlock(sel *selection, sc *postings.Scratch, yield func(b uint32, w []uint64)) {
	if sel.lo >= sel.hi {
		return
	}
	postings.SortBySelectivity(sel.conditions)
	for b := sel.lo >> postings.BlockShift; b <= (sel.hi-1)>>postings.BlockShift; b++ {
		w := sc.Block[:postings.BlockWidth(l.t.n, b)]
		if len(sel.conditions) == 0 {
			postings.Fill(w)
		} else if !sc.Intersect(b, w, sel.conditions) {
			continue
		}
		base := int(b) << postings.BlockShift
		if int(sel.lo) > base || int(sel.hi) < base+postings.BlockDocs {
			postings.KeepRange(w, max(0, int(sel.lo)-base), int(sel.hi)-base)
		}
		if l.tombstones != nil {
			postings.AndNotWords(w, l.tombstones[b*postings.BlockWords:])
		}
		yield(b, w)
	}
}
