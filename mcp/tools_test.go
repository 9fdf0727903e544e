package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestExamplesAreAnswered: the example call of each tool works, its structured content is the text, and has what the schema
// requires in either size.
func TestExamplesAreAnswered(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for _, one := range tools() {
		for _, format := range formats {
			arguments := one.example
			if one.name != "get_usage" && one.name != "create_saved_search" {
				arguments = strings.TrimSuffix(arguments, "}") + `,"response_format":"` + format + `"}`
			}
			got := call(t, h, one.name, arguments)
			if got.failed {
				t.Errorf("%s %s: %s", one.name, arguments, got.texts[0])
				continue
			}
			var fromText map[string]any
			if err := json.Unmarshal([]byte(got.texts[0]), &fromText); err != nil || len(got.texts) != 1 || !cmp.Equal(fromText, got.content) {
				t.Errorf("%s: the text is not the content: %s", one.name, got.texts[0])
			}
			var schema any
			if err := json.Unmarshal(one.output.bytes(), &schema); err != nil {
				t.Fatal(err)
			}
			for _, problem := range violations(schema.(map[string]any), got.content, "content") {
				t.Errorf("%s, %s: %s", one.name, format, problem)
			}
		}
	}
}

// violations holds a value against the part of JSON Schema that these schemas use, and against fields that they do not have.
func violations(schema map[string]any, value any, at string) (found []string) {
	if branches, ok := schema["anyOf"].([]any); ok {
		for _, b := range branches {
			if len(violations(b.(map[string]any), value, at)) == 0 {
				return nil
			}
		}
		return []string{fmt.Sprintf("%s is %v, none of %v", at, value, branches)}
	}
	if words, ok := schema["enum"].([]any); ok && !slices.Contains(words, value) {
		found = append(found, fmt.Sprintf("%s is %v, not of %v", at, value, words))
	}
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, isList := schema["required"].([]any)
		if _, given := schema["required"]; given && !isList {
			found = append(found, fmt.Sprintf("%s requires %v, which is no list", at, schema["required"]))
		}
		for _, name := range required {
			if _, ok := value[name.(string)]; !ok {
				found = append(found, fmt.Sprintf("%s lacks %v", at, name))
			}
		}
		for name, v := range value {
			s, ok := properties[name].(map[string]any)
			if !ok {
				found = append(found, fmt.Sprintf("%s.%s is not described", at, name))
				continue
			}
			found = append(found, violations(s, v, at+"."+name)...)
		}
	case []any:
		for i, v := range value {
			found = append(found, violations(schema["items"].(map[string]any), v, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	if kind := map[string]bool{"object": is[map[string]any](value), "array": is[[]any](value), "string": is[string](value), "boolean": is[bool](value),
		"integer": is[float64](value), "number": is[float64](value), "null": value == nil}; !kind[schema["type"].(string)] {
		found = append(found, fmt.Sprintf("%s is %v, not of type %v", at, value, schema["type"]))
	}
	return found
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// TestProblemsAreToldAtOnce, in the words of REST, and counted once.
func TestProblemsAreToldAtOnce(t *testing.T) {
	f := newFake()
	got := call(t, mustServe(t, f, io.Discard), "search_colas",
		`{"page":"two","statsu":"approved","product_type":["vine"],"volume_min":1,"response_format":"brief","abv_min":20,"abv_max":10}`)
	want := map[string]any{
		"page":            []any{`"two" is not accepted; write a whole number from 1 to 100.`},
		"statsu":          []any{"There is no such parameter; did you mean status?"},
		"product_type":    []any{`"vine" is not allowed; allowed: wine, malt beverage, distilled spirits. Did you mean wine?`},
		"volume_unit":     []any{"A unit is required with volume_min and volume_max; allowed: beer barrels, fluid ounces, gallons, liters, milliliters, pints, quarts."},
		"response_format": []any{`"brief" is not allowed; allowed: concise, detailed.`},
		"abv_min":         []any{"20 is above abv_max, which is 10; nothing lies between."},
	}
	if diff := cmp.Diff(want, got.problems(t)); diff != "" || !got.failed || got.content != nil || f.spent != 1 {
		t.Errorf("problems (-want +got, %d spent):\n%s", f.spent, diff)
	}
	for tool, missing := range map[string]string{"get_cola": "ttb_id", "get_permittee": "permit_number", "lookup_barcode": "barcode_value", "get_ava": "ava_id"} {
		f := newFake()
		h := mustServe(t, f, io.Discard)
		for _, arguments := range []string{`{}`, `null`, `{"` + missing + `":null}`, `{"` + missing + `":""}`} {
			if got := call(t, h, tool, arguments); got.code(t) != "validation_error" || !cmp.Equal(got.problems(t)[missing], any([]any{"It is required."})) {
				t.Errorf("%s %s: %s", tool, arguments, got.texts[0])
			}
		}
		if f.asked != "" || f.spent != 4 {
			t.Errorf("%s: asked for %q, %d spent", tool, f.asked, f.spent)
		}
	}
	for _, arguments := range []string{`[]`, `"q"`, `1`, `true`} {
		if got := call(t, mustServe(t, newFake(), io.Discard), "search_colas", arguments); got.problems(t)["arguments"] == nil {
			t.Errorf("arguments %s: %s", arguments, got.texts[0])
		}
	}
}

// TestKindsOfProcessingTimes: a filter that the kind does not have is refused rather than left out.
func TestKindsOfProcessingTimes(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	for arguments, want := range map[string]string{
		`{}`: "Wine", `{"kind":"COLA","commodity":"wine"}`: "Wine", `{"kind":"formula","commodity":"wine","formula_type":"formula approval"}`: "Formula Approval",
		`{"kind":"registration","category":"a","application_type":"b"}`: `"data":[]`,
	} {
		if got := call(t, h, "get_processing_times", arguments); got.failed || !strings.Contains(got.texts[0], want) {
			t.Errorf("%s: %s", arguments, got.texts[0])
		}
	}
	for arguments, want := range map[string]string{
		`{"formula_type":"x"}`:                    "It is no filter of kind cola but of kind formula; leave it out, or ask for that kind.",
		`{"kind":"registration","commodity":"x"}`: "It is no filter of kind registration but of kind cola; leave it out, or ask for that kind.",
		`{"kind":"formula","category":"x"}`:       "It is no filter of kind formula but of kind registration; leave it out, or ask for that kind.",
		`{"kind":"label"}`:                        `"label" is not allowed; allowed: cola, formula, registration.`,
	} {
		if got := call(t, h, "get_processing_times", arguments); !strings.Contains(fmt.Sprint(got.problems(t)), want) {
			t.Errorf("%s: %s", arguments, got.texts[0])
		}
	}
}

// TestNotes: what was assumed or left out is said, with the next step.
func TestNotes(t *testing.T) {
	f := newFake()
	f.permittee.Colas, f.permittee.RecentColas = 12, slices.Repeat(f.permittee.RecentColas, 10)
	h := mustServe(t, f, io.Discard)
	tests := []struct {
		tool, arguments string
		left            int // of the list records
		want            []string
	}{
		{"search_colas", `{"per_page":2}`, 1000, []string{
			"Only labels approved since 2025-11-20 were searched, because no date was given; to search all history set approval_date_from to 2005-01-01.",
			"These are 2 of 3 labels. For the next ones call search_colas again with the same filters and cursor set to pagination.next_cursor.",
		}},
		{"search_colas", `{"approval_date_from":"2005-01-01"}`, 1000, nil},
		{"search_colas", `{"approval_date_from":"2005-01-01"}`, 2, []string{
			"The page was cut to 2 of 3 rows: the month's list records are used up, and start again on 1 December 2026.",
			"These are 2 of 3 labels. For the next ones call search_colas again with the same filters and cursor set to pagination.next_cursor.",
		}},
		{"search_permittees", `{"per_page":1}`, 1000, []string{"These are 1 of 2 permit holders. For the next ones call search_permittees again with the same filters and page 2."}},
		{"search_permittees", `{}`, 1, []string{"The page was cut to 1 of 2 rows: the month's list records are used up, and start again on 1 December 2026."}},
		{"lookup_barcode", `{"barcode_value":"036000291452"}`, 2, []string{
			"The page was cut to 2 of 3 rows: the month's list records are used up, and start again on 1 December 2026.",
			"These are 2 of 3 labels. Combine barcode_value with other filters in search_colas to reach the others.",
		}},
		{"list_production_reports", `{"per_page":1}`, 0, []string{"These are 1 of 2 rows. For the next ones call list_production_reports again with the same filters and page 2."}},
		{"get_permittee", `{"permit_number":"NJ-I-721"}`, 0, []string{"recent_colas are the latest 10 of 12 labels. search_colas with this permit_number and approval_date_from 2005-01-01 finds those of all years."}},
		{"get_usage", `{}`, 0, nil},
	}
	for _, tt := range tests {
		f.limits, f.used = cola.Limits{DetailViews: 200, ListRecords: tt.left, PerMinute: 10}, cola.Used{}
		var want any
		for _, note := range tt.want {
			w, _ := want.([]any)
			want = append(w, note)
		}
		if diff := cmp.Diff(want, call(t, h, tt.tool, tt.arguments).content["notes"]); diff != "" {
			t.Errorf("%s %s, %d left (-want +got):\n%s", tt.tool, tt.arguments, tt.left, diff)
		}
	}
	f.limits.ListRecords, f.used = 1000, cola.Used{}
	f.times = slices.Repeat(f.times, 40)
	if got := fmt.Sprint(call(t, h, "get_processing_times", "{}").content["notes"]); !strings.Contains(got, "These are the first 30 of 40 rows. Narrow the list with a commodity, or ask with response_format detailed for more.") {
		t.Errorf("a long list says %s", got)
	}
	if got := call(t, h, "get_processing_times", `{"response_format":"detailed"}`); got.content["notes"] != nil || rowsOf(got.content) != 40 {
		t.Errorf("a detailed list has %d rows and says %v", rowsOf(got.content), got.content["notes"])
	}
}

// TestPageSize: ten unless told otherwise, and no more than REST allows.
func TestPageSize(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	for arguments, want := range map[string]int{`{}`: 10, `{"per_page":1}`: 1, `{"per_page":100}`: 100} {
		if call(t, h, "search_colas", arguments); f.search.PerPage != want {
			t.Errorf("%s has %d a page", arguments, f.search.PerPage)
		}
	}
	if got := call(t, h, "search_colas", `{"per_page":101}`); got.code(t) != "validation_error" {
		t.Errorf("101 a page: %s", got.texts[0])
	}
}

// TestConciseLeavesOut: the concise size has neither unknown fields nor rarely needed ones, the detailed one has all.
func TestConciseLeavesOut(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	short := call(t, h, "get_cola", `{"ttb_id":"11054001000049"}`).content["data"].(map[string]any)
	long := call(t, h, "get_cola", `{"ttb_id":"11054001000049","response_format":"detailed"}`).content["data"].(map[string]any)
	for name, v := range short {
		if v == nil || !cmp.Equal(v, long[name]) {
			t.Errorf("%s is %v, in detail %v", name, v, long[name])
		}
	}
	whole := map[string]any{}
	if err := json.Unmarshal(mustJSON(exampleLabel()), &whole); err != nil || !cmp.Equal(whole, long) {
		t.Errorf("detailed is not the record: %s", cmp.Diff(whole, long))
	}
	if short["llm_beer_ibu"] != nil || short["images"] != nil || len(short) > 30 || len(short) > len(long)/2 || short["abv"] != 12.5 {
		t.Errorf("concise has %v", short)
	}
}

// TestErrorsSayWhatToDo: each kind of failed call has the envelope of REST and a hint, and no structured content.
func TestErrorsSayWhatToDo(t *testing.T) {
	burst := &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Too many.", RetryAfter: 11_200_000_000, Details: map[string]any{"reason": "burst"}}
	month := &cola.Error{Code: cola.CodeQuotaExceeded, Message: "Used up.", UpgradeURL: "https://plans.example", Details: map[string]any{"reason": "list_records"}}
	tests := []struct {
		err        error
		code, hint string
	}{
		{burst, "quota_exceeded", "Wait 12 seconds, then call again"},
		{month, "quota_exceeded", "https://plans.example"},
		{cola.Unavailable(), "unavailable", "Wait 5 seconds"},
		{errBroken, "internal_error", "request_id"},
		{cola.Errorf(cola.CodeNotFound, "No."), "not_found", "search_colas finds labels"},
		{cola.Errorf(cola.CodeValidation, "Bad."), "validation_error", "Correct the arguments"},
	}
	for _, tt := range tests {
		f := newFake()
		f.err = tt.err
		got := call(t, mustServe(t, f, io.Discard), "get_cola", `{"ttb_id":"11054001000049"}`)
		if got.StatusCode != 200 || !got.failed || got.content != nil || got.code(t) != tt.code || len(got.texts) != 2 || !strings.Contains(got.texts[1], tt.hint) {
			t.Errorf("%v: %d %q", tt.err, got.StatusCode, got.texts)
		}
	}
	for _, tt := range []struct {
		tier            cola.Tier
		used            cola.Used
		holds, notThere string
	}{
		{cola.TierFree, cola.Used{ListRecords: 10_000, DetailViews: 58}, "a larger plan is had at https://plans.example. The reference tools, get_usage and create_saved_search still answer; " +
			"so do get_cola and get_permittee, for the 142 detail views that are left.", "search_colas"},
		{cola.TierStarter, cola.Used{DetailViews: 2000}, "for the 100000 list records that are left.", "get_cola"},
		{cola.TierPro, cola.Used{DetailViews: 10_000, ListRecords: 1_000_000}, "Tell the user that the month's quota is used up. The reference tools, get_usage and create_saved_search still answer.", "larger plan"},
	} {
		f := newFake()
		f.err, f.tier, f.limits, f.used = month, tt.tier, tt.tier.Limits(), tt.used
		got := call(t, mustServe(t, f, io.Discard), "get_cola", `{"ttb_id":"11054001000049"}`)
		if !strings.Contains(got.texts[1], tt.holds) || strings.Contains(got.texts[1], tt.notThere) || !strings.Contains(got.texts[0], `"upgrade_url":"https://plans.example"`) {
			t.Errorf("%s, %+v: %q", tt.tier, tt.used, got.texts)
		}
	}
	f := newFake()
	f.err = month
	if got := call(t, mustServe(t, f, io.Discard), "search_colas", `{}`).texts[0]; !strings.Contains(got, `"upgrade_url":"https://plans.example"}`) {
		t.Errorf("the envelope is not that of REST: %s", got)
	}
}
