package search

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// GroupCounts is the number of labels that a search finds in each group.
type GroupCounts struct {
	Groups []cola.LabelGroup // in order
	Others cola.OtherGroups  // the groups beyond the requested number
	Total  int               // labels in all groups: the total of Search

	// AxisTotals counts the labels with each value of the axis (see cola.CountSearch), in order.
	AxisTotals []cola.OtherLabels
}

// CountGroups counts the matching labels by one or two dimensions. Periods are ordered newest
// first, bands lowest first, and other values by number of labels, then alphabetically. Labels
// without a period or band come last. cola.CountSearch describes which groups of two dimensions are
// returned.
func (v *View) CountGroups(s cola.CountSearch) GroupCounts {
	return v.countGroups(&s, countLimits{cells: 1 << 20, sorted: 400_000, ranked: 200_000, groups: cola.MaxGroups})
}

func (v *View) countGroups(s *cola.CountSearch, limits countLimits) GroupCounts {
	q, ok := v.resolveQuery(&s.Query)
	if !ok {
		return GroupCounts{Groups: []cola.LabelGroup{}, Others: cola.OtherGroups{Groups: cola.Some(0)}}
	}
	found := v.countResolvedGroups(q, s, limits)
	if found.Total == 0 && q.barcode {
		q = q.asText()
		found = v.countResolvedGroups(q, s, limits)
	}
	return found
}

// countResolvedGroups counts the labels that a resolved query finds.
func (v *View) countResolvedGroups(q *query, s *cola.CountSearch, limits countLimits) GroupCounts {
	c := &groupCounter{view: v, query: q, top: s.Top, limits: limits}
	for _, dimension := range s.GroupBy {
		c.dimensions = append(c.dimensions, newGroupTally(v.grouping(dimension)))
	}
	if len(c.dimensions) == 1 {
		c.countGroups()
	} else {
		c.countPairs()
	}
	counts := GroupCounts{
		Groups: c.groups(), Others: cola.OtherGroups{Labels: c.total - c.inFound}, Total: c.total, AxisTotals: c.axisTotals,
	}
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
	reversed   bool // dimensions are not in the requested order

	total      int
	distinct   int          // groups with labels
	partial    bool         // distinct is unknown
	found      []foundGroup // in order
	inFound    int          // labels in the found groups
	axisTotals []cola.OtherLabels
}

// foundGroup is a group with its number of labels.
type foundGroup struct {
	groups [2]uint32 // group in each of groupCounter.dimensions
	count  uint32
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

// count counts values in a block.
func (t *groupTally) count(segment, from int, w []uint64) {
	t.segments[segment].docs.CountBits(t.byValue[segment], from, w)
}

// add adds a group to the found groups.
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
	for _, g := range c.rank(t, counts, c.top) {
		c.add([2]uint32{g}, counts[g])
	}
	for _, n := range counts {
		if n > 0 {
			c.distinct++
		}
	}
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
			rows[i].Set(t.dimension, name(found.groups[d]))
			if t.dimension == cola.ByPermit {
				rows[i].CompanyName = cola.Some(c.view.companyName(found.groups[d]))
			}
		}
	}
	return rows
}

// companyName returns the company name of a permit group's permittee.
func (v *View) companyName(group uint32) cola.Text {
	if group == 0 {
		return ""
	}
	return v.permittees.records[group-1].CompanyName
}

// spellings returns a function that returns a found group's most frequent spelling in dimension d,
// among the labels found. Ties go to the first alphabetically.
func (t *groupTally) spellings(found []foundGroup, d int) func(group uint32) cola.Text {
	wanted := make([]uint64, postings.WordsFor(uint32(t.n)))
	for _, f := range found {
		postings.SetBit(wanted, f.groups[d])
	}
	labels := map[uint32]spellings{} // by group
	for i := range t.segments {
		s := &t.segments[i]
		for value, n := range t.byValue[i] {
			g := s.groupOf[value]
			if n == 0 || !postings.HasBit(wanted, g) {
				continue
			}
			if labels[g] == nil {
				labels[g] = spellings{}
			}
			labels[g][s.at(uint32(value))] += int(n)
		}
	}
	return func(group uint32) cola.Text {
		if group == 0 {
			return ""
		}
		return cola.Text(labels[group].mostFrequent())
	}
}
