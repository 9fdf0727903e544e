package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// exampleTag is an entity tag in the registry's format.
const exampleTag = `W/"pZGm1Av0IEBKARcz"`

// commonHeaders names the headers of every response to an authenticated request.
func commonHeaders() []string { return append(web.QuotaHeaders(), "X-Request-Id") }

const headerPrefix = "#/components/headers/"

func headerRefs(names []string) map[string]*huma.Param {
	refs := map[string]*huma.Param{}
	for _, name := range names {
		refs[name] = &huma.Param{Ref: headerPrefix + name}
	}
	return refs
}

// headers describes the response headers.
func headers(s components) map[string]*huma.Param {
	integer := func() *huma.Schema { return s.Of(reflect.TypeFor[int64]()) }
	text := func() *huma.Schema { return s.Of(reflect.TypeFor[string]()) }
	return map[string]*huma.Param{
		"X-Detail-Views-Limit": {Required: true, Schema: integer(), Example: 200,
			Description: "Detail views per calendar month in your plan."},
		"X-Detail-Views-Remaining": {Required: true, Schema: integer(), Example: 188,
			Description: "Detail views left this month."},
		"X-List-Records-Limit": {Required: true, Schema: integer(), Example: 10000,
			Description: "List records per calendar month in your plan."},
		"X-List-Records-Remaining": {Required: true, Schema: integer(), Example: 9600,
			Description: "List records left this month."},
		"X-Quota-Reset": {Required: true, Schema: integer(), Example: 1796083200,
			Description: "When the monthly quotas reset: the first of the next month (UTC), as a Unix timestamp."},
		"X-Request-Id": {Required: true, Schema: text(), Example: "JBTQ2T5KX3V6DVUGOMUGY2IAFN",
			Description: "Identifies the request in our logs. To set your own, send up to 64 letters, digits, dots, " +
				"hyphens and underscores."},
		"Retry-After": {Schema: integer(), Example: 12,
			Description: "Seconds to wait before retrying. Sent with 503, and with 429 unless a monthly quota is used " +
				"up."},
		"Location": {Required: true, Schema: text(), Example: basePath + savedSearchesPath + "/" + exampleUUID,
			Description: "Path of the created record."},
		replayedHeader: {Schema: text(), Example: "true",
			Description: "true if an earlier request with the same key created the record."},
		"ETag": {Required: true, Schema: text(), Example: exampleTag,
			Description: "Version of the record. Send it back as If-None-Match."},
		"Link": {Schema: text(), Example: `<` + defaultURL + basePath + `/colas?cursor=AQAB&q=oak>; rel="next"`,
			Description: "CSV and NDJSON: URL of the next page. Absent on the last page. If the list has no cursors, " +
				"also absent on a page truncated by the quota."},
		totalHeader: {Schema: integer(), Example: 41,
			Description: "CSV and NDJSON: exact number of matching records on all pages."},
		truncatedHeader: {Schema: text(), Example: "true",
			Description: "CSV and NDJSON: true if the page was truncated because the monthly quota of list records is used up."},
		windowHeader: {Schema: text(), Example: "2025-11-20",
			Description: "CSV and NDJSON: first approval date searched, if the default date window was applied."},
		notesHeader: {Schema: text(), Example: `["DE was interpreted as Delaware; for Germany, use germany or DEU."]`,
			Description: "CSV and NDJSON: notes, as a JSON array of strings in ASCII. Omitted if there are none."},
		otherGroupsHeader: {Schema: integer(), Example: 112,
			Description: "Counts in CSV and NDJSON: number of groups omitted from the rows. Absent if unknown."},
		otherLabelsHeader: {Schema: integer(), Example: 3310,
			Description: "Counts in CSV and NDJSON: number of labels in the groups omitted from the rows."},
		"WWW-Authenticate": {Required: true, Schema: text(), Example: `Bearer realm="colaregistry"`,
			Description: "The authentication scheme. If access tokens are accepted, also the metadata URL " +
				"(resource_metadata, RFC 9728) and the scopes to request."},
	}
}

// errorKind is one error response in the document.
type errorKind struct {
	status      int
	name        string // component name
	description string
	headers     []string
	examples    map[string]*cola.Error
}

// codes returns the error codes in the kind's examples.
func (k errorKind) codes() []string {
	seen := map[string]bool{}
	for _, e := range k.examples {
		seen[string(e.Code)] = true
	}
	return sortedKeys(seen)
}

