package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

const goodSearch = `{"name":"Oaks","filters":{"brand_name":"oak"}}`

func TestCreateSavedSearch(t *testing.T) {
	f := newFake()
	got := call(t, mustServe(t, f, io.Discard), "create_saved_search",
		`{"name":"Oaks","filters":{"brand_name":"oak","type_wine":"true","container_can":false,"abv_min":"12.5","volume_unit":"liters","volume_max":2},"schedule":{"cadence":"Weekly","day":"1","active":null}}`)
	want := cola.SavedSearchParams{
		Name: "Oaks",
		Filters: &cola.SavedSearchFilters{
			BrandName: "oak", TypeWine: cola.Some(true), ContainerCan: cola.Some(false), ABVMin: cola.Some(12.5), VolumeUnit: "liters", VolumeMax: cola.Some(2.0),
		},
		Schedule: &cola.ScheduleParams{Cadence: "Weekly", Day: cola.Some(1)},
	}
	if diff := cmp.Diff(want, f.created); diff != "" || got.failed {
		t.Errorf("%s (-want +got):\n%s", got.texts[0], diff)
	}
	settled, err := want.Normalize(now)
	if err != nil {
		t.Fatal(err)
	}
	settled.UUID, settled.CreatedAt = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", cola.TimestampOf(now)
	settled.DashboardURL = "https://" + testHost + "/saved-searches"
	settled.ManageURL = settled.DashboardURL + "/" + settled.UUID
	var data any
	if err := json.Unmarshal(mustJSON(settled), &data); err != nil || !cmp.Equal(data, got.content["data"]) {
		t.Errorf("response differs from the saved search (%v): %s", err, cmp.Diff(data, got.content["data"]))
	}
	if f.spent != 1 || f.used != (cola.Used{}) || got.content["charged"] != nil {
		t.Errorf("creation counted %d requests, used %+v, charged %v", f.spent, f.used, got.content["charged"])
	}
}

// TestSavedSearchNotes checks that the notes say whether and when the search runs.
func TestSavedSearchNotes(t *testing.T) {
	const look = "search_colas"
	var runs cola.Opt[string] // not paused
	tests := []struct {
		schedule string
		repeated bool
		paused   cola.Opt[string]
		want     []string // parts of the notes, in order
	}{
		{`null`, false, runs, []string{"schedule", look}},
		{`{"cadence":"monthly","day":1,"active":false}`, false, runs, []string{"paused", look}},
		{`{"cadence":"monthly","day":1}`, false, runs, []string{"Tuesday, December 1, 2026, 06:00 UTC", look}},
		{`{"cadence":"monthly","day":1}`, false, cola.Some(cola.PausedDowngraded), []string{"more active schedules", look}},
		{`{"cadence":"monthly","day":1}`, false, cola.Some(cola.PausedSuspended), []string{"suspended", look}},
		{`null`, true, runs, []string{"identical", "schedule", look}},
	}
	for _, tt := range tests {
		f := newFake()
		f.repeated, f.paused = tt.repeated, tt.paused
		got := call(t, mustServe(t, f, io.Discard), "create_saved_search", strings.TrimSuffix(goodSearch, "}")+`,"schedule":`+tt.schedule+`}`)
		checkNotes(t, tt.schedule, got, tt.want...)
	}
}

// checkNotes checks that a response has exactly one note for each given part.
func checkNotes(t *testing.T, what string, got called, want ...string) {
	t.Helper()
	notes, _ := got.content["notes"].([]any)
	for i, part := range want {
		if i >= len(notes) || !strings.Contains(notes[i].(string), part) {
			t.Errorf("%s: note %d of %q lacks %q", what, i, notes, part)
		}
	}
	if len(notes) != len(want) || got.failed {
		t.Errorf("%s: %d notes, want %d: %s", what, len(notes), len(want), got.texts)
	}
}

