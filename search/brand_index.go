package search

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// keyGroups groups strings by a key, such as text.BrandKey. Strings with the same key are spellings
// of one name.
type keyGroups struct {
	keys   column.Dict // distinct keys, sorted
	keyOf  []uint32    // index of each string's key
	values []uint32    // indexes of the strings, sorted by key
	start  []uint32    // key k has values[start[k]:start[k+1]]
}

// groupByKey groups names by key.
func groupByKey(names *column.Dict, key func(string) string) (x keyGroups) {
	x.keys, x.keyOf = foldKeys(names, key)
	x.start = make([]uint32, x.keys.Len()+1)
	for _, k := range x.keyOf {
		x.start[k+1]++
	}
	for k := range x.keys.Len() {
		x.start[k+1] += x.start[k]
	}
	x.values = make([]uint32, len(x.keyOf))
	next := append([]uint32(nil), x.start...)
	for v, k := range x.keyOf {
		x.values[next[k]] = uint32(v)
		next[k]++
	}
	return x
}

// spellings returns the strings with key k.
func (x *keyGroups) spellings(k uint32) []uint32 { return x.values[x.start[k]:x.start[k+1]] }

// brandIndex groups the values of the brand column by brand, and sorts the documents by brand.
type brandIndex struct {
	keyGroups
	labels []uint32 // number of labels of each brand, including those with tombstones

	// cola.SortBrand orders documents by the rank of their brand.
	rank  []uint32 // rank of each value's brand
	order []uint32 // documents in order of rank
}

// buildBrandIndex indexes the brands of a table.
func buildBrandIndex(t *table) brandIndex {
	c := &t.text[colBrand]
	x := brandIndex{keyGroups: groupByKey(&c.Dict, text.BrandKey)}
	byValue := make([]uint32, c.Len())
	c.IDs.Count(byValue)
	x.labels = make([]uint32, x.keys.Len())
	for v, k := range x.keyOf {
		x.labels[k] += byValue[v]
	}
	x.sortDocs(t)
	return x
}

// sortDocs sorts the documents by brand. Brands with the same brandPosition have the same rank.
func (x *brandIndex) sortDocs(t *table) {
	ranks, last := make([]uint32, x.keys.Len()), uint32(0)
	for k := 1; k < len(ranks); k++ {
		if brandPosition(x.keys.At(uint32(k))) != brandPosition(x.keys.At(uint32(k-1))) {
			last++
		}
		ranks[k] = last
	}
	x.rank = make([]uint32, len(x.keyOf))
	for v, k := range x.keyOf {
		x.rank[v] = ranks[k]
	}
	ids := &t.text[colBrand].IDs
	next := make([]uint32, last+2)
	for doc := range t.n {
		next[x.rank[ids.At(doc)]+1]++
	}
	for r := range last {
		next[r+1] += next[r]
	}
	x.order = make([]uint32, t.n)
	for doc := range t.n {
		r := x.rank[ids.At(doc)]
		x.order[next[r]] = doc
		next[r]++
	}
}

// appendBrand appends the lists of a brand's documents, one for each spelling.
func (s *segment) appendBrand(lists []postings.List, brand uint32) []postings.List {
	for _, spelling := range s.brands.spellings(brand) {
		lists = append(lists, s.texts.DocsOf(colBrand, spelling))
	}
	return lists
}

// brandPosition returns the part of a brand key that determines its place in cola.SortBrand.
func brandPosition(key string) string { return key[:min(len(key), cola.MaxBrandPosition)] }

func (x *keyGroups) serialize(c codec.Codec) {
	x.keys.Serialize(c)
	codec.Slice(c, &x.keyOf)
	codec.Slice(c, &x.values)
	codec.Slice(c, &x.start)
}

func (x *brandIndex) serialize(c codec.Codec) {
	x.keyGroups.serialize(c)
	codec.Slice(c, &x.labels)
	codec.Slice(c, &x.rank)
	codec.Slice(c, &x.order)
}
