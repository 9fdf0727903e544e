package mcp

import (
	"reflect"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
)

// labelSummaryFields identify a label and link to related records.
var labelSummaryFields = []string{
	"ttb_id", "brand_name", "product_name", "product_type", "class_name", "origin_name", "permit_number",
	"application_status", "approval_date", "approval_date_estimate", "date_is_estimated",
}

// permitteeSummaryFields identify and summarize a permittee.
var permitteeSummaryFields = []string{
	"permit_number", "company_name", "operating_name", "company_state", "permittee_type", "is_active", "colas",
	"colas_approved",
	"last_cola_application_date",
}

// conciseFields names the fields of the concise format by type. Other types have the same fields in
// both formats.
var conciseFields = map[reflect.Type][]string{
	reflect.TypeFor[cola.ColaRow](): slices.Concat(labelSummaryFields, []string{"company_name", "abv", "volume_ml"}),
	reflect.TypeFor[cola.Cola](): slices.Concat(labelSummaryFields, []string{
		"image_count", "application_date", "expiration_date", "domestic_or_imported", "address_recipient",
		"address_state",
		"grape_varietals", "wine_vintage_year", "wine_appellation", "abv", "volume", "volume_unit",
		"llm_container_type", "llm_product_description", "llm_category_path", "llm_tasting_note_flavors",
		"llm_wine_designation",
		"llm_beer_ibu", "llm_beer_hops_varieties", "llm_liquor_aged_years", "llm_liquor_finishing_process",
		"llm_liquor_grains",
		"barcode_value", "main_image_url",
	}),
	reflect.TypeFor[cola.BrandHolder]():      {"permit_number", "company_name"},
	reflect.TypeFor[cola.PermitteeSummary](): permitteeSummaryFields,
	reflect.TypeFor[permitteeRecord](): slices.Concat(permitteeSummaryFields,
		[]string{"company_zip_code", "active_reason", "recent_colas"}),
	reflect.TypeFor[cola.AVA](): {"ava_id", "name", "states", "established_date", "removed_date", "valid_end_date"},
	reflect.TypeFor[cola.ProductionReport](): {
		"commodity", "report_type", "year", "month_number", "statistical_group", "statistical_category",
		"statistical_detail",
		"value", "value_unit", "is_redacted",
	},
}

// outputField is a field of a record in a result.
type outputField struct {
	name    string
	index   []int
	typ     reflect.Type
	tag     reflect.StructTag
	omitted bool // concise format: omitted if unknown or empty
}

// outputFields returns the fields of a record in the order in which its struct declares them.
func outputFields(t reflect.Type, detailed bool) (shown []outputField) {
	names, listed := conciseFields[t]
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" || !detailed && listed && !slices.Contains(names, name) {
			continue
		}
		omitted := f.Tag.Get("nullable") == "true" || schemas.OrNull(f.Tag) || strings.HasPrefix(options, "omit") ||
			f.Type == reflect.TypeFor[[]string]()
		shown = append(shown, outputField{name, f.Index, f.Type, f.Tag, omitted})
	}
	return shown
}

// view writes records in one of the two formats.
type view struct{ detailed bool }

// append appends a record, or a list of them, as JSON.
func (v view) append(b []byte, record any) []byte {
	if v.detailed {
		b, err := cola.AppendJSON(b, record)
		if err != nil {
			panic(err) // unreachable: every record can be encoded as JSON
		}
		return b
	}
	return appendConcise(b, reflect.ValueOf(record))
}

func appendConcise(b []byte, v reflect.Value) []byte {
	switch {
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendConcise(b, v.Index(i))
		}
		return append(b, ']')
	case isRecord(v.Type()):
		return appendConciseRecord(b, v)
	}
	return view{detailed: true}.append(b, v.Interface())
}

func appendConciseRecord(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	first := true
	for _, f := range outputFields(v.Type(), false) {
		value := v.FieldByIndex(f.index)
		if f.omitted && (value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendConcise(append(cola.AppendJSONString(b, f.name), ':'), value)
	}
	return append(b, '}')
}
