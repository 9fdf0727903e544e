package search

import "cmp"

// all returns all groups.
func (g *grouping) all() []uint32 {
	all := make([]uint32, g.n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// rank returns the first groups with labels, in order.
func (c *groupCounter) rank(t *groupTally, counts []uint32) []uint32 {
	r, least := t.ranking(counts, c.top), uint32(1)
	if t.position == nil {
		least = leastCount(counts, c.top)
	}
	for g, n := range counts {
		if n >= least {
			r.add(uint32(g))
		}
	}
	return r.first
}

// leastCount returns a count that at least limit groups reach, or 1. Few more than limit reach it,
// so sorting them is cheap.
func leastCount(counts []uint32, limit int) uint32 {
	const most = 4096
	var groups [most + 1]int // by count; the last has all higher counts, too
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

// ranking returns a ranking of groups. counts has the number of labels in each group.
func (g *grouping) ranking(counts []uint32, limit int) *ranking[uint32] {
	return &ranking[uint32]{limit: limit, compare: func(a, b uint32) int {
		switch {
		case g.position != nil:
			return cmp.Compare(g.position(a), g.position(b))
		case counts[a] != counts[b]:
			return cmp.Compare(counts[b], counts[a])
		case g.alphabetical:
			return cmp.Compare(a, b)
		}
		return cmp.Compare(g.key(a), g.key(b))
	}}
}
