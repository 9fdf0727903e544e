package search

import "github.com/colaregistry/colaregistry/search/internal/postings"

// countLimits limits the memory and the time of a count by two dimensions.
type countLimits struct {
	cells  int // pairs of groups that are counted in a table
	sorted int // labels that are sorted at a time, unless they are in one group
}

// countPairs counts by two dimensions with few pairs.
func (c *groupCounter) countPairs() {
	first, second := c.dimensions[0], c.dimensions[1]
	c.eachBlock(func(i, from int, w []uint64) {
		c.total += postings.PopCount(w)
		for _, t := range c.dimensions {
			if t.name == nil {
				t.count(i, from, w)
			}
		}
	})
	rows := c.tabulate(first.all())
	counts := make([]uint32, first.n)
	for g, row := range rows {
		for _, n := range row {
			if n > 0 {
				counts[g] += n
				c.distinct++
			}
		}
	}
	all := second.all()
	for _, g := range c.rank(first, counts) {
		c.addPairs(g, rows[g], all)
	}
}

// fitsTable reports whether a table can have rows for a number of groups of the first dimension.
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
	cells := make([]uint32, (1+len(groups))*second.n) // the first row is of other groups
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

// numbers returns, by segment, the position in groups, from 1, of the group of each value of the
// first dimension. Values in other groups have position 0.
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

// addPairs adds the first pairs of a group of the first dimension. counts has the number of labels
// of each group in the second dimension, and groups has those that may have labels.
func (c *groupCounter) addPairs(g uint32, counts, groups []uint32) {
	left := c.top - len(c.found)
	if left <= 0 {
		return
	}
	r := c.dimensions[1].ranking(counts, left)
	for _, of := range groups {
		if counts[of] > 0 {
			r.add(of)
		}
	}
	for _, of := range r.first {
		c.add([2]uint32{g, of}, counts[of])
	}
}

// countManyPairs counts by two dimensions with more pairs than fit in a table. It ranks the groups
// of the first dimension and then counts the labels in the first of them by the second dimension.
// If there are many labels, it stops when it has found enough pairs, and the number of distinct
// pairs stays unknown.
func (c *groupCounter) countManyPairs() {
	first, second := c.dimensions[0], c.dimensions[1]
	c.eachBlock(func(i, from int, w []uint64) {
		c.total += postings.PopCount(w)
		first.count(i, from, w)
		if second.name == nil {
			second.count(i, from, w)
		}
	})
	counts := first.byGroup()
	ranked := c.rank(first, counts)
	c.partial = c.total > c.limits.sorted
	if c.partial && c.fitsTable(len(ranked)) {
		all := second.all()
		for i, row := range c.tabulate(ranked) {
			c.addPairs(ranked[i], row, all)
		}
		return
	}
	if !c.partial {
		ranked = withOthers(ranked, counts)
	}
	t := pairTally{counts: make([]uint32, second.n)}
	most := c.limits.sorted // labels to sort; more in each pass, so that few passes suffice
	for len(ranked) > 0 && (!c.partial || len(c.found) < c.top) {
		n, labels := 1, int(counts[ranked[0]])
		for n < len(ranked) && labels+int(counts[ranked[n]]) <= most {
			labels += int(counts[ranked[n]])
			n++
		}
		for i, seconds := range c.sortLabels(ranked[:n], counts) {
			t.count(seconds)
			c.distinct += len(t.groups)
			c.addPairs(ranked[i], t.counts, t.groups)
		}
		ranked, most = ranked[n:], 4*most
	}
}

// withOthers adds the other groups with labels to some groups.
func withOthers(groups, counts []uint32) []uint32 {
	in := make([]bool, len(counts))
	for _, g := range groups {
		in[g] = true
	}
	for g, n := range counts {
		if n > 0 && !in[g] {
			groups = append(groups, uint32(g))
		}
	}
	return groups
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

// pairWords is the number of words of a bitmap whose pairs are read at a time, so that they stay in
// the L1 cache.
const pairWords = 16

// pairTally counts the labels of one group of the first dimension by the second dimension.
type pairTally struct {
	counts []uint32 // labels in each group
	groups []uint32 // those with labels
}

// count replaces the counts.
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
