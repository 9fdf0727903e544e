package search

import (
	"cmp"
	"slices"
)

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
	r, least := newGroupRanking(t.grouping, counts, c.top), uint32(1)
	if t.position == nil {
		least = leastCount(counts, c.top)
	}
	for g, n := range counts {
		if n >= least {
			r.add(uint32(g))
		}
	}
	return r.first()
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

// groupRanking selects the first groups of a dimension.
type groupRanking struct {
	*grouping
	counts []uint32 // labels in each group
	limit  int
	best   []uint32
	full   bool   // the first groups of those added so far are known
	last   uint32 // the last one of them
}

func newGroupRanking(g *grouping, counts []uint32, limit int) *groupRanking {
	return &groupRanking{grouping: g, counts: counts, limit: limit}
}

// add adds a group, unless it has no labels.
func (r *groupRanking) add(group uint32) {
	if r.counts[group] == 0 || r.full && r.compare(group, r.last) > 0 {
		return
	}
	if r.best = append(r.best, group); len(r.best) >= 2*r.limit+64 {
		r.first()
		r.full, r.last = true, r.best[r.limit-1]
	}
}

// first returns the first groups in order.
func (r *groupRanking) first() []uint32 {
	slices.SortFunc(r.best, r.compare)
	r.best = r.best[:min(r.limit, len(r.best))]
	return r.best
}

// compare orders two groups.
func (r *groupRanking) compare(a, b uint32) int {
	if r.position != nil {
		return cmp.Compare(r.position(a), r.position(b))
	}
	if r.counts[a] != r.counts[b] {
		return cmp.Compare(r.counts[b], r.counts[a])
	}
	if r.alphabetical {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(r.key(a), r.key(b))
}
