package httpapi

import (
	"net/http"
	"reflect"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// matchesCost describes the cost of reading matches.
const matchesCost = "One list record per match returned. If you have too few list records left, the page is " +
	"truncated and `truncated_by_quota` is true. To read the rest, request the same page again once quota is " +
	"available; all its matches are charged. The next page would skip the truncated rows."

// runOperations returns the operations that list runs and matches, start a manual run, and explain
// whether and why a search finds a label.
func runOperations(svc Service) []operation {
	search := pathParam{Name: "uuid", Doc: "UUID of the search.", Example: exampleUUID, Placeholder: true}
	run := pathParam{Name: "run", Doc: "Run ID.", Example: "1841", Placeholder: true}
	return []operation{
		{
			ID: "listSavedSearchRuns", Path: savedSearchesPath + "/{uuid}/runs", Tag: tagRuns,
			Summary: "List runs",
			Description: "A search's runs, newest first, with the number of labels each one found. A run covers " +
				"approval dates from the day of the previous run, or the day the search was created, " +
				"through the day of the run. It also covers labels approved up to 90 days earlier that have reached " +
				"the registry since; these are marked late. Each label is found once.",
			PathParam: search,
			Params:    reflect.TypeFor[cola.SavedSearchListParams](),
			Response:  reflect.TypeFor[pageOf[cola.SavedSearchRun]](),
			Example:   exampleRuns(),
			Cost:      free,
			call: listUnder(func(
				r *http.Request, c cola.Caller, p cola.SavedSearchListParams,
			) (registry.PageList[cola.SavedSearchRun], cola.QuotaState, error) {
				return svc.SavedSearchRuns(r.Context(), c, pathValue(r, "uuid"), p)
			}),
		},
		matchList(operation{
			ID: "listSavedSearchMatches", Path: savedSearchesPath + "/{uuid}/matches", PathParam: search,
			Summary: "List a search's matches",
			Description: "TTB IDs of the labels found by any run of the search, latest run first, with the filters " +
				"that each label matched. Within a group of alternative filters, only those that matched are listed. " +
				"`/saved-searches/{uuid}/explain/{ttb_id}` explains why the search does or doesn't match a label. " +
				"Counts are free at `/saved-searches/{uuid}/runs`.",
		}, func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (matches, cola.QuotaState, error) {
			return svc.SavedSearchMatches(r.Context(), c, pathValue(r, "uuid"), p)
		}),
		matchList(operation{
			ID: "listRunMatches", Path: savedSearchesPath + "/{uuid}/runs/{run}/matches", PathParam: search, InnerParam: run,
			Summary:     "List a run's matches",
			Description: "TTB IDs of the new labels that a run found, with the filters that each label matched.",
		}, func(r *http.Request, c cola.Caller, p cola.SavedSearchListParams) (matches, cola.QuotaState, error) {
			return svc.RunMatches(r.Context(), c, pathValue(r, "uuid"), pathValue(r, "run"), p)
		}),
		runSavedSearch(svc),
		explainSavedSearch(svc),
	}
}

type matches = registry.PageList[cola.SavedSearchMatch]

// matchList fills in the common fields of an operation that lists matches and charges for them.
func matchList(
	o operation, fetch func(*http.Request, cola.Caller, cola.SavedSearchListParams) (matches, cola.QuotaState, error),
) operation {
	o.Tag, o.Meter, o.Cost = tagRuns, cola.MeterListRecords, matchesCost
	o.Params, o.Response = reflect.TypeFor[cola.SavedSearchListParams](), reflect.TypeFor[pageOf[cola.SavedSearchMatch]]()
	o.Rows, o.Example, o.call = reflect.TypeFor[cola.SavedSearchMatch](), exampleMatches(), listUnder(fetch)
	return o
}

func runSavedSearch(svc Service) operation {
	return operation{
		ID: "runSavedSearch", Method: http.MethodPost, Path: oneSavedSearchPath + "/run", Tag: tagRuns,
		Summary: "Run a saved search now",
		Description: "Runs the search within seconds, with or without a schedule. It covers the same window " +
			"as the next run would, and later runs don't find the same labels again. " +
			"Messages and feeds give only the number of labels and a link; to see the labels, list the run's " +
			"matches. The schedule is unchanged.\n\n" +
			"The limit is 24 manual runs per account per day (UTC). A request for a search that is already due is " +
			"not counted, so it is safe to repeat. The search needs a filter that narrows it." + needsScope,
		PathParam: savedSearchID(),
		Async:     true,
		Response:  reflect.TypeFor[dataOf[cola.SavedSearch]](),
		Example:   dataOf[cola.SavedSearch]{exampleRequestedRun()},
		Cost:      free,
		Errors:    []string{"TooBroad", "InsufficientScope", "SearchNotActive", "TooManyManualRuns"},
		call: bareCall(svc, func(r *http.Request, caller cola.Caller) (cola.SavedSearch, cola.QuotaState, error) {
			return svc.RunSavedSearch(r.Context(), caller, pathValue(r, "uuid"))
		}, func(s cola.SavedSearch) result {
			return result{body: jsonBody(dataOf[cola.SavedSearch]{s}), async: true}
		}),
	}
}

// listUnder returns the call for a list nested under the record in the path. fetch gets the request
// so that it can read path values.
func listUnder[P, T any](fetch func(*http.Request, cola.Caller, P) (registry.PageList[T], cola.QuotaState, error)) call {
	d := newDecoder[P]()
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		l, state, err := fetch(r, caller, d.decode(r.URL.RawQuery))
		if err != nil {
			return result{}, state, err
		}
		return page(l), state, nil
	}
}

// exampleRuns are two runs of exampleSavedSearch.
func exampleRuns() pageOf[cola.SavedSearchRun] {
	run := func(id int64, ran cola.Timestamp, from, to cola.Date, matches, late int) cola.SavedSearchRun {
		return cola.SavedSearchRun{ID: id, RanAt: ran, DateFrom: from, DateTo: to, MatchCount: matches, LateCount: late}
	}
	created := exampleSavedSearch()
	first := created.Schedule.Next(created.CreatedAt.Time())
	second := created.Schedule.Next(first)
	return pageOf[cola.SavedSearchRun]{
		Data: []cola.SavedSearchRun{
			run(1841, cola.TimestampOf(second), cola.DateOf(first), cola.DateOf(second), 2, 1),
			run(1702, cola.TimestampOf(first), cola.DateOf(created.CreatedAt.Time()), cola.DateOf(first), 0, 0),
		},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 20},
	}
}

// exampleMatches are the matches of the later run in exampleRuns.
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

// exampleRequestedRun is exampleSavedSearch after its first run, with another run requested.
func exampleRequestedRun() cola.SavedSearch {
	s := exampleSavedSearch()
	ran := s.Schedule.NextRunAt.V
	s.Schedule.LastRunAt = cola.Some(ran)
	s.Schedule.NextRunAt = cola.Some(cola.TimestampOf(ran.Time().Add(5 * time.Hour)))
	return s
}
