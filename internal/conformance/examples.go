package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// example is a tool call on demo data. Arguments may refer to values from earlier responses, such
// as $ttb_id.
type example struct {
	tool, arguments string
	// keep stores the values that later examples need. It may be nil.
	keep func(content map[string]any, known map[string]string) error
}

// examples call every tool, in an order that makes the required values available.
var examples = []example{
	{"search_colas", `{"product_type":["wine","malt beverage"],"approval_date_from":"2005-01-01","per_page":50,"response_format":"detailed"}`, keepLabel},
	{"count_labels", `{"group_by":["year","product_type"],"date_range":"all"}`, nil},
	{"get_cola", `{"ttb_id":"$ttb_id","response_format":"detailed"}`, keepBarcode},
	{"lookup_barcode", `{"barcode_value":"$barcode_value"}`, nil},
	{"check_brand", `{"q":"Ravin and Oak","per_page":2}`, nil},
	{"search_permittees", `{"state":"CA","is_active":true,"per_page":2}`, nil},
	{"get_permittee", `{"permit_number":"$permit_number"}`, nil},
	{"suggest_values", `{"field":"brand","q":"oak"}`, nil},
	{"search", `{"query":"oak"}`, nil},
	{"fetch", `{"id":"$ttb_id"}`, nil},
	{"get_usage", `{}`, nil},
	{"get_processing_times", `{"kind":"cola","commodity":"wine","latest":true}`, nil},
	{"get_processing_times", `{"kind":"formula"}`, nil},
	{"get_processing_times", `{"kind":"registration"}`, nil},
	{"list_production_reports", `{"commodity":"beer","per_page":2}`, nil},
	{"search_avas", `{"state":"CA"}`, keepArea},
	{"get_ava", `{"ava_id":"$ava_id"}`, nil},
	{
		"create_saved_search",
		`{"name":"Oak wines","filters":{"brand_name":"oak","type_wine":true},"schedule":{"cadence":"weekly","day":1}}`,
		keepSearch,
	},
	{"list_saved_searches", `{}`, nil},
	{"update_saved_search", `{"uuid":"$uuid","schedule":{"active":false}}`, nil},
	{"delete_saved_search", `{"uuid":"$uuid"}`, nil},
}

// chatGPTTools lists the tools that exist only at the ChatGPT endpoint, each with a required member
// of its results. The results of all other tools have the "data" member.
var chatGPTTools = map[string]string{"search": "results", "fetch": "text"}

// toolNames returns the names of the tools at /mcp that have examples.
func toolNames() (names []string) {
	for _, e := range examples {
		if chatGPTTools[e.tool] == "" && !slices.Contains(names, e.tool) {
			names = append(names, e.tool)
		}
	}
	return names
}

// words are values for prompt arguments, by name.
var words = map[string]string{
	"brand_name": "Oak", "class": "TABLE RED WINE", "category": "Wine > Red Wine",
	"origin": "OREGON", "company": "Vineyards", "state": "CA",
}

// variable matches a reference to a stored value.
var variable = regexp.MustCompile(`\$[a-z_]+`)

// fill returns the arguments with references replaced by stored values.
func (e example) fill(known map[string]string) (arguments string, err error) {
	arguments = variable.ReplaceAllStringFunc(e.arguments, func(name string) string {
		value, ok := known[name[1:]]
		if !ok {
			err = fmt.Errorf("no earlier response had %s", name)
		}
		quoted, _ := json.Marshal(value) // a string always encodes
		return string(quoted[1 : len(quoted)-1])
	})
	return arguments, err
}

// keepLabel stores a label that has a barcode, and its permittee.
func keepLabel(content map[string]any, known map[string]string) error {
	rows, _ := content["data"].([]any)
	for _, row := range rows {
		if label, _ := row.(map[string]any); label["has_barcode"] == true {
			return keepAll(label, known, "ttb_id", "permit_number")
		}
	}
	return fmt.Errorf("%d labels, all without a barcode", len(rows))
}

// keepBarcode stores the barcode of a label.
func keepBarcode(content map[string]any, known map[string]string) error {
	label, _ := content["data"].(map[string]any)
	return keepAll(label, known, "barcode_value")
}

// keepArea stores the ID of an AVA.
func keepArea(content map[string]any, known map[string]string) error {
	rows, _ := content["data"].([]any)
	if len(rows) == 0 {
		return errors.New("no AVAs")
	}
	area, _ := rows[0].(map[string]any)
	return keepAll(area, known, "ava_id")
}

// keepSearch stores the UUID of a saved search.
func keepSearch(content map[string]any, known map[string]string) error {
	search, _ := content["data"].(map[string]any)
	return keepAll(search, known, "uuid")
}

// keepAll stores fields of a record and returns an error if one is missing.
func keepAll(record map[string]any, known map[string]string, names ...string) error {
	for _, name := range names {
		value, _ := record[name].(string)
		if value == "" {
			return fmt.Errorf("no %s in %v", name, record)
		}
		known[name] = value
	}
	return nil
}
