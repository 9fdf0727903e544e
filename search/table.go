package search

import (
	"sort"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
)

// Flags of a label.
const (
	flagHasBarcode  = 1 << iota // the summary's has_barcode
	flagMainBarcode             // the first of its barcodes is the main one
	flagEstimated               // its date is an estimate
)

// table contains the indexed data of some labels, by column. The rest of a segment is derived from
// it and the names of permittees, so compaction does not read labels from the store.
type table struct {
	n     uint32
	ids   []uint64
	flags []uint8
	text  [textColumns]column.Text
	num   [numColumns]column.Numeric
	lists [listColumns]column.TextList

	// Only set for tables in result order, which mergeTables produces.
	byID     []uint32    // rows by ascending ID
	days     []cola.Date // effective dates, newest first, then zero for undated rows
	dayStart []uint32    // rows of days[i] are in [dayStart[i], dayStart[i+1])
}

// joinBarcode encodes a barcode with its type as one string.
func joinBarcode(b cola.IndexBarcode) string { return b.Type + "\x00" + b.Value }

// splitBarcode decodes the result of joinBarcode.
func splitBarcode(s string) (value, kind string) {
	kind, value, _ = strings.Cut(s, "\x00")
	return value, kind
}

// summary returns a row as a list record. Its strings share the memory of the table.
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
		HasBarcode:        t.flags[row]&flagHasBarcode != 0,
	}
	if date := t.date(numEffective, row); t.isEstimated(row) {
		s.SetEstimate(date)
	} else {
		s.ApprovalDate = date
	}
	if images, ok := t.num[numImages].Value(row); ok {
		s.ImageCount = int(images)
	}
	return s
}

// isEstimated reports whether a row's date is an estimate.
func (t *table) isEstimated(row uint32) bool { return t.flags[row]&flagEstimated != 0 }

// date returns a row's value in a column of dates, or zero if it is unknown.
func (t *table) date(column int, row uint32) cola.Date {
	c := &t.num[column]
	return cola.Date(c.Values[c.IDs.At(row)])
}

// position returns a row's position in result order.
func (t *table) position(row uint32) cola.Position {
	return cola.Position{Date: t.date(numEffective, row), TTBID: cola.TTBID(t.ids[row])}
}

// ranksBefore reports whether a comes before b in result order.
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
	for i := range t.lists {
		t.lists[i].Dict.Serialize(c)
		codec.Slice(c, &t.lists[i].Rows)
		codec.Slice(c, &t.lists[i].Refs)
	}
	codec.Slice(c, &t.byID)
	codec.Slice(c, &t.days)
	codec.Slice(c, &t.dayStart)
}

// undated returns the range [lo, hi) of documents without an effective date.
func (t *table) undated() (lo, hi uint32) {
	_, lo = t.window(1, 0)
	return lo, t.n
}

// doc returns the row with the given ID. The table must be in result order.
func (t *table) doc(id cola.TTBID) (row uint32, ok bool) {
	i := t.idFrom(uint64(id))
	if i == len(t.byID) || t.ids[t.byID[i]] != uint64(id) {
		return 0, false
	}
	return t.byID[i], true
}

// idFrom returns the position in byID of the first ID that is not below id.
func (t *table) idFrom(id uint64) int {
	return sort.Search(len(t.byID), func(i int) bool { return t.ids[t.byID[i]] >= id })
}

// idDigits is the number of digits in a TTB ID.
const idDigits = 14

// idsWithPrefix returns the rows whose ID begins with digits (1 to 14 of them), in ascending order
// of their IDs.
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

// window returns the range [lo, hi) of documents with an effective date between two dates,
// inclusive. A zero date leaves that end open. If either date is set, undated documents are
// excluded.
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

// after returns the first document after a position.
func (t *table) after(p cola.Position) uint32 {
	i := sort.Search(len(t.days), func(i int) bool { return t.days[i] <= p.Date })
	if i == len(t.days) || t.days[i] != p.Date {
		return t.dayStart[i]
	}
	ids := t.ids[t.dayStart[i]:t.dayStart[i+1]]
	return t.dayStart[i] + uint32(sort.Search(len(ids), func(i int) bool { return ids[i] < uint64(p.TTBID) }))
}

// barcode returns the first barcode of a row that is equivalent to value.
func (t *table) barcode(row uint32, value string) (found cola.IndexBarcode) {
	barcodes := &t.lists[listBarcode]
	for _, r := range barcodes.Row(row) {
		v, kind := splitBarcode(barcodes.At(r))
		if vocabulary.SameBarcode(v, value) {
			return cola.IndexBarcode{Value: v, Type: kind}
		}
	}
	return found
}