// errorKinds returns the errors of operations. Callers must not modify the result. For the general
// 401, 429, 500 and 503, the quota headers are not documented, because these responses have them
// only if the account is known.
var errorKinds = sync.OnceValue(func() []errorKind {
	var invalid cola.Problems
	invalid.Add("per_page", "500 is too large; use 1 to 100.")
	invalid.Add("brandname", "Unknown parameter; did you mean brand_name?")
	requestID := []string{"X-Request-Id"}
	return slices.Concat([]errorKind{
		{http.StatusBadRequest, "BadRequest", "Parameters are invalid. All problems are reported at once, by parameter.",
			commonHeaders(),
			map[string]*cola.Error{"invalid": asError(invalid.Err())}},
		{http.StatusUnauthorized, "Unauthorized", "Credentials are missing or invalid.",
			append(requestID, "WWW-Authenticate"),
			map[string]*cola.Error{"missing": cola.Errorf(cola.CodeUnauthorized,
				"Credentials are missing. Send an API key in the X-API-Key header, or \"Authorization: Bearer\" followed by the key.")}},
		{http.StatusForbidden, "AccountSuspended",
			"The account is suspended, or the API key can't be used from this address.",
			commonHeaders(),
			map[string]*cola.Error{"network": exampleNetwork(), "suspended": exampleSuspended()}},
		{http.StatusNotFound, "NotFound", "The record does not exist. Not charged.", commonHeaders(),
			map[string]*cola.Error{"unknown": cola.Errorf(cola.CodeNotFound,
				"No label has the TTB ID \"11054001000048\".")}},
		{http.StatusNotAcceptable, "NotAcceptable",
			"The list is not available in any media type that Accept allows. details.available lists the available types.", commonHeaders(),
			map[string]*cola.Error{"html": notAcceptable("text/html")}},
		{http.StatusRequestTimeout, "RequestTimeout",
			"The request body did not arrive in time. No changes were made.", commonHeaders(),
			map[string]*cola.Error{"timed_out": {Code: cola.CodeRequestTimeout,
				Message: "Timed out waiting for the request body. Send the request again."}}},
		{http.StatusRequestEntityTooLarge, "PayloadTooLarge", "The request body is too large.",
			commonHeaders(),
			map[string]*cola.Error{"body_too_large": cola.Errorf(cola.CodePayloadTooLarge,
				"The body is 70000 bytes; the limit is %d.", maxBodyBytes)}},
		{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "The body is not application/json in UTF-8.",
			commonHeaders(),
			map[string]*cola.Error{"form": {Code: cola.CodeUnsupportedMediaType,
				Message: mediaTypeMessage([]string{mediaJSON})}}},
		{http.StatusTooManyRequests, "QuotaExceeded",
			"A limit was reached; details.reason says which. detail_views, list_records: a monthly quota is used up, " +
				"and upgrade_url is set if there is a larger plan. burst: too many requests in 60 seconds. failed_credentials: too many invalid " +
				"credentials from your IP address; valid ones are still accepted. suggestions: too many requests to " +
				"/suggest. requests: a feed, or a link in an email, was requested too often. Retry-After is set unless a monthly quota is used up.",
			append([]string{"Retry-After"}, requestID...), quotaExamples()},
		{http.StatusInternalServerError, "InternalError",
			"Something went wrong on our side. Report the request ID.", requestID,
			map[string]*cola.Error{"internal": web.InternalError("JBTQ2T5KX3V6DVUGOMUGY2IAFN")}},
		{http.StatusServiceUnavailable, "Unavailable",
			"The service is starting, is overloaded (details.reason is overloaded), or can't record usage right now. You were not charged.",
			append([]string{"Retry-After"}, requestID...),
			map[string]*cola.Error{"unavailable": cola.Unavailable(), "overloaded": cola.Overloaded(time.Second)}},
	}, savedSearchErrors(), destinationErrors())
})

func exampleNetwork() *cola.Error {
	return cola.Caller{Client: netip.MustParseAddr("198.51.100.7")}.OutsideNetworks()
}

func exampleSuspended() *cola.Error {
	return &cola.Error{
		Code: cola.CodeAccountSuspended,
		Message: "The account is suspended: The October invoice is unpaid. Contact the operator. Your data is " +
			"kept.",
		Details: map[string]any{"reason": "The October invoice is unpaid."},
	}
}

// retryableExamples returns the quotaExamples that have a Retry-After header. They apply to free
// operations, which use no monthly quota.
func retryableExamples() map[string]*cola.Error {
	examples := quotaExamples()
	delete(examples, "quota")
	return examples
}

