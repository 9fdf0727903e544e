package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// countLimits limits the memory, time and result size of a count by two dimensions.
type countLimits struct {
	cells  int // pairs of groups that are counted in a table
	sorted int // labels to sort in the first pass, unless one group has more; later passes sort more
	ranked int // labels of the groups whose pairs are ranked, if there are too many to rank all
	groups int // pairs to return if one dimension is an axis
}

// countPairs counts by two dimensions, as cola.CountSearch describes. Dimensions with their own
// order, such as periods, have a position; the others are ranked by their labels.
//
// It puts a ranked dimension first, or the larger of two ranked dimensions. A pair has no more
// labels than its group, so the smaller the groups are, the fewer of them can contain one of the
// largest pairs.
func (c *groupCounter) countPairs() {
	first, second := c.dimensions[0], c.dimensions[1]
	if second.position == nil && (first.position != nil || second.n > first.n) {
		slices.Reverse(c.dimensions)
		c.reversed = true
	}
	outer, inner := c.dimensions[0], c.dimensions[1]
	c.eachBlock(func(i, from int, w []uint64) {
		c.total += postings.PopCount(w)
		outer.count(i, from, w)
		if inner.name == nil || inner.position != nil {
			inner.count(i, from, w)
		}
	})
	counts := outer.byGroup()
	c.partial = c.total > c.limits.sorted && !c.fitsTable(outer.n)
	switch {
	case outer.position != nil:
		c.findFirst(counts)
	case inner.position != nil:
		c.findLargestValues(counts)
	default:
		c.findLargest(counts)
	}
	for _, f := range c.found {
		c.inFound += int(f.count)
	}
}

// findFirst finds the first pairs of two dimensions with their own order.
func (c *groupCounter) findFirst(counts []uint32) {
	first, second := c.dimensions[0], c.dimensions[1] // in the requested order
	r := &ranking[foundGroup]{limit: c.top, compare: func(a, b foundGroup) int {
		return cmp.Or(cmp.Compare(first.position(a.groups[0]), first.position(b.groups[0])),
			cmp.Compare(second.position(a.groups[1]), second.position(b.groups[1])))
	}}
	c.eachPair(between(counts, 1, math.MaxUint32), counts, r.add)
	c.found, c.partial = r.first, false
}

// findLargest finds the pairs with the most labels. If the number of distinct pairs stays unknown,
// it counts the pairs of the largest groups, and then the pairs of other groups that have at least
// as many labels as the last pair found. In both steps, the groups are limited unless they fit in a
// table, which bounds the time if almost all pairs are small. A group beyond the limit may then
// have a pair larger than the last pairs found.
func (c *groupCounter) findLargest(counts []uint32) {
	first, second := 0, 1
	if c.reversed {
		first, second = 1, 0
	}
	r := &ranking[foundGroup]{limit: c.top, compare: func(a, b foundGroup) int {
		if a.count != b.count {
			return cmp.Compare(b.count, a.count)
		}
		return cmp.Or(c.dimensions[first].compareKeys(a.groups[first], b.groups[first]),
			c.dimensions[second].compareKeys(a.groups[second], b.groups[second]))
	}}
	cutoff, left := uint32(1), c.limits.ranked
	if c.partial {
		cutoff = leastCount(counts, c.top)
	}
	groups := between(counts, cutoff, math.MaxUint32)
	if c.partial && !c.fitsTable(len(groups)) {
		groups, left = largestWithin(groups, counts, left)
	}
	c.eachPair(groups, counts, r.add)
	least := uint32(1)
	if len(r.first) == c.top {
		least = r.first[c.top-1].count
	}
	if least < cutoff {
		groups = between(counts, least, cutoff-1)
		if !c.fitsTable(len(groups)) {
			groups = between(counts, max(least, lowestCount(counts, cutoff, left)), cutoff-1)
		}
		c.eachPair(groups, counts, r.add)
	}
	c.found = r.first
}

// findLargestValues finds the values with the most labels in the ranked dimension, as many as the
// limits allow, with all their pairs. It also counts the labels with each value of the axis.
func (c *groupCounter) findLargestValues(counts []uint32) {
	values, axis := c.dimensions[0], c.dimensions[1]
	largest := c.rank(values, counts, c.top)
	place := make([]uint32, values.n) // from 1; 0 for other values
	for i, g := range largest {
		place[g] = uint32(i) + 1
	}
	groups, pairs := largest, make([][]foundGroup, 1+len(largest))
	if !c.partial {
		groups = between(counts, 1, math.MaxUint32)
	}
	c.eachPair(groups, counts, func(f foundGroup) {
		if i := place[f.groups[0]]; i > 0 {
			pairs[i] = append(pairs[i], f)
		}
	})
	for i, of := range pairs {
		if i > 1 && len(c.found)+len(of) > c.limits.groups {
			break
		}
		c.found = append(c.found, of...)
	}
	slices.SortFunc(c.found, func(a, b foundGroup) int {
		byPlace := cmp.Compare(place[a.groups[0]], place[b.groups[0]])
		byAxis := cmp.Compare(axis.position(a.groups[1]), axis.position(b.groups[1]))
		if c.reversed {
			return cmp.Or(byAxis, byPlace)
		}
		return cmp.Or(byPlace, byAxis)
	})
	c.found = c.found[:min(len(c.found), c.limits.groups)]
	totals := axis.byGroup()
	for _, g := range c.rank(axis, totals, axis.n) {
		c.axisTotals = append(c.axisTotals, cola.OtherLabels{Value: axis.name(g), Count: int(totals[g])})
	}
}

