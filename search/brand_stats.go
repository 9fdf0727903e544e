package search

import (
	"cmp"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/column"
)

// brandCounter computes brand statistics over the live labels of a view.
type brandCounter struct {
	view  *View
	types [][]bool // by segment: which values of the type column are counted; nil for all

	holders holderTally
	docs    []uint32 // working memory
	values  []uint32 // working memory
}

// newBrandCounter returns a counter for labels of the given product types; nil means all.
func newBrandCounter(v *View, productTypes []string) *brandCounter {
	c := &brandCounter{view: v, types: make([][]bool, len(v.segments))}
	c.holders.counts = make([]uint32, len(v.permittees.records))
	if len(productTypes) == 0 {
		return c
	}
	wanted := map[string]bool{}
	for _, t := range productTypes {
		wanted[foldValue(t)] = true
	}
	for i := range v.segments {
		types := &v.segments[i].t.text[colType]
		c.types[i] = make([]bool, types.Len())
		for value := range c.types[i] {
			c.types[i][value] = wanted[foldValue(types.At(uint32(value)))]
		}
	}
	return c
}

// liveGroups groups brands, which must be sorted by key, across segments and drops those without
// labels.
func (c *brandCounter) liveGroups(all []similarBrand) []brandGroup {
	groups := make([]brandGroup, 0, len(all))
	for len(all) > 0 {
		n := 1
		for n < len(all) && c.view.brandKey(all[n]) == c.view.brandKey(all[0]) {
			n++
		}
		g := brandGroup{similarBrand: all[0], all: all[:n]}
		for _, b := range all[1:n] {
			if b.match().Or(g.match()) != g.match() {
				g.similarBrand = b
			}
		}
		if g.partial && n < len(c.view.segments) {
			g.all = c.inAllSegments(c.view.brandKey(g.similarBrand))
		}
		for _, b := range g.all {
			g.labels += c.count(b)
		}
		if g.labels > 0 {
			groups = append(groups, g)
		}
		all = all[n:]
	}
	return groups
}

// inAllSegments returns the brand with the given key in each segment that has it.
func (c *brandCounter) inAllSegments(key string) (all []similarBrand) {
	for i := range c.view.segments {
		if k, ok := c.view.segments[i].brands.keys.Find(key); ok {
			all = append(all, similarBrand{segment: uint16(i), brand: k})
		}
	}
	return all
}

// count returns the number of live labels of a brand in its segment that have a counted product
// type.
func (c *brandCounter) count(b similarBrand) (n int) {
	seg := &c.view.segments[b.segment]
	all := c.types[b.segment] == nil && seg.tombstones == nil
	for _, spelling := range seg.brands.spellings(b.brand) {
		if all {
			n += seg.texts.DocsOf(colBrand, spelling).Len()
		} else {
			n += len(c.labels(b.segment, spelling))
		}
	}
	return n
}

// labels returns the live labels of a segment with the given spelling of the brand and a counted
// product type, in result order. The result is valid until the next call.
func (c *brandCounter) labels(segment uint16, spelling uint32) []uint32 {
	seg, types := &c.view.segments[segment], c.types[segment]
	c.docs = seg.texts.DocsOf(colBrand, spelling).AppendTo(c.docs[:0])
	if types == nil && seg.tombstones == nil {
		return c.docs
	}
	typeOf := &seg.t.text[colType].IDs
	c.docs = slices.DeleteFunc(c.docs, func(doc uint32) bool {
		return !seg.isLive(doc) || types != nil && !types[typeOf.At(doc)]
	})
	return c.docs
}

// row returns the list record for a brand.
func (c *brandCounter) row(g *brandGroup) cola.BrandMatch {
	s := brandStats{spellings: spellings{}, types: map[string]int{}, statuses: map[string]int{}}
	for _, b := range g.all {
		c.addTo(&s, b)
	}
	r := cola.BrandMatch{
		BrandName:     s.spellings.mostFrequent(),
		Similarity:    similarity(g.kind),
		Score:         int(g.score),
		ProductTypes:  s.productTypes(),
		Colas:         g.labels,
		Statuses:      s.byStatus(),
		FirstApproval: s.first,
		LastApproval:  s.newest.Date,
		ExampleTTBID:  s.newest.TTBID,
	}
	r.Holders, r.TotalHolders = c.holders.take(c.view.permittees)
	return r
}

