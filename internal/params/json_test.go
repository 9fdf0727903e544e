package params

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// readJSON parses an object the way the REST API and the MCP endpoint do.
func readJSON[P any](r *Reader[P], object string) P {
	values, problems := r.Values(strictjson.Members([]byte(object)))
	return r.Read(values, problems)
}

// TestJSON checks that unambiguous JSON types are accepted, and that other types get the same
// messages as query strings.
func TestJSON(t *testing.T) {
	tests := []struct {
		arguments string
		want      cola.SearchParams // without Problems
	}{
		{`{}`, cola.SearchParams{}},
		{`{"q":"oak","product_type":["wine","malt beverage"],"per_page":5}`,
			cola.SearchParams{Q: "oak", ProductType: []string{"wine", "malt beverage"}, PerPage: cola.Some(5)}},
		{`{"q":null,"product_type":null,"page":null,"brand_name":""}`, cola.SearchParams{}},
		{`{"product_type":"wine","container_type":"can,keg"}`,
			cola.SearchParams{ProductType: []string{"wine"}, ContainerType: []string{"can", "keg"}}},
		{`{"q":11054001000049,"barcode_value":36000291452,"brand_name":1.1054001000049e13}`,
			cola.SearchParams{Q: "11054001000049", BarcodeValue: "36000291452", BrandName: "11054001000049"}},
		{`{"page":"3","per_page":4.0,"abv_min":"12.5","volume_max":1e3}`, cola.SearchParams{
			Page: cola.Some(3), PerPage: cola.Some(4), ABVMin: cola.Some(12.5), VolumeMax: cola.Some(1000.0),
		}},
		{`{"product_type":[],"category":[""]}`, cola.SearchParams{}},

		{`{"page":1.5}`, cola.SearchParams{}},
		{`{"page":true,"abv_min":[1]}`, cola.SearchParams{}},
		{`{"product_type":[1,"wine",{}],"category":{"a":1},"q":{"a":"b"}}`, cola.SearchParams{ProductType: []string{"wine"}}},
		{`{"brandname":{"x":[1]},"Q":"x","zzzz":1}`, cola.SearchParams{}},
		{`{"q":"a","q":"b","product_type":["wine"],"product_type":["wine"]}`, cola.SearchParams{Q: "a", ProductType: []string{"wine"}}},
		{`{"q":true,"origin":false}`, cola.SearchParams{}},
		{`{"approval_date_from":"05/31/2024"}`, cola.SearchParams{}},
		{`{"approval_date_from":20240531}`, cola.SearchParams{}},
	}
	problems := golden.Load(t, "json")
	reader := New[cola.SearchParams]("a test")
	for _, tt := range tests {
		got := readJSON(reader, tt.arguments)
		problems.Check(t, tt.arguments, got.Problems)
		got.Problems = nil
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.arguments, diff)
		}
	}
}

// TestNumericTTBID checks that a number is accepted as a TTB ID, with its leading zero restored.
func TestNumericTTBID(t *testing.T) {
	type labelParams struct {
		cola.Decoded
		TTBID string `json:"ttb_id"`
	}
	r := New[labelParams]("a test")
	for input, want := range map[string]string{`11054001000049`: "11054001000049", `5054001000049`: "05054001000049", `"5054001000049"`: "5054001000049"} {
		if got := readJSON(r, `{"ttb_id":`+input+`}`); got.TTBID != want || got.Problems != nil {
			t.Errorf("ttb_id %s = %+v, want %s", input, got, want)
		}
	}
	for _, input := range []string{`1`, `-11054001000049`, `110540010000490`, `1.5`, `1e13000`} {
		if got := readJSON(r, `{"ttb_id":`+input+`}`).Problems["ttb_id"]; len(got) != 1 {
			t.Errorf("ttb_id %s: problems = %q, want one", input, got)
		}
	}
}

// TestStrictTypes checks that in strict mode, a value of another type is a problem.
func TestStrictTypes(t *testing.T) {
	read := func(object string) cola.SavedSearchParams {
		values, problems := savedSearch.StrictValues(strictjson.Members([]byte(object)))
		return savedSearch.Read(values, problems)
	}
	for _, good := range []string{
		`{"name":"a","filters":{"brand_name":"oak","type_wine":true,"abv_min":12,"abv_max":12.5},"schedule":{"cadence":"weekly","day":1.0}}`,
		`{"name":"7","filters":{"query":null,"type_wine":null},"schedule":null}`,
	} {
		if got := read(good); got.Problems != nil {
			t.Errorf("%s: problems = %v, want none", good, got.Problems)
		}
	}
	for object, name := range map[string]string{
		`{"name":7}`: "name", `{"name":true}`: "name", `{"name":["a"]}`: "name", `{"name":{}}`: "name", `{"filters":"oak"}`: "filters",
		`{"filters":{"type_wine":"true"}}`: "filters.type_wine", `{"filters":{"type_wine":1}}`: "filters.type_wine",
		`{"filters":{"abv_min":"12"}}`: "filters.abv_min", `{"filters":{"abv_min":false}}`: "filters.abv_min", `{"filters":{"query":1}}`: "filters.query",
		`{"schedule":{"day":"1"}}`: "schedule.day", `{"schedule":{"day":1.5}}`: "schedule.day", `{"schedule":{"cadence":1}}`: "schedule.cadence",
	} {
		if got := read(object).Problems; len(got) != 1 || len(got[name]) != 1 {
			t.Errorf("%s: problems = %v, want one for %s", object, got, name)
		}
	}
	search := New[cola.SearchParams]("a test")
	if _, problems := search.StrictValues(strictjson.Members([]byte(`{"product_type":"wine","category":["Wine",1]}`))); len(problems["product_type"]) != 1 || len(problems["category"]) != 1 {
		t.Errorf("single value for an array: problems = %v", problems)
	}
}
