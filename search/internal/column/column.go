// Package column stores the columns of a table: strings, numbers and lists of strings.
//
// A column stores each distinct value once, and each row stores the index of its value. The data of
// a column contains no pointers, so the garbage collector does not scan it.
package column

import (
	"math"
	"math/bits"
	"slices"

	"github.com/colaregistry/colaregistry/search/internal/codec"
)

// Text is a column of strings. Value 0 is the empty string.
type Text struct {
	Dict        // distinct values
	IDs  Packed // each row's value
}

// Value returns the string in a row.
func (c *Text) Value(row uint32) string { return c.At(c.IDs.At(row)) }

// Numeric is a column of numbers. Value 0 stands for an unknown number.
type Numeric struct {
	Values []float64 // distinct values
	IDs    Packed    // each row's value
}

// Value returns the number in a row; ok is false if it is unknown.
func (c *Numeric) Value(row uint32) (v float64, ok bool) {
	id := c.IDs.At(row)
	return c.Values[id], id != 0
}

// TextList is a column of lists of strings.
type TextList struct {
	Dict          // distinct values
	Rows []uint32 // row i has the values Refs[Rows[i]:Rows[i+1]]
	Refs []uint32
}

// Row returns the indexes of a row's values.
func (c *TextList) Row(i uint32) []uint32 { return c.Refs[c.Rows[i]:c.Rows[i+1]] }

// NumberInterner assigns IDs to distinct numbers in order of arrival. ID 0 is the unknown number.
type NumberInterner struct {
	Values []float64 // by ID
	ids    map[float64]uint32
}

// NewNumberInterner returns an interner that contains only the unknown number.
func NewNumberInterner() *NumberInterner {
	return &NumberInterner{Values: []float64{0}, ids: map[float64]uint32{}}
}

// ID returns the ID of v, adding v if it is new. It returns 0 if v is not known or NaN.
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

// Packed is an array of small numbers, stored in one, two or four bytes each, depending on the
// largest.
type Packed struct {
	one  []uint8
	two  []uint16
	four []uint32
}

// Pack returns v as a Packed array.
func Pack(v []uint32) (p Packed) {
	switch largest := maxOf(v); {
	case largest <= 0xff:
		p.one = narrow[uint8](v)
	case largest <= 0xffff:
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

// AppendAt appends the numbers in the given rows.
func (p *Packed) AppendAt(dst, rows []uint32) []uint32 {
	switch {
	case p.one != nil:
		return appendAt(dst, p.one, rows)
	case p.two != nil:
		return appendAt(dst, p.two, rows)
	}
	return appendAt(dst, p.four, rows)
}

func appendAt[T uint8 | uint16 | uint32](dst []uint32, values []T, rows []uint32) []uint32 {
	for _, row := range rows {
		dst = append(dst, uint32(values[row]))
	}
	return dst
}

// Serialize transfers the array.
func (p *Packed) Serialize(c codec.Codec) {
	codec.Slice(c, &p.one)
	codec.Slice(c, &p.two)
	codec.Slice(c, &p.four)
}

// CountNonZero returns the number of rows in [lo, hi) with a nonzero number.
func (p *Packed) CountNonZero(lo, hi uint32) int {
	switch {
	case p.one != nil:
		return countNonZero(p.one[lo:hi])
	case p.two != nil:
		return countNonZero(p.two[lo:hi])
	}
	return countNonZero(p.four[lo:hi])
}

func countNonZero[T uint8 | uint16 | uint32](values []T) (n int) {
	for _, v := range values {
		if v != 0 {
			n++
		}
	}
	return n
}

// Count adds one to the count of each row's value.
func (p *Packed) Count(counts []uint32) {
	switch {
	case p.one != nil:
		count(counts, p.one)
	case p.two != nil:
		count(counts, p.two)
	default:
		count(counts, p.four)
	}
}

func count[T uint8 | uint16 | uint32](counts []uint32, values []T) {
	for _, v := range values {
		counts[v]++
	}
}

// CountBits adds one to counts[v] for each row in w with the value v. w is a bitmap whose first bit
// is row from.
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
		if x == ^uint64(0) {
			for _, v := range values[i<<6:][:64] {
				counts[v]++
			}
			continue
		}
		for ; x != 0; x &= x - 1 {
			counts[values[i<<6+bits.TrailingZeros64(x)]]++
		}
	}
}

// CountPairs adds one to cells[rowOf[v]+columnOf[u]] for each row in w with the value v in p and u
// in q. w is a bitmap whose first bit is row from.
func (p *Packed) CountPairs(q *Packed, cells, rowOf, columnOf []uint32, from int, w []uint64) {
	switch {
	case p.one != nil:
		countPairs(p.one[from:], q, cells, rowOf, columnOf, from, w)
	case p.two != nil:
		countPairs(p.two[from:], q, cells, rowOf, columnOf, from, w)
	default:
		countPairs(p.four[from:], q, cells, rowOf, columnOf, from, w)
	}
}

func countPairs[T number](rows []T, q *Packed, cells, rowOf, columnOf []uint32, from int, w []uint64) {
	switch {
	case q.one != nil:
		countCells(rows, q.one[from:], cells, rowOf, columnOf, w)
	case q.two != nil:
		countCells(rows, q.two[from:], cells, rowOf, columnOf, w)
	default:
		countCells(rows, q.four[from:], cells, rowOf, columnOf, w)
	}
}

func countCells[T, U number](rows []T, columns []U, cells, rowOf, columnOf []uint32, w []uint64) {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			at := i<<6 + bits.TrailingZeros64(x)
			cells[rowOf[rows[at]]+columnOf[columns[at]]]++
		}
	}
}

// Pairs sets dst to pairs {to[v], u}, one for each row in w with the value v in p and u in q,
// except where to[v] is 0. It returns the number of pairs. dst must have room for one more pair
// than w has rows. w is a bitmap whose first bit is row from.
func (p *Packed) Pairs(q *Packed, dst [][2]uint32, to []uint32, from int, w []uint64) int {
	switch {
	case p.one != nil:
		return pairs(p.one[from:], q, dst, to, from, w)
	case p.two != nil:
		return pairs(p.two[from:], q, dst, to, from, w)
	}
	return pairs(p.four[from:], q, dst, to, from, w)
}

func pairs[T number](values []T, q *Packed, dst [][2]uint32, to []uint32, from int, w []uint64) int {
	switch {
	case q.one != nil:
		return pairBits(values, q.one[from:], dst, to, w)
	case q.two != nil:
		return pairBits(values, q.two[from:], dst, to, w)
	}
	return pairBits(values, q.four[from:], dst, to, w)
}

func pairBits[T, U number](values []T, others []U, dst [][2]uint32, to []uint32, w []uint64) (n int) {
	for i, x := range w {
		for ; x != 0; x &= x - 1 {
			at := i<<6 + bits.TrailingZeros64(x)
			f := to[values[at]]
			dst[n] = [2]uint32{f, uint32(others[at])}
			n += int(min(f, 1)) // without a branch that the CPU would often mispredict
		}
	}
	return n
}

// number is the type of a number in a Packed array.
type number interface{ uint8 | uint16 | uint32 }
