package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// exampleTag is an entity tag as the registry makes them.
const exampleTag = `W/"pZGm1Av0IEBKARcz"`

// commonHeaders names the headers of every answer to an authenticated request.
func commonHeaders() []string { return append(web.QuotaHeaders(), "X-Request-Id") }

const headerPrefix = "#/components/headers/"

func headerRefs(names []string) map[string]*huma.Param {
	refs := map[string]*huma.Param{}
	for _, name := range names {
		refs[name] = &huma.Param{Ref: headerPrefix + name}
	}
	return refs
}

// headers describes the headers of answers.
func headers(s components) map[string]*huma.Param {
	whole := func() *huma.Schema { return s.Of(reflect.TypeFor[int64]()) }
	text := func() *huma.Schema { return s.Of(reflect.TypeFor[string]()) }
	return map[string]*huma.Param{
		"X-Detail-Views-Limit": {Required: true, Schema: whole(), Example: 200,
			Description: "Detail views that the plan allows a calendar month."},
		"X-Detail-Views-Remaining": {Required: true, Schema: whole(), Example: 188,
			Description: "Detail views left this month."},
		"X-List-Records-Limit": {Required: true, Schema: whole(), Example: 10000,
			Description: "List records that the plan allows a calendar month."},
		"X-List-Records-Remaining": {Required: true, Schema: whole(), Example: 9600,
			Description: "List records left this month."},
		"X-Quota-Reset": {Required: true, Schema: whole(), Example: 1796083200,
			Description: "When the month's counters start anew: the first of the next month (UTC), in seconds since 1970."},
		"X-Request-Id": {Required: true, Schema: text(), Example: "JBTQ2T5KX3V6DVUGOMUGY2IAFN",
			Description: "Identifies the request in our logs; the one you sent, if you sent one of up to 64 letters, " +
				"digits, dots, hyphens and underscores."},
		"Retry-After": {Schema: whole(), Example: 12,
			Description: "Seconds until a retry can succeed; on a 503, and on a 429 unless a monthly quota is used up."},
		"Location": {Required: true, Schema: text(), Example: basePath + savedSearchesPath + "/" + exampleUUID,
			Description: "Path of what was made."},
		replayedHeader: {Schema: text(), Example: "true",
			Description: "true when nothing was made now: the same request made it before."},
		"ETag": {Required: true, Schema: text(), Example: exampleTag,
			Description: "Version of the record, to send back as If-None-Match."},
		"WWW-Authenticate": {Required: true, Schema: text(), Example: `Bearer realm="colaregistry"`,
			Description: "The scheme to send credentials with; where access tokens are taken, also where they are " +
				"had (resource_metadata, RFC 9728) and the scopes to ask for."},
	}
}

// errorKind is one status of an error as the document describes it.
type errorKind struct {
	status      int
	name        string // of the component
	description string
	headers     []string
	examples    map[string]*cola.Error
}

// codes are the error codes of the kind's examples.
func (k errorKind) codes() string {
	met := map[string]bool{}
	for _, e := range k.examples {
		met[string(e.Code)] = true
	}
	return strings.Join(sortedKeys(met), ", ")
}

