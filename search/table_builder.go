package search

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
)

// tableBuilder collects labels for a table.
type tableBuilder struct {
	table table
	text  [textColumns]struct {
		values *column.Interner
		ids    []uint32
	}
	num [numColumns]struct {
		values *column.NumberInterner
		ids    []uint32
	}
	lists  [listColumns]*column.Interner // values; the table has the rows
	values []string                      // working memory
}

// newTableBuilder returns an empty builder.
func newTableBuilder() *tableBuilder {
	r := &tableBuilder{}
	for i := range r.text {
		r.text[i].values = column.NewInterner()
	}
	for i := range r.num {
		r.num[i].values = column.NewNumberInterner()
	}
	for i := range r.lists {
		r.lists[i] = column.NewInterner()
		r.table.lists[i].Rows = []uint32{0}
	}
	return r
}

// add copies the indexed data of a label.
func (r *tableBuilder) add(l *cola.IndexRecord) {
	r.table.n++
	r.table.ids = append(r.table.ids, uint64(l.Summary.TTBID))
	r.table.flags = append(r.table.flags, flagsOf(l))
	for i := range r.text {
		c := &r.text[i]
		c.ids = append(c.ids, c.values.ID(textFields[i].read(l)))
	}
	for i := range r.num {
		c := &r.num[i]
		c.ids = append(c.ids, c.values.ID(numFields[i].read(l)))
	}
	for i := range r.lists {
		c := &r.table.lists[i]
		r.values = listFields[i].read(l, r.values[:0])
		for _, value := range r.values {
			c.Refs = append(c.Refs, r.lists[i].ID(value))
		}
		c.Rows = append(c.Rows, uint32(len(c.Refs)))
	}
}

// flagsOf returns the flags of a label.
func flagsOf(l *cola.IndexRecord) (flags uint8) {
	if l.Summary.HasBarcode {
		flags |= flagHasBarcode
	}
	if l.MainBarcode != "" {
		flags |= flagMainBarcode
	}
	if l.Summary.DateIsEstimated {
		flags |= flagEstimated
	}
	return flags
}

// build returns the labels as a table in order of arrival. The builder must not be used afterward.
func (r *tableBuilder) build() *table {
	t := r.table
	for i := range r.text {
		t.text[i] = column.Text{Dict: r.text[i].values.Dict(), IDs: column.Pack(r.text[i].ids)}
	}
	for i := range r.num {
		t.num[i] = column.Numeric{Values: r.num[i].values.Values, IDs: column.Pack(r.num[i].ids)}
	}
	for i := range r.lists {
		c := &t.lists[i]
		*c = column.TextList{Dict: r.lists[i].Dict(), Rows: codec.Shrink(c.Rows), Refs: codec.Shrink(c.Refs)}
	}
	t.ids, t.flags = codec.Shrink(t.ids), codec.Shrink(t.flags)
	*r = tableBuilder{}
	return &t
}