// between returns the groups with a number of labels in [least, most].
func between(counts []uint32, least, most uint32) (groups []uint32) {
	for g, n := range counts {
		if n >= least && n <= most {
			groups = append(groups, uint32(g))
		}
	}
	return groups
}

// eachPair calls yield with each pair that contains one of the given groups of the first dimension,
// and counts the pairs. counts has the number of labels in each group.
func (c *groupCounter) eachPair(groups, counts []uint32, yield func(foundGroup)) {
	pair := func(g, of, n uint32) {
		c.distinct++
		yield(foundGroup{[2]uint32{g, of}, n})
	}
	if len(groups) == 0 {
		return
	}
	if c.fitsTable(len(groups)) {
		for i, row := range c.tabulate(groups) {
			for of, n := range row {
				if n > 0 {
					pair(groups[i], uint32(of), n)
				}
			}
		}
		return
	}
	t := pairTally{counts: make([]uint32, c.dimensions[1].n)}
	most := c.limits.sorted // labels to sort; more in each pass, so that few passes suffice
	for len(groups) > 0 {
		n, labels := 1, int(counts[groups[0]])
		for n < len(groups) && labels+int(counts[groups[n]]) <= most {
			labels += int(counts[groups[n]])
			n++
		}
		for i, seconds := range c.sortLabels(groups[:n], counts) {
			t.count(seconds)
			for _, of := range t.groups {
				pair(groups[i], of, t.counts[of])
			}
		}
		groups, most = groups[n:], 4*most
	}
}

// fitsTable reports whether a table can hold a row for each of the given number of groups of the
// first dimension.
func (c *groupCounter) fitsTable(groups int) bool {
	return (1+groups)*c.dimensions[1].n <= c.limits.cells
}

// tabulate counts the labels in some groups of the first dimension by the second dimension. It
// returns a row of counts for each group.
func (c *groupCounter) tabulate(groups []uint32) [][]uint32 {
	second := c.dimensions[1]
	width := uint32(second.n)
	rowOf := c.numbers(groups)
	for i := range rowOf {
		for value := range rowOf[i] {
			rowOf[i][value] *= width
		}
	}
	cells := make([]uint32, (1+len(groups))*second.n) // the first row is for all other groups
	c.eachBlock(func(i, from int, w []uint64) {
		s := &second.segments[i]
		c.dimensions[0].segments[i].docs.CountPairs(s.docs, cells, rowOf[i], s.groupOf, from, w)
	})
	rows := make([][]uint32, len(groups))
	for i := range rows {
		rows[i] = cells[(1+i)*second.n:][:second.n]
	}
	return rows
}

// numbers returns, for each segment and each value of the first dimension, the position of the
// value's group in groups, counting from 1. It is 0 for values in other groups.
func (c *groupCounter) numbers(groups []uint32) [][]uint32 {
	first := c.dimensions[0]
	number := make([]uint32, first.n)
	for i, g := range groups {
		number[g] = uint32(i) + 1
	}
	numbers := make([][]uint32, len(first.segments))
	for i := range first.segments {
		groupOf := first.segments[i].groupOf
		numbers[i] = make([]uint32, len(groupOf))
		for value, g := range groupOf {
			numbers[i][value] = number[g]
		}
	}
	return numbers
}

// sortLabels returns, for each of the given groups of the first dimension, the groups of its labels
// in the second dimension. counts has the number of labels in each group.
func (c *groupCounter) sortLabels(groups, counts []uint32) [][]uint32 {
	first, second, numbers := c.dimensions[0], c.dimensions[1], c.numbers(groups)
	ends, total := make([]uint32, 1+len(groups)), uint32(0)
	for i, g := range groups {
		ends[i+1] = total
		total += counts[g]
	}
	sorted, pairs := make([]uint32, total), make([][2]uint32, 64*pairWords+1)
	c.eachBlock(func(i, from int, w []uint64) {
		f, s := first.segments[i].docs, &second.segments[i]
		for at := 0; at < len(w); at += pairWords {
			words := w[at:min(at+pairWords, len(w))]
			for _, pair := range pairs[:f.Pairs(s.docs, pairs, numbers[i], from+at*64, words)] {
				sorted[ends[pair[0]]] = s.groupOf[pair[1]]
				ends[pair[0]]++
			}
		}
	})
	lists := make([][]uint32, len(groups))
	for i, g := range groups {
		lists[i] = sorted[ends[i+1]-counts[g] : ends[i+1]]
	}
	return lists
}

// pairWords is the number of bitmap words whose pairs are read at once, so that they stay in the L1
// cache.
const pairWords = 16

// pairTally counts the labels of one group of the first dimension by the second dimension.
type pairTally struct {
	counts []uint32 // labels in each group
	groups []uint32 // groups with labels
}

// count replaces the counts. groups has the group of each label in the second dimension.
func (t *pairTally) count(groups []uint32) {
	for _, g := range t.groups {
		t.counts[g] = 0
	}
	t.groups = t.groups[:0]
	for _, g := range groups {
		if t.counts[g]++; t.counts[g] == 1 {
			t.groups = append(t.groups, g)
		}
	}
}
