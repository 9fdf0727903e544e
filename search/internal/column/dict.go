package column

import (
	"hash/maphash"
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/search/internal/codec"
)

// Dict is a list of strings, indexed from 0, in contiguous memory. Strings taken from it share
// that memory. Find and PrefixRange need the strings to be distinct and sorted.
type Dict struct {
	Blob string
	Off  []uint32 // string i is Blob[Off[i]:Off[i+1]]
}

// Len returns the number of strings.
func (d *Dict) Len() int { return max(0, len(d.Off)-1) }

// At returns string i.
func (d *Dict) At(i uint32) string { return d.Blob[d.Off[i]:d.Off[i+1]] }

// lowerBound returns the index of the first string that is not below s.
func (d *Dict) lowerBound(s string) uint32 {
	return uint32(sort.Search(d.Len(), func(i int) bool { return d.At(uint32(i)) >= s }))
}

// Find returns the index of s, and whether the list contains s.
func (d *Dict) Find(s string) (uint32, bool) {
	i := d.lowerBound(s)
	return i, int(i) < d.Len() && d.At(i) == s
}

// Seek returns the index of the first string, at or after index from, that is not below s. Seek is
// fast if the result is near from.
func (d *Dict) Seek(from uint32, s string) uint32 {
	lo, step := int(from), 1
	for lo+step <= d.Len() && d.At(uint32(lo+step-1)) < s {
		lo += step
		step *= 2
	}
	n := min(step, d.Len()-lo)
	return uint32(lo + sort.Search(n, func(i int) bool { return d.At(uint32(lo+i)) >= s }))
}

// PrefixRange returns the range [lo, hi) of the strings that begin with s.
func (d *Dict) PrefixRange(s string) (lo, hi uint32) {
	lo = d.lowerBound(s)
	n := sort.Search(d.Len()-int(lo), func(i int) bool {
		v := d.At(lo + uint32(i))
		return len(v) < len(s) || v[:len(s)] != s
	})
	return lo, lo + uint32(n)
}

// EachContaining calls yield with the index of each string that contains part, which must not be
// empty, in ascending order.
func (d *Dict) EachContaining(part string, yield func(i uint32)) {
	for i, at := 0, 0; ; {
		next := strings.Index(d.Blob[at:], part)
		if next < 0 {
			return
		}
		at += next
		i = d.stringAt(at, i)
		end := int(d.Off[i+1])
		if at+len(part) > end { // the match extends into the next string
			at++
			continue
		}
		yield(uint32(i))
		at = end
	}
}

// stringAt returns the index of the string at an offset in the blob. The result must be at least
// from.
func (d *Dict) stringAt(at, from int) int {
	step := 1
	for from+step < d.Len() && int(d.Off[from+step]) <= at { // the next match is usually near
		from += step
		step *= 2
	}
	step = min(step, d.Len()-from)
	return from + sort.Search(step-1, func(j int) bool { return int(d.Off[from+j+1]) > at })
}

// Serialize transfers the strings.
func (d *Dict) Serialize(c codec.Codec) {
	codec.String(c, &d.Blob)
	codec.Slice(c, &d.Off)
}

// DictBuilder collects the strings of a Dict in order.
type DictBuilder struct {
	blob []byte
	off  []uint32
}

// NewDictBuilder returns an empty builder.
func NewDictBuilder() *DictBuilder { return &DictBuilder{off: []uint32{0}} }

// Add appends a string.
func (b *DictBuilder) Add(s string) {
	b.blob = append(b.blob, s...)
	b.off = append(b.off, uint32(len(b.blob)))
}

// Dict returns the strings added so far. The builder must not be used afterward.
func (b *DictBuilder) Dict() Dict {
	return Dict{Blob: codec.UnsafeString(codec.Shrink(b.blob)), Off: codec.Shrink(b.off)}
}

// Interner assigns IDs to distinct strings in order of arrival. ID 0 is the empty string.
type Interner struct {
	seed  maphash.Seed
	blob  []byte
	off   []uint32
	table []uint32 // hash table with open addressing: ID + 1, or 0 for a free slot
}

// NewInterner returns an interner that contains only the empty string.
func NewInterner() *Interner {
	in := &Interner{seed: maphash.MakeSeed(), off: []uint32{0}, table: make([]uint32, 64)}
	in.ID("")
	return in
}

// Len returns the number of distinct strings.
func (in *Interner) Len() int { return len(in.off) - 1 }

// Size returns the total length of the strings.
func (in *Interner) Size() int { return len(in.blob) }

// At returns the string with the given ID.
func (in *Interner) At(i uint32) string { return codec.UnsafeString(in.blob[in.off[i]:in.off[i+1]]) }

// ID returns the ID of s, adding s if it is new.
func (in *Interner) ID(s string) uint32 {
	mask := uint64(len(in.table) - 1)
	for h := maphash.String(in.seed, s) & mask; ; h = (h + 1) & mask {
		e := in.table[h]
		if e == 0 {
			return in.add(s, h)
		}
		if in.At(e-1) == s {
			return e - 1
		}
	}
}

func (in *Interner) add(s string, slot uint64) uint32 {
	id := uint32(in.Len())
	in.blob = append(in.blob, s...)
	in.off = append(in.off, uint32(len(in.blob)))
	in.table[slot] = id + 1
	if in.Len()*4 > len(in.table)*3 {
		in.grow()
	}
	return id
}

func (in *Interner) grow() {
	in.table = make([]uint32, len(in.table)*2)
	mask := uint64(len(in.table) - 1)
	for i := range in.Len() {
		h := maphash.Bytes(in.seed, in.blob[in.off[i]:in.off[i+1]]) & mask
		for in.table[h] != 0 {
			h = (h + 1) & mask
		}
		in.table[h] = uint32(i) + 1
	}
}

// Dict returns the strings by ID. The interner must not be used afterward.
func (in *Interner) Dict() Dict {
	d := Dict{Blob: codec.UnsafeString(codec.Shrink(in.blob)), Off: codec.Shrink(in.off)}
	*in = Interner{}
	return d
}

// Sorted returns the strings in ascending order, and each ID's index in that order. The interner
// must not be used afterward.
func (in *Interner) Sorted() (d Dict, number []uint32) {
	order := make([]uint32, in.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	sort.Slice(order, func(a, b int) bool { return in.At(order[a]) < in.At(order[b]) })
	number = make([]uint32, len(order))
	b := &DictBuilder{blob: make([]byte, 0, len(in.blob)), off: make([]uint32, 1, len(order)+1)}
	for i, old := range order {
		number[old] = uint32(i)
		b.Add(in.At(old))
	}
	*in = Interner{}
	return b.Dict(), number
}
