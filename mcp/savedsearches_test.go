package mcp

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

const goodSearch = `{"name":"Oaks","filters":{"brand_name":"oak"}}`

func TestSavedSearchReachesTheService(t *testing.T) {
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
		t.Errorf("the answer is not the search (%v): %s", err, cmp.Diff(data, got.content["data"]))
	}
	if f.spent != 1 || f.used != (cola.Used{}) || got.content["charged"] != nil {
		t.Errorf("a creation cost %d requests and %+v, and says %v", f.spent, f.used, got.content["charged"])
	}
}

// TestNotesOnSavedSearches: what became of a call is said, and no more than is true.
func TestNotesOnSavedSearches(t *testing.T) {
	const look = "To see what there is already call search_colas with the same filters."
	var runs cola.Opt[string] // for no reason it does not
	tests := []struct {
		schedule string
		repeated bool
		paused   cola.Opt[string]
		want     []any
	}{
		{`null`, false, runs, []any{"The search is kept. It has no schedule, so it does not run by itself.", look}},
		{`{"cadence":"monthly","day":1,"active":false}`, false, runs, []any{"The search is kept and its schedule is paused, so it does not run by itself.", look}},
		{`{"cadence":"monthly","day":1}`, false, runs, []any{"The search is kept and scheduled, due next on Tuesday, 1 December 2026, 06:00 UTC. Matches are sent to the account's destinations (email only if this service sends email); the REST API manages them at /destinations and lists all matches at /saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11/matches, for one list record each.", look}},
		{`{"cadence":"monthly","day":1}`, false, cola.Some(cola.PausedDowngraded), []any{
			"The search is kept and does not run: the account has more active schedules than it may, and the oldest of them run.", look,
		}},
		{`null`, true, runs, []any{
			"This search exists already: the same call made it before, and nothing was made now.", "The search is kept. It has no schedule, so it does not run by itself.", look,
		}},
	}
	for _, tt := range tests {
		f := newFake()
		f.repeated, f.paused = tt.repeated, tt.paused
		got := call(t, mustServe(t, f, io.Discard), "create_saved_search", strings.TrimSuffix(goodSearch, "}")+`,"schedule":`+tt.schedule+`}`)
		if diff := cmp.Diff(any(tt.want), got.content["notes"]); diff != "" {
			t.Errorf("%s, repeated %t (-want +got):\n%s", tt.schedule, tt.repeated, diff)
		}
	}
}

// TestProblemsOfSavedSearches: all are told at once, nested ones by dotted names, missing ones in the words of the service.
func TestProblemsOfSavedSearches(t *testing.T) {
	f := newFake()
	got := call(t, mustServe(t, f, io.Discard), "create_saved_search",
		`{"filters":{"brand":"oak","approval_date_from":"2024-01-01","abv_min":200,"type_wine":"yes"},"schedule":{"cadence":"hourly"},"brand_name":"oak"}`)
	want := map[string]any{
		"name":                       []any{"A name to recognise the search by is required: 1 to 200 characters."},
		"brand_name":                 []any{"There is no such parameter; did you mean filters.brand_name?"},
		"filters.brand":              []any{"There is no such parameter; did you mean filters.brand_name?"},
		"filters.approval_date_from": []any{"Approval dates are not part of a saved search: each scheduled run looks at the time since the run before. Leave it out; for labels of a certain time search for them."},
		"filters.abv_min":            []any{"200 is too large; the most is 100."},
		"filters.type_wine":          []any{`"yes" is not accepted; write true or false.`},
		"schedule.cadence":           []any{`"hourly" is not allowed; allowed: daily, weekly, monthly.`},
	}
	if diff := cmp.Diff(want, got.problems(t)); diff != "" || !got.failed || f.spent != 1 || !strings.Contains(got.texts[1], "Correct the arguments") {
		t.Errorf("%d spent, hint %q (-want +got):\n%s", f.spent, got.texts[1:], diff)
	}
	for arguments, missing := range map[string]string{`{}`: "filters", `{"name":"x"}`: "filters", `{"name":"x","filters":null}`: "filters", `{"filters":{}}`: "name"} {
		messages, _ := call(t, mustServe(t, newFake(), io.Discard), "create_saved_search", arguments).problems(t)[missing].([]any)
		if len(messages) != 1 || !strings.Contains(messages[0].(string), "is required") {
			t.Errorf("%s: %s is told as %q", arguments, missing, messages)
		}
	}
	for arguments, form := range map[string]string{
		`{"name":"x","filters":"{\"brand_name\":\"oak\"}"}`: `It is a text; send an object, such as {"query": "barrel aged", "brand_name": "oak"}.`,
		`{"name":"x","filters":["brand_name"]}`:             `It is an array; send an object, such as {"query": "barrel aged", "brand_name": "oak"}.`,
	} {
		if got := call(t, mustServe(t, newFake(), io.Discard), "create_saved_search", arguments); !cmp.Equal(got.problems(t)["filters"], any([]any{form})) {
			t.Errorf("%s: %s", arguments, got.texts[0])
		}
	}
}

