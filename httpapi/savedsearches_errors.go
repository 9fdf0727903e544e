package httpapi

import (
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// savedSearchErrors are the errors that only saved searches are answered with.
func savedSearchErrors() []errorKind {
	var invalid cola.Problems
	invalid.Add("filters.brand", "There is no such parameter; did you mean filters.brand_name?")
	invalid.Add("schedule.day", "A weekly schedule needs a day: 0 to 6, 0 is Sunday.")
	var unknown cola.Problems
	unknown.Add("when", "There is no such parameter.")
	scope := cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	limit := func(instead string) *cola.Error {
		return &cola.Error{
			Code:    cola.CodeWatchlistLimit,
			Message: "An account may have 10 saved searches that run by themselves, and this one has them. " + instead,
			Details: map[string]any{"limit": cola.MaxActiveSchedules},
		}
	}
	manualRuns := quotaExamples()
	delete(manualRuns, "quota")
	manualRuns["manual_runs"] = &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "Your account has used its 24 manual runs of today (UTC). More are available from 00:00 UTC; scheduled runs continue.",
		Details:    map[string]any{"reason": registry.ReasonManualRuns, "limit": cola.MaxDailyManualRuns, "retry_after": 31_380},
		RetryAfter: 31_380 * time.Second,
	}
	return []errorKind{
		{http.StatusBadRequest, "BadSavedSearch",
			"The body or a field of it is invalid: all problems are told at once, by dotted name. Or the search is too broad to run by itself.", everyAnswer(),
			map[string]*cola.Error{
				"invalid": asError(invalid.Err()),
				"broad":   cola.Errorf(cola.CodeSearchTooBroad, "A search that runs by itself needs a filter that narrows it."),
			}},
		{http.StatusBadRequest, "TooBroad", "Parameters are invalid, or the search is too broad to run.", everyAnswer(),
			map[string]*cola.Error{
				"invalid": asError(unknown.Err()),
				"broad": cola.Errorf(cola.CodeSearchTooBroad,
					"The filters of this search are too broad for a run. Change its filters first, or search the labels directly."),
			}},
		{http.StatusForbidden, "InsufficientScope", "The access token lacks the scope that this needs; WWW-Authenticate tells it. Or the account is suspended.", everyAnswer(),
			map[string]*cola.Error{"scope": scope, "suspended": exampleSuspended()}},
		{http.StatusConflict, "Conflict", "The account has as many active schedules as it may, or as many saved searches (details.limit tells which), or the idempotency key was sent with another request before.", everyAnswer(),
			map[string]*cola.Error{
				"limit": limit("Save this search without a schedule or with \"active\": false, or pause or delete one of the others first."),
				"full": {
					Code: cola.CodeWatchlistLimit,
					Message: "An account may have 1000 saved searches, with or without a schedule, and this one has them. " +
						"Delete some that are no longer needed: GET /saved-searches lists them, DELETE /saved-searches/{uuid} deletes one.",
					Details: map[string]any{"limit": cola.MaxSavedSearches},
				},
				"reused": cola.Errorf(cola.CodeIdempotencyKeyReused,
					"This Idempotency-Key was sent with another search before. Send a new key with a new search, and the same one only to repeat a request."),
			}},
		{http.StatusConflict, "LimitReached", "The search would become active, and the account has as many active schedules as it may.", everyAnswer(),
			map[string]*cola.Error{"limit": limit("Pause or delete one of the others first.")}},
		{http.StatusConflict, "SearchNotActive", "The search is paused for a reason of the account's, so it does not run.", everyAnswer(),
			map[string]*cola.Error{"downgraded": {
				Code: cola.CodeNotActive,
				Message: "The search does not run: the account has more active schedules than it may, and the oldest of them run. " +
					"Pause or delete one of the others. What it misses meanwhile its next run finds.",
				Details: map[string]any{"reason": cola.PausedDowngraded},
			}}},
		{http.StatusTooManyRequests, "TooManyManualRuns",
			"The account has used its manual runs of the UTC day (details.reason is manual_runs), or the rate limit was reached (details.reason is burst). Retry-After is set.",
			append([]string{"Retry-After"}, everyAnswer()...), manualRuns},
	}
}