// brandStats holds statistics on a brand's labels across all segments.
type brandStats struct {
	spellings       spellings
	types, statuses map[string]int // labels by value

	first  cola.Date
	newest cola.Position
}

// addTo adds a brand's labels in its segment to s.
func (c *brandCounter) addTo(s *brandStats, b similarBrand) {
	seg := &c.view.segments[b.segment]
	t := seg.t
	undated, _ := t.undated()
	types, statuses := make([]int, t.text[colType].Len()), make([]int, t.text[colStatus].Len())
	for _, spelling := range seg.brands.spellings(b.brand) {
		docs := c.labels(b.segment, spelling)
		if len(docs) == 0 {
			continue
		}
		s.spellings[t.text[colBrand].At(spelling)] += len(docs)
		for _, value := range c.valuesOf(&t.text[colType], docs) {
			types[value]++
		}
		for _, value := range c.valuesOf(&t.text[colStatus], docs) {
			statuses[value]++
		}
		for _, value := range c.valuesOf(&t.text[colPermit], docs) {
			if permittee := seg.permittees[value]; permittee != 0 {
				c.holders.add(permittee - 1)
			}
		}
		if at := t.position(docs[0]); s.newest.TTBID == 0 || ranksBefore(at, s.newest) {
			s.newest = at
		}
		if dated, _ := slices.BinarySearch(docs, undated); dated > 0 {
			if date := t.date(numEffective, docs[dated-1]); s.first == 0 || date < s.first {
				s.first = date
			}
		}
	}
	addCounts(s.types, &t.text[colType], types)
	addCounts(s.statuses, &t.text[colStatus], statuses)
}

// valuesOf returns the labels' values in a column. The result is valid until the next call.
func (c *brandCounter) valuesOf(of *column.Text, docs []uint32) []uint32 {
	c.values = of.IDs.AppendAt(c.values[:0], docs)
	return c.values
}

// addCounts adds to a map the number of labels with each value of a column.
func addCounts(into map[string]int, of *column.Text, counts []int) {
	for value, n := range counts {
		if n > 0 {
			into[of.At(uint32(value))] += n
		}
	}
}

// byStatus returns the number of labels by status.
func (s *brandStats) byStatus() (n cola.BrandStatuses) {
	for status, labels := range s.statuses {
		switch status {
		case vocabulary.StatusApproved:
			n.Approved += labels
		case vocabulary.StatusExpired:
			n.Expired += labels
		case vocabulary.StatusSurrendered:
			n.Surrendered += labels
		case vocabulary.StatusRevoked:
			n.Revoked += labels
		default:
			n.Unknown += labels
		}
	}
	return n
}

// productTypes returns the product types of the labels, in the order of vocabulary.ProductTypes.
func (s *brandStats) productTypes() []string {
	types := []string{}
	for _, t := range vocabulary.ProductTypes() {
		if s.types[t] > 0 {
			types = append(types, t)
		}
	}
	return types
}

// holderTally counts labels by permittee.
type holderTally struct {
	counts  []uint32 // by permittee
	counted []uint32 // permittees with labels
}

// add counts a label for a permittee.
func (t *holderTally) add(permittee uint32) {
	if t.counts[permittee] == 0 {
		t.counted = append(t.counted, permittee)
	}
	t.counts[permittee]++
}

// take returns the permittees with the most labels (ties in order of permit number) and the total
// number of permittees with labels. It resets the tally.
func (t *holderTally) take(ps *permittees) (top []cola.BrandHolder, total int) {
	first := ranking[uint32]{limit: cola.MaxBrandHolders, compare: func(a, b uint32) int {
		if t.counts[a] != t.counts[b] {
			return cmp.Compare(t.counts[b], t.counts[a])
		}
		return cmp.Compare(ps.records[a].PermitNumber, ps.records[b].PermitNumber)
	}}
	for _, i := range t.counted {
		first.add(i)
	}
	for _, i := range first.first {
		top = append(top, cola.BrandHolder{
			PermitNumber: ps.records[i].PermitNumber, CompanyName: ps.records[i].CompanyName, Colas: int(t.counts[i]),
		})
	}
	for _, i := range t.counted {
		t.counts[i] = 0
	}
	total, t.counted = len(t.counted), t.counted[:0]
	return top, total
}
