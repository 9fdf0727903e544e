package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
)

func TestCreateSavedSearch(t *testing.T) {
	f := newFake()
	resp := post(t, mustServe(t, f, io.Discard), createPath,
		`{"name":"Oaks","filters":{"brand_name":"oak","type_wine":true,"container_can":false,"abv_min":12.5,"volume_unit":"liters","volume_max":2},"schedule":{"cadence":"monthly","day":28,"active":false}}`,
		"Idempotency-Key: 5f0c2c1e")
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("response = %d %s, want 201", resp.StatusCode, mustRead(t, resp))
	}
	want := cola.SavedSearchParams{
		Name: "Oaks", IdempotencyKey: "5f0c2c1e",
		Filters: &cola.SavedSearchFilters{
			BrandName: "oak", TypeWine: cola.Some(true), ContainerCan: cola.Some(false), ABVMin: cola.Some(12.5), VolumeUnit: "liters", VolumeMax: cola.Some(2.0),
		},
		Schedule: &cola.ScheduleParams{Cadence: "monthly", Day: cola.Some(28), Active: cola.Some(false)},
	}
	if diff := cmp.Diff(want, f.created); diff != "" {
		t.Errorf("service received (-want +got):\n%s", diff)
	}
	if f.used != (cola.Used{}) || f.spent != 1 {
		t.Errorf("spent %+v and %d requests, want only 1 request", f.used, f.spent)
	}
}

// TestIdempotentReplay checks that the response to a repeated request is marked as a replay, and
// otherwise equals the first one.
func TestIdempotentReplay(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	f := newFake()
	h := mustServe(t, f, io.Discard)
	first := post(t, h, createPath, goodBody, "Idempotency-Key: a", "X-Request-Id: same")
	f.repeated = true
	second := post(t, h, createPath, goodBody, "Idempotency-Key: a", "X-Request-Id: same")
	spec.Validate(t, httptest.NewRequest(http.MethodPost, createPath, nil), second)
	if got := second.Header.Get("Idempotent-Replayed"); got != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("Idempotent-Replayed = %q, then %q; want none, then true", first.Header.Get("Idempotent-Replayed"), got)
	}
	second.Header.Del("Idempotent-Replayed")
	if diff := cmp.Diff(first.Header, second.Header); diff != "" || second.StatusCode != http.StatusCreated {
		t.Errorf("repeated request: status = %d, want 201 (-first +second):\n%s", second.StatusCode, diff)
	}
	if a, b := mustRead(t, first), mustRead(t, second); a != b {
		t.Errorf("bodies differ:\n%s\n%s", a, b)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		keys    []string
		message string
	}{
		"none": {}, "one": {keys: []string{"8e03978e-40d5-43dd-bc93-6894a57f9324"}}, "longest": {keys: []string{strings.Repeat("x", 255)}},
		"too long":  {[]string{strings.Repeat("x", 256)}, "255"},
		"a space":   {[]string{"a b"}, "visible ASCII"},
		"not ASCII": {[]string{"clé"}, "visible ASCII"},
		"twice":     {[]string{"a", "b"}, "2 times"},
		"identical": {[]string{"a", "a"}, "2 times"},
	} {
		f := newFake()
		var lines []string
		for _, key := range tt.keys {
			lines = append(lines, "Idempotency-Key: "+key)
		}
		resp := post(t, mustServe(t, f, io.Discard), createPath, goodBody, lines...)
		if tt.message == "" {
			if resp.StatusCode != http.StatusCreated || f.created.IdempotencyKey != strings.Join(tt.keys, "") {
				t.Errorf("%s: status = %d, idempotency key = %q", name, resp.StatusCode, f.created.IdempotencyKey)
			}
			continue
		}
		messages, _ := mustDecode(t, resp).Error.Details["Idempotency-Key"].([]any)
		if resp.StatusCode != http.StatusBadRequest || len(messages) != 1 || !strings.Contains(messages[0].(string), tt.message) {
			t.Errorf("%s: response = %d %v, want 400 with one problem containing %q", name, resp.StatusCode, messages, tt.message)
		}
	}
}

