package search

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// grouping assigns the labels of a view to groups by one dimension. Group 0 has the labels without
// a value.
type grouping struct {
	dimension    string
	segments     []segmentGrouping
	n            int                          // number of groups
	key          func(group uint32) string    // distinct for each group; breaks ties
	alphabetical bool                         // groups are numbered in the order of their keys
	name         func(group uint32) cola.Text // value of the group; nil to use its most frequent spelling
	position     func(group uint32) int       // place of the group in results; nil if the count determines it
}

// segmentGrouping is the part of a grouping for one segment.
type segmentGrouping struct {
	docs    *column.Packed            // value of each document
	groupOf []uint32                  // group of each value
	at      func(value uint32) string // spelling of each value; only set if groups have no name
}

// grouping returns the grouping by a dimension.
func (v *View) grouping(dimension string) *grouping {
	g := &grouping{dimension: dimension, segments: make([]segmentGrouping, len(v.segments))}
	switch dimension {
	case cola.ByYear, cola.ByQuarter, cola.ByMonth:
		v.groupByPeriod(g)
	case cola.ByBrandFirstSeen:
		v.groupByFirstSeen(g, cola.ByBrand)
	case cola.ByPermitteeFirstSeen:
		v.groupByFirstSeen(g, cola.ByPermit)
	case cola.ByABV:
		v.groupByBand(g, numABV)
	case cola.ByVolume:
		v.groupByBand(g, numVolume)
	case cola.ByCategory, cola.BySubcategory, cola.ByPath:
		v.groupByCategory(g)
	case cola.ByPermit:
		v.groupByPermit(g)
	case cola.ByBrand:
		v.groupByBrand(g)
	case cola.ByAppellation:
		v.groupByAppellation(g)
	default:
		v.groupByText(g)
	}
	return g
}

// groupValues assigns a group to each value of a segment's column by its key.
func (g *grouping) groupValues(i, values int, keys *column.Interner, keyOf func(value uint32) string) {
	groupOf := make([]uint32, values)
	for value := range groupOf {
		groupOf[value] = keys.ID(keyOf(uint32(value)))
	}
	g.segments[i].groupOf = groupOf
}

// useKeys completes a grouping whose keys are also the names of its groups.
func (g *grouping) useKeys(keys *column.Interner) {
	g.n, g.key = keys.Len(), keys.At
	g.name = func(group uint32) cola.Text { return cola.Text(keys.At(group)) }
}

// groupByText groups by a column of text with a fixed vocabulary.
func (v *View) groupByText(g *grouping) {
	f := map[string]struct {
		column int
		fold   func(string) string
	}{
		cola.ByProductType: {colType, foldWord},
		cola.ByClass:       {colClass, foldValue},
		cola.ByOrigin:      {colOrigin, func(place string) string { return foldValue(vocabulary.PlaceName(place)) }},
		cola.ByStatus:      {colStatus, foldWord},
		cola.ByContainer:   {colContainer, foldWord},
		cola.ByState:       {colState, foldValue},
	}[g.dimension]
	keys := column.NewInterner()
	for i := range v.segments {
		c := &v.segments[i].t.text[f.column]
		g.segments[i].docs = &c.IDs
		g.groupValues(i, c.Len(), keys, func(value uint32) string { return f.fold(c.At(value)) })
	}
	g.useKeys(keys)
}

