package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// The headers of idempotent requests and their responses.
const (
	idempotencyKey = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
)

const savedSearchesPath = "/saved-searches"

// savedSearchID is the path parameter for a saved search.
func savedSearchID() pathParam {
	return pathParam{
		Name:        "uuid",
		Doc:         "UUID of the search.",
		Example:     exampleUUID,
		Placeholder: true,
	}
}

const oneSavedSearchPath = savedSearchesPath + "/{uuid}"

func savedSearchOperations(svc Service) []operation {
	type search = cola.SavedSearch
	return []operation{
		{
			ID: "listSavedSearches", Path: savedSearchesPath, Tag: tagSearches, Summary: "List saved searches",
			Description: "The account's saved searches, oldest first.",
			Params:      reflect.TypeFor[cola.SavedSearchListParams](),
			Sample:      "per_page=1",
			Response:    reflect.TypeFor[pageOf[search]](),
			Example:     exampleSavedSearches(),
			Cost:        free,
			call:        listCall(svc.SavedSearches, page),
		},
		createSavedSearch(svc),
		previewSavedSearch(svc),
		{
			ID: "getSavedSearch", Path: oneSavedSearchPath, Tag: tagSearches, Summary: "Get a saved search",
			Description: "One of the account's saved searches. Another account's search returns 404.",
			PathParam:   savedSearchID(), Response: reflect.TypeFor[dataOf[search]](),
			Example: dataOf[search]{exampleSavedSearch()},
			Cost:    free, HasETag: true,
			call: recordCall(svc, "uuid", svc.SavedSearch),
		},
		changeSavedSearch(svc),
		{
			ID: "deleteSavedSearch", Method: http.MethodDelete, Path: oneSavedSearchPath, Tag: tagSearches,
			Summary: "Delete a saved search",
			Description: "Deletes a search with its runs, matches, deliveries and feed, and the destinations that belong " +
				"to it. Destinations for all searches are kept." + needsScope,
			PathParam: savedSearchID(),
			Cost:      free,
			Errors:    []string{"InsufficientScope"},
			call: bareCall(svc, func(r *http.Request, caller cola.Caller) (struct{}, cola.QuotaState, error) {
				state, err := svc.DeleteSavedSearch(r.Context(), caller, pathValue(r, "uuid"))
				return struct{}{}, state, err
			}, func(struct{}) result { return result{empty: true} }),
		},
	}
}

func previewSavedSearch(svc Service) operation {
	do := func(r *http.Request, caller cola.Caller, p cola.PreviewParams) (cola.SavedSearchPreview, cola.QuotaState,
		error) {
		return svc.PreviewSavedSearch(r.Context(), caller, p)
	}
	render := func(p cola.SavedSearchPreview) result {
		return result{body: jsonBody(dataOf[cola.SavedSearchPreview]{p})}
	}
	return operation{
		ID: "previewSavedSearch", Method: http.MethodPost, Path: savedSearchesPath + "/preview", Tag: tagSearches,
		Summary: "Preview a saved search",
		Description: "Counts the labels that match the filters, for each approval date in the last 30 days (UTC), " +
			"including today. The response has counts only; the search is not saved. `too_broad` is true if the filters " +
			"are too broad for a schedule.",
		Body: &requestBody{
			Type: reflect.TypeFor[cola.PreviewParams](), Example: examplePreviewBody(), Media: []string{mediaJSON},
			Doc: "The filters of a saved search. Unknown fields are rejected; null means absent.",
		},
		Response: reflect.TypeFor[dataOf[cola.SavedSearchPreview]](),
		Example:  dataOf[cola.SavedSearchPreview]{examplePreview()},
		Cost:     free,
		Errors:   []string{"UnsupportedMediaType"},
		call:     bodyCall(svc, []string{mediaJSON}, do, render),
	}
}

func changeSavedSearch(svc Service) operation {
	media := []string{mediaJSON, mediaMergePatch}
	do := func(r *http.Request, caller cola.Caller, p cola.SavedSearchChangeParams) (cola.SavedSearch, cola.QuotaState,
		error) {
		return svc.ChangeSavedSearch(r.Context(), caller, pathValue(r, "uuid"), p)
	}
	render := func(s cola.SavedSearch) result {
		return result{body: jsonBody(notedOf[cola.SavedSearch]{s, svc.SavedSearchNotes(s.Filters)})}
	}
	return operation{
		ID: "changeSavedSearch", Method: http.MethodPatch, Path: oneSavedSearchPath, Tag: tagSearches,
		Summary: "Change a saved search",
		Description: "Changes the given fields. `filters` replaces all existing filters. `schedule` is merged into the " +
			"existing one: `{\"schedule\": {\"active\": false}}` pauses the search, `true` resumes it, and " +
			"`{\"schedule\": null}` removes the schedule. If the search has no schedule, send a complete one. " +
			"A new cadence uses its default day unless `day` is given. A search whose schedule was changed or " +
			"resumed runs at the next scheduled time.\n\n" +
			"The result must satisfy the rules for new searches, including the limit on active schedules. Changes are " +
			"idempotent." + needsScope,
		PathParam: savedSearchID(),
		Body: &requestBody{
			Type: reflect.TypeFor[cola.SavedSearchChangeParams](), Example: exampleChangeBody(), Media: media,
			Doc: "At least one field to change. Unknown fields are rejected. null removes a schedule or its day, and " +
				"is invalid for name, filters, cadence and active.",
		},
		Response: reflect.TypeFor[notedOf[cola.SavedSearch]](),
		Example:  notedOf[cola.SavedSearch]{Data: examplePausedSearch()},
		Cost:     free,
		Errors:   []string{"BadSavedSearch", "InsufficientScope", "LimitReached", "UnsupportedMediaType"},
		call:     bodyCall(svc, media, do, render),
	}
}