// TestUpdateSavedSearch checks that the values in a request change, and that absent or null ones do
// not.
func TestUpdateSavedSearch(t *testing.T) {
	filters := cola.SavedSearchFilters{BrandName: "elm", ContainerCan: cola.Some(true)}
	for arguments, want := range map[string]cola.SavedSearchChangeParams{
		`"name":"Elms"`:                         {Name: "Elms"},
		`"schedule":{"active":false}`:           {Schedule: &cola.ScheduleChangeParams{Active: cola.Some(false)}},
		`"schedule":{"active":"true"}`:          {Schedule: &cola.ScheduleChangeParams{Active: cola.Some(true)}},
		`"schedule":{"cadence":"daily"}`:        {Schedule: &cola.ScheduleChangeParams{Cadence: "daily"}},
		`"remove_schedule":true`:                {Nulled: cola.Nulled{Nulls: []string{"schedule"}}},
		`"remove_schedule":false,"name":"Elms"`: {Name: "Elms"},
		`"filters":{"brand_name":"elm","container_can":true},"schedule":null`:          {Filters: &filters},
		`"name":"Elms","filters":{"query":null},"schedule":{"active":null,"day":null}`: {Name: "Elms"},
	} {
		f := newFake()
		got := call(t, mustServe(t, f, io.Discard), "update_saved_search", `{"uuid":"`+savedUUID+`",`+arguments+`}`)
		if diff := cmp.Diff(want, f.changed); diff != "" || got.failed || f.spent != 1 {
			t.Errorf("%s: %s, %d requests counted (-want +got):\n%s", arguments, got.texts, f.spent, diff)
		}
		var data any
		if err := json.Unmarshal(mustJSON(f.saved[0]), &data); err != nil || !cmp.Equal(data, got.content["data"]) {
			t.Errorf("%s: response differs from the saved search (%v): %s", arguments, err, cmp.Diff(data, got.content["data"]))
		}
	}
	for arguments, wrong := range map[string]string{
		`{"name":"Elms"}`: "uuid", `{"uuid":null,"name":"Elms"}`: "uuid", `{"uuid":"` + savedUUID + `"}`: "body",
		`{"uuid":"` + savedUUID + `","schedule":{"active":false},"remove_schedule":true}`: "remove_schedule",
		`{"uuid":"` + savedUUID + `","filters":{"abv_min":200}}`:                          "filters.abv_min",
	} {
		f := newFake()
		if got := call(t, mustServe(t, f, io.Discard), "update_saved_search", arguments); got.code(t) != "validation_error" || got.problems(t)[wrong] == nil || f.spent != 1 {
			t.Errorf("%s: %s, %d requests counted", arguments, got.texts[0], f.spent)
		}
	}
}

// TestDeleteSavedSearch checks that a second deletion returns "not found", with a hint on how to
// find searches.
func TestDeleteSavedSearch(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	const arguments = `{"uuid":"` + savedUUID + `"}`
	got := call(t, h, "delete_saved_search", arguments)
	if want := map[string]any{"uuid": savedUUID, "deleted": true}; got.failed || !cmp.Equal(got.content["data"], any(want)) || len(f.saved) != 0 {
		t.Errorf("delete_saved_search = %s, %d searches left; want 0", got.texts, len(f.saved))
	}
	for tool, arguments := range map[string]string{"delete_saved_search": arguments, "update_saved_search": strings.TrimSuffix(arguments, "}") + `,"name":"x"}`} {
		got := call(t, h, tool, arguments)
		if got.code(t) != "not_found" || !strings.Contains(got.texts[1], "list_saved_searches") {
			t.Errorf("%s: want not_found and a hint: %q", tool, got.texts)
		}
	}
	if got := call(t, h, "list_saved_searches", `{}`); rowsOf(got.content) != 0 || got.failed {
		t.Errorf("list after deletion: want no searches: %s", got.texts[0])
	}
}

