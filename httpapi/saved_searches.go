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
	return pathParam{Name: "uuid", Doc: "UUID of the search, in any letter case.", Example: exampleUUID,
		Placeholder: true}
}

const oneSavedSearchPath = savedSearchesPath + "/{uuid}"

func savedSearchOperations(svc Service) []operation {
	type search = cola.SavedSearch
	return []operation{
		{
			ID: "listSavedSearches", Path: savedSearchesPath, Tag: tagSearches, Summary: "List saved searches",
			Description: "The searches that your account keeps, oldest first.",
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
			Description: "One search that your account keeps. Another account's is not found.",
			PathParam:   savedSearchID(), Response: reflect.TypeFor[dataOf[search]](),
			Example: dataOf[search]{exampleSavedSearch()},
			Cost:    free, HasETag: true,
			call: recordCall(svc, "uuid", svc.SavedSearch),
		},
		changeSavedSearch(svc),
		{
			ID: "deleteSavedSearch", Method: http.MethodDelete, Path: oneSavedSearchPath, Tag: tagSearches,
			Summary: "Delete a saved search",
			Description: "Forgets a search, and frees its place when its schedule was active. An access token needs " +
				"the scope `saved_searches:write`; an API key has it.",
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
	ask := func(r *http.Request, caller cola.Caller, p cola.PreviewParams) (cola.SavedSearchPreview, cola.QuotaState,
		error) {
		return svc.PreviewSavedSearch(r.Context(), caller, p)
	}
	render := func(p cola.SavedSearchPreview) result {
		return result{body: jsonBody(dataOf[cola.SavedSearchPreview]{p})}
	}
	return operation{
		ID: "previewSavedSearch", Method: http.MethodPost, Path: savedSearchesPath + "/preview", Tag: tagSearches,
		Summary: "Preview a saved search",
		Description: "Counts the labels that filters match, for each approval date of the last 30 days (UTC), today " +
			"included: what a saved search would have found. " +
			"The response has counts but no labels, and nothing is stored. Filters that are too broad for a schedule " +
			"are counted as well, with `too_broad` set.",
		Body: &requestBody{
			Type: reflect.TypeFor[cola.PreviewParams](), Example: examplePreviewBody(), Media: []string{mediaJSON},
			Doc: "The filters, as those of a saved search. An unknown field is an error; null stands for none.",
		},
		Response: reflect.TypeFor[dataOf[cola.SavedSearchPreview]](),
		Example:  dataOf[cola.SavedSearchPreview]{examplePreview()},
		Cost:     free,
		Errors:   []string{"UnsupportedMediaType"},
		call:     bodyCall(svc, []string{mediaJSON}, ask, render),
	}
}

func changeSavedSearch(svc Service) operation {
	media := []string{mediaJSON, mediaMergePatch}
	ask := func(r *http.Request, caller cola.Caller, p cola.SavedSearchChangeParams) (cola.SavedSearch, cola.QuotaState,
		error) {
		return svc.ChangeSavedSearch(r.Context(), caller, pathValue(r, "uuid"), p)
	}
	render := func(s cola.SavedSearch) result {
		return result{body: jsonBody(notedOf[cola.SavedSearch]{s, svc.SavedSearchNotes(s.Filters)})}
	}
	return operation{
		ID: "changeSavedSearch", Method: http.MethodPatch, Path: oneSavedSearchPath, Tag: tagSearches,
		Summary: "Change a saved search",
		Description: "Changes what is given and leaves the rest. `filters` replace all of the filters there were. " +
			"`schedule` is merged into the one there is: " +
			"`{\"schedule\": {\"active\": false}}` pauses the search, `true` resumes it, `{\"schedule\": null}` " +
			"removes the schedule; a search without one needs a whole one. " +
			"Another cadence starts on its default day unless `day` is given. The outcome is held to the same rules " +
			"as a new search, the limit of active schedules included. " +
			"A schedule that changes or is resumed is due at its first time from now on.\n\n" +
			"The same change may be sent again without harm. An access token needs the scope `saved_searches:write`; " +
			"an API key has it.",
		PathParam: savedSearchID(),
		Body: &requestBody{
			Type: reflect.TypeFor[cola.SavedSearchChangeParams](), Example: exampleChangeBody(), Media: media,
			Doc: "What to change, at least one field. An unknown field is an error; null removes a schedule or its " +
				"day, and is an error for a name, filters, cadence or active.",
		},
		Response: reflect.TypeFor[notedOf[cola.SavedSearch]](),
		Example:  notedOf[cola.SavedSearch]{Data: examplePausedSearch()},
		Cost:     free,
		Errors:   []string{"BadSavedSearch", "InsufficientScope", "LimitReached", "UnsupportedMediaType"},
		call:     bodyCall(svc, media, ask, render),
	}
}

func createSavedSearch(svc Service) operation {
	ask := func(r *http.Request, caller cola.Caller, p cola.SavedSearchParams) (registry.CreatedSavedSearch,
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
		Description: "Keeps a search. With a `schedule` it is an alert, due again and again: it then needs a filter " +
			"that narrows it, and an account has at most 10 whose schedule is active, and 1,000 saved searches in all. " +
			"Matches are sent to the account's destinations (`/destinations`), including its email address if the " +
			"server sends email; a message about a scheduled run names up to 25 labels for free. " +
			"`/saved-searches/{uuid}/matches` lists all matches, for one list record each. " +
			"Filters narrow each other; approval dates are not among them, since each scheduled run looks at the " +
			"time since the run before. " +
			"All problems are told at once, under dotted names such as `filters.abv_min`.\n\n" +
			"To be able to send a request again after a lost connection, send an `Idempotency-Key`: for 24 hours the " +
			"same request with the same key is answered with the search that it made first, " +
			"and `Idempotent-Replayed` says so. An access token needs the scope `saved_searches:write`; an API key has it.",
		Body: &requestBody{
			Type: reflect.TypeFor[cola.SavedSearchParams](), Example: exampleSavedSearchBody(),
			Doc: "The search to keep. An unknown field is an error; null stands for none.", Media: []string{mediaJSON},
		},
		Creates:    true,
		Idempotent: true,
		Response:   reflect.TypeFor[notedOf[cola.SavedSearch]](),
		Example:    notedOf[cola.SavedSearch]{Data: exampleSavedSearch()},
		Cost:       free,
		Errors:     []string{"BadSavedSearch", "InsufficientScope", "Conflict", "UnsupportedMediaType"},
		call:       bodyCall(svc, []string{mediaJSON}, ask, render),
	}
}

func explainSavedSearch(svc Service) operation {
	return operation{
		ID: "explainSavedSearch", Path: oneSavedSearchPath + "/explain/{ttb_id}", Tag: tagSearches,
		Summary: "Explain why a search finds a label",
		Description: "Tells, filter by filter, whether a label meets the search as both are now, and why a run has " +
			"found it, will find it, or will not: `verdict` is one word, `message` a sentence or two. A label meets " +
			"the search when it meets every filter without a group, and one of each group.",
		PathParam: savedSearchID(),
		InnerParam: pathParam{Name: "ttb_id", Doc: "COLA identifier, 14 digits.",
			Example: exampleMatches().Data[0].TTBID.String()},
		Response: reflect.TypeFor[dataOf[cola.Explanation]](),
		Example:  dataOf[cola.Explanation]{exampleExplanation()},
		Meter:    cola.MeterListRecords,
		Cost:     "One list record, for the label. An unknown search or label is free.",
		call: bareCall(svc, func(r *http.Request, caller cola.Caller) (cola.Explanation, cola.QuotaState, error) {
			return svc.ExplainSavedSearch(r.Context(), caller, pathValue(r, "uuid"), pathValue(r, "ttb_id"))
		}, func(e cola.Explanation) result { return result{body: jsonBody(dataOf[cola.Explanation]{e})} }),
	}
}

// exampleExplanation explains a label of exampleColas and exampleMatches.
func exampleExplanation() cola.Explanation {
	match, label := exampleMatches().Data[0], exampleColas().Data[1]
	e := cola.Explanation{
		TTBID: label.TTBID, Label: label, Matches: true, Found: &match, Verdict: cola.VerdictFound,
		Message: "Run 1841 found it, late: it was approved before the days that the run looked at, and came since " +
			"the run before.",
	}
	for _, p := range exampleSavedSearch().Filters.Parts() {
		e.Filters = append(e.Filters, cola.FilterFinding{Filter: p.Filter,
			Group: cola.Opt[string]{V: p.Group, OK: p.Group != ""}, Sought: p.Sought, Met: true})
	}
	return e
}
