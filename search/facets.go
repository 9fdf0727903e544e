package search

import (
	"iter"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
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

// categories finds documents by category path and every beginning of one.
type categories struct {
	nodes  dict     // folded paths of all levels, sorted
	lists  postings // documents at a node or below
	values postings // documents that have a value of the column
}

func buildCategories(t *table) (cs categories) {
	c := &t.text[colCategory]
	values := newPostingsBuilder(t.n, c.len())
	values.addGroups(groupBy(t.n, c.len(), func(doc uint32, put func(uint32)) { put(c.ids.at(doc)) }))
	cs.values = values.postings()
	in := newInterner()
	var within [][]uint32 // values at a node or below, by the node's number
	for v := range uint32(c.len()) {
		for node := range eachNode(c.at(v)) {
			id := in.id(node)
			for int(id) >= len(within) {
				within = append(within, nil)
			}
			within[id] = append(within[id], v)
		}
	}
	var number []uint32
	nodes := in.len()
	cs.nodes, number = in.sorted()
	old := make([]uint32, nodes)
	for i, n := range number {
		old[n] = uint32(i)
	}
	lists, g := newPostingsBuilder(t.n, nodes), newGatherer(t.n)
	for _, id := range old {
		if int(id) < len(within) {
			for _, v := range within[id] {
				g.add(cs.values.list(v))
			}
		}
		g.into(lists)
	}
	cs.lists = lists.postings()
	return cs
}

// categorySeparator joins the levels of a path.
const categorySeparator = " > "

// eachNode returns the paths above a path, folded and from its root on, and the path itself.
func eachNode(path string) iter.Seq[string] {
	return func(yield func(node string) bool) {
		folded := vocabulary.FoldPath(path)
		for i := 0; i < len(folded); i += len(categorySeparator) {
			j := strings.Index(folded[i:], categorySeparator)
			if j < 0 {
				yield(folded)
				return
			}
			if i += j; !yield(folded[:i]) {
				return
			}
		}
	}
}

// node returns the documents at a path or below.
func (cs *categories) node(path string) list {
	if i, ok := cs.nodes.find(vocabulary.FoldPath(path)); ok {
		return cs.lists.list(i)
	}
	return list{}
}

func (cs *categories) carry(c carrier) {
	cs.nodes.carry(c)
	cs.lists.carry(c)
	cs.values.carry(c)
}