// TestListSavedSearches checks the rows of each page, and that a note says how to get the next
// page.
func TestListSavedSearches(t *testing.T) {
	f := newFake()
	f.saved = slices.Repeat(f.saved, 25)
	h := mustServe(t, f, io.Discard)
	first, second := call(t, h, "list_saved_searches", `{}`), call(t, h, "list_saved_searches", `{"page":2}`)
	checkNotes(t, "the first page", first, "page 2")
	checkNotes(t, "the second page", second)
	if rowsOf(first.content) != 20 || rowsOf(second.content) != 5 {
		t.Errorf("pages have %d and %d rows, want 20 and 5", rowsOf(first.content), rowsOf(second.content))
	}
	f.saved[0].Name = strings.Repeat("ü", 200)
	f.saved[0].Filters.Query = strings.Repeat("<", 200)
	f.saved = slices.Repeat(f.saved[:1], 100)
	large := call(t, h, "list_saved_searches", `{"per_page":100}`)
	if n := tokens(large.body); n >= maxTokens || rowsOf(large.content) >= 100 || rowsOf(large.content) == 0 {
		t.Errorf("%d searches are %d tokens", rowsOf(large.content), n)
	}
	checkNotes(t, "a large page", large, "per_page")
}

// TestSavedSearchProblems checks that all problems are reported at once: nested ones under dotted
// names, and missing arguments with the service's messages.
func TestSavedSearchProblems(t *testing.T) {
	f := newFake()
	got := call(t, mustServe(t, f, io.Discard), "create_saved_search",
		`{"filters":{"brand":"oak","approval_date_from":"2024-01-01","abv_min":200,"type_wine":"yes"},"schedule":{"cadence":"hourly"},"brand_name":"oak"}`)
	want := []string{"brand_name", "filters.abv_min", "filters.approval_date_from", "filters.brand", "filters.type_wine", "name", "schedule.cadence"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got.problems(t)))); diff != "" || !got.failed || f.spent != 1 || len(got.texts) != 2 {
		t.Errorf("%d requests counted, hint %q, arguments with problems (-want +got):\n%s", f.spent, got.texts[1:], diff)
	}
	for arguments, missing := range map[string]string{`{}`: "filters", `{"name":"x"}`: "filters", `{"name":"x","filters":null}`: "filters", `{"filters":{}}`: "name"} {
		problems := call(t, mustServe(t, newFake(), io.Discard), "create_saved_search", arguments).problems(t)
		if messages, _ := problems[missing].([]any); len(messages) != 1 {
			t.Errorf("%s: problems %v, want one message for %s", arguments, problems, missing)
		}
	}
	for _, filters := range []string{`"{\"brand_name\":\"oak\"}"`, `["brand_name"]`} {
		got := call(t, mustServe(t, newFake(), io.Discard), "create_saved_search", `{"name":"x","filters":`+filters+`}`)
		if problems := got.problems(t); len(problems) != 1 || !strings.Contains(fmt.Sprint(problems["filters"]), `{"query": "barrel aged"`) {
			t.Errorf("filters %s: problems %v, want one problem, with filters, that shows an example", filters, problems)
		}
	}
}

// TestSavedSearchErrors checks that a service error becomes a result that a model can act on.
func TestSavedSearchErrors(t *testing.T) {
	for code, hint := range map[cola.Code]string{cola.CodeSearchTooBroad: "brand_name", cola.CodeWatchlistLimit: "update_saved_search"} {
		f := newFake()
		f.err = &cola.Error{Code: code, Message: "No.", Details: map[string]any{"limit": 10}}
		got := call(t, mustServe(t, f, io.Discard), "create_saved_search", goodSearch)
		if got.StatusCode != http.StatusOK || !got.failed || got.content != nil || got.code(t) != string(code) || len(got.texts) != 2 || !strings.Contains(got.texts[1], hint) {
			t.Errorf("%s: status %d, want 200 with the error and a hint: %q", code, got.StatusCode, got.texts)
		}
	}
}

