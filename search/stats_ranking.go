package search

import (
	"cmp"
	"slices"
)

// rank returns up to limit groups with labels, in order.
func (c *groupCounter) rank(t *groupTally, counts []uint32, limit int) []uint32 {
	r, least := &ranking[uint32]{limit: limit, compare: func(a, b uint32) int { return t.compare(a, b, counts) }}, uint32(1)
	if t.position == nil {
		least = leastCount(counts, limit)
	}
	for g, n := range counts {
		if n >= least {
			r.add(uint32(g))
		}
	}
	return r.first
}

// leastCount returns a count that at least limit groups reach, or 1. Usually only a few more than
// limit reach it, so sorting them is cheap.
func leastCount(counts []uint32, limit int) uint32 {
	const most = 4096
	var groups [most + 1]int // by count; the last element also includes all higher counts
	for _, n := range counts {
		groups[min(n, most)]++
	}
	for n := most; n > 1; n-- {
		if limit -= groups[n]; limit <= 0 {
			return uint32(n)
		}
	}
	return 1
}

// largestWithin returns the largest groups that together have at most limit labels (but at least
// one group), and the remainder of the limit.
func largestWithin(groups, counts []uint32, limit int) (largest []uint32, left int) {
	slices.SortFunc(groups, func(a, b uint32) int { return cmp.Compare(counts[b], counts[a]) })
	for i, g := range groups {
		if limit -= int(counts[g]); limit < 0 {
			return groups[:max(1, i)], 0
		}
	}
	return groups, limit
}

// lowestCount returns the lowest count such that all groups with at least this count, but fewer
// than below, together have at most limit labels.
func lowestCount(counts []uint32, below uint32, limit int) uint32 {
	labels := make([]int, below) // by count
	for _, n := range counts {
		if n < below {
			labels[n] += int(n)
		}
	}
	n := below
	for ; n > 1 && labels[n-1] <= limit; n-- {
		limit -= labels[n-1]
	}
	return n
}

// compare compares groups in the order of results. counts has the number of labels in each group.
func (g *grouping) compare(a, b uint32, counts []uint32) int {
	switch {
	case g.position != nil:
		return cmp.Compare(g.position(a), g.position(b))
	case counts[a] != counts[b]:
		return cmp.Compare(counts[b], counts[a])
	}
	return g.compareKeys(a, b)
}

// compareKeys compares groups by their keys.
func (g *grouping) compareKeys(a, b uint32) int {
	if g.alphabetical {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(g.key(a), g.key(b))
}