func quotaExamples() map[string]*cola.Error {
	return map[string]*cola.Error{
		"quota": {
			Code:    cola.CodeQuotaExceeded,
			Message: `The free plan's 200 detail views for 2026-11 are used up. The quota resets on 2026-12-01. A larger plan includes more.`,
			Details: map[string]any{
				"reason": "detail_views",
				"limit":  200,
				"used":   200,
				"reset":  "2026-12-01T00:00:00Z",
			},
			UpgradeURL: "https://example.com/plans",
		},
		"burst": {
			Code:       cola.CodeQuotaExceeded,
			Message:    `The free plan allows 10 requests in any 60-second window. Try again in 12 seconds.`,
			Details:    map[string]any{"reason": "burst", "limit": 10, "retry_after": 12},
			RetryAfter: 12 * time.Second,
		},
		"failed_credentials": {
			Code: cola.CodeQuotaExceeded,
			Message: "Too many invalid credentials from your IP address. Check your credentials; valid " +
				"ones are still accepted. Try again in 2 seconds.",
			Details:    map[string]any{"reason": "failed_credentials", "retry_after": 2},
			RetryAfter: 2 * time.Second,
		},
	}
}

// scopeChallenge describes the WWW-Authenticate header of a 403 for a missing scope; other 403s
// have none.
func scopeChallenge() *huma.Param {
	return &huma.Param{
		Description: "Present only with insufficient_scope: the scope to request, if the app is allowed to have it.",
		Example:     `Bearer realm="colaregistry", error="insufficient_scope", scope="saved_searches:write"`,
		Schema:      &huma.Schema{Type: huma.TypeString},
	}
}

func asError(err error) *cola.Error { return err.(*cola.Error) }

// kindNamed returns the error kind with the given component name.
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
			examples[name] = &huma.Example{Summary: strings.ReplaceAll(name, "_", " "), Value: web.Envelope(e)}
		}
		content := map[string]*huma.MediaType{"application/json": {Schema: schema, Examples: examples}}
		responses[kind.name] = &huma.Response{
			Description: kind.description,
			Headers:     headerRefs(kind.headers),
			Content:     content,
		}
		if slices.Contains(kind.codes(), string(cola.CodeInsufficientScope)) {
			responses[kind.name].Headers["WWW-Authenticate"] = scopeChallenge()
		}
	}
	return responses
}

// savedSearchErrors returns the errors specific to saved searches.
func savedSearchErrors() []errorKind {
	return slices.Concat(invalidSearchErrors(), searchLimitErrors(), searchRunErrors())
}

// invalidSearchErrors returns the errors for invalid searches and for callers without the write
// scope.
func invalidSearchErrors() []errorKind {
	var invalid cola.Problems
	invalid.Add("filters.brand", "Unknown parameter; did you mean filters.brand_name?")
	invalid.Add("schedule.day", "9 is too large; use 0 to 6.")
	var unknown cola.Problems
	unknown.Add("when", "Unknown parameter.")
	scope := cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	return []errorKind{
		{http.StatusBadRequest, "BadSavedSearch",
			"The body or a field is invalid; all problems are reported at once, by dotted name. Or the search is too " +
				"broad for a schedule.", commonHeaders(),
			map[string]*cola.Error{
				"invalid": asError(invalid.Err()),
				"too_broad": cola.Errorf(cola.CodeSearchTooBroad,
					"A search with a schedule needs a filter that narrows it."),
			}},
		{http.StatusBadRequest, "TooBroad", "Parameters are invalid, or the search is too broad to run.",
			commonHeaders(),
			map[string]*cola.Error{
				"invalid": asError(unknown.Err()),
				"too_broad": cola.Errorf(cola.CodeSearchTooBroad,
					"The search's filters are too broad to run. Add a filter, or search labels directly."),
			}},
		{http.StatusForbidden, "InsufficientScope",
			"The API key or access token lacks the required scope, which is named in WWW-Authenticate. Or the key can't be used " +
				"from this address, or the account is suspended.",
			commonHeaders(),
			map[string]*cola.Error{"scope": scope, "network": exampleNetwork(), "suspended": exampleSuspended()}},
	}
}

// searchLimitErrors returns the errors for exceeded limits on saved searches and for reused
// idempotency keys.
func searchLimitErrors() []errorKind {
	limit := func(advice string) *cola.Error {
		return &cola.Error{
			Code:    cola.CodeWatchlistLimit,
			Message: "The account has reached the maximum of 10 saved searches with an active schedule. " + advice,
			Details: map[string]any{"limit": cola.MaxActiveSchedules},
		}
	}
	return []errorKind{
		{http.StatusConflict, "Conflict", "The account has reached the maximum number of active schedules or " +
			"saved searches (see details.limit), or the idempotency key was already used for another request.",
			commonHeaders(),
			map[string]*cola.Error{
				"limit": limit("Save this search without a schedule or with \"active\": false, or pause or delete " +
					"another one first."),
				"too_many_saved_searches": {
					Code: cola.CodeWatchlistLimit,
					Message: "The account has reached the maximum of 1000 saved searches. Delete one first: GET " +
						"/saved-searches lists them, DELETE /saved-searches/{uuid} deletes one.",
					Details: map[string]any{"limit": cola.MaxSavedSearches},
				},
				"key_reused": cola.Errorf(cola.CodeIdempotencyKeyReused,
					"This Idempotency-Key was already used for another search. Use a new key for each search, and the "+
						"same key only to repeat a request."),
			}},
		{http.StatusConflict, "LimitReached",
			"Activating this schedule would exceed the account's limit on active schedules. Pause another one first.",
			commonHeaders(),
			map[string]*cola.Error{"limit": limit("Pause or delete another one first.")}},
	}
}

