package search

import "slices"

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