// errorKinds are the errors of operations. A 429, 500 or 503 has the quota headers only if the
// account is known, so they are not documented.
func errorKinds() []errorKind {
	var invalid cola.Problems
	invalid.Add("per_page", "500 is more than 100; give a number from 1 to 100.")
	invalid.Add("brandname", "There is no such parameter; did you mean brand_name?")
	requestID := []string{"X-Request-Id"}
	return slices.Concat([]errorKind{
		{http.StatusBadRequest, "BadRequest", "Parameters are invalid. All problems are told at once, by parameter.",
			commonHeaders(),
			map[string]*cola.Error{"invalid": asError(invalid.Err())}},
		{http.StatusUnauthorized, "Unauthorized", "Credentials are missing or invalid.",
			append(requestID, "WWW-Authenticate"),
			map[string]*cola.Error{"missing": cola.Errorf(cola.CodeUnauthorized,
				"Credentials are missing. Send your API key in the X-API-Key header.")}},
		{http.StatusForbidden, "AccountSuspended",
			"The account is suspended: all of its requests are refused, and its searches do not run. Nothing of it is lost.", commonHeaders(),
			map[string]*cola.Error{"suspended": exampleSuspended()}},
		{http.StatusNotFound, "NotFound", "There is no such record. Free.", commonHeaders(),
			map[string]*cola.Error{"unknown": cola.Errorf(cola.CodeNotFound,
				"There is no record with this identifier.")}},
		{http.StatusRequestTimeout, "RequestTimeout",
			"The body did not come in the time that the server waits for it. Nothing was done.", commonHeaders(),
			map[string]*cola.Error{"slow": {Code: cola.CodeRequestTimeout,
				Message: "The request body did not arrive in time. Send the request again."}}},
		{http.StatusRequestEntityTooLarge, "PayloadTooLarge", "A body came along that is too large; reads take none.",
			commonHeaders(),
			map[string]*cola.Error{"large": cola.Errorf(cola.CodePayloadTooLarge,
				"The body has 70000 bytes; at most %d are accepted.", maxBodyBytes)}},
		{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "The body is not sent as application/json in UTF-8.",
			commonHeaders(),
			map[string]*cola.Error{"form": {Code: cola.CodeUnsupportedMediaType,
				Message: mediaTypeMessage([]string{mediaJSON})}}},
		{http.StatusTooManyRequests, "QuotaExceeded",
			"A monthly quota is used up (details.reason is detail_views or list_records; upgrade_url is set), the " +
				"rate limit of 60 seconds was reached (burst), the client's address sent too many invalid " +
				"credentials (failed_credentials; valid ones are always accepted), or a feed or emailed link was " +
				"requested too often (requests). All but the first set Retry-After.",
			append([]string{"Retry-After"}, requestID...), quotaExamples()},
		{http.StatusInternalServerError, "InternalError",
			"Something went wrong on our side. Nothing more is told than the request id.", requestID,
			map[string]*cola.Error{"internal": web.InternalError("JBTQ2T5KX3V6DVUGOMUGY2IAFN")}},
		{http.StatusServiceUnavailable, "Unavailable",
			"The service is starting, or cannot count the request now and so does not answer it. Nothing was charged.",
			append([]string{"Retry-After"}, requestID...),
			map[string]*cola.Error{"unavailable": cola.Unavailable()}},
	}, savedSearchErrors(), destinationErrors())
}

func exampleSuspended() *cola.Error {
	return &cola.Error{
		Code:    cola.CodeAccountSuspended,
		Message: "The account is suspended: The invoice of October is not paid. Contact the operator. Your data is kept.",
		Details: map[string]any{"reason": "The invoice of October is not paid."},
	}
}

func quotaExamples() map[string]*cola.Error {
	return map[string]*cola.Error{
		"quota": {
			Code:    cola.CodeQuotaExceeded,
			Message: `The free plan's 200 detail views for 2026-11 are used up. The quota resets on 2026-12-01. A larger plan has more.`,
			Details: map[string]any{"reason": "detail_views", "limit": 200, "used": 200,
				"reset": "2026-12-01T00:00:00Z"},
			UpgradeURL: "https://example.com/plans",
		},
		"burst": {
			Code:       cola.CodeQuotaExceeded,
			Message:    `The free plan allows 10 requests in any 60 seconds. Try again in 12 seconds.`,
			Details:    map[string]any{"reason": "burst", "limit": 10, "retry_after": 12},
			RetryAfter: 12 * time.Second,
		},
		"failed_credentials": {
			Code: cola.CodeQuotaExceeded,
			Message: "Too many invalid credentials from this address. Check the credential; valid ones are " +
				"accepted at any time. Try again in 2 seconds.",
			Details:    map[string]any{"reason": "failed_credentials", "retry_after": 2},
			RetryAfter: 2 * time.Second,
		},
	}
}

// scopeChallenge describes the WWW-Authenticate header of a 403 for a missing scope; other 403s
// have none.
func scopeChallenge() *huma.Param {
	return &huma.Param{
		Description: "On insufficient_scope only: the scope to come back with, unless the app may not have it.",
		Example:     `Bearer realm="colaregistry", error="insufficient_scope", scope="saved_searches:write"`,
		Schema:      &huma.Schema{Type: huma.TypeString},
	}
}

func asError(err error) *cola.Error { return err.(*cola.Error) }

// kindNamed returns the kind that is a component of a name.
func kindNamed(name string) errorKind {
	kinds := errorKinds()
	i := slices.IndexFunc(kinds, func(k errorKind) bool { return k.name == name })
	if i < 0 {
		panic("httpapi: no error response " + name)
	}
	return kinds[i]
}

