package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// The headers of a request that may be sent again, and of an answer to one that was.
const (
	idempotencyKey = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
)

const savedSearchesPath = "/saved-searches"

func savedSearchOperations(svc Service) []operation {
	ask := func(r *http.Request, caller cola.Caller, p cola.SavedSearchParams) (registry.SavedSearchMade, cola.QuotaState, error) {
		p.IdempotencyKey = single(r.Header, idempotencyKey, &p.Problems)
		return svc.CreateSavedSearch(r.Context(), caller, p)
	}
	render := func(m registry.SavedSearchMade) answer {
		return answer{
			body:    plain(dataOf[cola.SavedSearch]{m.Search}),
			created: basePath + savedSearchesPath + "/" + m.Search.UUID, replayed: m.Repeated,
		}
	}
	return []operation{{
		ID: "createSavedSearch", Method: http.MethodPost, Path: savedSearchesPath, Tag: tagSearches, Summary: "Create a saved search",
		Description: "Keeps a search. With a `schedule` it is an alert, due again and again: it then needs a filter that narrows it, and an account has at most 10 whose schedule is active. " +
			"What its runs find is listed under `/saved-searches/{uuid}/matches`; messages are not sent yet by this version of the server. " +
			"Filters narrow each other; approval dates are not among them, since each scheduled run looks at the time since the run before. " +
			"All problems are told at once, under dotted names such as `filters.abv_min`.\n\n" +
			"To be able to send a request again after a lost connection, send an `Idempotency-Key`: for 24 hours the same request with the same key is answered with the search that it made first, " +
			"and `Idempotent-Replayed` says so. An access token needs the scope `saved_searches:write`; an API key has it.",
		Body: &requestBody{
			Type: reflect.TypeFor[cola.SavedSearchParams](), Example: exampleSavedSearchBody(),
			Doc: "The search to keep. An unknown field is an error; null stands for none.",
		},
		Response: reflect.TypeFor[dataOf[cola.SavedSearch]](),
		Example:  dataOf[cola.SavedSearch]{exampleSavedSearch()},
		Cost:     free,
		Errors:   []string{"BadSavedSearch", "InsufficientScope", "Conflict", "UnsupportedMediaType"},
		call:     create(svc, ask, render),
	}}
}

// savedSearchErrors are the errors that only the creation of a saved search is answered with.
func savedSearchErrors() []errorKind {
	var invalid cola.Problems
	invalid.Add("filters.brand", "There is no such parameter; did you mean filters.brand_name?")
	invalid.Add("schedule.day", "A weekly schedule needs a day: 0 to 6, 0 is Sunday.")
	scope := cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	return []errorKind{
		{http.StatusBadRequest, "BadSavedSearch",
			"The body or a field of it is invalid: all problems are told at once, by dotted name. Or the search is too broad to run by itself.", everyAnswer(), false,
			map[string]*cola.Error{
				"invalid": asError(invalid.Err()),
				"broad":   cola.Errorf(cola.CodeSearchTooBroad, "A search that runs by itself needs a filter that narrows it."),
			}},
		{http.StatusForbidden, "InsufficientScope", "The access token lacks the scope that this needs; WWW-Authenticate tells it.", append(everyAnswer(), "WWW-Authenticate"), false,
			map[string]*cola.Error{"scope": scope}},
		{http.StatusConflict, "Conflict", "The account has as many active schedules as it may, or the idempotency key was sent with another request before.", everyAnswer(), false,
			map[string]*cola.Error{
				"limit": {
					Code: cola.CodeWatchlistLimit,
					Message: "An account may have 10 saved searches that run by themselves, and this one has them. " +
						"Save this search without a schedule or with \"active\": false, or pause or delete one of the others first.",
					Details: map[string]any{"limit": cola.MaxActiveSchedules},
				},
				"reused": cola.Errorf(cola.CodeIdempotencyKeyReused,
					"This Idempotency-Key was sent with another search before. Send a new key with a new search, and the same one only to repeat a request."),
			}},
	}
}
