package search

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// brandCandidate is a brand that may be suggested.
type brandCandidate struct {
	key    string
	labels int // upper bound on its live labels
	// matches reports whether the key completes the query, or whether a spelling in one of the
	// segments may complete it.
	matches bool
}

// suggestBrands returns the brands that complete a query.
func (v *View) suggestBrands(c *completion, limit int) []cola.Suggestion {
	if c.isEmpty() {
		return suggestions()
	}
	begin := v.topBrands(c, nameBegins, limit)
	if len(begin.first) == limit {
		return suggestions(begin)
	}
	return suggestions(begin, v.topBrands(c, wordBegins, limit-len(begin.first)))
}

// topBrands returns the brands with the most live labels among those that complete a query in the
// given way.
//
// Each segment stores the number of a brand's labels, including those with tombstones. The sum over
// all segments is an upper bound, so brands are counted in descending order of that sum, until the
// next one cannot rank among the top.
func (v *View) topBrands(c *completion, match, limit int) *ranking[namedValue] {
	candidates := v.brandCandidates(c, match)
	next := newBrandHeap(candidates)
	top := &ranking[namedValue]{limit: limit, compare: byLabels}
	for next.Len() > 0 {
		brand := candidates[heap.Pop(next).(uint32)]
		if best := (namedValue{brand.key, cola.Suggestion{Count: brand.labels}}); len(top.first) == limit &&
			byLabels(top.first[limit-1], best) < 0 {
			break
		}
		if found := v.brand(brand.key); found.Count > 0 && c.match(brand.key, found.Value) == match {
			top.add(namedValue{brand.key, found})
		}
	}
	return top
}

// brandCandidates returns the brands that may complete a query in the given way, sorted by key,
// with the labels of all segments.
func (v *View) brandCandidates(c *completion, match int) []brandCandidate {
	lists := make([][]brandCandidate, 0, len(v.segments))
	for i := range v.segments {
		x := &v.segments[i].brands
		var list []brandCandidate
		c.eachCandidate(&x.keys, match, func(brand uint32) {
			key := x.keys.At(brand)
			best := c.matchKey(key)
			if best < match {
				return
			}
			matches := best == match || slices.ContainsFunc(x.spellings(brand), func(value uint32) bool {
				return maySpell(v.segments[i].t.text[colBrand].At(value))
			})
			list = append(list, brandCandidate{key, int(x.labels[brand]), matches})
		})
		lists = append(lists, list)
	}
	slices.SortFunc(lists, func(a, b []brandCandidate) int { return cmp.Compare(len(a), len(b)) })
	var all []brandCandidate
	for _, list := range lists { // shortest first, to move as few candidates as possible
		all = mergeCandidates(all, list)
	}
	return slices.DeleteFunc(all, func(c brandCandidate) bool { return !c.matches })
}

// mergeCandidates merges sorted lists and adds up the labels of brands in both.
func mergeCandidates(a, b []brandCandidate) []brandCandidate {
	if len(a) == 0 {
		return b
	}
	merged := make([]brandCandidate, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0].key, b[0].key); {
		case order < 0:
			merged, a = append(merged, a[0]), a[1:]
		case order > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged = append(merged, brandCandidate{a[0].key, a[0].labels + b[0].labels, a[0].matches || b[0].matches})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// brand returns the most frequent spelling of a brand and the number of its live labels.
func (v *View) brand(key string) cola.Suggestion {
	found := spellings{}
	for i := range v.segments {
		seg := &v.segments[i]
		brand, ok := seg.brands.keys.Find(key)
		if !ok {
			continue
		}
		for _, value := range seg.brands.spellings(brand) {
			docs := seg.texts.DocsOf(colBrand, value)
			live := docs.Len()
			if seg.deleted > 0 {
				docs.Each(func(doc uint32) bool {
					if !seg.isLive(doc) {
						live--
					}
					return true
				})
			}
			found[strings.TrimSpace(seg.t.text[colBrand].At(value))] += live
		}
	}
	return found.suggestion()
}

// brandHeap is a heap.Interface that yields the indexes of candidates: most labels first, then by
// key.
type brandHeap struct {
	candidates []brandCandidate // sorted by key
	order      []uint32
}

func newBrandHeap(candidates []brandCandidate) *brandHeap {
	h := &brandHeap{candidates: candidates, order: make([]uint32, len(candidates))}
	for i := range h.order {
		h.order[i] = uint32(i)
	}
	heap.Init(h)
	return h
}

// Len returns the number of candidates left.
func (h *brandHeap) Len() int { return len(h.order) }

// Less reports whether candidate order[i] comes before candidate order[j].
func (h *brandHeap) Less(i, j int) bool {
	a, b := h.order[i], h.order[j]
	if x, y := h.candidates[a].labels, h.candidates[b].labels; x != y {
		return x > y
	}
	return a < b
}

// Swap swaps two candidates.
func (h *brandHeap) Swap(i, j int) { h.order[i], h.order[j] = h.order[j], h.order[i] }

// Push adds a candidate.
func (h *brandHeap) Push(x any) { h.order = append(h.order, x.(uint32)) }

// Pop removes the last candidate of the array.
func (h *brandHeap) Pop() any {
	last := h.order[len(h.order)-1]
	h.order = h.order[:len(h.order)-1]
	return last
}
