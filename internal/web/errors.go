package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// StatusOf returns the HTTP status for an error code.
func StatusOf(code cola.Code) int {
	switch code {
	case cola.CodeValidation, cola.CodeSearchTooBroad:
		return http.StatusBadRequest
	case cola.CodeUnauthorized:
		return http.StatusUnauthorized
	case cola.CodeInsufficientScope, cola.CodeForbidden, cola.CodeAccountSuspended:
		return http.StatusForbidden
	case cola.CodeNotFound:
		return http.StatusNotFound
	case cola.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case cola.CodeNotAcceptable:
		return http.StatusNotAcceptable
	case cola.CodeWatchlistLimit, cola.CodeIdempotencyKeyReused, cola.CodeDestinationLimit, cola.CodeDestinationExists,
		cola.CodeNotActive, cola.CodeKeyLimit:
		return http.StatusConflict
	case cola.CodeRequestTimeout:
		return http.StatusRequestTimeout
	case cola.CodePayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case cola.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case cola.CodeQuotaExceeded:
		return http.StatusTooManyRequests
	case cola.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// ErrorBody is the body of every error response.
type ErrorBody struct {
	Error      ErrorInfo `json:"error" doc:"The error."`
	UpgradeURL string    `json:"upgrade_url,omitempty" format:"uri" doc:"Upgrade page. Present if a monthly quota is used up and there is a larger plan; also in error.details." example:"https://example.com/plans"`
}

// ErrorInfo describes an error.
type ErrorInfo struct {
	Code    cola.Code      `json:"code" enum:"unauthorized,not_found,quota_exceeded,validation_error,insufficient_scope,search_too_broad,watchlist_limit_reached,idempotency_key_reused,method_not_allowed,not_acceptable,request_timeout,payload_too_large,unsupported_media_type,forbidden,account_suspended,destination_limit_reached,destination_exists,not_active,internal_error,unavailable" doc:"Machine-readable error code." example:"validation_error"`
	Message string         `json:"message" doc:"Human-readable explanation of what went wrong and how to fix it." example:"Invalid parameters: per_page. See details."`
	Details map[string]any `json:"details" doc:"More about the error. May be empty. validation_error: arrays of messages by parameter. quota_exceeded: reason, one of detail_views, list_records, burst, messages (at /mcp), failed_credentials, suggestions, requests (to a feed or emailed link), confirmations, manual_runs, tests. internal_error: request_id."`
}

// Envelope returns the body for an error that is safe to show.
func Envelope(e *cola.Error) ErrorBody {
	details := map[string]any{}
	maps.Copy(details, e.Details)
	if e.UpgradeURL != "" {
		details["upgrade_url"] = e.UpgradeURL
	}
	return ErrorBody{
		Error:      ErrorInfo{Code: e.Code, Message: e.Message, Details: details},
		UpgradeURL: e.UpgradeURL,
	}
}

// PublicError converts any error to one that is safe to show. fault is the error to log; it is nil
// if the caller caused the error or the service is overloaded.
func PublicError(err error, requestID string) (shown *cola.Error, fault error) {
	if errors.As(err, &shown) && shown.Code != cola.CodeInternal {
		if shown.Code != cola.CodeUnavailable || shown.Details["reason"] == cola.ReasonOverloaded {
			return shown, nil
		}
		withRetry := *shown
		withRetry.RetryAfter = cmp.Or(shown.RetryAfter, cola.UnavailableRetry)
		return &withRetry, err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &cola.Error{
			Code:       cola.CodeUnavailable,
			Message:    "The request timed out. Try again shortly.",
			RetryAfter: cola.UnavailableRetry,
		}, err
	}
	return InternalError(requestID), err
}

// InternalError returns the public error for an internal error.
func InternalError(requestID string) *cola.Error {
	return &cola.Error{
		Code:    cola.CodeInternal,
		Message: "Internal error. Include the request ID if you report it.",
		Details: map[string]any{"request_id": requestID},
	}
}

// RetrySeconds rounds up to whole seconds for Retry-After, because a retry that is slightly early
// would be rejected again.
func RetrySeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

// StatusClientGone is the logged status of a request whose client disconnected before the response.
const StatusClientGone = 499

// IsClientGone reports whether an error was caused by the client disconnecting.
func IsClientGone(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(r.Context().Err(), context.Canceled)
}

// Fail sends an error response.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	event := EventOf(r.Context())
	if IsClientGone(r, err) {
		w.WriteHeader(StatusClientGone)
		return
	}
	public, fault := PublicError(err, event.RequestID)
	if event.Fault == nil { // otherwise a handler set a more specific one
		event.Fault = fault
	}
	event.Code = public.Code
	PrepareFailure(w, r, public)
	event.Answer = Envelope(public)
	b, err := cola.AppendJSON(nil, event.Answer)
	if err != nil {
		// The details are not valid JSON. Send the error without them.
		event.Fault = errors.Join(event.Fault, err)
		event.Answer = Envelope(&cola.Error{Code: public.Code, Message: public.Message})
		b, _ = cola.AppendJSON(nil, event.Answer)
	}
	WriteJSON(w, StatusOf(public.Code), b)
}

// PrepareFailure sets the response headers for an error that is safe to show. The body can have any
// format.
func PrepareFailure(w http.ResponseWriter, r *http.Request, shown *cola.Error) {
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	h.Del("Etag")
	closeUnread(h, r)
	if shown.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(RetrySeconds(shown.RetryAfter), 10))
	}
	if challenge := EventOf(r.Context()).resource.Challenge(r.Header, shown); challenge != "" {
		h.Set("Www-Authenticate", challenge)
	}
}

// WriteJSON sends a JSON response.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	Write(w, status, "application/json", body)
}

// Write sends a response.
func Write(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // fails only if the client disconnected
}
