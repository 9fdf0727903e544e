package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// runOperations are the lists of what saved searches have found by themselves.
func runOperations(svc Service) []operation {
	search := pathParam{Name: "uuid", Doc: "UUID of the search.", Example: exampleUUID, Placeholder: true}
	run := pathParam{Name: "run", Doc: "Number of the run.", Example: "1841", Placeholder: true}
	return []operation{
		{
			ID: "listSavedSearchRuns", Path: savedSearchesPath + "/{uuid}/runs", Tag: tagSearches, Summary: "Runs of a saved search",
			Description: "When the search ran by itself, newest first, and how many labels each run found. A run looks at the approval dates from the day of the run before, or of the creation, to its own; " +
				"and at labels approved up to 90 days earlier that have reached the registry since, which are marked late. Each label comes once.",
			PathParam: search, Params: reflect.TypeFor[cola.SavedSearchListParams](),
			Response: reflect.TypeFor[pageOf[cola.SavedSearchRun]](), Example: exampleRuns(), Cost: free,
			call: listWithin(func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchRun], cola.QuotaState, error) {
				return svc.SavedSearchRuns(r.Context(), c, pathValue(r, "uuid"), p)
			}),
		},
		{
			ID: "listSavedSearchMatches", Path: savedSearchesPath + "/{uuid}/matches", Tag: tagSearches, Summary: "What a saved search has found",
			Description: "The labels that all runs of the search have found, those of the latest run first. Look a label up by its id, as ever.",
			PathParam:   search, Params: reflect.TypeFor[cola.SavedSearchListParams](),
			Response: reflect.TypeFor[pageOf[cola.SavedSearchMatch]](), Example: exampleMatches(), Cost: free,
			call: listWithin(func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
				return svc.SavedSearchMatches(r.Context(), c, pathValue(r, "uuid"), p)
			}),
		},
		{
			ID: "listRunMatches", Path: savedSearchesPath + "/{uuid}/runs/{run}/matches", Tag: tagSearches, Summary: "What one run has found",
			Description: "The labels that one run of the search found and no earlier one had, by id.",
			PathParam:   search, InnerParam: run, Params: reflect.TypeFor[cola.SavedSearchListParams](),
			Response: reflect.TypeFor[pageOf[cola.SavedSearchMatch]](), Example: exampleMatches(), Cost: free,
			call: listWithin(func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
				return svc.RunMatches(r.Context(), c, pathValue(r, "uuid"), pathValue(r, "run"), p)
			}),
		},
	}
}

// listWithin makes the call of a list in pages of what belongs to the record in the path, whose values ask gets with the request.
func listWithin[P, T any](ask func(*http.Request, cola.Caller, P) (registry.PageList[T], cola.QuotaState, error)) call {
	d := newDecoder[P]()
	return func(r *http.Request, caller cola.Caller) (answer, cola.QuotaState, error) {
		l, state, err := ask(r, caller, d.decode(r.URL.RawQuery))
		if err != nil {
			return answer{}, state, err
		}
		return answer{body: plain(pageOf[T]{array(l.Rows), l.Meta})}, state, nil
	}
}

// exampleRuns are two runs of exampleSavedSearch.
func exampleRuns() pageOf[cola.SavedSearchRun] {
	run := func(id int64, ran cola.Timestamp, from, to cola.Date, matches, late int) cola.SavedSearchRun {
		return cola.SavedSearchRun{ID: id, RanAt: ran, DateFrom: from, DateTo: to, MatchCount: matches, LateCount: late}
	}
	made := exampleSavedSearch()
	first := made.Schedule.Next(made.CreatedAt.Time())
	second := made.Schedule.Next(first)
	return pageOf[cola.SavedSearchRun]{
		Data: []cola.SavedSearchRun{
			run(1841, cola.TimestampOf(second), cola.DateOf(first), cola.DateOf(second), 2, 1),
			run(1702, cola.TimestampOf(first), cola.DateOf(made.CreatedAt.Time()), cola.DateOf(first), 0, 0),
		},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 20},
	}
}

// exampleMatches are what the later run of exampleRuns found.
func exampleMatches() pageOf[cola.SavedSearchMatch] {
	return pageOf[cola.SavedSearchMatch]{
		Data: []cola.SavedSearchMatch{
			{RunID: 1841, TTBID: 26282001000009, Late: true},
			{RunID: 1841, TTBID: 26329001000031, Late: false},
		},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 20},
	}
}