func createSavedSearch(svc Service) operation {
	do := func(r *http.Request, caller cola.Caller, p cola.SavedSearchParams) (registry.CreatedSavedSearch,
		cola.QuotaState, error) {
		p.IdempotencyKey = singleHeader(r.Header, idempotencyKey, &p.Problems)
		return svc.CreateSavedSearch(r.Context(), caller, p)
	}
	render := func(m registry.CreatedSavedSearch) result {
		return result{
			body:     jsonBody(notedOf[cola.SavedSearch]{m.Search, svc.SavedSearchNotes(m.Search.Filters)}),
			location: basePath + savedSearchesPath + "/" + m.Search.UUID, replayed: m.Repeated,
		}
	}
	return operation{
		ID: "createSavedSearch", Method: http.MethodPost, Path: savedSearchesPath, Tag: tagSearches,
		Summary: "Create a saved search",
		Description: "Saves a search. With a `schedule`, the search becomes an alert: it runs regularly and needs a " +
			"filter that narrows it. Limits per account: 10 active schedules, 1,000 saved searches.\n\n" +
			"New matches are sent to the account's destinations (`/destinations`), including its email address if the " +
			"server sends email. A message about a scheduled run lists up to 25 labels for free. " +
			"`/saved-searches/{uuid}/matches` lists all matches, for one list record each.\n\n" +
			"Labels must match all filters. There are no approval-date filters: each scheduled run covers the time " +
			"since the previous one. " +
			"All problems are reported at once, under dotted names such as `filters.abv_min`.\n\n" +
			"To retry safely after a lost connection, send an `Idempotency-Key`. For 24 hours, repeating the request " +
			"with the same key returns the existing search and sets `Idempotent-Replayed`." + needsScope,
		Body: &requestBody{
			Type: reflect.TypeFor[cola.SavedSearchParams](), Example: exampleSavedSearchBody(),
			Doc: "The search to save. Unknown fields are rejected; null means absent.", Media: []string{mediaJSON},
		},
		Creates:    true,
		Idempotent: true,
		Response:   reflect.TypeFor[notedOf[cola.SavedSearch]](),
		Example:    notedOf[cola.SavedSearch]{Data: exampleSavedSearch()},
		Cost:       free,
		Errors:     []string{"BadSavedSearch", "InsufficientScope", "Conflict", "UnsupportedMediaType"},
		call:       bodyCall(svc, []string{mediaJSON}, do, render),
	}
}

func explainSavedSearch(svc Service) operation {
	return operation{
		ID: "explainSavedSearch", Path: oneSavedSearchPath + "/explain/{ttb_id}", Tag: tagSearches,
		Summary: "Explain a match",
		Description: "Shows, filter by filter, whether a label currently matches the search, and why a run has found " +
			"it, will find it, or won't: `verdict` is a code, `message` explains it. A label matches if it matches " +
			"every filter without a group, and at least one filter in each group.",
		PathParam: savedSearchID(),
		InnerParam: pathParam{
			Name:    "ttb_id",
			Doc:     "TTB ID of the label, 14 digits.",
			Example: exampleMatches().Data[0].TTBID.String(), Placeholder: true,
		},
		Response: reflect.TypeFor[dataOf[cola.Explanation]](),
		Example:  dataOf[cola.Explanation]{exampleExplanation()},
		Meter:    cola.MeterListRecords,
		Cost:     "One list record; free if the search or label doesn't exist.",
		call: bareCall(svc, func(r *http.Request, caller cola.Caller) (cola.Explanation, cola.QuotaState, error) {
			return svc.ExplainSavedSearch(r.Context(), caller, pathValue(r, "uuid"), pathValue(r, "ttb_id"))
		}, func(e cola.Explanation) result { return result{body: jsonBody(dataOf[cola.Explanation]{e})} }),
	}
}

// exampleExplanation explains a label in exampleColas and exampleMatches.
func exampleExplanation() cola.Explanation {
	match, label := exampleMatches().Data[0], exampleColas().Data[1]
	e := cola.Explanation{
		TTBID: label.TTBID, Label: label, Matches: true, Found: &match, Verdict: cola.VerdictFound,
		Message: "Run 1841 found it late: it was approved before the dates the run covers and reached the registry after " +
			"the previous run.",
	}
	for _, p := range exampleSavedSearch().Filters.Parts() {
		e.Filters = append(e.Filters, cola.FilterFinding{
			Filter: p.Filter,
			Group:  cola.Opt[string]{V: p.Group, OK: p.Group != ""},
			Value:  p.Value,
			Met:    true,
		})
	}
	return e
}
