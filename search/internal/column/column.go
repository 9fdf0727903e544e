package column

import (
	"math"
	"math/bits"
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
)

// Text is a column of strings: distinct values, and the number of each row's. Value 0 is the empty string.
type Text struct {
	Dict
	IDs Packed
}

func (c *Text) Value(row uint32) string { return c.At(c.IDs.At(row)) }

// Numeric is a column of numbers of which some are unknown: value 0 stands for that.
type Numeric struct {
	Values []float64
	IDs    Packed
}

func (c *Numeric) Value(row uint32) (v float64, ok bool) {
	id := c.IDs.At(row)
	return c.Values[id], id != 0
}

// TextList holds each row's barcodes.
type TextList struct {
	Dict          // distinct values with their types, as joinCode writes them
	Rows []uint32 // row i has refs[off[i]:off[i+1]]
	Refs []uint32 // numbers in dict
}

func (c *TextList) Row(i uint32) []uint32 { return c.Refs[c.Rows[i]:c.Rows[i+1]] }

// NumberInterner numbers distinct values as they come. Number 0 is always an unknown value.
type NumberInterner struct {
	Values []float64
	ids    map[float64]uint32
}

func NewNumberInterner() *NumberInterner {
	return &NumberInterner{Values: []float64{0}, ids: map[float64]uint32{}}
}

func (n *NumberInterner) ID(v float64, known bool) uint32 {
	if !known || math.IsNaN(v) {
		return 0
	}
	id, ok := n.ids[v]
	if !ok {
		id = uint32(len(n.Values))
		n.Values = append(n.Values, v)
		n.ids[v] = id
	}
	return id
}

// Packed is a column of small numbers, each as wide as the largest of them needs: one, two or four bytes.
type Packed struct {
	one  []uint8
	two  []uint16
	four []uint32
}

// Pack copies v.
func Pack(v []uint32) (p Packed) {
	switch most := maxOf(v); {
	case most <= 0xff:
		p.one = narrow[uint8](v)
	case most <= 0xffff:
		p.two = narrow[uint16](v)
	default:
		p.four = slices.Clone(v)
	}
	return p
}

func maxOf(v []uint32) uint32 {
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

// At returns the number in row i.
func (p *Packed) At(i uint32) uint32 {
	switch {
	case p.one != nil:
		return uint32(p.one[i])
	case p.two != nil:
		return uint32(p.two[i])
	}
	return p.four[i]
}

func (p *Packed) Serialize(c codec.Codec) {
	codec.Slice(c, &p.one)
	codec.Slice(c, &p.two)
	codec.Slice(c, &p.four)
}

// CountBits adds one to the count of each value of the rows in w, whose first bit is row from.
func (p *Packed) CountBits(counts []uint32, from int, w []uint64) {
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
