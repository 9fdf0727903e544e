package search

import (
	"cmp"
	"slices"
	"sort"

	"github.com/colaregistry/colaregistry/cola"
)

// codes finds documents by barcode: by number what is shaped like one, by its exact text anything else.
type codes struct {
	gtins []uint64 // ascending, one for each document that has it
	docs  []uint32 // ascending for the same number
	names dict     // other values, sorted
	lists postings // documents that have one
}

func buildCodes(t *table) (c codes) {
	type entry struct {
		gtin uint64
		doc  uint32
	}
	gtins, names := make([][2]cola.GTIN, t.codes.len()), newInterner()
	name := make([]uint32, t.codes.len()) // 0 for what is a number
	for i := range gtins {
		value, _ := splitCode(t.codes.at(uint32(i)))
		if found := cola.GTINs(value); found != nil {
			gtins[i] = [2]cola.GTIN{found[0], found[len(found)-1]}
		} else {
			name[i] = names.id(value)
		}
	}
	entries := make([]entry, 0, len(t.codes.refs))
	for doc := range t.n {
		for _, r := range t.codes.row(doc) {
			if name[r] != 0 {
				continue
			}
			entries = append(entries, entry{uint64(gtins[r][0]), doc})
			if gtins[r][1] != gtins[r][0] {
				entries = append(entries, entry{uint64(gtins[r][1]), doc})
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.gtin != b.gtin {
			return cmp.Compare(a.gtin, b.gtin)
		}
		return cmp.Compare(a.doc, b.doc)
	})
	entries = slices.Compact(entries)
	c.gtins, c.docs = make([]uint64, len(entries)), make([]uint32, len(entries))
	for i, e := range entries {
		c.gtins[i], c.docs[i] = e.gtin, e.doc
	}
	var number []uint32
	c.names, number = names.sorted()
	lists := newPostingsBuilder(t.n, c.names.len())
	lists.addGroups(groupBy(t.n, c.names.len(), func(doc uint32, put func(uint32)) {
		var named [8]uint32
		found := named[:0]
		for _, r := range t.codes.row(doc) {
			if name[r] != 0 {
				found = append(found, number[name[r]])
			}
		}
		putDistinct(found, put)
	}))
	c.lists = lists.postings()
	return c
}

// match appends the documents with a barcode that means the same as value, ascending and each once.
func (c *codes) match(value string, dst []uint32) []uint32 {
	from := len(dst)
	gtins := cola.GTINs(value)
	for _, g := range gtins {
		i := sort.Search(len(c.gtins), func(i int) bool { return c.gtins[i] >= uint64(g) })
		for ; i < len(c.gtins) && c.gtins[i] == uint64(g); i++ {
			dst = append(dst, c.docs[i])
		}
	}
	if gtins == nil {
		if i, ok := c.names.find(value); ok && value != "" {
			c.lists.list(i).each(func(doc uint32) bool { dst = append(dst, doc); return true })
		}
	}
	if len(gtins) > 1 {
		slices.Sort(dst[from:])
		dst = append(dst[:from], slices.Compact(dst[from:])...)
	}
	return dst
}

func (c *codes) carry(to carrier) {
	carry(to, &c.gtins)
	carry(to, &c.docs)
	c.names.carry(to)
	c.lists.carry(to)
}

// barcode returns the barcode of a row that means the same as value, the main one rather than another.
func (t *table) barcode(row uint32, value string) (found cola.IndexBarcode, main, ok bool) {
	for i, r := range t.codes.row(row) {
		v, kind := splitCode(t.codes.at(r))
		if cola.SameBarcode(v, value) {
			return cola.IndexBarcode{Value: v, Type: kind}, i == 0 && t.flags[row]&flagMainBarcode != 0, true
		}
	}
	return found, false, false
}
