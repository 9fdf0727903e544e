package search

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// The tables below describe the indexed fields of labels: how a field is read from a record and
// which query condition filters on it. Table builders, compaction, indexes, snapshots and plans
// loop over them, so adding a filtered field takes one row.

// snapshotMagic identifies the columns of a snapshot and the analysis of their text. Change it
// whenever they change; older snapshots are then rejected and the index is rebuilt.
const snapshotMagic = "colaidxe"

// snapshotFormat returns the first string in a snapshot, which identifies its format version. It
// includes the version of the category table, because the values of one column are derived from it.
func snapshotFormat() string { return snapshotMagic + "-" + vocabulary.CategoryTableVersion() }

// Text columns. Full-text queries search those up to lastSearched.
const (
	colBrand = iota
	colProduct
	colClass
	colPermit
	colRecipient
	colType
	colOrigin // as vocabulary.PlaceOf returns it
	colStatus
	colDomestic
	colContainer
	colCategory
	colState
	textColumns

	lastSearched = colRecipient
)

// textField describes a text column.
type textField struct {
	read func(r *cola.IndexRecord) string
	// anyOf returns the values that a query accepts, in any letter case; nil if it has no such
	// condition.
	anyOf func(q *cola.Query) []string
	group []string // values whose union is precomputed, because queries often ask for them together
	// contains returns the substring that a query requires, if any. Only columns up to lastSearched
	// can set it.
	contains  func(q *cola.Query) string
	fold      func(string) string // form in which parts are compared
	unionCost int                 // passed to unionLimit; costlier unions for contains are precomputed
}

var textFields = [textColumns]textField{
	colBrand: {
		read:      func(r *cola.IndexRecord) string { return r.Summary.BrandName },
		contains:  brandPart,
		fold:      text.FoldName,
		unionCost: maxUnionCost,
	},
	colProduct: {read: func(r *cola.IndexRecord) string { return string(r.Summary.ProductName) }},
	colClass: {
		read:  func(r *cola.IndexRecord) string { return string(r.Summary.ClassName) },
		anyOf: func(q *cola.Query) []string { return only(q.Class) },
	},
	colPermit: { // whole permit numbers are found by permitOrder
		read:      func(r *cola.IndexRecord) string { return r.Summary.PermitNumber },
		contains:  func(q *cola.Query) string { return q.PermitPart },
		fold:      text.Fold,
		unionCost: maxPermitUnionCost,
	},
	colRecipient: {read: func(r *cola.IndexRecord) string { return r.AddressRecipient }},
	colType: {
		read:  func(r *cola.IndexRecord) string { return string(r.Summary.ProductType) },
		anyOf: func(q *cola.Query) []string { return unlessEmpty(q.ProductTypes) },
	},
	colOrigin: {
		read: func(r *cola.IndexRecord) string {
			return vocabulary.PlaceOf(string(r.Summary.OriginName), r.OriginID, r.DomesticOrImported)
		},
		anyOf: func(q *cola.Query) []string { return q.OriginNames },
		// American is the only query value that covers many origins. Most labels have one of them.
		group: vocabulary.OriginNames("american"),
	},
	colStatus: {
		read:  func(r *cola.IndexRecord) string { return string(r.Summary.ApplicationStatus) },
		anyOf: func(q *cola.Query) []string { return only(q.Status) },
	},
	colDomestic: {
		read:  func(r *cola.IndexRecord) string { return r.DomesticOrImported },
		anyOf: func(q *cola.Query) []string { return only(q.Domestic) },
	},
	colContainer: {
		read:  func(r *cola.IndexRecord) string { return r.ContainerType },
		anyOf: func(q *cola.Query) []string { return unlessEmpty(q.Containers) },
	},
	colCategory: { // filtered by categoryIndex
		read: func(r *cola.IndexRecord) string { return vocabulary.NormalizePath(r.EffectiveCategory()) },
	},
	colState: {
		read:  func(r *cola.IndexRecord) string { return r.AddressState },
		anyOf: func(q *cola.Query) []string { return only(q.AddressState) },
	},
}

