package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// schemaless are the tools without an output schema: those that return one record, groups of any
// kind, or the account's saved searches.
var schemaless = map[string]bool{
	"count_labels": true, "create_saved_search": true, "delete_saved_search": true, "get_ava": true, "get_cola": true,
	"get_permittee": true, "get_usage": true, "list_saved_searches": true, "update_saved_search": true,
}

// TestExamples checks that each tool's example call works, that its structured content
// equals the text, and that it matches the output schema, which names every concise field of
// the data.
func TestExamples(t *testing.T) {
	for _, one := range toolsAt(ChatGPTPath) {
		for _, format := range responseFormats {
			arguments := one.example
			if slices.ContainsFunc(one.input, func(a argument) bool { return a.name == "response_format" }) {
				arguments = strings.TrimSuffix(arguments, "}") + `,"response_format":"` + format + `"}`
			}
			got := call(t, at(ChatGPTPath, mustServe(t, newFake(), io.Discard)), one.name, arguments)
			if got.failed {
				t.Errorf("%s %s: want success: %s", one.name, arguments, got.texts[0])
				continue
			}
			var fromText map[string]any
			if err := json.Unmarshal([]byte(got.texts[0]), &fromText); err != nil || len(got.texts) != 1 || !cmp.Equal(fromText, got.content) {
				t.Errorf("%s: text and structured content differ: %s", one.name, got.texts[0])
			}
			if (one.output == nil) != schemaless[one.name] {
				t.Errorf("%s has an output schema: %t, want %t", one.name, one.output != nil, !schemaless[one.name])
			}
			if one.output == nil {
				continue
			}
			schema := parsed(t, string(mustJSON(one.output)))
			if format == responseFormats[0] {
				members := schema.(map[string]any)["properties"].(map[string]any)
				for name, member := range members {
					members[name] = closed(member) // the schema names every concise field
				}
			}
			if err := compiled(t, schema).Validate(parsed(t, got.texts[0])); err != nil {
				t.Errorf("%s, %s: %v", one.name, format, err)
			}
		}
	}
}

// TestAllProblems checks that a call reports the problems of all its arguments and counts once.
func TestAllProblems(t *testing.T) {
	f := newFake()
	got := call(t, mustServe(t, f, io.Discard), "search_colas",
		`{"page":"two","statsu":"approved","product_type":["vine"],"volume_min":1,"response_format":"brief","abv_min":20,"abv_max":10}`)
	want := []string{"abv_min", "page", "product_type", "response_format", "statsu", "volume_unit"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got.problems(t)))); diff != "" || !got.failed || got.content != nil || f.spent != 1 {
		t.Errorf("%d requests counted, arguments with problems (-want +got):\n%s", f.spent, diff)
	}
	for tool, missing := range map[string]string{"get_cola": "ttb_id", "get_permittee": "permit_number", "lookup_barcode": "barcode_value", "get_ava": "ava_id", "check_brand": "q"} {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		for _, arguments := range []string{`{}`, `null`, `{"` + missing + `":null}`, `{"` + missing + `":""}`} {
			if got := call(t, h, tool, arguments); got.code(t) != "validation_error" || got.problems(t)[missing] == nil {
				t.Errorf("%s %s: want a problem with %s: %s", tool, arguments, missing, got.texts[0])
			}
		}
		if f.target != "" || f.spent != 4 {
			t.Errorf("%s: service called with %q, %d requests counted", tool, f.target, f.spent)
		}
	}
	for _, arguments := range []string{`[]`, `"q"`, `1`, `true`} {
		if got := call(t, mustServe(t, newFake(), io.Discard), "search_colas", arguments); got.problems(t)["arguments"] == nil {
			t.Errorf("arguments %s: want a problem with the arguments: %s", arguments, got.texts[0])
		}
	}
}

// TestProcessingTimeKinds checks that a filter that does not apply to the kind is rejected, not
// ignored.
func TestProcessingTimeKinds(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for arguments, want := range map[string]string{
		`{}`: "Wine", `{"kind":"COLA","commodity":"wine"}`: "Wine", `{"kind":"formula","commodity":"wine","formula_type":"formula approval"}`: "Formula Approval",
		`{"kind":"registration","category":"a","application_type":"b"}`: `"data":[]`,
	} {
		if got := call(t, h, "get_processing_times", arguments); got.failed || !strings.Contains(got.texts[0], want) {
			t.Errorf("%s: want %v: %s", arguments, want, got.texts[0])
		}
	}
	for arguments, want := range map[string]string{
		`{"formula_type":"x"}`:                    "kind formula",
		`{"kind":"registration","commodity":"x"}`: "kind cola",
		`{"kind":"formula","category":"x"}`:       "kind registration",
		`{"kind":"label"}`:                        "cola, formula, registration",
	} {
		if got := call(t, h, "get_processing_times", arguments); !strings.Contains(fmt.Sprint(got.problems(t)), want) {
			t.Errorf("%s: want %v: %s", arguments, want, got.texts[0])
		}
	}
}