// TestRejectedSavedSearches checks the response to each service error against the OpenAPI
// description.
func TestRejectedSavedSearches(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	tests := []struct {
		err       *cola.Error
		status    int
		challenge string
	}{
		{cola.Errorf(cola.CodeSearchTooBroad, "Too broad."), 400, ""},
		{cola.InsufficientScope(cola.ScopeWriteSavedSearches), 403, `error="insufficient_scope"`},
		{&cola.Error{Code: cola.CodeWatchlistLimit, Message: "Limit reached.", Details: map[string]any{"limit": 10}}, 409, ""},
		{cola.Errorf(cola.CodeIdempotencyKeyReused, "Reused."), 409, ""},
	}
	for _, tt := range tests {
		f := newFake()
		f.err = tt.err
		resp := post(t, mustServe(t, f, io.Discard), createPath, goodBody)
		spec.Validate(t, httptest.NewRequest(http.MethodPost, createPath, nil), resp)
		got := mustDecode(t, resp)
		if resp.StatusCode != tt.status || got.Error.Code != string(tt.err.Code) || resp.Header.Get("Location") != "" {
			t.Errorf("%s: response = %d %s, want %d", tt.err.Code, resp.StatusCode, got.Error.Code, tt.status)
		}
		if challenge := resp.Header.Get("Www-Authenticate"); !strings.Contains(challenge, tt.challenge) || tt.challenge == "" && challenge != "" {
			t.Errorf("%s: WWW-Authenticate = %q, want %q", tt.err.Code, challenge, tt.challenge)
		}
	}
}

// TestCreateScope checks that a token without the write scope can read but not create, and that the
// scope error takes precedence over other errors.
func TestCreateScope(t *testing.T) {
	for _, body := range []string{goodBody, `{"filters":{"brand":1}}`} {
		f := newFake()
		resp := sendBody(t, mustServe(t, f, io.Discard), http.MethodPost, createPath, strings.NewReader(body), "Authorization: Bearer "+testToken, "Content-Type: application/json")
		got := mustDecode(t, resp)
		if resp.StatusCode != http.StatusForbidden || got.Error.Details["required_scope"] != "saved_searches:write" || f.spent != 1 {
			t.Errorf("%s: response = %d %+v, %d requests spent; want 403, 1", body, resp.StatusCode, got.Error, f.spent)
		}
	}
	if resp := send(t, mustServe(t, newFake(), io.Discard), http.MethodGet, "/api/v1/usage", "Authorization: Bearer "+testToken); resp.StatusCode != http.StatusOK {
		t.Errorf("token without scopes: status = %d, want 200", resp.StatusCode)
	}
}

// TestCreateFromBrowser checks that a script on another origin can send the headers of a create
// request and read the Location header.
func TestCreateFromBrowser(t *testing.T) {
	h := mustServe(t, newFake(), io.Discard)
	preflight := send(t, h, http.MethodOptions, createPath, "Origin: https://shop.example", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: content-type,idempotency-key,x-api-key")
	if got := preflight.Header.Get("Access-Control-Allow-Methods"); got != http.MethodPost {
		t.Errorf("Access-Control-Allow-Methods = %q, want POST", got)
	}
	if got := preflight.Header.Get("Access-Control-Allow-Headers"); !strings.EqualFold(got, "Content-Type, Idempotency-Key, X-Api-Key") {
		t.Errorf("Access-Control-Allow-Headers = %q", got)
	}
	exposed := strings.Split(strings.ToLower(post(t, h, createPath, goodBody, "Origin: https://shop.example").Header.Get("Access-Control-Expose-Headers")), ", ")
	for _, name := range []string{"location", "idempotent-replayed", "www-authenticate", "x-quota-reset"} {
		if !slices.Contains(exposed, name) {
			t.Errorf("header %s is not exposed; exposed: %s", name, exposed)
		}
	}
}

// TestExampleSavedSearch checks that the example response is the normalized example body.
func TestExampleSavedSearch(t *testing.T) {
	want := exampleSavedSearch()
	got, err := exampleSavedSearchBody().Normalize(want.CreatedAt.Time())
	if err != nil {
		t.Fatal(err)
	}
	got.UUID, got.CreatedAt, got.ManageURL, got.DashboardURL = want.UUID, want.CreatedAt, want.ManageURL, want.DashboardURL
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("normalized search (-example +got):\n%s", diff)
	}
}

// TestRequestSchema checks that client-side validation finds misspelled fields and accepts
// missing optional ones.
func TestRequestSchema(t *testing.T) {
	schemas := describe(operations(newFake()), Options{}.withDefaults()).Components.Schemas.Map()
	for name, required := range map[string][]string{
		"SavedSearchRequest": {"name", "filters"}, "ScheduleRequest": {"cadence"}, "PreviewRequest": {"filters"}, "SavedSearchChange": {}, "ScheduleChange": {},
	} {
		if diff := cmp.Diff(required, append([]string{}, schemas[name].Required...)); diff != "" || schemas[name].AdditionalProperties != false {
			t.Errorf("%s: additionalProperties = %v; required (-want +got):\n%s", name, schemas[name].AdditionalProperties, diff)
		}
	}
	filters := schemas["SavedSearchFilters"]
	if got := len(cola.FieldsOf[cola.SavedSearchFilters]()); len(filters.Properties) != got || len(filters.Required) != 0 {
		t.Errorf("schema has %d of %d filters, required %v", len(filters.Properties), got, filters.Required)
	}
	b, err := json.Marshal(exampleSavedSearchBody())
	if want := `{"name":"Wines called oak","filters":{"brand_name":"oak","type_wine":true},"schedule":{"cadence":"weekly","day":1}}`; err != nil || string(b) != want {
		t.Errorf("example body = %s, %v", b, err)
	}
}

