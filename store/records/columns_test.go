package records

import (
	"reflect"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestColumnsComplete fails if a field of a record has no column, or a column has no field.
func TestColumnsComplete(t *testing.T) {
	var c cola.Cola
	var a cola.AVADetail
	var r cola.ProductionReport
	for _, table := range []struct {
		name          string
		columns       []Column
		record        reflect.Value
		fields        []cola.Field
		withoutColumn []string // fields in separate tables, derived fields, and the key
	}{
		{
			"colas", ColaColumns(&c), reflect.ValueOf(&c), cola.FieldsOf[cola.Cola](),
			[]string{"ttb_id", "has_barcode", "images", "barcodes", "approval_date_estimate", "date_is_estimated"},
		},
		{"avas", AVAs.Columns(&a), reflect.ValueOf(&a), cola.FieldsOf[cola.AVADetail](), nil},
		{
			"production_reports", ProductionReports.Columns(&r),
			reflect.ValueOf(&r), cola.FieldsOf[cola.ProductionReport](), nil,
		},
	} {
		columns := map[string]any{}
		for _, col := range table.columns {
			columns[col.Name] = col.Field
		}
		if table.name == "colas" {
			delete(columns, "date_estimate") // not a field of responses
		}
		for _, name := range table.withoutColumn {
			columns[name] = nil
		}
		for _, f := range table.fields {
			ptr, ok := columns[f.Name]
			if !ok {
				t.Errorf("%s: no column for field %s", table.name, f.Name)
			}
			if want := table.record.Elem().FieldByIndex(f.Index).Addr().Interface(); ptr != nil && ptr != want {
				t.Errorf("%s: column %s does not point to its field", table.name, f.Name)
			}
			delete(columns, f.Name)
		}
		if len(columns) > 0 {
			t.Errorf("%s: columns without a field = %v, want none", table.name, columns)
		}
	}
}
