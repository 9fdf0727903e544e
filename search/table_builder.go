package search

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// rows collects labels as they come, until they are made a table.
type rows struct {
	t    table
	text [textColumns]struct {
		values *interner
		ids    []uint32
	}
	num [numColumns]struct {
		values *numbers
		ids    []uint32
	}
	codes *interner
}

func newRows() *rows {
	r := &rows{codes: newInterner()}
	for i := range r.text {
		r.text[i].values = newInterner()
	}
	for i := range r.num {
		r.num[i].values = newNumbers()
	}
	r.t.codes.off = []uint32{0}
	return r
}

// add copies what the index keeps of a label.
func (r *rows) add(l *cola.IndexRecord) {
	s := &l.Summary
	r.t.n++
	r.t.ids = append(r.t.ids, uint64(s.TTBID))
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
		c.ids = append(c.ids, c.values.id(v))
	}
	r.number(numApproved, float64(s.ApprovalDate), s.ApprovalDate != 0)
	r.number(numApplied, float64(l.ApplicationDate), l.ApplicationDate != 0)
	r.number(numImages, float64(s.ImageCount), s.ImageCount != 0)
	r.number(numABV, l.ABV.V, l.ABV.OK)
	ml, ok := vocabulary.Milliliters(l.Volume.V, l.VolumeUnit)
	r.number(numVolume, ml, ok && l.Volume.OK)
	r.barcodes(l)
}

func (r *rows) number(column int, v float64, known bool) {
	c := &r.num[column]
	c.ids = append(c.ids, c.values.id(v, known))
}

// barcodes keeps a label's barcodes, the main one first.
func (r *rows) barcodes(l *cola.IndexRecord) {
	var flags uint8
	if l.Summary.HasBarcode {
		flags |= flagHasBarcode
	}
	keep := func(b cola.IndexBarcode) { r.t.codes.refs = append(r.t.codes.refs, r.codes.id(joinCode(b))) }
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
	r.t.flags = append(r.t.flags, flags)
	r.t.codes.off = append(r.t.codes.off, uint32(len(r.t.codes.refs)))
}

// table returns the labels as a table in the order they came; the rows are spent.
func (r *rows) table() *table {
	t := r.t
	for i := range r.text {
		t.text[i] = textColumn{dict: r.text[i].values.dict(), ids: pack(r.text[i].ids)}
	}
	for i := range r.num {
		t.num[i] = numColumn{vals: r.num[i].values.vals, ids: pack(r.num[i].ids)}
	}
	t.codes.dict = r.codes.dict()
	t.ids, t.flags = exact(t.ids), exact(t.flags)
	t.codes.off, t.codes.refs = exact(t.codes.off), exact(t.codes.refs)
	*r = rows{}
	return &t
}
