package httpapi

import (
	"net/http"
	"reflect"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// runOperations are the lists of what saved searches have found, why they have, and a run that is asked for.
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
			Description: "The labels that all runs of the search have found, those of the latest run first, each with the filters that it met: of several options of a group, those that it has. " +
				"Look a label up by its id, as ever; `/saved-searches/{uuid}/explain/{ttb_id}` tells more of why it was found, or another was not.",
			PathParam: search, Params: reflect.TypeFor[cola.SavedSearchListParams](),
			Response: reflect.TypeFor[pageOf[cola.SavedSearchMatch]](), Example: exampleMatches(), Cost: free,
			call: listWithin(func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
				return svc.SavedSearchMatches(r.Context(), c, pathValue(r, "uuid"), p)
			}),
		},
		{
			ID: "listRunMatches", Path: savedSearchesPath + "/{uuid}/runs/{run}/matches", Tag: tagSearches, Summary: "What one run has found",
			Description: "The labels that one run of the search found and no earlier one had, by id, each with the filters that it met.",
			PathParam:   search, InnerParam: run, Params: reflect.TypeFor[cola.SavedSearchListParams](),
			Response: reflect.TypeFor[pageOf[cola.SavedSearchMatch]](), Example: exampleMatches(), Cost: free,
			call: listWithin(func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error) {
				return svc.RunMatches(r.Context(), c, pathValue(r, "uuid"), pathValue(r, "run"), p)
			}),
		},
		runSavedSearch(svc),
		explainSavedSearch(svc),
	}
}

func runSavedSearch(svc Service) operation {
	return operation{
		ID: "runSavedSearch", Method: http.MethodPost, Path: oneSavedSearchPath + "/run", Tag: tagSearches, Summary: "Run a saved search now",
		Description: "Has the search run within a minute or so, whether it has a schedule or not, also while that is paused. It looks at what the next run would have looked at; " +
			"what it finds is listed and sent as ever, and no later run finds it again. A schedule goes on as before. " +
			"It needs a filter that narrows the search. Asking again before it has run does no harm. An access token needs the scope `saved_searches:write`; an API key has it.",
		PathParam: savedSearchID(),
		Later:     true,
		Response:  reflect.TypeFor[dataOf[cola.SavedSearch]](),
		Example:   dataOf[cola.SavedSearch]{exampleAskedSearch()},
		Cost:      free,
		Errors:    []string{"TooBroad", "InsufficientScope", "SearchNotActive"},
		call: one(svc, func(r *http.Request, caller cola.Caller) (cola.SavedSearch, cola.QuotaState, error) {
			return svc.RunSavedSearch(r.Context(), caller, pathValue(r, "uuid"))
		}, func(s cola.SavedSearch) answer {
			return answer{body: plain(dataOf[cola.SavedSearch]{s}), later: true}
		}),
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
		return page(l), state, nil
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
			{RunID: 1841, TTBID: 26282001000009, Late: true, Met: exampleMet()},
			{RunID: 1841, TTBID: 26329001000031, Late: false, Met: exampleMet()},
		},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 20},
	}
}

// exampleMet is every filter of exampleSavedSearch.
func exampleMet() cola.FilterSet {
	var met cola.FilterSet
	for _, p := range exampleSavedSearch().Filters.Parts() {
		met |= cola.FilterSetOf(p.Filter)
	}
	return met
}

// exampleAskedSearch is exampleSavedSearch after its first run, when it was asked to run again.
func exampleAskedSearch() cola.SavedSearch {
	s := exampleSavedSearch()
	ran := s.Schedule.NextRunAt.V
	s.Schedule.LastRunAt = cola.Some(ran)
	s.Schedule.NextRunAt = cola.Some(cola.TimestampOf(ran.Time().Add(5 * time.Hour)))
	return s
}
