package search

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// PositionOf returns a label's position in search results with the given sort order.
func PositionOf(l *cola.ColaSummary, by cola.Sort) cola.Position {
	p := cola.Position{Date: l.EffectiveDate(), TTBID: l.TTBID}
	if by == cola.SortBrand {
		p.Brand = brandPosition(text.BrandKey(l.BrandName))
	}
	return p
}

// comesBefore reports whether a comes before b in a sort order.
func comesBefore(a, b cola.Position, by cola.Sort) bool {
	switch {
	case by == cola.SortOldest && (a.Date == 0) != (b.Date == 0):
		return b.Date == 0
	case by == cola.SortOldest:
		return ranksBefore(b, a)
	case by == cola.SortBrand && a.Brand != b.Brand:
		return a.Brand < b.Brand
	}
	return ranksBefore(a, b)
}

// position returns a document's position in a sort order.
func (s *segment) position(doc uint32, by cola.Sort) cola.Position {
	p := s.t.position(doc)
	if by == cola.SortBrand {
		p.Brand = brandPosition(s.brands.keys.At(s.brands.keyOf[s.t.text[colBrand].IDs.At(doc)]))
	}
	return p
}

// runSorted counts the documents that a selection matches and returns the first of them in the
// search's sort order; with a cursor, only those after it.
func (seg *segmentView) runSorted(sel *selection, s *cola.ColaSearch, sc *postings.Scratch) (total int, docs []uint32) {
	if s.Sort == cola.SortNewest {
		if s.CursorMode {
			sel.from = seg.t.after(s.After)
		}
		return seg.run(sel, sc)
	}
	w := sc.Bitmap(seg.t.n, postings.AllBlocks(seg.t.n))
	defer sc.Release(w)
	seg.eachBlock(sel, sc, func(b uint32, block []uint64) {
		total += postings.PopCount(block)
		copy(w[b*postings.BlockWords:], block)
	})
	if s.Sort == cola.SortOldest {
		return total, seg.oldest(w, s, sel.take)
	}
	return total, seg.byBrand(w, total, s, sel.take)
}

// oldest returns the first documents in a bitmap, in cola.SortOldest order: the dated ones from the
// last to the first, then the undated ones.
func (seg *segmentView) oldest(w []uint64, s *cola.ColaSearch, take int) []uint32 {
	undated, n := seg.t.undated()
	dated := undated
	if s.CursorMode {
		end := seg.t.countBefore(s.After)
		if s.After.Date == 0 {
			dated, n = 0, end
		} else {
			dated = end
		}
	}
	docs := postings.AppendBitsBackward(nil, w, 0, dated, take)
	return postings.AppendBitsBackward(docs, w, undated, n, take)
}

// countBefore returns the number of documents before a position.
func (t *table) countBefore(p cola.Position) uint32 {
	end := t.after(p)
	if end > 0 && t.position(end-1) == (cola.Position{Date: p.Date, TTBID: p.TTBID}) {
		end--
	}
	return end
}

// byBrand returns the first documents in a bitmap, in cola.SortBrand order. total is the number of
// documents in the bitmap.
//
// If many documents match, a walk through all documents in brand order soon finds the first of
// them. Otherwise it is faster to select the first among the matching documents. The walk gives up
// once it has taken as long as the selection would.
func (seg *segmentView) byBrand(w []uint64, total int, s *cola.ColaSearch, take int) (docs []uint32) {
	order := seg.brands.order
	if s.CursorMode {
		order = order[seg.brandsAfter(s.After):]
	}
	steps := min(len(order), stepsPerMatch*total+stepsPerResult*take)
	for _, doc := range order[:steps] {
		if postings.HasBit(w, doc) {
			if docs = append(docs, doc); len(docs) == take {
				return docs
			}
		}
	}
	if steps == len(order) {
		return docs
	}
	return seg.selectByBrand(w, order[0], take)
}

// The cost of a selection, in steps of a walk, per matching document and per returned document.
const (
	stepsPerMatch  = 2
	stepsPerResult = 64
)

// brandsAfter returns the index in brands.order of the first document after a position.
func (seg *segmentView) brandsAfter(p cola.Position) int {
	return sort.Search(len(seg.brands.order), func(i int) bool {
		return comesBefore(p, seg.position(seg.brands.order[i], cola.SortBrand), cola.SortBrand)
	})
}

// selectByBrand returns the first documents in a bitmap, in cola.SortBrand order, starting at
// document from.
func (seg *segmentView) selectByBrand(w []uint64, from uint32, take int) []uint32 {
	ids, rank := &seg.t.text[colBrand].IDs, seg.brands.rank
	key := func(doc uint32) uint64 { return uint64(rank[ids.At(doc)])<<32 | uint64(doc) }
	lowest, highest := key(from), uint64(math.MaxUint64)
	best := make([]uint64, 0, 2*take)
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			k := key(uint32(i<<6 + bits.TrailingZeros64(x)))
			if k < lowest || k > highest {
				continue
			}
			if best = append(best, k); len(best) == cap(best) {
				slices.Sort(best)
				best, highest = best[:take], best[take-1]
			}
		}
	}
	slices.Sort(best)
	docs := make([]uint32, 0, take)
	for _, k := range best[:min(take, len(best))] {
		docs = append(docs, uint32(k))
	}
	return docs
}
