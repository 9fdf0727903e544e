package search

import (
	"cmp"
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// barcodeIndex finds documents by barcode. Barcodes in the form of a GTIN are compared as numbers,
// others as text.
type barcodeIndex struct {
	names column.Dict // barcodes that are not GTINs, sorted
	keys  []uint64    // ascending: a GTIN, or nonGTINKey | index in names; one entry per barcode and document
	docs  []uint32    // ascending for the same key
	main  []uint64    // bitmap of the entries for main barcodes
}

// nonGTINKey marks a key that holds an index into names. GTINs are far smaller.
const nonGTINKey = 1 << 63

// barcodeEntry is one key of one document.
type barcodeEntry struct {
	key  uint64
	doc  uint32
	main bool
}

// buildBarcodeIndex indexes the barcodes of a table.
func buildBarcodeIndex(t *table) (c barcodeIndex) {
	names := column.NewInterner()
	keys := make([][2]uint64, t.lists[listBarcode].Len()) // keys of each barcode, equal if it has only one
	for i := range keys {
		value, _ := splitBarcode(t.lists[listBarcode].At(uint32(i)))
		if gtins := vocabulary.GTINs(value); gtins != nil {
			keys[i] = [2]uint64{uint64(gtins[0]), uint64(gtins[len(gtins)-1])}
		} else {
			key := nonGTINKey | uint64(names.ID(value))
			keys[i] = [2]uint64{key, key}
		}
	}
	var number []uint32
	c.names, number = names.Sorted()
	for i, k := range keys {
		if k[0]&nonGTINKey != 0 {
			key := nonGTINKey | uint64(number[k[0]&^nonGTINKey])
			keys[i] = [2]uint64{key, key}
		}
	}
	c.addEntries(t, keys)
	return c
}

// addEntries builds the sorted entries. keys holds the one or two keys of each distinct barcode.
func (c *barcodeIndex) addEntries(t *table, keys [][2]uint64) {
	entries := make([]barcodeEntry, 0, len(t.lists[listBarcode].Refs))
	for doc := range t.n {
		for i, r := range t.lists[listBarcode].Row(doc) {
			main := i == 0 && t.flags[doc]&flagMainBarcode != 0
			entries = append(entries, barcodeEntry{keys[r][0], doc, main})
			if keys[r][1] != keys[r][0] {
				entries = append(entries, barcodeEntry{keys[r][1], doc, main})
			}
		}
	}
	slices.SortFunc(entries, func(a, b barcodeEntry) int {
		switch {
		case a.key != b.key:
			return cmp.Compare(a.key, b.key)
		case a.doc != b.doc:
			return cmp.Compare(a.doc, b.doc)
		case a.main == b.main:
			return 0
		case a.main:
			return -1 // kept by CompactFunc
		}
		return 1
	})
	entries = slices.CompactFunc(entries, func(a, b barcodeEntry) bool { return a.key == b.key && a.doc == b.doc })
	c.keys, c.docs = make([]uint64, len(entries)), make([]uint32, len(entries))
	c.main = make([]uint64, postings.WordsFor(uint32(len(entries))))
	for i, e := range entries {
		c.keys[i], c.docs[i] = e.key, e.doc
		if e.main {
			postings.SetBit(c.main, uint32(i))
		}
	}
}

// match returns the documents with a barcode equivalent to value, in ascending order. If onlyMain
// is true, only main barcodes count. The caller must not modify the result.
func (c *barcodeIndex) match(value string, onlyMain bool) (docs []uint32) {
	gtins := vocabulary.GTINs(value)
	switch len(gtins) {
	case 0:
		if i, ok := c.names.Find(value); ok {
			docs = c.docsWithKey(nonGTINKey|uint64(i), onlyMain)
		}
	case 1:
		docs = c.docsWithKey(uint64(gtins[0]), onlyMain)
	default:
		for _, g := range gtins {
			docs = append(docs, c.docsWithKey(uint64(g), onlyMain)...)
		}
		slices.Sort(docs)
		docs = slices.Compact(docs)
	}
	return docs
}

// docsWithKey returns the documents with the given key.
func (c *barcodeIndex) docsWithKey(key uint64, onlyMain bool) (docs []uint32) {
	lo, found := slices.BinarySearch(c.keys, key)
	if !found {
		return nil
	}
	hi := lo + sort.Search(len(c.keys)-lo, func(i int) bool { return c.keys[lo+i] > key })
	if !onlyMain {
		return c.docs[lo:hi:hi]
	}
	for i := lo; i < hi; i++ {
		if postings.HasBit(c.main, uint32(i)) {
			docs = append(docs, c.docs[i])
		}
	}
	return docs
}

func (c *barcodeIndex) serialize(to codec.Codec) {
	c.names.Serialize(to)
	codec.Slice(to, &c.keys)
	codec.Slice(to, &c.docs)
	codec.Slice(to, &c.main)
}
