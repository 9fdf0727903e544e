package search

import (
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// segmentView is a segment as seen by one view: with the tombstones and category aliases of that
// view.
type segmentView struct {
	*segment
	tombstones   []uint64 // documents replaced in a later segment, or nil
	deleted      int
	redirected   []redirectedCategory
	categoryTree *categoryTree
}

// redirectedCategory is a value of the category column that an alias maps to another path.
type redirectedCategory struct {
	value    uint32
	from, to string
}

// isLive reports whether a document has no tombstone.
func (seg *segmentView) isLive(doc uint32) bool {
	return seg.tombstones == nil || !postings.HasBit(seg.tombstones, doc)
}

// liveCount returns the number of live documents.
func (seg *segmentView) liveCount() int { return int(seg.t.n) - seg.deleted }

// applyAliases applies category aliases to the segment.
func (seg *segmentView) applyAliases(aliases map[string]string) {
	seg.redirected = seg.redirectedCategories(aliases)
	seg.categoryTree = seg.newCategoryTree(seg.redirected)
}

// redirectedCategories returns the categories that aliases map to another path.
func (s *segment) redirectedCategories(aliases map[string]string) (redirected []redirectedCategory) {
	if len(aliases) == 0 {
		return nil
	}
	c := &s.t.text[colCategory]
	for v := range uint32(c.Len()) {
		if prev := c.At(v); prev != "" {
			if now := vocabulary.ResolveCategory(prev, aliases); vocabulary.FoldPath(now) != vocabulary.FoldPath(prev) {
				redirected = append(redirected, redirectedCategory{v, prev, now})
			}
		}
	}
	return redirected
}

// withTombstones returns a copy with tombstones for more documents.
func (seg segmentView) withTombstones(docs []uint32) segmentView {
	if len(docs) == 0 {
		return seg
	}
	tombstones := make([]uint64, postings.BlockCount(seg.t.n)*postings.BlockWords)
	copy(tombstones, seg.tombstones)
	for _, doc := range docs {
		if !postings.HasBit(tombstones, doc) {
			postings.SetBit(tombstones, doc)
			seg.deleted++
		}
	}
	seg.tombstones = tombstones
	return seg
}

// liveBits returns a bitmap of the live documents, or nil if all are live.
func (seg *segmentView) liveBits() []uint64 {
	if seg.deleted == 0 {
		return nil
	}
	w := make([]uint64, postings.WordsFor(seg.t.n))
	postings.Fill(w)
	postings.AndNotWords(w, seg.tombstones)
	postings.KeepRange(w, 0, int(seg.t.n))
	return w
}

// selection is the part of a search that applies to one segment.
type selection struct {
	lo, hi     uint32            // the date window
	conditions []postings.Cursor // all must match
	from       uint32            // earlier documents are counted but not returned
	take       int               // maximum number of documents to return
}

// run counts the documents that a selection matches and returns the first of them.
func (seg *segmentView) run(sel *selection, sc *postings.Scratch) (total int, docs []uint32) {
	seg.eachBlock(sel, sc, func(b uint32, w []uint64) {
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

// eachBlock calls yield with the live documents that a selection matches, block by block. yield may
// modify the words, which are only valid until it returns.
func (seg *segmentView) eachBlock(sel *selection, sc *postings.Scratch, yield func(b uint32, w []uint64)) {
	if sel.lo >= sel.hi {
		return
	}
	postings.SortBySelectivity(sel.conditions)
	for b := sel.lo >> postings.BlockShift; b <= (sel.hi-1)>>postings.BlockShift; b++ {
		w := sc.Block[:postings.BlockWidth(seg.t.n, b)]
		if len(sel.conditions) == 0 {
			postings.Fill(w)
		} else if !sc.Intersect(b, w, sel.conditions) {
			continue
		}
		base := int(b) << postings.BlockShift
		if int(sel.lo) > base || int(sel.hi) < base+postings.BlockDocs {
			postings.KeepRange(w, max(0, int(sel.lo)-base), int(sel.hi)-base)
		}
		if seg.tombstones != nil {
			postings.AndNotWords(w, seg.tombstones[b*postings.BlockWords:])
		}
		yield(b, w)
	}
}
