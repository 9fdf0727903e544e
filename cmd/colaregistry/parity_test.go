package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// parityCase is one query in its REST form and its tool form.
type parityCase struct {
	path      string // including the query string
	tool      string
	arguments map[string]any
}

// lists are the operations with parameters: the path, the tool, its fixed arguments, and the
// parameter struct.
var lists = []struct {
	path, tool string
	fixed      map[string]any
	params     reflect.Type
}{
	{"/colas", "search_colas", nil, reflect.TypeFor[cola.SearchParams]()},
	{"/colas/stats", "count_labels", nil, reflect.TypeFor[cola.CountParams]()},
	{"/brands", "check_brand", nil, reflect.TypeFor[cola.BrandParams]()},
	{"/permittees", "search_permittees", nil, reflect.TypeFor[cola.PermitteeParams]()},
	{"/production-reports", "list_production_reports", nil, reflect.TypeFor[cola.ProductionReportParams]()},
	// so that the tool returns the same areas as REST
	{"/avas", "search_avas", map[string]any{"current": false}, reflect.TypeFor[cola.AVAParams]()},
	{"/saved-searches", "list_saved_searches", nil, reflect.TypeFor[cola.SavedSearchListParams]()},
	{
		"/processing-times", "get_processing_times", map[string]any{"kind": "cola"},
		reflect.TypeFor[cola.ProcessingTimeParams](),
	},
	{
		"/processing-times/formula", "get_processing_times", map[string]any{"kind": "formula"},
		reflect.TypeFor[cola.FormulaProcessingTimeParams](),
	},
	{
		"/processing-times/registration", "get_processing_times", map[string]any{"kind": "registration"},
		reflect.TypeFor[cola.RegistrationProcessingTimeParams](),
	},
}

// parityCases returns two cases for every parameter: one with its example and one with an invalid
// value. A parameter without an example fails the test.
func parityCases(t *testing.T) (cases []parityCase) {
	t.Helper()
	for _, l := range lists {
		cases = append(cases, parityCase{l.path + "?", l.tool, l.fixed})
		for _, f := range reflect.VisibleFields(l.params) {
			name, example := f.Tag.Get("json"), f.Tag.Get("example")
			if f.Anonymous || name == "-" {
				continue
			}
			if example == "" {
				t.Errorf("%s of %s has no example", name, l.params)
			}
			for _, value := range []string{example, invalidValue(f)} {
				arguments := map[string]string{name: value}
				if strings.HasPrefix(name, "volume_m") {
					arguments["volume_unit"] = "milliliters"
				}
				if name == "volume_unit" && value == example {
					arguments["volume_min"] = "1"
				}
				if name != "group_by" && l.tool == "count_labels" {
					arguments["group_by"] = "brand,year"
				}
				if name != "q" && l.tool == "check_brand" {
					arguments["q"] = "oak"
				}
				cases = append(cases, newParityCase(l.path, l.tool, l.fixed, l.params, arguments))
			}
		}
	}
	// Cases that involve more than one parameter.
	colas := func(arguments map[string]string) parityCase {
		return newParityCase("/colas", "search_colas", nil, reflect.TypeFor[cola.SearchParams](), arguments)
	}
	counts := func(arguments map[string]string) parityCase {
		return newParityCase("/colas/stats", "count_labels", nil, reflect.TypeFor[cola.CountParams](), arguments)
	}
	for _, dimension := range cola.Dimensions() {
		cases = append(cases, counts(map[string]string{"group_by": dimension, "date_range": "all", "top": "100"}))
	}
	for _, arguments := range []map[string]string{
		{}, {"field": "brand"}, {"field": "brnd", "q": strings.Repeat("x", 201), "limit": "26"}, {"limit": "many"},
		{"field": "Brand", "q": "oak", "limit": "3"}, {"field": "brand", "q": "&"}, {"field": "origin", "Q": "f"},
		{"field": "company", "q": "vin"}, {"field": "category"}, {"field": "category", "q": "red"},
		{"field": "appellation", "q": "valley"}, {"field": "origin"}, {"field": "class", "q": "table"},
		{"field": "grape"}, {"field": "grape", "q": "pin"},
		{"field": "commodity"}, {"field": "report_type"}, {"field": "statistical_group", "q": "b"},
	} {
		cases = append(cases,
			newParityCase("/suggest", "suggest_values", nil, reflect.TypeFor[cola.SuggestParams](), arguments))
	}
	return append(cases,
		counts(map[string]string{"group_by": "permit,status", "top": "101"}), counts(map[string]string{"group_by": "year,year"}),
		counts(map[string]string{"group_by": "brand", "q": "zzyzx"}), colas(map[string]string{"volume_min": "1"}), colas(map[string]string{"abv_min": "20", "abv_max": "10"}),
		colas(map[string]string{"statsu": "approved", "pag": "1", "page": "x"}),
		colas(map[string]string{"status": "revoked"}), colas(map[string]string{
			"product_type": "wine,malt beverage", "origin": "american",
		}), colas(map[string]string{"page": "2", "per_page": "7"}),
	)
}

