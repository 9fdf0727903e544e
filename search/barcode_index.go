package search

import (
	"cmp"
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// codes finds documents by barcode: by number what is shaped like one, by its exact text anything else.
type codes struct {
	names dict     // values that are no numbers, sorted
	keys  []uint64 // ascending: a GTIN, or otherKey with the number of a name; one for each document that has it
	docs  []uint32 // ascending for the same key
	main  []uint64 // a bit for each key that is of the document's main barcode
}

// otherKey marks the key of a name. GTINs are far below it.
const otherKey = 1 << 63

// codeEntry is one key of one document.
type codeEntry struct {
	key  uint64
	doc  uint32
	main bool
}

func buildCodes(t *table) (c codes) {
	names := newInterner()
	keys := make([][2]uint64, t.codes.len()) // of each distinct barcode; the same twice when there is one
	for i := range keys {
		value, _ := splitCode(t.codes.at(uint32(i)))
		if gtins := vocabulary.GTINs(value); gtins != nil {
			keys[i] = [2]uint64{uint64(gtins[0]), uint64(gtins[len(gtins)-1])}
		} else {
			key := otherKey | uint64(names.id(value))
			keys[i] = [2]uint64{key, key}
		}
	}
	var number []uint32
	c.names, number = names.sorted()
	for i, k := range keys {
		if k[0]&otherKey != 0 {
			key := otherKey | uint64(number[k[0]&^otherKey])
			keys[i] = [2]uint64{key, key}
		}
	}
	c.fill(t, keys)
	return c
}

// fill makes the entries of all documents.
func (c *codes) fill(t *table, keys [][2]uint64) {
	entries := make([]codeEntry, 0, len(t.codes.refs))
	for doc := range t.n {
		for i, r := range t.codes.row(doc) {
			main := i == 0 && t.flags[doc]&flagMainBarcode != 0
			entries = append(entries, codeEntry{keys[r][0], doc, main})
			if keys[r][1] != keys[r][0] {
				entries = append(entries, codeEntry{keys[r][1], doc, main})
			}
		}
	}
	slices.SortFunc(entries, func(a, b codeEntry) int {
		switch {
		case a.key != b.key:
			return cmp.Compare(a.key, b.key)
		case a.doc != b.doc:
			return cmp.Compare(a.doc, b.doc)
		case a.main == b.main:
			return 0
		case a.main:
			return -1 // the one that is kept
		}
		return 1
	})
	entries = slices.CompactFunc(entries, func(a, b codeEntry) bool { return a.key == b.key && a.doc == b.doc })
	c.keys, c.docs = make([]uint64, len(entries)), make([]uint32, len(entries))
	c.main = make([]uint64, wordsFor(uint32(len(entries))))
	for i, e := range entries {
		c.keys[i], c.docs[i] = e.key, e.doc
		if e.main {
			setBit(c.main, uint32(i))
		}
	}
}

// match returns the documents with a barcode that means the same as value, or with such a main barcode, ascending and each
// once. They may be the index's own and must not be written to.
func (c *codes) match(value string, onlyMain bool) (docs []uint32) {
	gtins := vocabulary.GTINs(value)
	switch len(gtins) {
	case 0:
		if i, ok := c.names.find(value); ok {
			docs = c.with(otherKey|uint64(i), onlyMain)
		}
	case 1:
		docs = c.with(uint64(gtins[0]), onlyMain)
	default:
		for _, g := range gtins {
			docs = append(docs, c.with(uint64(g), onlyMain)...)
		}
		slices.Sort(docs)
		docs = slices.Compact(docs)
	}
	return docs
}

// with returns the documents of one key.
func (c *codes) with(key uint64, onlyMain bool) (docs []uint32) {
	lo, found := slices.BinarySearch(c.keys, key)
	if !found {
		return nil
	}
	hi := lo + sort.Search(len(c.keys)-lo, func(i int) bool { return c.keys[lo+i] > key })
	if !onlyMain {
		return c.docs[lo:hi:hi]
	}
	for i := lo; i < hi; i++ {
		if hasBit(c.main, uint32(i)) {
			docs = append(docs, c.docs[i])
		}
	}
	return docs
}

func (c *codes) carry(to carrier) {
	c.names.carry(to)
	carry(to, &c.keys)
	carry(to, &c.docs)
	carry(to, &c.main)
}
