package search

import (
	"math"
	"math/bits"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// textColumn is a column of strings: distinct values, and the number of each row's. Value 0 is the empty string.
type textColumn struct {
	dict
	ids packed
}

func (c *textColumn) value(row uint32) string { return c.at(c.ids.at(row)) }

// numColumn is a column of numbers of which some are unknown: value 0 stands for that.
type numColumn struct {
	vals []float64
	ids  packed
}

func (c *numColumn) value(row uint32) (v float64, ok bool) {
	id := c.ids.at(row)
	return c.vals[id], id != 0
}

// date returns a row's value in a column of dates.
func (c *numColumn) date(row uint32) cola.Date { return cola.Date(c.vals[c.ids.at(row)]) }

// codeColumn holds each row's barcodes.
type codeColumn struct {
	dict          // distinct values with their types, as joinCode writes them
	off  []uint32 // row i has refs[off[i]:off[i+1]]
	refs []uint32 // numbers in dict
}

func (c *codeColumn) row(i uint32) []uint32 { return c.refs[c.off[i]:c.off[i+1]] }

// numbers numbers distinct values as they come. Number 0 is always an unknown value.
type numbers struct {
	vals []float64
	ids  map[float64]uint32
}

func newNumbers() *numbers { return &numbers{vals: []float64{0}, ids: map[float64]uint32{}} }

func (n *numbers) id(v float64, known bool) uint32 {
	if !known || math.IsNaN(v) {
		return 0
	}
	id, ok := n.ids[v]
	if !ok {
		id = uint32(len(n.vals))
		n.vals = append(n.vals, v)
		n.ids[v] = id
	}
	return id
}

// packed is a column of small numbers, each as wide as the largest of them needs: one, two or four bytes.
type packed struct {
	one  []uint8
	two  []uint16
	four []uint32
}

// pack copies v.
func pack(v []uint32) (p packed) {
	switch most := most(v); {
	case most <= 0xff:
		p.one = narrow[uint8](v)
	case most <= 0xffff:
		p.two = narrow[uint16](v)
	default:
		p.four = slices.Clone(v)
	}
	return p
}

func most(v []uint32) uint32 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

func narrow[T uint8 | uint16](v []uint32) []T {
	out := make([]T, len(v))
	for i, x := range v {
		out[i] = T(x)
	}
	return out
}

// at returns the number in row i.
func (p *packed) at(i uint32) uint32 {
	switch {
	case p.one != nil:
		return uint32(p.one[i])
	case p.two != nil:
		return uint32(p.two[i])
	}
	return p.four[i]
}

func (p *packed) carry(c carrier) {
	carry(c, &p.one)
	carry(c, &p.two)
	carry(c, &p.four)
}

// countBits adds one to the count of each value of the rows in w, whose first bit is row from.
func (p *packed) countBits(counts []uint32, from int, w []uint64) {
	switch {
	case p.one != nil:
		countBits(counts, p.one[from:], w)
	case p.two != nil:
		countBits(counts, p.two[from:], w)
	default:
		countBits(counts, p.four[from:], w)
	}
}

func countBits[T uint8 | uint16 | uint32](counts []uint32, values []T, w []uint64) {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			counts[values[i<<6+bits.TrailingZeros64(x)]]++
		}
	}
}