// TestSavedSearchScope checks that a token without the write scope gets an HTTP 403 from tools that
// write, but can read.
func TestSavedSearchScope(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	token := []string{"X-API-Key: ", "Authorization: Bearer " + testToken}
	for tool, arguments := range map[string]string{
		"create_saved_search": goodSearch, "update_saved_search": `{"uuid":"` + savedUUID + `","name":"x"}`, "delete_saved_search": `{"uuid":"` + savedUUID + `"}`,
	} {
		f.spent, f.target = 0, ""
		rejected := rpc(t, h, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`, token...)
		if rejected.StatusCode != http.StatusForbidden || !strings.Contains(rejected.Header.Get("Www-Authenticate"), `error="insufficient_scope"`) || f.spent != 1 {
			t.Errorf("%s: %d %s, %d requests counted", tool, rejected.StatusCode, rejected.body, f.spent)
		}
		if f.created.Name != "" || f.target != "" {
			t.Errorf("%s: service was called with %+v, %q", tool, f.created, f.target)
		}
	}
	for _, tool := range []string{"get_usage", "list_saved_searches"} {
		read := rpc(t, h, "tools/call", `{"name":"`+tool+`","arguments":{}}`, token...)
		if read.StatusCode != http.StatusOK || read.json.Result["isError"] == true {
			t.Errorf("%s: status %d, want 200: %s", tool, read.StatusCode, read.body)
		}
	}
}

// TestMissingScopeAndOtherError checks that a call that lacks the scope and is also rejected for
// another reason returns the error for that reason, is not run, and is counted only once.
func TestMissingScopeAndOtherError(t *testing.T) {
	token := []string{"X-API-Key: ", "Authorization: Bearer " + testToken}
	create := `{"name":"create_saved_search","arguments":` + goodSearch + `}`
	for code, limitErr := range map[string]*cola.Error{
		"quota_exceeded": {Code: cola.CodeQuotaExceeded, Message: "Too fast.", RetryAfter: 12e9, Details: map[string]any{"reason": "burst"}},
		"unavailable":    cola.Unavailable(),
		"internal_error": {Code: cola.CodeInternal, Message: "secret"},
	} {
		f := newFake()
		f.err = limitErr
		h := mustServe(t, f, io.Discard)
		usual := rpc(t, h, "tools/call", `{"name":"get_usage"}`, append(token, "X-Request-Id: seen")...)
		f.spent, f.looks = 0, 0
		for _, revision := range [][2]string{{create, ""}, {modern(create), "2026-07-28"}} {
			lines := append([]string{"X-Request-Id: seen"}, token...)
			if revision[1] != "" {
				lines = append(lines, modernHeaders("tools/call", "create_saved_search")...)
			}
			got := rpc(t, h, "tools/call", revision[0], lines...)
			if got.StatusCode != http.StatusOK || got.json.Result["isError"] != true || !strings.Contains(got.body, code) || strings.Contains(got.body, "secret") {
				t.Errorf("%s %s: status %d, want 200 with the error: %s", code, revision[1], got.StatusCode, got.body)
			}
			if revision[1] == "" && got.body != usual.body {
				t.Errorf("%s: %s, want the error from an authorized call: %s", code, got.body, usual.body)
			}
			checkHeaders(t, got)
		}
		if f.spent != 2 || f.looks != 0 || f.created.Name != "" {
			t.Errorf("%s: %d calls to the service for two messages, %d lookups, created %+v", code, f.spent, f.looks, f.created)
		}
	}
	f := newFake()
	f.err = cola.Errorf(cola.CodeUnauthorized, "Revoked.")
	if got := rpc(t, mustServe(t, f, io.Discard), "tools/call", create, token...); got.StatusCode != http.StatusUnauthorized || f.spent != 1 {
		t.Errorf("revoked key: %d %s, %d calls to the service", got.StatusCode, got.body, f.spent)
	}
}
