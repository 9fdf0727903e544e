package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// FuzzParse: a message that is taken is read by encoding/json, which does not look at the case of names, as it is read here.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"q":1}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping","METHOD":"tools/call"}`, `[{"a":[1]}]`, `{"jsonrpc":"2.0","id":null,"method":"m","params":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"NAME":"b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"\u006dethod":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, wrong := parse(body)
		if wrong != nil {
			if wrong.Message == "" || wrong.status(m.modern) != 400 {
				t.Errorf("%q is refused with %+v", body, wrong)
			}
			return
		}
		var loose struct {
			JSONRPC string
			ID      any
			Method  string
			Params  json.RawMessage
		}
		if err := json.Unmarshal(body, &loose); err != nil {
			t.Fatalf("%q is taken: %v", body, err)
		}
		var called struct{ Name string }
		if json.Unmarshal(loose.Params, &called) == nil && m.method != "resources/read" && called.Name != m.target {
			t.Errorf("%q calls %q or %q", body, called.Name, m.target)
		}
		if loose.Method != m.method || (loose.ID == nil) != (m.id == nil) || loose.JSONRPC != "2.0" {
			t.Errorf("%q is read as %+v and as %+v", body, loose, m)
		}
		for _, a := range m.arguments {
			if !json.Valid(a.Value) {
				t.Errorf("%q has the argument %s", body, a.Value)
			}
		}
	})
}

// TestArguments: JSON is taken as it is meant where nothing is lost by it, and told in the words of REST where not.
func TestArguments(t *testing.T) {
	tests := []struct {
		arguments string
		want      cola.SearchParams
		problems  cola.Problems
	}{
		{`{}`, cola.SearchParams{}, nil},
		{`{"q":"oak","product_type":["wine","malt beverage"],"per_page":5}`, cola.SearchParams{Q: "oak", ProductType: []string{"wine", "malt beverage"}, PerPage: cola.Some(5)}, nil},
		{`{"q":null,"product_type":null,"page":null,"brand_name":""}`, cola.SearchParams{}, nil},
		{`{"product_type":"wine","container_type":"can,keg"}`, cola.SearchParams{ProductType: []string{"wine"}, ContainerType: []string{"can", "keg"}}, nil},
		{`{"q":11054001000049,"barcode_value":36000291452,"brand_name":1.1054001000049e13}`, cola.SearchParams{Q: "11054001000049", BarcodeValue: "36000291452", BrandName: "11054001000049"}, nil},
		{`{"page":"3","per_page":4.0,"abv_min":"12.5","volume_max":1e3}`, cola.SearchParams{Page: cola.Some(3), PerPage: cola.Some(4), ABVMin: cola.Some(12.5), VolumeMax: cola.Some(1000.0)}, nil},
		{`{"product_type":[],"category":[""]}`, cola.SearchParams{}, nil},

		{`{"page":1.5}`, cola.SearchParams{}, cola.Problems{"page": {`"1.5" is not accepted; write a whole number from 1 to 100.`}}},
		{`{"page":true,"abv_min":[1]}`, cola.SearchParams{}, cola.Problems{
			"page": {`"true" is not accepted; write a whole number from 1 to 100.`}, "abv_min": {"It is an object or an array; send one value."},
		}},
		{`{"product_type":[1,"wine",{}],"category":{"a":1},"q":{"a":"b"}}`, cola.SearchParams{ProductType: []string{"wine"}}, cola.Problems{
			"product_type": {"Its element 1 is no string; send an array of strings.", "Its element 3 is no string; send an array of strings."},
			"category":     {"It is an object; send an array of strings."}, "q": {"It is an object or an array; send one value."},
		}},
		{`{"brandname":{"x":[1]},"Q":"x","zzzz":1}`, cola.SearchParams{}, cola.Problems{
			"brandname": {"There is no such parameter; did you mean brand_name?"}, "Q": {"There is no such parameter; did you mean q?"}, "zzzz": {params.Unknown("zzzz", "a test", searchNames())},
		}},
		{`{"q":"a","q":"b","product_type":["wine"],"product_type":["wine"]}`, cola.SearchParams{Q: "a", ProductType: []string{"wine"}}, cola.Problems{
			"q": {"It is given twice; give it once."}, "product_type": {"It is given twice; give it once."},
		}},
		{`{"approval_date_from":"05/31/2024"}`, cola.SearchParams{}, cola.Problems{"approval_date_from": {`"05/31/2024" is not a date; write YYYY-MM-DD, such as 2024-05-31.`}}},
		{`{"approval_date_from":20240531}`, cola.SearchParams{}, cola.Problems{"approval_date_from": {`"20240531" is not a date; write YYYY-MM-DD, such as 2024-05-31.`}}},
	}
	reader := params.New[cola.SearchParams]("a test")
	for _, tt := range tests {
		m := message{arguments: strictjson.Members(json.RawMessage(tt.arguments))}
		values, problems := m.values(reader)
		tt.want.Problems = tt.problems
		if diff := cmp.Diff(tt.want, reader.Read(values, problems)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.arguments, diff)
		}
	}
}

func searchNames() []string {
	return strings.Fields("abv_max abv_min approval_date_from approval_date_to barcode_value brand_name category container_type cursor " +
		"derived_subcategory domestic_or_imported origin page per_page permit_number product_type q status volume_max volume_min volume_unit")
}

// TestIDAsANumber: an id that was sent as a number is understood when it can be told which one it is.
func TestIDAsANumber(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, &strings.Builder{})
	for sent, asked := range map[string]string{
		`11054001000049`: "11054001000049", `5054001000049`: "05054001000049", `11054001000049.0`: "11054001000049", `1.1054001000049e13`: "11054001000049",
		`"11054001000049"`: "11054001000049", `" 11054001000049 "`: " 11054001000049 ", `"5054001000049"`: "5054001000049",
	} {
		f.asked = ""
		if call(t, h, "get_cola", `{"ttb_id":`+sent+`}`); f.asked != asked {
			t.Errorf("%s asks for %q, want %q", sent, f.asked, asked)
		}
	}
	for _, sent := range []string{`1`, `-11054001000049`, `11054001000049.5`, `110540010000490`, `0`, `505400100004`, `1e13000`} {
		f.asked = ""
		got := call(t, h, "get_cola", `{"ttb_id":`+sent+`}`)
		if f.asked != "" || got.code(t) != "validation_error" || !strings.Contains(got.texts[0], "send it as a string of 14 digits") {
			t.Errorf("%s is answered with %s", sent, got.texts[0])
		}
	}
}