// TestRefusedSavedSearches: what the service refuses is a result that a model can act on.
func TestRefusedSavedSearches(t *testing.T) {
	for code, hint := range map[cola.Code]string{
		cola.CodeSearchTooBroad: "Add to filters what the user wants watched",
		cola.CodeWatchlistLimit: "the same call will be refused again",
	} {
		f := newFake()
		f.err = &cola.Error{Code: code, Message: "No.", Details: map[string]any{"limit": 10}}
		got := call(t, mustServe(t, f, io.Discard), "create_saved_search", goodSearch)
		if got.StatusCode != http.StatusOK || !got.failed || got.content != nil || got.code(t) != string(code) || len(got.texts) != 2 || !strings.Contains(got.texts[1], hint) {
			t.Errorf("%s: %d %q", code, got.StatusCode, got.texts)
		}
	}
}

// TestScopeOfSavedSearches: a token without the scope is refused by HTTP, and reads all the same.
func TestScopeOfSavedSearches(t *testing.T) {
	f := newFake()
	h := mustServe(t, f, io.Discard)
	token := []string{"X-API-Key: ", "Authorization: Bearer " + testToken}
	refused := rpc(t, h, "tools/call", `{"name":"create_saved_search","arguments":`+goodSearch+`}`, token...)
	if refused.StatusCode != http.StatusForbidden || !strings.Contains(refused.Header.Get("Www-Authenticate"), `error="insufficient_scope"`) || f.spent != 1 {
		t.Errorf("%d %s, %d spent", refused.StatusCode, refused.body, f.spent)
	}
	if f.created.Name != "" {
		t.Errorf("the service was asked for %+v", f.created)
	}
	if read := rpc(t, h, "tools/call", `{"name":"get_usage","arguments":{}}`, token...); read.StatusCode != http.StatusOK || read.json.Result["isError"] == true {
		t.Errorf("reading is answered with %d %s", read.StatusCode, read.body)
	}
}

// TestScopeInAFullMinute: a call that is not even let through is answered as any other is, and is neither run nor counted twice.
func TestScopeInAFullMinute(t *testing.T) {
	token := []string{"X-API-Key: ", "Authorization: Bearer " + testToken}
	create := `{"name":"create_saved_search","arguments":` + goodSearch + `}`
	for code, refusal := range map[string]*cola.Error{
		"quota_exceeded": {Code: cola.CodeQuotaExceeded, Message: "Too fast.", RetryAfter: 12e9, Details: map[string]any{"reason": "burst"}},
		"unavailable":    cola.Unavailable(),
		"internal_error": {Code: cola.CodeInternal, Message: "secret"},
	} {
		f := newFake()
		f.err = refusal
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
				t.Errorf("%s %s: %d %s", code, revision[1], got.StatusCode, got.body)
			}
			if revision[1] == "" && got.body != usual.body {
				t.Errorf("%s is told as %s and usually as %s", code, got.body, usual.body)
			}
			checkHeaders(t, got)
		}
		if f.spent != 2 || f.looks != 0 || f.created.Name != "" {
			t.Errorf("%s: asked %d times for two calls, looked %d times, created %+v", code, f.spent, f.looks, f.created)
		}
	}
	f := newFake()
	f.err = cola.Errorf(cola.CodeUnauthorized, "Revoked.")
	if got := rpc(t, mustServe(t, f, io.Discard), "tools/call", create, token...); got.StatusCode != http.StatusUnauthorized || f.spent != 1 {
		t.Errorf("a revoked link: %d %s, asked %d times", got.StatusCode, got.body, f.spent)
	}
}