// invalidValue returns an invalid value for a parameter.
func invalidValue(f reflect.StructField) string {
	switch {
	case f.Type == reflect.TypeFor[cola.Date]():
		return "2024-02-30"
	case f.Type == reflect.TypeFor[cola.Opt[int]](), f.Type == reflect.TypeFor[cola.Opt[float64]]():
		return "many"
	}
	return strings.Repeat("x", 201)
}

// newParityCase encodes values as a query string, and as JSON values of the parameters' types.
func newParityCase(path, tool string, fixed map[string]any, params reflect.Type, values map[string]string) parityCase {
	c := parityCase{tool: tool, arguments: map[string]any{}}
	query := url.Values{}
	for name, value := range fixed {
		c.arguments[name] = value
	}
	for name, value := range values {
		query.Set(name, value)
		c.arguments[name] = value
		for _, f := range reflect.VisibleFields(params) {
			if f.Tag.Get("json") != name {
				continue
			}
			switch f.Type {
			case reflect.TypeFor[[]string]():
				c.arguments[name] = strings.Split(value, ",")
			case reflect.TypeFor[cola.Opt[int]](), reflect.TypeFor[cola.Opt[float64]](), reflect.TypeFor[cola.Opt[bool]]():
				if json.Valid([]byte(value)) {
					c.arguments[name] = json.RawMessage(value)
				}
			}
		}
	}
	c.path = path + "?" + query.Encode()
	return c
}

// TestParity checks that every REST request and its tool call return the same data or the same
// error, and cost the same.
func TestParity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s := startServer(t, h)
		st := mustOpen(t, h)
		cases := parityCases(t)
		cases = append(cases, recordCases(t, s, st)...)
		for i, c := range cases {
			account, secret, _ := mustAccount(t, st, fmt.Sprintf("parity%d@example.com", i), cola.TierFree)
			checkParity(t, s, st, account, secret.Reveal(), c)
		}
	})
}

// recordCases returns cases that request single records, both existing and missing.
func recordCases(t *testing.T, s *serverProcess, st store.Store) (cases []parityCase) {
	t.Helper()
	_, secret, _ := mustAccount(t, st, "records@example.com", cola.TierFree)
	found := map[string]string{}
	rows := s.get(t, "/colas?per_page=50", secret.Reveal()).at("data").([]any)
	for _, row := range rows {
		if row := row.(map[string]any); row["has_barcode"] == true && found["ttb_id"] == "" {
			found["ttb_id"], found["permit_number"] = row["ttb_id"].(string), row["permit_number"].(string)
			found["barcode_value"] = s.get(t, "/colas/"+found["ttb_id"], secret.Reveal()).at("data",
				"barcode_value").(string)
		}
	}
	found["ava_id"] = s.get(t, "/avas?q=alexander",
		secret.Reveal()).at("data").([]any)[0].(map[string]any)["ava_id"].(string)
	for path, tool := range map[string][2]string{
		"/colas/": {"get_cola", "ttb_id"}, "/permittees/": {"get_permittee", "permit_number"},
		"/barcode/": {"lookup_barcode", "barcode_value"}, "/avas/": {"get_ava", "ava_id"},
	} {
		for _, value := range []string{found[tool[1]], "99999999999999", "n/a <&>"} {
			cases = append(cases, parityCase{path + url.PathEscape(value), tool[0], map[string]any{tool[1]: value}})
		}
	}
	return append(cases, parityCase{"/usage", "get_usage", nil})
}

