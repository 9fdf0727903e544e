package search

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
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
	barcodes *column.Interner
}

// newTableBuilder returns an empty builder.
func newTableBuilder() *tableBuilder {
	r := &tableBuilder{barcodes: column.NewInterner()}
	for i := range r.text {
		r.text[i].values = column.NewInterner()
	}
	for i := range r.num {
		r.num[i].values = column.NewNumberInterner()
	}
	r.table.barcodes.Rows = []uint32{0}
	return r
}

// add copies what the index keeps of a label.
func (r *tableBuilder) add(l *cola.IndexRecord) {
	s := &l.Summary
	r.table.n++
	r.table.ids = append(r.table.ids, uint64(s.TTBID))
	for i, v := range [textColumns]string{
		colBrand:     s.BrandName,
		colProduct:   string(s.ProductName),
		colClass:     string(s.ClassName),
		colPermit:    s.PermitNumber,
		colRecipient: l.AddressRecipient,
		colType:      string(s.ProductType),
		colOrigin:    vocabulary.PlaceOf(string(s.OriginName), l.OriginID, l.DomesticOrImported),
		colStatus:    string(s.ApplicationStatus),
		colDomestic:  l.DomesticOrImported,
		colContainer: l.ContainerType,
		colCategory:  vocabulary.NormalizePath(l.CategoryPath),
		colState:     l.AddressState,
	} {
		c := &r.text[i]
		c.ids = append(c.ids, c.values.ID(v))
	}
	r.addNumber(numApproved, float64(s.ApprovalDate), s.ApprovalDate != 0)
	r.addNumber(numApplied, float64(l.ApplicationDate), l.ApplicationDate != 0)
	r.addNumber(numImages, float64(s.ImageCount), s.ImageCount != 0)
	r.addNumber(numABV, l.ABV.V, l.ABV.OK)
	ml, ok := vocabulary.Milliliters(l.Volume.V, l.VolumeUnit)
	r.addNumber(numVolume, ml, ok && l.Volume.OK)
	r.addBarcodes(l)
}

// addNumber appends a value to a column of numbers.
func (r *tableBuilder) addNumber(column int, v float64, known bool) {
	c := &r.num[column]
	c.ids = append(c.ids, c.values.ID(v, known))
}

// addBarcodes appends a label's barcodes, the main one first.
func (r *tableBuilder) addBarcodes(l *cola.IndexRecord) {
	var flags uint8
	if l.Summary.HasBarcode {
		flags |= flagHasBarcode
	}
	keep := func(b cola.IndexBarcode) {
		r.table.barcodes.Refs = append(r.table.barcodes.Refs, r.barcodes.ID(joinBarcode(b)))
	}
	if l.MainBarcode != "" {
		flags |= flagMainBarcode
		main := cola.IndexBarcode{Value: l.MainBarcode}
		for _, b := range l.Barcodes {
			if b.Value == main.Value {
				main = b
				break
			}
		}
		keep(main)
	}
	for _, b := range l.Barcodes {
		if b.Value != "" && b.Value != l.MainBarcode {
			keep(b)
		}
	}
	r.table.flags = append(r.table.flags, flags)
	r.table.barcodes.Rows = append(r.table.barcodes.Rows, uint32(len(r.table.barcodes.Refs)))
}

// build returns the labels as a table in order of arrival. The builder must not be used afterwards.
func (r *tableBuilder) build() *table {
	t := r.table
	for i := range r.text {
		t.text[i] = column.Text{Dict: r.text[i].values.Dict(), IDs: column.Pack(r.text[i].ids)}
	}
	for i := range r.num {
		t.num[i] = column.Numeric{Values: r.num[i].values.Values, IDs: column.Pack(r.num[i].ids)}
	}
	t.barcodes.Dict = r.barcodes.Dict()
	t.ids, t.flags = codec.Shrink(t.ids), codec.Shrink(t.flags)
	t.barcodes.Rows, t.barcodes.Refs = codec.Shrink(t.barcodes.Rows), codec.Shrink(t.barcodes.Refs)
	*r = tableBuilder{}
	return &t
}
