package search

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// The columns of text. Those up to lastSearched are what a full-text query looks in.
const (
	colBrand = iota
	colProduct
	colClass
	colPermit
	colRecipient
	colType
	colOrigin // as vocabulary.PlaceOf has it
	colStatus
	colDomestic
	colContainer
	colCategory
	colState
	textColumns

	lastSearched = colRecipient
)

// The columns of numbers. Dates are numbers here, too.
const (
	numApproved = iota
	numApplied
	numImages
	numABV
	numVolume // milliliters
	numColumns
)

// Flags of a label.
const (
	flagHasBarcode  = 1 << iota // the summary's has_barcode
	flagMainBarcode             // the first of its barcodes is the main one
)

// textColumn is a column of strings: distinct values, and the number of each row's. Value 0 is the empty string.
type textColumn struct {
	dict
	ids packed
}

func (c *textColumn) value(row uint32) string { return c.at(c.ids.at(row)) }

// numColumn is a column of numbers of which some are unknown: value 0 stands for that.
type numColumn struct {
	vals []float64
	ids  packed
}

func (c *numColumn) value(row uint32) (v float64, ok bool) {
	id := c.ids.at(row)
	return c.vals[id], id != 0
}

// date returns a row's value in a column of dates.
func (c *numColumn) date(row uint32) cola.Date { return cola.Date(c.vals[c.ids.at(row)]) }

// table holds all that the index keeps of some labels, by column. Everything else in a segment follows from it, so that
// segments are folded from their tables alone.
type table struct {
	n     uint32
	ids   []uint64
	flags []uint8
	text  [textColumns]textColumn
	num   [numColumns]numColumn
	codes codeColumn

	// What follows holds only in result order, which merge puts rows in.
	byID   []uint32    // rows by ascending id
	days   []cola.Date // approval dates, newest first, then zero for undated rows
	dayOff []uint32    // rows of days[i] are dayOff[i] to below dayOff[i+1]
}

// codeColumn holds each row's barcodes.
type codeColumn struct {
	dict          // distinct values with their types, as joinCode writes them
	off  []uint32 // row i has refs[off[i]:off[i+1]]
	refs []uint32 // numbers in dict
}

func (c *codeColumn) row(i uint32) []uint32 { return c.refs[c.off[i]:c.off[i+1]] }

func joinCode(b cola.IndexBarcode) string { return b.Type + "\x00" + b.Value }

func splitCode(s string) (value, kind string) {
	kind, value, _ = strings.Cut(s, "\x00")
	return value, kind
}

// summary returns a row as lists show it. Its strings share the table's memory.
func (t *table) summary(row uint32) cola.ColaSummary {
	s := cola.ColaSummary{
		TTBID:             cola.TTBID(t.ids[row]),
		BrandName:         t.text[colBrand].value(row),
		ProductName:       cola.Text(t.text[colProduct].value(row)),
		ProductType:       vocabulary.ProductType(t.text[colType].value(row)),
		ClassName:         cola.Text(t.text[colClass].value(row)),
		OriginName:        cola.Text(vocabulary.PlaceName(t.text[colOrigin].value(row))),
		PermitNumber:      t.text[colPermit].value(row),
		ApplicationStatus: cola.Text(t.text[colStatus].value(row)),
		ApprovalDate:      t.num[numApproved].date(row),
		HasBarcode:        t.flags[row]&flagHasBarcode != 0,
	}
	if images, ok := t.num[numImages].value(row); ok {
		s.ImageCount = int(images)
	}
	return s
}

// position returns a row's place in the result order.
func (t *table) position(row uint32) cola.Position {
	return cola.Position{Date: t.num[numApproved].date(row), TTBID: cola.TTBID(t.ids[row])}
}

// before reports whether position a comes before b in the result order.
func before(a, b cola.Position) bool {
	if a.Date != b.Date {
		return a.Date > b.Date
	}
	return a.TTBID > b.TTBID
}

func (t *table) carry(c carrier) {
	carryNumber(c, &t.n)
	carry(c, &t.ids)
	carry(c, &t.flags)
	for i := range t.text {
		t.text[i].dict.carry(c)
		t.text[i].ids.carry(c)
	}
	for i := range t.num {
		carry(c, &t.num[i].vals)
		t.num[i].ids.carry(c)
	}
	t.codes.dict.carry(c)
	carry(c, &t.codes.off)
	carry(c, &t.codes.refs)
	carry(c, &t.byID)
	carry(c, &t.days)
	carry(c, &t.dayOff)
}