func errorResponseName(status int) string {
	kinds := errorKinds()
	i := slices.IndexFunc(kinds, func(k errorKind) bool { return k.status == status })
	if i < 0 {
		panic(fmt.Sprintf("httpapi: no error response for %d", status))
	}
	return kinds[i].name
}

// errorResponses describes the errors once for all operations.
func errorResponses(s components) map[string]*huma.Response {
	responses := map[string]*huma.Response{}
	schema := s.Of(reflect.TypeFor[web.ErrorBody]())
	for _, kind := range errorKinds() {
		examples := map[string]*huma.Example{}
		for name, e := range kind.examples {
			examples[name] = &huma.Example{Summary: strings.ToUpper(name[:1]) + name[1:], Value: web.Envelope(e)}
		}
		content := map[string]*huma.MediaType{"application/json": {Schema: schema, Examples: examples}}
		responses[kind.name] = &huma.Response{Description: kind.description, Headers: headerRefs(kind.headers),
			Content: content}
		if strings.Contains(kind.codes(), string(cola.CodeInsufficientScope)) {
			responses[kind.name].Headers["WWW-Authenticate"] = scopeChallenge()
		}
	}
	return responses
}

// savedSearchErrors are the errors of saved searches only.
func savedSearchErrors() []errorKind {
	return slices.Concat(invalidSearchErrors(), searchLimitErrors(), searchRunErrors())
}

// invalidSearchErrors are the errors of invalid searches, and of callers who may not change them.
func invalidSearchErrors() []errorKind {
	var invalid cola.Problems
	invalid.Add("filters.brand", "There is no such parameter; did you mean filters.brand_name?")
	invalid.Add("schedule.day", "A weekly schedule needs a day: 0 to 6, 0 is Sunday.")
	var unknown cola.Problems
	unknown.Add("when", "There is no such parameter.")
	scope := cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	return []errorKind{
		{http.StatusBadRequest, "BadSavedSearch",
			"The body or a field of it is invalid: all problems are told at once, by dotted name. Or the search is " +
				"too broad to run by itself.", commonHeaders(),
			map[string]*cola.Error{
				"invalid": asError(invalid.Err()),
				"broad": cola.Errorf(cola.CodeSearchTooBroad,
					"A search that runs by itself needs a filter that narrows it."),
			}},
		{http.StatusBadRequest, "TooBroad", "Parameters are invalid, or the search is too broad to run.",
			commonHeaders(),
			map[string]*cola.Error{
				"invalid": asError(unknown.Err()),
				"broad": cola.Errorf(cola.CodeSearchTooBroad,
					"The filters of this search are too broad for a run. Change its filters first, or search the "+
						"labels directly."),
			}},
		{http.StatusForbidden, "InsufficientScope",
			"The access token lacks the scope that this needs; WWW-Authenticate tells it. Or the account is suspended.",
			commonHeaders(),
			map[string]*cola.Error{"scope": scope, "suspended": exampleSuspended()}},
	}
}

// searchLimitErrors are the errors of the limits on saved searches, and of reused idempotency keys.
func searchLimitErrors() []errorKind {
	limit := func(instead string) *cola.Error {
		return &cola.Error{
			Code:    cola.CodeWatchlistLimit,
			Message: "An account may have 10 saved searches that run by themselves, and this one has them. " + instead,
			Details: map[string]any{"limit": cola.MaxActiveSchedules},
		}
	}
	return []errorKind{
		{http.StatusConflict, "Conflict", "The account has as many active schedules as it may, or as many saved " +
			"searches (details.limit tells which), or the idempotency key was sent with another request before.",
			commonHeaders(),
			map[string]*cola.Error{
				"limit": limit("Save this search without a schedule or with \"active\": false, or pause or delete " +
					"one of the others first."),
				"full": {
					Code: cola.CodeWatchlistLimit,
					Message: "An account may have 1000 saved searches, with or without a schedule, and this one has them. " +
						"Delete some that are no longer needed: GET /saved-searches lists them, DELETE " +
						"/saved-searches/{uuid} deletes one.",
					Details: map[string]any{"limit": cola.MaxSavedSearches},
				},
				"reused": cola.Errorf(cola.CodeIdempotencyKeyReused,
					"This Idempotency-Key was sent with another search before. Send a new key with a new search, and "+
						"the same one only to repeat a request."),
			}},
		{http.StatusConflict, "LimitReached",
			"The search would become active, and the account has as many active schedules as it may.", commonHeaders(),
			map[string]*cola.Error{"limit": limit("Pause or delete one of the others first.")}},
	}
}