// TestNotes checks that notes say what was assumed or omitted, and what to do next.
func TestNotes(t *testing.T) {
	f := newFake()
	f.permittee.Colas, f.permittee.RecentColas = 12, slices.Repeat(f.permittee.RecentColas, 10)
	h := mustServe(t, f, io.Discard)
	tests := []struct {
		tool, arguments string
		left            int // remaining list records
		want            []string
	}{
		{"search_colas", `{"per_page":2}`, 1000, []string{"2025-11-20", "2 of 3 labels"}},
		{"search_colas", `{"approval_date_from":"2005-01-01"}`, 1000, nil},
		{"search_colas", `{"approval_date_from":"2005-01-01"}`, 2, []string{"December 1, 2026", "pagination.next_cursor"}},
		{"search_permittees", `{"per_page":1}`, 1000, []string{"page 2"}},
		{"check_brand", `{"q":"ravin oak","per_page":1}`, 1000, []string{"2 sound similar", "page 2"}},
		{"check_brand", `{"q":"ravin oak"}`, 1000, []string{"2 sound similar"}},
		{"check_brand", `{"q":"ravin oak"}`, 1, []string{"2 sound similar", "December 1, 2026"}},
		{"search_permittees", `{}`, 1, []string{"December 1, 2026"}},
		{"lookup_barcode", `{"barcode_value":"036000291452"}`, 2, []string{"2 of 3 rows", "barcode_value"}},
		{"list_production_reports", `{"per_page":1}`, 0, []string{"page 2"}},
		{"get_permittee", `{"permit_number":"NJ-I-721"}`, 0, []string{"10 of 12 labels"}},
		{"get_usage", `{}`, 0, nil},
		{"suggest_values", `{"field":"brand","q":"raven"}`, 0, nil},
		{"search_avas", `{"q":"alexander"}`, 0, nil},
		{"search_avas", `{"q":"zzz"}`, 0, []string{"current to false"}},
		{"search_avas", `{"q":"zzz","current":false}`, 0, nil},
	}
	for _, tt := range tests {
		f.limits, f.used = cola.Limits{DetailViews: 200, ListRecords: tt.left, PerMinute: 10}, cola.Used{}
		checkNotes(t, fmt.Sprintf("%s %s, %d left", tt.tool, tt.arguments, tt.left), call(t, h, tt.tool, tt.arguments), tt.want...)
	}
}

// TestDataAsOf checks that search results say how current they are.
func TestDataAsOf(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	got := call(t, h, "search_colas", `{"q":"lenz"}`)
	if at := got.content["data_as_of"]; at != dataAsOf.String() {
		t.Errorf("search_colas: data_as_of = %v, want %s", at, dataAsOf)
	}
}

// TestNarrowingNotes checks that the note on a truncated list suggests exactly the filters that
// were not given.
func TestNarrowingNotes(t *testing.T) {
	f := newFake()
	f.times = slices.Repeat(f.times, 3000)
	h := mustServe(t, f, io.Discard)
	for arguments, offers := range map[string]map[string]bool{
		`{}`:                                 {"commodity": true, "latest": true, "response_format": true, "category": false},
		`{"commodity":"wine"}`:               {"commodity": false, "latest": true, "response_format": true},
		`{"commodity":"wine","latest":true}`: {"commodity": false, "latest": false, "response_format": true},
		`{"commodity":"wine","response_format":"detailed"}`:               {"commodity": false, "latest": true, "response_format": false},
		`{"commodity":"wine","latest":true,"response_format":"detailed"}`: {"set ": false},
	} {
		got := call(t, h, "get_processing_times", arguments)
		checkNotes(t, arguments, got, fmt.Sprintf("first %d of 3000 rows", rowsOf(got.content)))
		for word, offered := range offers {
			if strings.Contains(fmt.Sprint(got.content["notes"]), word) != offered {
				t.Errorf("%s offers %s: %v, want %t", arguments, word, got.content["notes"], offered)
			}
		}
	}
	f.times = f.times[:40]
	if got := call(t, h, "get_processing_times", `{"response_format":"detailed"}`); got.content["notes"] != nil || rowsOf(got.content) != 40 {
		t.Errorf("detailed list has %d rows and notes %v", rowsOf(got.content), got.content["notes"])
	}
}

