package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/internal/web"
)

const (
	onePath     = createPath + "/" + exampleUUID
	previewPath = createPath + "/preview"
	pauseBody   = `{"schedule":{"active":false}}`
)

// TestChangeSavedSearch checks that present, null and empty values are distinguished.
func TestChangeSavedSearch(t *testing.T) {
	for body, want := range map[string]cola.SavedSearchChangeParams{
		`{"name":"Elms"}`:                          {Name: "Elms"},
		`{"filters":{},"schedule":null,"name":""}`: {Filters: &cola.SavedSearchFilters{}, Nulled: cola.Nulled{Nulls: []string{"schedule"}}},
		`{"filters":{"abv_min":12,"query":""}}`:    {Filters: &cola.SavedSearchFilters{ABVMin: cola.Some(12.0)}},
		`{"schedule":null,"name":"x"}`:             {Name: "x", Nulled: cola.Nulled{Nulls: []string{"schedule"}}},
		`{"schedule":{"cadence":"daily","day":null}}`: {
			Schedule: &cola.ScheduleChangeParams{Cadence: "daily"}, Nulled: cola.Nulled{Nulls: []string{"schedule.day"}},
		},
		`{"schedule":{"day":3,"active":true}}`: {Schedule: &cola.ScheduleChangeParams{Day: cola.Some(3), Active: cola.Some(true)}},
	} {
		f := newFake()
		resp := write(t, mustServe(t, f, io.Discard), http.MethodPatch, onePath, body)
		if diff := cmp.Diff(want, f.changed); resp.StatusCode != http.StatusOK || diff != "" {
			t.Errorf("%s: response = %d %s, want 200 (-want +got):\n%s", body, resp.StatusCode, mustRead(t, resp), diff)
		}
		if f.received != exampleUUID || f.spent != 1 || f.used != (cola.Used{}) {
			t.Errorf("%s: service received %q, spent %d requests and %+v", body, f.received, f.spent, f.used)
		}
	}
}

func TestChangeMediaTypes(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		method, path, body, line string
		status                   int
	}{
		{"PATCH", onePath, pauseBody, "Content-Type: application/json", 200},
		{"PATCH", onePath, pauseBody, "Content-Type: application/merge-patch+json", 200},
		{"PATCH", onePath, pauseBody, "Content-Type: Application/Merge-Patch+JSON; charset=utf-8", 200},
		{"PATCH", onePath, pauseBody, "Content-Type: application/json-patch+json", 415},
		{"PATCH", onePath, pauseBody, "Content-Type: text/plain", 415},
		{"PATCH", onePath, pauseBody, "Accept: application/json", 415},
		{"POST", createPath, goodBody, "Content-Type: application/merge-patch+json", 415},
		{"POST", previewPath, `{"filters":{}}`, "Content-Type: application/merge-patch+json", 415},
	} {
		f := newFake()
		resp := sendBody(t, mustServe(t, f, io.Discard), tt.method, tt.path, strings.NewReader(tt.body), "X-API-Key: "+testKey, tt.line)
		spec.Validate(t, httptest.NewRequest(tt.method, tt.path, nil), resp)
		if body := mustRead(t, resp); resp.StatusCode != tt.status || f.spent != 1 ||
			tt.status == 415 && strings.Contains(body, "application/json or application/merge-patch+json") != (tt.method == "PATCH") {
			t.Errorf("%s %s, %s: response = %d %s, want %d", tt.method, tt.path, tt.line, resp.StatusCode, body, tt.status)
		}
	}
}