// searchRunErrors are the errors of manual runs.
func searchRunErrors() []errorKind {
	manualRuns := quotaExamples()
	delete(manualRuns, "quota")
	manualRuns["manual_runs"] = &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: "Your account has used its 24 manual runs of today (UTC). More are available from 00:00 UTC; " +
			"scheduled runs continue.",
		Details: map[string]any{"reason": registry.ReasonManualRuns, "limit": cola.MaxDailyManualRuns,
			"retry_after": 31_380},
		RetryAfter: 31_380 * time.Second,
	}
	return []errorKind{
		{http.StatusConflict, "SearchNotActive",
			"The search is paused for a reason of the account's, so it does not run.", commonHeaders(),
			map[string]*cola.Error{"downgraded": {
				Code: cola.CodeNotActive,
				Message: "The search does not run: the account has more active schedules than it may, and the oldest " +
					"of them run. " +
					"Pause or delete one of the others. What it misses meanwhile its next run finds.",
				Details: map[string]any{"reason": cola.PausedDowngraded},
			}}},
		{http.StatusTooManyRequests, "TooManyManualRuns",
			"The account has used its manual runs of the UTC day (details.reason is manual_runs), or the rate limit " +
				"was reached (details.reason is burst). Retry-After is set.",
			append([]string{"Retry-After"}, commonHeaders()...), manualRuns},
	}
}

// destinationErrors are the errors that only destinations and deliveries are answered with.
func destinationErrors() []errorKind {
	asked := quotaExamples()
	asked["asked"] = &cola.Error{
		Code:    cola.CodeQuotaExceeded,
		Message: "The owner of this address was asked within the last hour. Try again in 42 minutes.",
		Details: map[string]any{"reason": "confirmations", "retry_after": 2520}, RetryAfter: 42 * time.Minute,
	}
	tested := quotaExamples()
	tested["tested"] = &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "Each destination is limited to 10 test messages a minute. Try again in 6 seconds.",
		Details:    map[string]any{"reason": registry.ReasonTests, "limit": 10, "retry_after": 6},
		RetryAfter: 6 * time.Second,
	}
	return []errorKind{
		{status: http.StatusConflict, name: "DestinationConflict",
			description: "The account has the destination already, or as many as it may.", headers: commonHeaders(),
			examples: map[string]*cola.Error{
				"exists": cola.Errorf(cola.CodeDestinationExists,
					"The account has this destination already, for the same searches. GET /destinations lists it; a "+
						"lost secret is replaced with POST /destinations/{uuid}/secret."),
				"limit": {
					Code:    cola.CodeDestinationLimit,
					Message: "An account may have 20 destinations, and this one has them. Delete one of the others first.",
					Details: map[string]any{"limit": cola.MaxDestinations},
				},
			}},
		{status: http.StatusConflict, name: "DestinationNotActive",
			description: "The destination is paused or disabled, or its recipient has not confirmed.",
			headers:     commonHeaders(),
			examples: map[string]*cola.Error{"inactive": {
				Code: cola.CodeNotActive, Details: map[string]any{"state": cola.DestinationPaused,
					"reason": cola.ReasonHolder},
				Message: "The destination is paused. To make it active again, send PATCH /destinations/" +
					exampleDestinationUUID + " with {\"active\": true}.",
			}}},
		{status: http.StatusTooManyRequests, name: "AskedTooOften",
			description: "Too many requests to confirm (details.reason is confirmations): from the account, or to " +
				"the host, URL or address. Or, as for every operation, the rate limit was reached (burst). " +
				"Retry-After is set.",
			headers: append([]string{"Retry-After"}, commonHeaders()...), examples: asked},
		{status: http.StatusTooManyRequests, name: "TestedTooOften",
			description: "Ten test messages were sent to the destination within a minute (details.reason is tests). " +
				"Or, as for every operation, the rate limit was reached (burst). Retry-After is set.",
			headers: append([]string{"Retry-After"}, commonHeaders()...), examples: tested},
	}
}