// TestCurrentAreas checks that superseded boundaries are omitted by default and marked if
// requested.
func TestCurrentAreas(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for arguments, want := range map[string]int{`{}`: 1, `{"current":true}`: 1, `{"current":null}`: 1, `{"current":"false"}`: 2} {
		got := call(t, h, "search_avas", arguments)
		if rowsOf(got.content) != want || strings.Contains(got.texts[0], `"valid_end_date":"2008-04-09"`) != (want == 2) {
			t.Errorf("%s: want %v: %s", arguments, want, got.texts[0])
		}
	}
}

// TestLabelRows checks that rows show the permittee, ABV and volume if known.
func TestLabelRows(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for _, tt := range []struct {
		tool, arguments string
		company         cola.Text
		abv             float64
	}{
		{"search_colas", `{}`, f.company, 13.5},
		{"lookup_barcode", `{"barcode_value":"036000291452"}`, f.company, 13.5},
		{"get_permittee", `{"permit_number":"NJ-I-721"}`, f.permittee.CompanyName, 12.5},
	} {
		data := call(t, h, tt.tool, tt.arguments).content["data"]
		if record, ok := data.(map[string]any); ok {
			data = record["recent_colas"]
			if data == nil {
				data = record["colas"]
			}
		}
		row := data.([]any)[0].(map[string]any)
		if row["company_name"] != string(tt.company) || row["abv"] != tt.abv || row["volume_ml"] != 750.0 {
			t.Errorf("first row of %s %s = %v, want company %s, ABV %v, 750 ml", tt.tool, tt.arguments, row, tt.company, tt.abv)
		}
	}
	rows := call(t, h, "search_colas", `{}`).content["data"].([]any)
	if abv, ok := rows[1].(map[string]any)["abv"]; ok {
		t.Errorf("row with unknown ABV has abv %v", abv)
	}
}

// TestLocalLinks checks that a response has a note if it contains a link that works only on the
// server's own computer.
func TestLocalLinks(t *testing.T) {
	const local = "http://127.0.0.1:8080"
	for publicURL, noted := range map[string]bool{local: true, "https://" + testHost: false} {
		f := newFake()
		f.label.MainImageURL = cola.Text(publicURL + "/images/11054001000049-1")
		f.saved[0].ManageURL = publicURL + "/saved-searches/" + savedUUID
		h := New(f, keys{}, Options{PublicURL: publicURL, Hosts: []string{testHost}, Logger: slog.New(slog.DiscardHandler)})
		for tool, arguments := range map[string]string{"get_cola": `{"ttb_id":"11054001000049"}`, "list_saved_searches": `{}`} {
			if got := call(t, h, tool, arguments); strings.Contains(fmt.Sprint(got.content["notes"]), local) != noted || got.failed {
				t.Errorf("%s, %s: want a note on local links: %t: %s", publicURL, tool, noted, got.texts[0])
			}
		}
		if got := rpc(t, h, "resources/read", `{"uri":"registry://colas/11054001000049"}`); strings.Contains(got.body, "--public-url") != noted {
			t.Errorf("%s: resource: want a note on local links: %t: %s", publicURL, noted, got.body)
		}
		if got := call(t, h, "search_colas", `{"approval_date_from":"2005-01-01"}`); got.content["notes"] != nil {
			t.Errorf("response without links has notes %v", got.content["notes"])
		}
	}
}

// TestPageSize checks the default page size, 20, and the maximum, which is the same as in REST.
func TestPageSize(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for arguments, want := range map[string]int{`{}`: 20, `{"per_page":1}`: 1, `{"per_page":100}`: 100} {
		call(t, h, "search_colas", arguments)
		if f.search.PerPage != want {
			t.Errorf("%s: per_page = %d, want %d", arguments, f.search.PerPage, want)
		}
	}
	if got := call(t, h, "search_colas", `{"per_page":101}`); got.code(t) != "validation_error" {
		t.Errorf("per_page 101: want validation_error: %s", got.texts[0])
	}
}

