package search

import (
	"slices"
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// facet finds documents by the value of a column of few distinct values, letter case aside.
type facet struct {
	keys     dict // distinct values as facetKey makes them, sorted
	lists    postings
	together []uint32 // keys that are asked for together, ascending
	united   postings // one list: the documents with any of them
}

// facetKey returns the form in which the values of facets are compared.
func facetKey(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

// buildFacet indexes a column. The documents of the values in together are kept united as well.
func buildFacet(t *table, column int, together []string) (f facet) {
	c := &t.text[column]
	in := newInterner()
	key := make([]uint32, c.len())
	for v := range key {
		key[v] = in.id(facetKey(c.at(uint32(v))))
	}
	var number []uint32
	f.keys, number = in.sorted()
	lists := newPostingsBuilder(t.n, f.keys.len())
	lists.addGroups(groupBy(t.n, f.keys.len(), func(doc uint32, put func(uint32)) { put(number[key[c.ids.at(doc)]]) }))
	f.lists = lists.postings()

	united, g := newPostingsBuilder(t.n, 1), newGatherer(t.n)
	f.together = f.numbers(together)
	for _, i := range f.together {
		g.add(f.lists.list(i))
	}
	g.into(united)
	f.united = united.postings()
	return f
}

// numbers returns the numbers of the values that there are, ascending and each once.
func (f *facet) numbers(values []string) (found []uint32) {
	for _, v := range values {
		if i, ok := f.keys.find(facetKey(v)); ok {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// match appends lists that together hold the documents with any of the values.
func (f *facet) match(dst []list, values ...string) []list {
	wanted := f.numbers(values)
	if len(f.together) > 1 && containsSorted(wanted, f.together) {
		dst = append(dst, f.united.list(0))
		wanted = slices.DeleteFunc(wanted, func(i uint32) bool {
			_, in := slices.BinarySearch(f.together, i)
			return in
		})
	}
	for _, i := range wanted {
		dst = append(dst, f.lists.list(i))
	}
	return dst
}

// containsSorted reports whether every number of part is in all; both are sorted.
func containsSorted(all, part []uint32) bool {
	for _, p := range part {
		i, ok := slices.BinarySearch(all, p)
		if !ok {
			return false
		}
		all = all[i:]
	}
	return true
}

func (f *facet) carry(c carrier) {
	f.keys.carry(c)
	f.lists.carry(c)
	carry(c, &f.together)
	f.united.carry(c)
}

// ranges finds documents by bounds on a column of numbers. Documents without a number are in no range.
type ranges struct {
	vals  []float64 // distinct, ascending
	lists postings  // documents that have a value
	marks []uint32  // numbers of values, ascending; the first is 0, the last len(vals)
	below postings  // documents whose value comes before a mark
}

// markEvery is how much uniting, in nanoseconds, lies between two marks: what a range needs beyond them costs no more.
const markEvery = 60_000

func buildRanges(t *table, column int) (r ranges) {
	c := &t.num[column]
	order := make([]uint32, 0, len(c.vals)) // columns' numbers by ascending value, without the unknown
	for i := 1; i < len(c.vals); i++ {
		order = append(order, uint32(i))
	}
	slices.SortFunc(order, func(a, b uint32) int {
		if c.vals[a] < c.vals[b] {
			return -1
		}
		return 1
	})
	rank := make([]uint32, len(c.vals))
	for i, id := range order {
		r.vals = append(r.vals, c.vals[id])
		rank[id] = uint32(i)
	}
	lists := newPostingsBuilder(t.n, len(order))
	lists.addGroups(groupBy(t.n, len(order), func(doc uint32, put func(uint32)) {
		if id := c.ids.at(doc); id != 0 {
			put(rank[id])
		}
	}))
	r.lists = lists.postings()
	r.mark(t.n)
	return r
}

// mark keeps the documents below some values ready.
func (r *ranges) mark(n uint32) {
	for v, sum := 0, 0; v <= len(r.vals); v++ {
		if v == 0 || v == len(r.vals) || sum > markEvery {
			r.marks, sum = append(r.marks, uint32(v)), 0
		}
		if v < len(r.vals) {
			sum += r.lists.list(uint32(v)).cost()
		}
	}
	below, g := newPostingsBuilder(n, len(r.marks)), newGatherer(n)
	for _, m := range r.marks {
		for v := range m {
			g.add(r.lists.list(v))
		}
		g.into(below)
	}
	r.below = below.postings()
}

// match returns the documents with a value within inclusive bounds, as a bitmap in the span's blocks. ok is false when no
// value lies within them.
func (r *ranges) match(least, most cola.Opt[float64], sc *scratch, s span) (w []uint64, ok bool) {
	lo, hi := 0, len(r.vals)
	if least.OK {
		lo = sort.SearchFloat64s(r.vals, least.V)
	}
	if most.OK {
		hi = sort.Search(len(r.vals), func(i int) bool { return r.vals[i] > most.V })
	}
	if lo >= hi {
		return nil, false
	}
	w = sc.bitmap(r.lists.numDocs(), s)
	from, to := r.markAt(lo), r.markAt(hi)
	if from == to {
		for v := lo; v < hi; v++ {
			r.lists.list(uint32(v)).orInto(w, s)
		}
		return w, true
	}
	r.below.list(uint32(to)).orInto(w, s)
	for v := int(r.marks[to]); v < hi; v++ {
		r.lists.list(uint32(v)).orInto(w, s)
	}
	r.below.list(uint32(from)).andNotInto(w, s)
	for v := int(r.marks[from]); v < lo; v++ {
		r.lists.list(uint32(v)).andNotInto(w, s)
	}
	return w, true
}

// markAt returns the last mark that does not lie above value number v.
func (r *ranges) markAt(v int) int {
	return sort.Search(len(r.marks), func(i int) bool { return int(r.marks[i]) > v }) - 1
}

func (r *ranges) carry(c carrier) {
	carry(c, &r.vals)
	r.lists.carry(c)
	carry(c, &r.marks)
	r.below.carry(c)
}