// searchRunErrors returns the errors of manual runs.
func searchRunErrors() []errorKind {
	manualRuns := retryableExamples()
	manualRuns["manual_runs"] = &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: "Your account has used all 24 manual runs for today. The limit resets at 00:00 UTC; scheduled runs " +
			"continue.",
		Details: map[string]any{
			"reason":      registry.ReasonManualRuns,
			"limit":       cola.MaxDailyManualRuns,
			"retry_after": 31_380,
		},
		RetryAfter: 31_380 * time.Second,
	}
	return []errorKind{
		{http.StatusConflict, "SearchNotActive",
			"The search is on hold: the account is suspended or has more active schedules than allowed.", commonHeaders(),
			map[string]*cola.Error{"downgraded": {
				Code: cola.CodeNotActive,
				Message: "The search is on hold: the account has more active schedules than allowed, so only the " +
					"oldest ones run. To run this one, pause or delete enough older ones. This search's next run will find the " +
					"labels it missed in the meantime.",
				Details: map[string]any{"reason": cola.PausedDowngraded},
			}}},
		{http.StatusTooManyRequests, "TooManyManualRuns",
			"The account has used all of its manual runs for the day (UTC; details.reason is manual_runs) or has " +
				"reached the rate limit (burst). Retry-After is set.",
			append([]string{"Retry-After"}, commonHeaders()...), manualRuns},
	}
}

// destinationErrors returns the errors specific to destinations and deliveries.
func destinationErrors() []errorKind {
	requested := retryableExamples()
	requested["confirmation_limit_reached"] = &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: "A confirmation request was already sent to this address within the last hour. Try again in 42 " +
			"minutes.",
		Details: map[string]any{"reason": "confirmations", "retry_after": 2520}, RetryAfter: 42 * time.Minute,
	}
	tested := retryableExamples()
	tested["test_limit_reached"] = &cola.Error{
		Code:       cola.CodeQuotaExceeded,
		Message:    "Each destination is limited to 10 test messages a minute. Try again in 6 seconds.",
		Details:    map[string]any{"reason": registry.ReasonTests, "limit": 10, "retry_after": 6},
		RetryAfter: 6 * time.Second,
	}
	return []errorKind{
		{status: http.StatusConflict, name: "DestinationConflict",
			description: "The account already has this destination, or has reached the maximum number of " +
				"destinations.", headers: commonHeaders(),
			examples: map[string]*cola.Error{
				"exists": cola.Errorf(cola.CodeDestinationExists,
					"The account already has this destination for the same searches. GET /destinations lists it. To "+
						"replace a lost secret, send POST /destinations/{uuid}/secret."),
				"limit": {
					Code:    cola.CodeDestinationLimit,
					Message: "The account has reached the maximum of 20 destinations. Delete one first.",
					Details: map[string]any{"limit": cola.MaxDestinations},
				},
			}},
		{status: http.StatusConflict, name: "DestinationNotActive",
			description: "The destination is paused or disabled, or its recipient has not confirmed.",
			headers:     commonHeaders(),
			examples: map[string]*cola.Error{"inactive": {
				Code: cola.CodeNotActive, Details: map[string]any{
					"state":  cola.DestinationPaused,
					"reason": cola.ReasonHolder,
				},
				Message: "The destination is paused. To resume it, send PATCH /destinations/" +
					exampleDestinationUUID + " with {\"active\": true}.",
			}}},
		{status: http.StatusTooManyRequests, name: "AskedTooOften",
			description: "Too many confirmation requests from the account, or to the host or address (details.reason " +
				"is confirmations), or the rate limit was reached (burst). Retry-After is set.",
			headers: append([]string{"Retry-After"}, commonHeaders()...), examples: requested},
		{status: http.StatusTooManyRequests, name: "TestedTooOften",
			description: "More than ten test messages to the destination in a minute (details.reason is tests), or " +
				"the rate limit was reached (burst). Retry-After is set.",
			headers: append([]string{"Retry-After"}, commonHeaders()...), examples: tested},
	}
}