// TestConciseFields checks that the concise format omits unknown and rarely needed fields, and
// that the detailed format has all fields.
func TestConciseFields(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	short := call(t, h, "get_cola", `{"ttb_id":"11054001000049"}`).content["data"].(map[string]any)
	long := call(t, h, "get_cola", `{"ttb_id":"11054001000049","response_format":"detailed"}`).content["data"].(map[string]any)
	for name, v := range short {
		if v == nil || !cmp.Equal(v, long[name]) {
			t.Errorf("%s is %v, want %v as in the detailed format", name, v, long[name])
		}
	}
	whole := map[string]any{}
	if err := json.Unmarshal(mustJSON(exampleLabel()), &whole); err != nil || !cmp.Equal(whole, long) {
		t.Errorf("detailed format differs from the record: %s", cmp.Diff(whole, long))
	}
	if short["llm_beer_ibu"] != nil || short["images"] != nil || len(short) > 30 || len(short) > len(long)/2 || short["abv"] != 12.5 {
		t.Errorf("concise record = %v, want at most 30 known fields", short)
	}
}

// TestErrorHints checks that each kind of failed call has the REST error and a hint, but no
// structured content.
func TestErrorHints(t *testing.T) {
	burst := &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too many.", RetryAfter: 11_200_000_000, Details: map[string]any{"reason": "burst"}}
	month := &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Used up.", UpgradeURL: "https://plans.example", Details: map[string]any{"reason": "list_records"}}
	tests := []struct {
		err        error
		code, hint string
	}{
		{burst, "quota_exceeded", "12 seconds"},
		{month, "quota_exceeded", "https://plans.example"},
		{cola.Unavailable(), "unavailable", "5 seconds"},
		{errBroken, "internal_error", "request_id"},
		{cola.Errorf(cola.CodeNotFound, "No."), "not_found", "search_colas"},
		{cola.Errorf(cola.CodeValidation, "Bad."), "validation_error", "error.details"},
	}
	for _, tt := range tests {
		f := newFake()
		f.err = tt.err
		got := call(t, mustServe(t, f, io.Discard), "get_cola", `{"ttb_id":"11054001000049"}`)
		if got.StatusCode != 200 || !got.failed || got.content != nil || got.code(t) != tt.code || len(got.texts) != 2 || !strings.Contains(got.texts[1], tt.hint) {
			t.Errorf("%v: status %d, want 200 with %s and a hint: %q", tt.err, got.StatusCode, tt.code, got.texts)
		}
	}
	for _, tt := range []struct {
		tier cola.Tier
		used cola.Used
		want []string // tools and numbers in the hint
		not  string
	}{
		{cola.TierFree, cola.Used{ListRecords: 10_000, DetailViews: 58}, []string{"https://plans.example", "get_usage", "get_cola", "142"}, "search_colas"},
		{cola.TierStarter, cola.Used{DetailViews: 2000}, []string{"search_colas", "100000"}, "get_cola"},
	} {
		f := newFake()
		f.err, f.tier, f.limits, f.used = month, tt.tier, tt.tier.Limits(), tt.used
		got := call(t, mustServe(t, f, io.Discard), "get_cola", `{"ttb_id":"11054001000049"}`)
		hint := got.texts[1]
		if slices.ContainsFunc(tt.want, func(part string) bool { return !strings.Contains(hint, part) }) || strings.Contains(hint, tt.not) ||
			!strings.Contains(got.texts[0], `"upgrade_url":"https://plans.example"`) {
			t.Errorf("quota of %s used up, %+v: %q, want %q and not %q", tt.tier, tt.used, got.texts, tt.want, tt.not)
		}
	}
	f := newFake()
	f.err, f.tier = &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Used up."}, cola.TierPro // without a larger plan
	if hint := call(t, mustServe(t, f, io.Discard), "get_cola", `{"ttb_id":"11054001000049"}`).texts[1]; strings.Contains(hint, "plan") {
		t.Errorf("hint without an upgrade page: %q", hint)
	}
	f.err = month
	if got := call(t, mustServe(t, f, io.Discard), "search_colas", `{}`).texts[0]; !strings.Contains(got, `"upgrade_url":"https://plans.example"}`) {
		t.Errorf("error envelope differs from REST: %s", got)
	}
}

// TestToolSections checks that every tool is in exactly one section of the reference.
func TestToolSections(t *testing.T) {
	var documented, all []string
	for _, section := range ToolSections() {
		for _, d := range section.Tools {
			documented = append(documented, d.Name)
		}
	}
	for _, one := range toolsAt(ChatGPTPath) {
		all = append(all, one.name)
	}
	slices.Sort(documented)
	slices.Sort(all)
	if !slices.Equal(documented, all) {
		t.Errorf("documented tools %q, want %q", documented, all)
	}
}
