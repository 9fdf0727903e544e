package search

import (
	"hash/maphash"
	"sort"
)

// dict holds distinct strings, numbered from 0, in one run of text. Strings taken from it share its memory and stay good
// for as long as they are held.
type dict struct {
	blob string
	off  []uint32 // string i is blob[off[i]:off[i+1]]
}

func (d *dict) len() int { return max(0, len(d.off)-1) }

func (d *dict) at(i uint32) string { return d.blob[d.off[i]:d.off[i+1]] }

// from returns the first string of a sorted dict that is not below s.
func (d *dict) from(s string) uint32 {
	return uint32(sort.Search(d.len(), func(i int) bool { return d.at(uint32(i)) >= s }))
}

// find returns the number of s in a sorted dict.
func (d *dict) find(s string) (uint32, bool) {
	i := d.from(s)
	return i, int(i) < d.len() && d.at(i) == s
}

// withPrefix returns the range of a sorted dict whose strings begin with s.
func (d *dict) withPrefix(s string) (lo, hi uint32) {
	lo = d.from(s)
	n := sort.Search(d.len()-int(lo), func(i int) bool {
		v := d.at(lo + uint32(i))
		return len(v) < len(s) || v[:len(s)] != s
	})
	return lo, lo + uint32(n)
}

func (d *dict) carry(c carrier) {
	carryText(c, &d.blob)
	carry(c, &d.off)
}

// dictBuilder collects the strings of a dict in order. It does not check whether they are distinct or sorted.
type dictBuilder struct {
	blob []byte
	off  []uint32
}

func newDictBuilder() *dictBuilder { return &dictBuilder{off: []uint32{0}} }

func (b *dictBuilder) add(s string) {
	b.blob = append(b.blob, s...)
	b.off = append(b.off, uint32(len(b.blob)))
}

// dict returns the strings added so far. The builder must not be used afterwards.
func (b *dictBuilder) dict() dict { return dict{blob: textOf(exact(b.blob)), off: exact(b.off)} }

// interner numbers strings as they come. Number 0 is always the empty string. Its table holds numbers only.
type interner struct {
	seed  maphash.Seed
	blob  []byte
	off   []uint32
	table []uint32 // open addressing: number + 1, or 0 for a free place
}

func newInterner() *interner {
	in := &interner{seed: maphash.MakeSeed(), off: []uint32{0}, table: make([]uint32, 64)}
	in.id("")
	return in
}

func (in *interner) len() int { return len(in.off) - 1 }

// size returns the total length of the strings.
func (in *interner) size() int { return len(in.blob) }

func (in *interner) at(i uint32) string { return textOf(in.blob[in.off[i]:in.off[i+1]]) }

// id returns the number of s, a new one when s is new.
func (in *interner) id(s string) uint32 {
	mask := uint64(len(in.table) - 1)
	for h := maphash.String(in.seed, s) & mask; ; h = (h + 1) & mask {
		e := in.table[h]
		if e == 0 {
			return in.add(s, h)
		}
		if in.at(e-1) == s {
			return e - 1
		}
	}
}

func (in *interner) add(s string, place uint64) uint32 {
	id := uint32(in.len())
	in.blob = append(in.blob, s...)
	in.off = append(in.off, uint32(len(in.blob)))
	in.table[place] = id + 1
	if in.len()*4 > len(in.table)*3 {
		in.grow()
	}
	return id
}

func (in *interner) grow() {
	in.table = make([]uint32, len(in.table)*2)
	mask := uint64(len(in.table) - 1)
	for i := range in.len() {
		h := maphash.Bytes(in.seed, in.blob[in.off[i]:in.off[i+1]]) & mask
		for in.table[h] != 0 {
			h = (h + 1) & mask
		}
		in.table[h] = uint32(i) + 1
	}
}

// dict returns what was interned; the interner is spent.
func (in *interner) dict() dict {
	d := dict{blob: textOf(exact(in.blob)), off: exact(in.off)}
	*in = interner{}
	return d
}

// sorted returns what was interned in ascending order, and the new number of each string; the interner is spent.
func (in *interner) sorted() (d dict, number []uint32) {
	order := make([]uint32, in.len())
	for i := range order {
		order[i] = uint32(i)
	}
	sort.Slice(order, func(a, b int) bool { return in.at(order[a]) < in.at(order[b]) })
	number = make([]uint32, len(order))
	b := &dictBuilder{blob: make([]byte, 0, len(in.blob)), off: make([]uint32, 1, len(order)+1)}
	for i, old := range order {
		number[old] = uint32(i)
		b.add(in.at(old))
	}
	*in = interner{}
	return b.dict(), number
}
