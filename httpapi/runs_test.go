package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/openapitest"
	"github.com/colaregistry/colaregistry/registry"
)

// pageFor returns a page of rows for the fake's only search, or an error for invalid parameters.
func pageFor[T any](f *fake, id string, p cola.SavedSearchListParams, rows ...T) (registry.PageList[T], cola.QuotaState, error) {
	page, err := p.Normalize()
	l, state, err := rowsFor(f, err, rows...)
	f.received = id
	if err == nil && id != exampleUUID {
		err = cola.Errorf(cola.CodeNotFound, "There is no %s.", cola.Quoted(id))
	}
	return registry.PageList[T]{Rows: l.Rows, Meta: cola.PageMeta{Total: 41, Page: page.Page, PerPage: page.PerPage, HasMore: true}}, state, err
}

func (f *fake) SavedSearchRuns(_ context.Context, _ cola.Caller, id string, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchRun], cola.QuotaState, error) {
	return pageFor(f, id, p, cola.SavedSearchRun{
		ID: 5, RanAt: cola.TimestampOf(now), DateFrom: cola.DateOf(now) - 1, DateTo: cola.DateOf(now), MatchCount: 2, LateCount: 1,
	})
}

func (f *fake) SavedSearchMatches(_ context.Context, _ cola.Caller, id string, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	return pageFor[cola.SavedSearchMatch](f, id, p) // no rows: an empty array, never null
}

func (f *fake) RunMatches(_ context.Context, _ cola.Caller, id, run string, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
	l, state, err := pageFor(f, id, p, cola.SavedSearchMatch{RunID: 5, TTBID: 26282001000009, Late: true, Met: exampleMet()})
	f.received += " " + run
	return l, state, err
}

func TestRuns(t *testing.T) {
	const search = "/api/v1/saved-searches/" + exampleUUID
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		target, received, want string
	}{
		{
			search + "/runs?page=2&per_page=1", exampleUUID,
			`{"data":[{"id":5,"ran_at":"2026-11-20T12:00:00Z","date_from":"2026-11-19","date_to":"2026-11-20","match_count":2,"late_count":1,"manual":false}],"meta":{"total":41,"page":2,"per_page":1,"has_more":true,"truncated_by_quota":false}}`,
		},
		{search + "/matches", exampleUUID, `{"data":[],"meta":{"total":41,"page":1,"per_page":20,"has_more":true,"truncated_by_quota":false}}`},
		{
			search + "/runs/1%2F2/matches", exampleUUID + " 1/2",
			`{"data":[{"run_id":5,"ttb_id":"26282001000009","late":true,"met":["brand_name","type_wine"]}],"meta":{"total":41,"page":1,"per_page":20,"has_more":true,"truncated_by_quota":false}}`,
		},
	} {
		f := newFake()
		resp := get(t, mustServe(t, f, io.Discard), tt.target)
		spec.Validate(t, httptest.NewRequest(http.MethodGet, tt.target, nil), resp)
		if got := mustRead(t, resp); resp.StatusCode != http.StatusOK || got != tt.want || f.received != tt.received {
			t.Errorf("%s: status = %d, service received %q\n got %s\nwant %s", tt.target, resp.StatusCode, f.received, got, tt.want)
		}
		if f.spent != 1 || f.used != (cola.Used{}) {
			t.Errorf("%s: spent %d requests and %+v, want only 1 request", tt.target, f.spent, f.used)
		}
	}
}

func TestRunErrors(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for target, want := range map[string]int{
		"/api/v1/saved-searches/other/runs":                             404,
		"/api/v1/saved-searches/other/matches":                          404,
		"/api/v1/saved-searches/other/runs/1/matches":                   404,
		"/api/v1/saved-searches/" + exampleUUID + "/runs?per_page=101":  400,
		"/api/v1/saved-searches/" + exampleUUID + "/matches?late=true":  400,
		"/api/v1/saved-searches/" + exampleUUID + "/runs/1/matches?p=1": 400,
	} {
		f := newFake()
		resp := get(t, mustServe(t, f, io.Discard), target)
		spec.Validate(t, httptest.NewRequest(http.MethodGet, target, nil), resp)
		if resp.StatusCode != want || f.spent != 1 {
			t.Errorf("%s: status = %d, %d requests spent; want %d, 1", target, resp.StatusCode, f.spent, want)
		}
	}
}

// TestExampleRuns checks that the examples agree with each other, with their search and with
// their matches.
func TestExampleRuns(t *testing.T) {
	search, runs, matches := exampleSavedSearch(), exampleRuns(), exampleMatches()
	late := 0
	for _, m := range matches.Data {
		if m.RunID != runs.Data[0].ID {
			t.Errorf("match of run %d, want the latest run", m.RunID)
		}
		if m.Late {
			late++
		}
	}
	if latest := runs.Data[0]; latest.MatchCount != len(matches.Data) || latest.LateCount != late || matches.Meta.Total != len(matches.Data) {
		t.Errorf("example run %+v has %d matches, %d late", latest, len(matches.Data), late)
	}
	after := search.CreatedAt
	for i := len(runs.Data) - 1; i >= 0; i-- {
		r := runs.Data[i]
		if r.RanAt.Time() != search.Schedule.Next(after.Time()) || r.DateFrom != cola.DateOf(after.Time()) || r.DateTo != cola.DateOf(r.RanAt.Time()) {
			t.Errorf("example run %+v does not follow %v", r, after.Time())
		}
		after = r.RanAt
	}
}