// foldWord returns a word of a fixed vocabulary in lower case, without surrounding spaces.
func foldWord(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// groupByPeriod groups by year, quarter or month of the effective date, newest first.
func (v *View) groupByPeriod(g *grouping) {
	v.groupByNumber(g, numEffective, func(date float64) (name string, position int) {
		return periodOf(g.dimension, cola.Date(date))
	})
}

// periodOf returns the name of the year, quarter or month that contains a date, and the period's
// position, newest first.
func periodOf(dimension string, date cola.Date) (name string, position int) {
	year, month, _ := date.Time().Date()
	position = -(year*12 + int(month))
	switch dimension {
	case cola.ByQuarter:
		return fmt.Sprintf("%04d-Q%d", year, (month+2)/3), position
	case cola.ByMonth:
		return fmt.Sprintf("%04d-%02d", year, month), position
	}
	return fmt.Sprintf("%04d", year), position
}

// groupByBand groups by the band of a number, lowest first.
func (v *View) groupByBand(g *grouping, col int) {
	v.groupByNumber(g, col, func(number float64) (string, int) {
		name, position := cola.Band(g.dimension, number)
		return string(name), position
	})
}

// groupByNumber groups by a column of numbers. of returns the name of a number's group, and a
// number that determines the group's place in results. Unknown numbers come last.
func (v *View) groupByNumber(g *grouping, col int, of func(number float64) (name string, position int)) {
	v.groupInOrder(g, func(i int) (docs *column.Packed, values int) {
		c := &v.segments[i].t.num[col]
		return &c.IDs, len(c.Values)
	}, func(i int, value uint32) (name string, position int) {
		if value == 0 {
			return "", 0
		}
		return of(v.segments[i].t.num[col].Values[value])
	})
}

// groupInOrder groups the values of each segment by name and orders the groups by position; of
// returns both for a value. The group without a name comes last. columnOf returns the value of each
// document in a segment, and the number of values.
func (v *View) groupInOrder(
	g *grouping, columnOf func(i int) (docs *column.Packed, values int),
	of func(i int, value uint32) (name string, position int),
) {
	keys, positions := column.NewInterner(), []int{math.MaxInt}
	for i := range v.segments {
		docs, values := columnOf(i)
		g.segments[i].docs = docs
		g.groupValues(i, values, keys, func(value uint32) string {
			name, position := of(i, value)
			if int(keys.ID(name)) == len(positions) {
				positions = append(positions, position)
			}
			return name
		})
	}
	g.useKeys(keys)
	g.position = func(group uint32) int { return positions[group] }
}

// groupByCategory groups by the first levels of the category path, with aliases applied.
func (v *View) groupByCategory(g *grouping) {
	level := map[string]int{cola.ByCategory: 1, cola.BySubcategory: 2}[g.dimension] // 0 is the whole path
	keys := column.NewInterner()
	for i := range v.segments {
		seg := &v.segments[i]
		tree := seg.categoryTree
		g.segments[i].docs = &seg.t.text[colCategory].IDs
		g.groupValues(i, len(tree.nodeOf), keys, func(value uint32) string { return tree.levels(tree.nodeOf[value], level) })
		g.segments[i].at = func(value uint32) string {
			path := vocabulary.NormalizeCategory(seg.categoryOf(value))
			if level > 0 {
				path = path[:levelsEnd(path, level)]
			}
			return path
		}
	}
	g.useKeys(keys)
	g.name = nil
}

// levels returns the first levels of a node's folded path, or the empty string if the path has
// fewer. Zero levels mean the whole path.
func (t *categoryTree) levels(node int32, levels int) string {
	if node == noNode {
		return ""
	}
	folded := t.nodes[node].folded
	switch {
	case levels == 0:
		return folded
	case strings.Count(folded, categorySeparator) < levels-1:
		return ""
	}
	return folded[:levelsEnd(folded, levels)]
}

// categoryOf returns the path of a value of the category column, with aliases applied.
func (seg *segmentView) categoryOf(value uint32) string {
	i := slices.IndexFunc(seg.redirected, func(r redirectedCategory) bool { return r.value == value })
	if i >= 0 {
		return seg.redirected[i].to
	}
	return seg.t.text[colCategory].At(value)
}

// groupByPermit groups by permit number. The groups are the view's permittees.
func (v *View) groupByPermit(g *grouping) {
	ps := v.permittees
	for i := range v.segments {
		s := v.segments[i].segment
		g.segments[i] = segmentGrouping{docs: &s.t.text[colPermit].IDs, groupOf: s.permittees}
	}
	g.n = len(ps.records) + 1
	g.key = func(group uint32) string {
		if group == 0 {
			return ""
		}
		return ps.records[group-1].PermitNumber
	}
	g.name = func(group uint32) cola.Text { return cola.Text(g.key(group)) }
}

// groupByBrand groups by text.BrandKey. The groups of the segment with the most brands come first.
func (v *View) groupByBrand(g *grouping) {
	var base column.Dict
	largest := -1
	for i := range v.segments {
		if keys := v.segments[i].brands.keys; keys.Len() > base.Len() {
			base, largest = keys, i
		}
	}
	more := column.NewInterner() // keys missing from the base; the first is unused
	n := uint32(base.Len())
	for i := range v.segments {
		s := v.segments[i].segment
		brands := &s.t.text[colBrand]
		g.segments[i] = segmentGrouping{docs: &brands.IDs, groupOf: s.brands.keyOf, at: brands.At}
		if i == largest {
			continue
		}
		groupOfKey, next := make([]uint32, s.brands.keys.Len()), uint32(0)
		for k := range groupOfKey { // both lists of keys are sorted
			key := s.brands.keys.At(uint32(k))
			next = base.Seek(next, key)
			if groupOfKey[k] = next; next == n || base.At(next) != key {
				groupOfKey[k] = n + more.ID(key) - 1
			}
		}
		groupOf := make([]uint32, len(s.brands.keyOf))
		for value, k := range s.brands.keyOf {
			groupOf[value] = groupOfKey[k]
		}
		g.segments[i].groupOf = groupOf
	}
	g.n, g.alphabetical = int(n)+more.Len()-1, more.Len() == 1
	g.key = func(group uint32) string {
		if group < n {
			return base.At(group)
		}
		return more.At(group - n + 1)
	}
}

// groupByAppellation groups by appellation.
func (v *View) groupByAppellation(g *grouping) {
	keys := column.NewInterner()
	for i := range v.segments {
		c := &v.segments[i].t.lists[listAppellation]
		g.segments[i].docs, g.segments[i].at = v.segments[i].appellationOf(), c.At
		g.groupValues(i, c.Len(), keys, func(value uint32) string { return text.Fold(c.At(value)) })
	}
	g.useKeys(keys)
	g.name = nil
}

// appellationOf returns the appellation of each document, as a value of the column. A document has
// at most one. The result is cached.
func (s *segment) appellationOf() *column.Packed {
	if values := s.appellations.Load(); values != nil {
		return values
	}
	c := &s.t.lists[listAppellation]
	values := make([]uint32, s.t.n)
	for doc := range values {
		if row := c.Row(uint32(doc)); len(row) > 0 {
			values[doc] = row[0]
		}
	}
	packed := column.Pack(values)
	s.appellations.Store(&packed)
	return &packed
}