// brandPart returns the part of a brand name that a query asks for, or "" if it asks for a whole
// brand.
func brandPart(q *cola.Query) string {
	if _, ok := cola.WholeBrand(q.BrandName); ok {
		return ""
	}
	return q.BrandName
}

// only returns the condition that a field has the given value; nil for the empty string.
func only(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// unlessEmpty returns the condition that a field has one of the given values; nil if there are
// none.
func unlessEmpty(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return values
}

// Columns of numbers. Dates are stored as numbers.
const (
	numEffective = iota // approval date, or its estimate if unknown
	numApplied
	numImages
	numABV
	numVolume // milliliters
	numUpdated
	numEstimateError // days from the approval date to its estimate
	numColumns
)

// numField describes a column of numbers.
type numField struct {
	read    func(r *cola.IndexRecord) (v float64, known bool)
	between func(q *cola.Query) (minValue, maxValue cola.Opt[float64]) // inclusive bounds of a query
}

var numFields = [numColumns]numField{
	numEffective: {read: func(r *cola.IndexRecord) (float64, bool) { return known(r.Summary.EffectiveDate()) }},
	numApplied:   {read: func(r *cola.IndexRecord) (float64, bool) { return known(r.ApplicationDate) }},
	numImages:    {read: func(r *cola.IndexRecord) (float64, bool) { return known(r.Summary.ImageCount) }},
	numABV: {
		read:    func(r *cola.IndexRecord) (float64, bool) { return r.ABV.V, r.ABV.OK },
		between: func(q *cola.Query) (minABV, maxABV cola.Opt[float64]) { return q.ABVMin, q.ABVMax },
	},
	numVolume: {
		read: func(r *cola.IndexRecord) (float64, bool) {
			ml, ok := vocabulary.Milliliters(r.Volume.V, r.VolumeUnit)
			return ml, ok && r.Volume.OK
		},
		between: func(q *cola.Query) (minVolume, maxVolume cola.Opt[float64]) { return q.VolumeMin, q.VolumeMax },
	},
	numUpdated:       {read: func(r *cola.IndexRecord) (float64, bool) { return known(r.LatestUpdateDate) }},
	numEstimateError: {read: estimateError},
}

// estimateError returns the number of days from a known approval date to its estimate.
func estimateError(r *cola.IndexRecord) (float64, bool) {
	return float64(r.DateEstimate - r.Summary.ApprovalDate), r.DateEstimate != 0 && r.Summary.ApprovalDate != 0
}

// known returns v and whether it is known. Zero means unknown.
func known[T ~int | ~int32](v T) (float64, bool) { return float64(v), v != 0 }

// Text list columns.
const (
	listBarcode = iota // barcodes with their types, the main one first
	listGrape
	listAppellation
	listColumns
)

// listField describes a text list column.
type listField struct {
	read func(r *cola.IndexRecord, dst []string) []string // appends the values
	// anyOf returns the values that a query accepts; nil if it has no such condition. fold returns
	// the form in which it compares values.
	anyOf func(q *query) []string
	fold  func(string) string
}

var listFields = [listColumns]listField{
	listBarcode: {read: readBarcodes}, // filtered by barcodeIndex
	listGrape: {
		read:  func(r *cola.IndexRecord, dst []string) []string { return append(dst, r.GrapeVarietals...) },
		anyOf: func(q *query) []string { return only(q.Grape) },
		fold:  text.Fold,
	},
	listAppellation: {
		read: func(r *cola.IndexRecord, dst []string) []string {
			if r.WineAppellation == "" {
				return dst
			}
			return append(dst, r.WineAppellation)
		},
		anyOf: func(q *query) []string { return q.appellations },
		fold:  text.Fold,
	},
}

// readBarcodes appends a label's barcodes, the main one first.
func readBarcodes(r *cola.IndexRecord, dst []string) []string {
	if r.MainBarcode != "" {
		main := cola.IndexBarcode{Value: r.MainBarcode}
		for _, b := range r.Barcodes {
			if b.Value == main.Value {
				main = b
				break
			}
		}
		dst = append(dst, joinBarcode(main))
	}
	for _, b := range r.Barcodes {
		if b.Value != "" && b.Value != r.MainBarcode {
			dst = append(dst, joinBarcode(b))
		}
	}
	return dst
}