// TestInvalidSavedSearchBodies checks that each path rejects invalid bodies and query parameters
// without any effect.
func TestInvalidSavedSearchBodies(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	messages := golden.Load(t, "strict_saved_searches")
	for _, tt := range []struct{ method, target, body, field string }{
		{"PATCH", onePath, " ", "body"},
		{"PATCH", onePath, "[]", "body"},
		{"PATCH", onePath, `{"name":"a","name":"b"}`, "name"},
		{"PATCH", onePath, `{"name":"a","name":null}`, "name"},
		{"PATCH", onePath, `{"Name":"a"}`, "Name"},
		{"PATCH", onePath, `{"schedule":"daily"}`, "schedule"},
		{"PATCH", onePath, `{"schedule":{"day":"1"}}`, "schedule.day"},
		{"POST", createPath, `{"name":7,"filters":{}}`, "name"},
		{"POST", previewPath, `{"filters":{"type_wine":"true"}}`, "filters.type_wine"},
		{"PATCH", onePath, `{"active":false}`, "active"},
		{"PATCH", onePath, `{"approval_date_from":"2024-01-01"}`, "approval_date_from"},
		{"PATCH", onePath, `{"uuid":"x"}`, "uuid"},
		{"PATCH", onePath + "?active=false", pauseBody, "active"},
		{"POST", previewPath, " ", "body"},
		{"POST", previewPath, `{"filters":[]}`, "filters"},
		{"POST", previewPath, `{"filters":{"date_from":"2024-01-01"}}`, "filters.date_from"},
		{"POST", previewPath, `{"filters":{"volume_min":1}}`, "filters.volume_unit"},
		{"POST", previewPath + "?days=30", `{"filters":{}}`, "days"},
		{"DELETE", onePath + "?force=1", "", "force"},
		{"GET", onePath + "?expand=1", "", "expand"},
		{"GET", createPath + "?cursor=x&per_page=101", "", "per_page"},
	} {
		f := newFake()
		resp := write(t, mustServe(t, f, io.Discard), tt.method, tt.target, tt.body)
		spec.Validate(t, httptest.NewRequest(tt.method, tt.target, nil), resp)
		got := mustDecode(t, resp)
		messages.Check(t, tt.method+" "+tt.target+" "+tt.body, got.Error.Details)
		if resp.StatusCode != http.StatusBadRequest || got.Error.Details[tt.field] == nil {
			t.Errorf("%s %s %s: response = %d %v, want 400 with a problem for %s", tt.method, tt.target, tt.body, resp.StatusCode, got.Error, tt.field)
		}
		if f.spent != 1 || f.deleted != "" {
			t.Errorf("%s %s %s: spent %d requests, deleted %q; want 1 request, nothing deleted", tt.method, tt.target, tt.body, f.spent, f.deleted)
		}
	}
}

// TestDeleteSavedSearch checks that a 204 has the quota headers but no body and no Content-Type.
func TestDeleteSavedSearch(t *testing.T) {
	f := newFake()
	resp := write(t, mustServe(t, f, io.Discard), http.MethodDelete, onePath, "")
	h := resp.Header
	if resp.StatusCode != http.StatusNoContent || mustRead(t, resp) != "" || h.Get("Content-Type") != "" || h.Get("Content-Length") != "" || h.Get("Cache-Control") != "private, no-store" {
		t.Errorf("response = %d %v, want 204 without a body", resp.StatusCode, h)
	}
	for _, name := range web.QuotaHeaders() {
		if h.Get(name) == "" {
			t.Errorf("header %s is missing", name)
		}
	}
	if f.deleted != exampleUUID || f.spent != 1 || f.used != (cola.Used{}) {
		t.Errorf("deleted %q, spent %d requests and %+v", f.deleted, f.spent, f.used)
	}
}

// TestRejectedChanges checks the response to each service error against the OpenAPI description.
func TestRejectedChanges(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		err     *cola.Error
		status  int
		methods []string
	}{
		{cola.Errorf(cola.CodeSearchTooBroad, "Too broad."), 400, []string{"PATCH"}},
		{cola.InsufficientScope(cola.ScopeWriteSavedSearches), 403, []string{"PATCH", "DELETE"}},
		{cola.Errorf(cola.CodeNotFound, "Gone."), 404, []string{"GET", "PATCH", "DELETE"}},
		{&cola.Error{Code: cola.CodeWatchlistLimit, Message: "Limit reached.", Details: map[string]any{"limit": 10}}, 409, []string{"PATCH"}},
	} {
		for _, method := range tt.methods {
			f := newFake()
			f.err = tt.err
			body := map[string]string{"PATCH": pauseBody}[method]
			resp := write(t, mustServe(t, f, io.Discard), method, onePath, body)
			spec.Validate(t, httptest.NewRequest(method, onePath, nil), resp)
			if got := mustDecode(t, resp); resp.StatusCode != tt.status || got.Error.Code != string(tt.err.Code) {
				t.Errorf("%s, %s: response = %d %s, want %d", method, tt.err.Code, resp.StatusCode, got.Error.Code, tt.status)
			}
		}
	}
}

// TestChangeScope checks that a token without the write scope can read and preview but not
// change.
func TestChangeScope(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", createPath, "", 200}, {"GET", onePath, "", 200}, {"POST", previewPath, `{"filters":{}}`, 200},
		{"PATCH", onePath, pauseBody, 403}, {"DELETE", onePath, "", 403},
	} {
		f := newFake()
		lines := []string{"Authorization: Bearer " + testToken, "Content-Type: application/json"}
		resp := sendBody(t, mustServe(t, f, io.Discard), tt.method, tt.path, strings.NewReader(tt.body), lines...)
		challenged := strings.Contains(resp.Header.Get("Www-Authenticate"), `error="insufficient_scope"`)
		if resp.StatusCode != tt.status || challenged != (tt.status == 403) || f.spent != 1 || f.deleted != "" {
			t.Errorf("%s %s: status = %d, %d requests spent; want %d, 1", tt.method, tt.path, resp.StatusCode, f.spent, tt.status)
		}
	}
}
