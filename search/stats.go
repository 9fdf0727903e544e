package search

import (
	"cmp"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// GroupCounts is the number of labels that a search finds in each group.
type GroupCounts struct {
	Groups []cola.LabelGroup // in order
	Others cola.OtherGroups  // beyond the requested number
	Total  int               // labels in all groups: the total of Search
}

// CountGroups counts the labels that match by one or two dimensions. Groups are ordered by the
// first dimension, then by the second: periods newest first, bands lowest first, and other values
// by their number of labels, then alphabetically. Labels without a period or band are last.
func (v *View) CountGroups(s cola.CountSearch) GroupCounts {
	return v.countGroups(&s, countLimits{cells: 1 << 20, sorted: 400_000})
}

// countLimits limits the memory and the time of a count by two dimensions.
type countLimits struct {
	cells  int // pairs of groups that are counted in a table
	sorted int // labels that are sorted at a time, unless they are in one group
}

func (v *View) countGroups(s *cola.CountSearch, limits countLimits) GroupCounts {
	q, ok := v.resolveQuery(&s.Query)
	if !ok {
		return GroupCounts{Groups: []cola.LabelGroup{}, Others: cola.OtherGroups{Groups: cola.Some(0)}}
	}
	found := v.countResolvedGroups(&q, s, limits)
	if found.Total == 0 && q.barcode {
		q = q.asText()
		found = v.countResolvedGroups(&q, s, limits)
	}
	return found
}

// countResolvedGroups counts the labels that a resolved query finds.
func (v *View) countResolvedGroups(q *query, s *cola.CountSearch, limits countLimits) GroupCounts {
	c := &groupCounter{view: v, query: q, top: s.Top, limits: limits}
	for _, dimension := range s.GroupBy {
		c.dimensions = append(c.dimensions, newGroupTally(v.grouping(dimension)))
	}
	switch first := c.dimensions[0]; {
	case len(c.dimensions) == 1:
		c.countGroups()
	case c.fitsTable(first.n):
		c.countPairs()
	default:
		c.countManyPairs()
	}
	counts := GroupCounts{Groups: c.groups(), Others: cola.OtherGroups{Labels: c.total - c.inFound}, Total: c.total}
	switch {
	case counts.Others.Labels == 0:
		counts.Others.Groups = cola.Some(0)
	case !c.partial:
		counts.Others.Groups = cola.Some(c.distinct - len(c.found))
	}
	return counts
}

// groupCounter counts the labels of one query by one or two dimensions.
type groupCounter struct {
	view       *View
	query      *query
	top        int
	limits     countLimits
	dimensions []*groupTally

	total    int
	distinct int          // groups with labels
	partial  bool         // distinct is unknown
	found    []foundGroup // the first groups
	inFound  int          // labels in them
}

// foundGroup is a group with its number of labels.
type foundGroup struct {
	of    [2]uint32 // group in each dimension
	count uint32
}

// groupTally counts labels by one dimension.
type groupTally struct {
	*grouping
	byValue [][]uint32 // labels with each value, by segment
}

func newGroupTally(g *grouping) *groupTally {
	t := &groupTally{grouping: g, byValue: make([][]uint32, len(g.segments))}
	for i := range g.segments {
		t.byValue[i] = make([]uint32, len(g.segments[i].groupOf))
	}
	return t
}

// byGroup returns the number of labels in each group.
func (t *groupTally) byGroup() []uint32 {
	counts := make([]uint32, t.n)
	for i := range t.segments {
		groupOf := t.segments[i].groupOf
		for value, n := range t.byValue[i] {
			if n > 0 {
				counts[groupOf[value]] += n
			}
		}
	}
	return counts
}

// eachBlock calls yield with the labels that the query finds, block by block.
func (c *groupCounter) eachBlock(yield func(segment, from int, w []uint64)) {
	sc := c.view.scratch.Get()
	defer c.view.scratch.Put(sc)
	for i := range c.view.segments {
		seg := &c.view.segments[i]
		p := newPlan(c.query, i, seg, sc)
		if !p.empty {
			seg.eachBlock(&p.selection, sc, func(b uint32, w []uint64) { yield(i, int(b)<<postings.BlockShift, w) })
		}
		p.release()
	}
}

// all returns all groups.
func (g *grouping) all() []uint32 {
	all := make([]uint32, g.n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// count counts values in a block.
func (t *groupTally) count(segment, from int, w []uint64) {
	t.segments[segment].docs.CountBits(t.byValue[segment], from, w)
}

// add adds a group to those found.
func (c *groupCounter) add(of [2]uint32, count uint32) {
	c.found = append(c.found, foundGroup{of, count})
	c.inFound += int(count)
}

// countGroups counts by a single dimension.
func (c *groupCounter) countGroups() {
	t := c.dimensions[0]
	c.eachBlock(func(i, from int, w []uint64) {
		c.total += postings.PopCount(w)
		t.count(i, from, w)
	})
	counts := t.byGroup()
	for _, g := range c.rank(t, counts) {
		c.add([2]uint32{g}, counts[g])
	}
	for _, n := range counts {
		if n > 0 {
			c.distinct++
		}
	}
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
	for _, g := range c.rank(first, counts) {
		c.addPairs(g, rows[g], second.all())
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

// numbers returns the number of each value's group among some groups of the first dimension, from
// 1, by segment. Values in other groups have the number 0.
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
// of each group in the second dimension, and groups has those to add.
func (c *groupCounter) addPairs(g uint32, counts, groups []uint32) {
	left := c.top - len(c.found)
	if left <= 0 {
		return
	}
	r := newRanking(c.dimensions[1].grouping, counts, left)
	for _, of := range groups {
		r.add(of)
	}
	for _, of := range r.first() {
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
		for i, row := range c.tabulate(ranked) {
			c.addPairs(ranked[i], row, second.all())
		}
		return
	}
	if !c.partial {
		ranked = withOthers(ranked, counts)
	}
	t := pairTally{counts: make([]uint32, second.n)}
	for len(ranked) > 0 && (!c.partial || len(c.found) < c.top) {
		n, labels := 1, int(counts[ranked[0]])
		for n < len(ranked) && labels+int(counts[ranked[n]]) <= c.limits.sorted {
			labels += int(counts[ranked[n]])
			n++
		}
		for i, seconds := range c.sortLabels(ranked[:n], counts) {
			t.count(seconds)
			c.distinct += len(t.groups)
			c.addPairs(ranked[i], t.counts, t.groups)
		}
		ranked = ranked[n:]
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

// sortLabels returns, for each of some groups of the first dimension, the groups of its labels in
// the second dimension. counts has the number of labels in each group.
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

// rank returns the first groups with labels, in order.
func (c *groupCounter) rank(t *groupTally, counts []uint32) []uint32 {
	r := newRanking(t.grouping, counts, c.top)
	for g := range counts {
		r.add(uint32(g))
	}
	return r.first()
}

// ranking selects the first groups of a dimension.
type ranking struct {
	*grouping
	counts []uint32 // labels in each group
	limit  int
	best   []uint32
	full   bool   // the first groups of those added so far are known
	last   uint32 // the last one of them
}

func newRanking(g *grouping, counts []uint32, limit int) *ranking {
	return &ranking{grouping: g, counts: counts, limit: limit}
}

// add adds a group, unless it has no labels.
func (r *ranking) add(group uint32) {
	if r.counts[group] == 0 || r.full && r.compare(group, r.last) > 0 {
		return
	}
	if r.best = append(r.best, group); len(r.best) >= 2*r.limit+64 {
		r.first()
		r.full, r.last = true, r.best[r.limit-1]
	}
}

// first returns the first groups in order.
func (r *ranking) first() []uint32 {
	slices.SortFunc(r.best, r.compare)
	r.best = r.best[:min(r.limit, len(r.best))]
	return r.best
}

// compare orders two groups.
func (r *ranking) compare(a, b uint32) int {
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

// groups returns the found groups as list records.
func (c *groupCounter) groups() []cola.LabelGroup {
	rows := make([]cola.LabelGroup, len(c.found))
	for d, t := range c.dimensions {
		name := t.name
		if name == nil {
			name = t.spellings(c.found, d)
		}
		for i, found := range c.found {
			rows[i].Count = int(found.count)
			rows[i].Set(t.dimension, name(found.of[d]))
			if t.dimension == cola.ByPermit {
				rows[i].CompanyName = cola.Some(c.view.companyName(found.of[d]))
			}
		}
	}
	return rows
}

// companyName returns the name of the permittee of a group by permit.
func (v *View) companyName(group uint32) cola.Text {
	if group == 0 {
		return ""
	}
	return v.permittees.records[group-1].CompanyName
}

// spellings returns the spelling of each found group in dimension d that most of the labels found
// have, or the first alphabetically.
func (t *groupTally) spellings(found []foundGroup, d int) func(group uint32) cola.Text {
	wanted := make([]uint64, postings.WordsFor(uint32(t.n)))
	for _, f := range found {
		postings.SetBit(wanted, f.of[d])
	}
	labels := map[uint32]map[string]uint32{} // by group and spelling
	for i := range t.segments {
		s := &t.segments[i]
		for value, n := range t.byValue[i] {
			g := s.groupOf[value]
			if n == 0 || !postings.HasBit(wanted, g) {
				continue
			}
			if labels[g] == nil {
				labels[g] = map[string]uint32{}
			}
			labels[g][s.at(uint32(value))] += n
		}
	}
	return func(group uint32) (best cola.Text) {
		if group == 0 {
			return ""
		}
		most := uint32(0)
		for spelling, n := range labels[group] {
			if n > most || n == most && spelling < string(best) {
				best, most = cola.Text(spelling), n
			}
		}
		return best
	}
}