const (
	explainPath = onePath + "/explain/26282001000009"
	runPath     = onePath + "/run"
)

// TestExplanationCharge checks that an explanation costs one list record, and that errors are free.
func TestExplanationCharge(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for target, want := range map[string]int{
		explainPath:                           200,
		onePath + "/explain/26282001000010":   404,
		createPath + "/1/explain/26282001000": 404,
		explainPath + "?page=1":               400,
	} {
		f := newFake()
		resp := get(t, mustServe(t, f, io.Discard), target)
		spec.Validate(t, httptest.NewRequest(http.MethodGet, target, nil), resp)
		units := 0
		if want == 200 {
			units = 1
		}
		if resp.StatusCode != want || f.spent != 1 || f.used != (cola.Used{ListRecords: units}) {
			t.Errorf("%s: status = %d, spent %d requests and %+v", target, resp.StatusCode, f.spent, f.used)
		}
	}
}

// TestRunNow checks that a manual run is accepted with a 202 and that the search shows when it is
// due. The body is ignored and a query string is rejected.
func TestRunNow(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		target, body string
		status       int
	}{
		{runPath, "", 202}, {runPath, `{"now":true}`, 202}, {runPath + "?when=now", "", 400}, {createPath + "/1/run", "", 404},
	} {
		f := newFake()
		resp := write(t, mustServe(t, f, io.Discard), http.MethodPost, tt.target, tt.body)
		spec.Validate(t, httptest.NewRequest(http.MethodPost, tt.target, nil), resp)
		body := mustRead(t, resp)
		if due := strings.Contains(body, `"next_run_at":"2026-11-20T12:00:00Z"`); resp.StatusCode != tt.status || due != (tt.status == 202) {
			t.Errorf("%s %s: response = %d %s, want %d", tt.target, tt.body, resp.StatusCode, body, tt.status)
		}
		if f.spent != 1 || f.used != (cola.Used{}) || resp.Header.Get("Location") != "" {
			t.Errorf("%s: spent %d requests and %+v, want only 1 request", tt.target, f.spent, f.used)
		}
	}
}

// TestRejectedRuns checks the response to each service error against the OpenAPI description.
func TestRejectedRuns(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for status, refusal := range map[int]*cola.Error{
		400: cola.Errorf(cola.CodeSearchTooBroad, "Too broad."),
		403: cola.InsufficientScope(cola.ScopeWriteSavedSearches),
		404: cola.Errorf(cola.CodeNotFound, "Gone."),
		409: {Code: cola.CodeNotActive, Message: "Downgraded.", Details: map[string]any{"reason": cola.PausedDowngraded}},
	} {
		f := newFake()
		f.err = refusal
		resp := write(t, mustServe(t, f, io.Discard), http.MethodPost, runPath, "")
		spec.Validate(t, httptest.NewRequest(http.MethodPost, runPath, nil), resp)
		if got := mustDecode(t, resp); resp.StatusCode != status || got.Error.Code != string(refusal.Code) {
			t.Errorf("%s: response = %d %s, want %d", refusal.Code, resp.StatusCode, got.Error.Code, status)
		}
	}
	resp := send(t, mustServe(t, newFake(), io.Discard), http.MethodPost, runPath, "Authorization: Bearer "+testToken)
	if challenge := resp.Header.Get("Www-Authenticate"); resp.StatusCode != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) {
		t.Errorf("token without the scope: status = %d, WWW-Authenticate = %q; want 403", resp.StatusCode, challenge)
	}
}

// TestExampleExplanation checks the example against the example search and match.
func TestExampleExplanation(t *testing.T) {
	e, match := exampleExplanation(), exampleMatches().Data[0]
	var filters []string
	for _, f := range e.Filters {
		filters = append(filters, f.Filter)
	}
	if diff := cmp.Diff(match.Met.Names(), filters); diff != "" {
		t.Errorf("filters (-match +explained):\n%s", diff)
	}
	if e.TTBID != match.TTBID || e.Label.TTBID != e.TTBID || *e.Found != match || e.Verdict != cola.VerdictFound || !strings.Contains(e.Message, "Run 1841 ") {
		t.Errorf("explanation = %+v", e)
	}
	requested := exampleRequestedRun().Schedule
	if !requested.NextRunAt.V.Time().After(requested.LastRunAt.V.Time()) || requested.NextRunAt.V.Time().After(requested.Next(requested.LastRunAt.V.Time())) {
		t.Errorf("requested run is due at %v, want after the last run", requested.NextRunAt)
	}
}
