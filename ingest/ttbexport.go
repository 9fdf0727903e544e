package ingest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// ttbDecoder decodes rows of TTB's registry export.
//
// Completed Date is the day of the latest update, not of the approval, which the export does not tell. The serial number is
// not kept. The product type follows from the class code and whether it is imported from the origin code, where TTB's codes
// are known. An empty field leaves what is stored.
func ttbDecoder() decodeFunc[cola.Cola] {
	r := newRecordReader()
	return func(raw []byte, patch *cola.Patch[cola.Cola], notes notes) string {
		r.begin(notes)
		raw, problem := r.csvText(raw)
		if problem != "" {
			return problem
		}
		row, err := r.ttbRow(raw)
		if err != nil {
			return err.Error()
		}
		label, err := ttbLabel(row)
		if err != nil {
			return err.Error()
		}
		carried := carriedBy(label)
		settleCola(r, &label, carried)
		patch.Record, patch.Fields = label, carried
		return r.problems.String()
	}
}

// ttbRow splits a row, first as it should be, then with quotes that are not in order taken as text.
func (r *recordReader) ttbRow(raw []byte) (ttbRow, error) {
	strict := append([]byte(nil), raw...) // splitting changes it
	var row ttbRow
	var err error
	if r.cells, err = splitCSV(strict, r.cells[:0], false); err == nil {
		row, err = readTTBRow(r.cells)
	}
	if err == nil {
		return row, nil
	}
	if r.cells, _ = splitCSV(raw, r.cells[:0], true); errors.Is(err, errOpenQuote) || errors.Is(err, errBareQuote) {
		return readTTBRow(r.cells)
	}
	return ttbRow{}, err
}

// ttbLabel returns the label that a row tells.
func ttbLabel(row ttbRow) (cola.Cola, error) {
	var label cola.Cola
	id := unwrapText(row[ttbID])
	if err := setTTBID(&label.TTBID, id); err != nil {
		return label, fmt.Errorf("TTB ID: %w", err)
	}
	if completed := unwrapText(row[ttbCompleted]); completed != "" {
		day, err := time.Parse("1/2/2006", completed)
		if err != nil {
			return label, fmt.Errorf("the completed date %s is not a date; it is written MM/DD/YYYY", quote(completed))
		}
		label.LatestUpdateDate = cola.DateOf(day)
	}
	label.PermitNumber = unwrapText(row[ttbPermit])
	label.ProductName = cola.Text(row[ttbFanciful])
	label.BrandName = row[ttbBrand]
	label.OriginID = cola.Text(strings.ToUpper(unwrapText(row[ttbOrigin])))
	label.OriginName = cola.Text(row[ttbOriginDesc])
	label.ClassID = cola.Text(strings.ToUpper(unwrapText(row[ttbClass])))
	label.ClassName = cola.Text(row[ttbClassDesc])
	if kind, ok := vocabulary.ProductTypeOfClass(string(label.ClassID)); ok {
		label.ProductType = kind
	}
	if origin, ok := ttbOrigins[string(label.OriginID)]; ok {
		label.DomesticOrImported = vocabulary.Imported
		if origin.Domestic {
			label.DomesticOrImported = vocabulary.Domestic
		}
	}
	return label, nil
}

func unwrapText(s string) string { return string(unwrapCode([]byte(s))) }

// ttbFields are the fields that the export can tell, each with whether a label of its tells it.
var ttbFields = []struct {
	index int
	told  func(*cola.Cola) bool
}{
	{cola.FieldIndex[cola.Cola]("ttb_id"), func(*cola.Cola) bool { return true }},
	{cola.FieldIndex[cola.Cola]("permit_number"), func(c *cola.Cola) bool { return c.PermitNumber != "" }},
	{cola.FieldIndex[cola.Cola]("latest_update_date"), func(c *cola.Cola) bool { return c.LatestUpdateDate != 0 }},
	{cola.FieldIndex[cola.Cola]("product_name"), func(c *cola.Cola) bool { return c.ProductName != "" }},
	{cola.FieldIndex[cola.Cola]("brand_name"), func(c *cola.Cola) bool { return c.BrandName != "" }},
	{cola.FieldIndex[cola.Cola]("origin_id"), func(c *cola.Cola) bool { return c.OriginID != "" }},
	{cola.FieldIndex[cola.Cola]("origin_name"), func(c *cola.Cola) bool { return c.OriginName != "" }},
	{cola.FieldIndex[cola.Cola]("class_id"), func(c *cola.Cola) bool { return c.ClassID != "" }},
	{cola.FieldIndex[cola.Cola]("class_name"), func(c *cola.Cola) bool { return c.ClassName != "" }},
	{cola.FieldIndex[cola.Cola]("product_type"), func(c *cola.Cola) bool { return c.ProductType != "" }},
	{cola.FieldIndex[cola.Cola]("domestic_or_imported"), func(c *cola.Cola) bool { return c.DomesticOrImported != "" }},
}

// carriedBy returns the fields that a row of the export carries.
func carriedBy(label cola.Cola) cola.Fields {
	var carried cola.Fields
	for _, f := range ttbFields {
		if f.told(&label) {
			carried = carried.With(f.index)
		}
	}
	return carried
}