// checkParity sends both forms from one account and compares the responses, the errors and the
// ledger changes. Tools return extra fields in list records; TestRowFields checks those.
func checkParity(t *testing.T, s *serverProcess, st store.Store, account store.Account, key string, c parityCase) {
	t.Helper()
	arguments := map[string]any{}
	for name, value := range c.arguments {
		arguments[name] = value
	}
	if !slices.Contains([]string{"get_usage", "count_labels", "list_saved_searches", "suggest_values"}, c.tool) {
		arguments["response_format"] = "detailed"
	}
	path := c.path
	rest := s.get(t, path, key)
	first := spentBy(t, st, account)
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": c.tool, "arguments": arguments},
	})
	if err != nil {
		t.Fatal(err)
	}
	mcp := s.post(t, key, string(body))
	second := spentBy(t, st, account)
	requests := 1
	if c.tool == "suggest_values" { // has its own rate limit
		requests = 0
	}
	if second.sub(first) != first || first.requests != requests {
		t.Errorf("%s: REST cost %+v, %s cost %+v; want the same cost and %d requests", path, first, c.tool,
			second.sub(first), requests)
	}
	structured := mcp.at("result", "structuredContent")
	if rest.StatusCode != http.StatusOK {
		text := mcp.at("result", "content").([]any)[0].(map[string]any)["text"].(string)
		var envelope map[string]any
		if err := json.Unmarshal([]byte(text), &envelope); err != nil || !cmp.Equal(envelope, rest.json) ||
			mcp.at("result", "isError") != true {
			t.Errorf("%s: errors differ (-REST +%s):\n%s", path, c.tool, cmp.Diff(rest.json, envelope))
		}
		return
	}
	got, _ := withoutRowFields(structured).(map[string]any)
	for _, name := range []string{"data", "pagination", "meta", "total", "others", "defaults_applied"} {
		want := rest.at(name)
		if rows, isList := want.([]any); isList && !isPaged(c.tool) { // an unpaged list is truncated to the response limit
			want = rows[:min(len(rows), len(got["data"].([]any)))]
			if len(rows) > 0 && len(got["data"].([]any)) == 0 {
				t.Errorf("%s: %s returns no records", path, c.tool)
			}
		}
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s differs (-REST +%s):\n%s", path, name, c.tool, diff)
		}
	}
	for _, name := range []string{"X-Detail-Views-Limit", "X-List-Records-Limit", "X-Quota-Reset"} {
		if mcp.Header.Get(name) != rest.Header.Get(name) || mcp.Header.Get(name) == "" {
			t.Errorf("%s: %s = %q over REST and %q over MCP", path, name, rest.Header.Get(name), mcp.Header.Get(name))
		}
	}
	if want := fmt.Sprint(account.Tier.Limits().ListRecords - second.listRecords); mcp.Header.Get("X-List-Records-Remaining") != want {
		t.Errorf("%s: %q list records remaining, want %s", path, mcp.Header.Get("X-List-Records-Remaining"), want)
	}
}

func isPaged(tool string) bool {
	return tool == "search_colas" || tool == "check_brand" || tool == "search_permittees" || tool == "list_production_reports" ||
		tool == "list_saved_searches"
}

// rowFields are the list record fields that only tools return.
var rowFields = []string{"company_name", "abv", "volume_ml"}

// withoutRowFields returns structured content without the rowFields of list records.
func withoutRowFields(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		_, isRow := v["volume_ml"]
		for name, value := range v {
			if !isRow || !slices.Contains(rowFields, name) {
				out[name] = withoutRowFields(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutRowFields(v[i])
		}
		return out
	}
	return v
}

// TestRowFields checks that the company, ABV and volume in list records match the detail
// view of the label and its permittee.
func TestRowFields(t *testing.T) {
	t.Parallel()
	s := startServer(t, seeded(t))
	a := mustConnect(t, s.endpoint(), s.key)
	known := map[string]int{}
	for _, row := range a.call(t, "search_colas", map[string]any{"response_format": "detailed"}).at("data").([]any) {
		row := row.(map[string]any)
		label := s.get(t, "/colas/"+row["ttb_id"].(string), s.key).at("data").(map[string]any)
		holder := s.get(t, "/permittees/"+url.PathEscape(row["permit_number"].(string)), s.key)
		var volume any
		if stated, ok := label["volume"].(float64); ok {
			volume, _ = vocabulary.Milliliters(stated, label["volume_unit"].(string))
		}
		want := map[string]any{
			"company_name": holder.at("data", "company_name"), "abv": label["abv"], "volume_ml": volume,
		}
		for name, value := range want {
			if !cmp.Equal(value, row[name]) {
				t.Errorf("%s of %s = %v, want %v", name, row["ttb_id"], row[name], value)
			}
			if value != nil {
				known[name]++
			}
		}
	}
	if len(known) != len(rowFields) {
		t.Errorf("known fields: only %v", known)
	}
}

// spent is an account's usage according to the ledger.
type spent struct{ detailViews, listRecords, requests int }

func (s spent) sub(o spent) spent {
	return spent{s.detailViews - o.detailViews, s.listRecords - o.listRecords, s.requests - o.requests}
}

func spentBy(t *testing.T, st store.Store, account store.Account) (s spent) {
	t.Helper()
	days, err := st.DailyUsage(t.Context(), account.ID, 0, cola.NewDate(9999, 12, 31))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		s.requests += d.Requests
		switch d.Meter {
		case cola.MeterDetailViews:
			s.detailViews += d.Units
		case cola.MeterListRecords:
			s.listRecords += d.Units
		}
	}
	return s
}
