package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
)

const (
	explainPath = onePath + "/explain/26282001000009"
	runPath     = onePath + "/run"
)

// TestExplanationIsCharged for the label that it shows; what is not found is free.
func TestExplanationIsCharged(t *testing.T) {
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
		units := map[bool]int{true: 1}[want == 200]
		if resp.StatusCode != want || f.spent != 1 || f.used != (cola.Used{ListRecords: units}) {
			t.Errorf("%s: %d at %d requests and %+v", target, resp.StatusCode, f.spent, f.used)
		}
	}
}

// TestRunNow: it is accepted, not done; the search says when it is due. A body is not read, and a query is refused.
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
			t.Errorf("%s %s: %d %s", tt.target, tt.body, resp.StatusCode, body)
		}
		if f.spent != 1 || f.used != (cola.Used{}) || resp.Header.Get("Location") != "" {
			t.Errorf("%s cost %d requests and %+v", tt.target, f.spent, f.used)
		}
	}
}

// TestRefusedRuns has the service refuse in each of its ways, and holds the answers against the description.
func TestRefusedRuns(t *testing.T) {
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
			t.Errorf("%s: %d %s", refusal.Code, resp.StatusCode, got.Error.Code)
		}
	}
	resp := send(t, mustServe(t, newFake(), io.Discard), http.MethodPost, runPath, "Authorization: Bearer "+testToken)
	if challenge := resp.Header.Get("Www-Authenticate"); resp.StatusCode != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) {
		t.Errorf("a token without the scope: %d, WWW-Authenticate %q", resp.StatusCode, challenge)
	}
}

// TestExampleExplanationAgrees with the example search and the example match.
func TestExampleExplanationAgrees(t *testing.T) {
	e, match := exampleExplanation(), exampleMatches().Data[0]
	var filters []string
	for _, f := range e.Filters {
		filters = append(filters, f.Filter)
	}
	if diff := cmp.Diff(match.Met.Names(), filters); diff != "" {
		t.Errorf("filters (-match +explained):\n%s", diff)
	}
	if e.TTBID != match.TTBID || e.Label.TTBID != e.TTBID || *e.Found != match || e.Verdict != cola.VerdictFound || !strings.Contains(e.Message, "Run 1841 ") {
		t.Errorf("%+v", e)
	}
	asked := exampleAskedSearch().Schedule
	if !asked.NextRunAt.V.Time().After(asked.LastRunAt.V.Time()) || asked.NextRunAt.V.Time().After(asked.Next(asked.LastRunAt.V.Time())) {
		t.Errorf("a search that was asked to run is due at %v", asked.NextRunAt)
	}
}
