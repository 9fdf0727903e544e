package search

import (
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
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

// table holds all that the index keeps of some labels, by column. Everything else in a segment follows from it, so that
// segments are folded from their tables alone.
type table struct {
	n        uint32
	ids      []uint64
	flags    []uint8
	text     [textColumns]column.Text
	num      [numColumns]column.Numeric
	barcodes column.TextList

	// What follows holds only in result order, which merge puts rows in.
	byID     []uint32    // rows by ascending id
	days     []cola.Date // approval dates, newest first, then zero for undated rows
	dayStart []uint32    // rows of days[i] are dayOff[i] to below dayOff[i+1]
}

func joinBarcode(b cola.IndexBarcode) string { return b.Type + "\x00" + b.Value }

func splitBarcode(s string) (value, kind string) {
	kind, value, _ = strings.Cut(s, "\x00")
	return value, kind
}

// summary returns a row as lists show it. Its strings share the table's memory.
func (t *table) summary(row uint32) cola.ColaSummary {
	s := cola.ColaSummary{
		TTBID:             cola.TTBID(t.ids[row]),
		BrandName:         t.text[colBrand].Value(row),
		ProductName:       cola.Text(t.text[colProduct].Value(row)),
		ProductType:       vocabulary.ProductType(t.text[colType].Value(row)),
		ClassName:         cola.Text(t.text[colClass].Value(row)),
		OriginName:        cola.Text(vocabulary.PlaceName(t.text[colOrigin].Value(row))),
		PermitNumber:      t.text[colPermit].Value(row),
		ApplicationStatus: cola.Text(t.text[colStatus].Value(row)),
		ApprovalDate:      t.date(numApproved, row),
		HasBarcode:        t.flags[row]&flagHasBarcode != 0,
	}
	if images, ok := t.num[numImages].Value(row); ok {
		s.ImageCount = int(images)
	}
	return s
}

// date returns a row's value in a column of dates, zero if unknown.
func (t *table) date(column int, row uint32) cola.Date {
	c := &t.num[column]
	return cola.Date(c.Values[c.IDs.At(row)])
}

// position returns a row's place in the result order.
func (t *table) position(row uint32) cola.Position {
	return cola.Position{Date: t.date(numApproved, row), TTBID: cola.TTBID(t.ids[row])}
}

// ranksBefore reports whether position a comes before b in the result order.
func ranksBefore(a, b cola.Position) bool {
	if a.Date != b.Date {
		return a.Date > b.Date
	}
	return a.TTBID > b.TTBID
}

func (t *table) serialize(c codec.Codec) {
	codec.Int(c, &t.n)
	codec.Slice(c, &t.ids)
	codec.Slice(c, &t.flags)
	for i := range t.text {
		t.text[i].Dict.Serialize(c)
		t.text[i].IDs.Serialize(c)
	}
	for i := range t.num {
		codec.Slice(c, &t.num[i].Values)
		t.num[i].IDs.Serialize(c)
	}
	t.barcodes.Dict.Serialize(c)
	codec.Slice(c, &t.barcodes.Rows)
	codec.Slice(c, &t.barcodes.Refs)
	codec.Slice(c, &t.byID)
	codec.Slice(c, &t.days)
	codec.Slice(c, &t.dayStart)
}

// undated returns the range of documents without an approval date.
func (t *table) undated() (lo, hi uint32) {
	_, lo = t.window(1, 0)
	return lo, t.n
}

// doc returns the row of a table in result order that has the id.
func (t *table) doc(id cola.TTBID) (row uint32, ok bool) {
	i := t.idFrom(uint64(id))
	if i == len(t.byID) || t.ids[t.byID[i]] != uint64(id) {
		return 0, false
	}
	return t.byID[i], true
}

// idFrom returns where in byID the first id that is not below id stands.
func (t *table) idFrom(id uint64) int {
	return sort.Search(len(t.byID), func(i int) bool { return t.ids[t.byID[i]] >= id })
}

// idDigits is the length of a TTB id.
const idDigits = 14

// idsWithPrefix returns the rows, in no useful order, whose id begins with the digits. Anything but up to 14 digits is the
// prefix of none, and so is no digit at all.
func (t *table) idsWithPrefix(digits string) []uint32 {
	if len(digits) == 0 || len(digits) > idDigits {
		return nil
	}
	var from uint64
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil
		}
		from = from*10 + uint64(digits[i]-'0')
	}
	to := from + 1
	for range idDigits - len(digits) {
		from, to = from*10, to*10
	}
	return t.byID[t.idFrom(from):t.idFrom(to)]
}

// window returns the documents approved from one day to another, as a range. A zero day is open; when either is given,
// undated documents are left out.
func (t *table) window(from, to cola.Date) (lo, hi uint32) {
	if from == 0 && to == 0 {
		return 0, t.n
	}
	if to != 0 {
		lo = t.dayStart[sort.Search(len(t.days), func(i int) bool { return t.days[i] <= to })]
	}
	from = max(from, 1)
	hi = t.dayStart[sort.Search(len(t.days), func(i int) bool { return t.days[i] < from })]
	return lo, max(lo, hi)
}

// after returns the first document that comes after a position.
func (t *table) after(p cola.Position) uint32 {
	i := sort.Search(len(t.days), func(i int) bool { return t.days[i] <= p.Date })
	if i == len(t.days) || t.days[i] != p.Date {
		return t.dayStart[i]
	}
	ids := t.ids[t.dayStart[i]:t.dayStart[i+1]]
	return t.dayStart[i] + uint32(sort.Search(len(ids), func(i int) bool { return ids[i] < uint64(p.TTBID) }))
}

// barcode returns the first of a row's barcodes that means the same as value.
func (t *table) barcode(row uint32, value string) (found cola.IndexBarcode) {
	for _, r := range t.barcodes.Row(row) {
		v, kind := splitBarcode(t.barcodes.At(r))
		if vocabulary.SameBarcode(v, value) {
			return cola.IndexBarcode{Value: v, Type: kind}
		}
	}
	return found
}
