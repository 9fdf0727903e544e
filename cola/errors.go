package cola

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Code classifies an error that callers see. Each API maps codes to its own format.
type Code string

// The error codes in the API reference.
const (
	CodeUnauthorized         Code = "unauthorized"
	CodeNotFound             Code = "not_found"
	CodeQuotaExceeded        Code = "quota_exceeded"
	CodeValidation           Code = "validation_error"
	CodeInsufficientScope    Code = "insufficient_scope"
	CodeSearchTooBroad       Code = "search_too_broad"
	CodeWatchlistLimit       Code = "watchlist_limit_reached"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeNotAcceptable        Code = "not_acceptable"
	CodeRequestTimeout       Code = "request_timeout"
	CodePayloadTooLarge      Code = "payload_too_large"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeForbidden            Code = "forbidden"
	CodeAccountSuspended     Code = "account_suspended"
	CodeDestinationLimit     Code = "destination_limit_reached"
	CodeDestinationExists    Code = "destination_exists"
	CodeNotActive            Code = "not_active"
	CodeInternal             Code = "internal_error"
	CodeUnavailable          Code = "unavailable"

	CodeKeyLimit Code = "key_limit_reached" // dashboard only
)

// Error is an error that is safe to show to the caller. All other errors are logged and shown as
// CodeInternal with the request ID.
type Error struct {
	Code    Code
	Message string         // one or two sentences: the problem and the remedy
	Details map[string]any // may be nil; encoded as an object

	RetryAfter time.Duration // how long to wait; set for rate limits and CodeUnavailable
	UpgradeURL string        // upgrade page; set only for exhausted quotas that a larger plan would raise
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// DetailDeletesAt is the key in Details of a CodeAccountSuspended error for the time at which the
// account will be deleted. It is present only if deletion was requested.
const DetailDeletesAt = "deletes_at"

// IsDeletionRequested reports whether a request was rejected because its account is scheduled for
// deletion.
func IsDeletionRequested(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == CodeAccountSuspended && e.Details[DetailDeletesAt] != nil
}

// maxQuotedLength is the maximum length of a quoted value, in characters.
const maxQuotedLength = 60

// Quoted quotes a caller's value for a message, shortened to maxQuotedLength.
func Quoted(value string) string {
	if utf8.RuneCountInString(value) > maxQuotedLength {
		value = string([]rune(value)[:maxQuotedLength]) + "…"
	}
	return strconv.Quote(value)
}

// CodeOf returns the code of the Error in err's chain, CodeInternal for any other error, and "" for
// nil.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return CodeInternal
}

// UnavailableRetry is the Retry-After value sent while the database can't commit.
const UnavailableRetry = 5 * time.Second

// Unavailable returns the error for an operation that can't be metered or served now.
func Unavailable() *Error {
	return &Error{
		Code:       CodeUnavailable,
		Message:    "The registry is unavailable right now. You were not charged. Try again in a few seconds.",
		RetryAfter: UnavailableRetry,
	}
}

// ReasonOverloaded is the details.reason of Overloaded.
const ReasonOverloaded = "overloaded"

// Overloaded returns the error for a request that is rejected because too many are waiting. Details
// contain the reason and the wait in seconds (retry_after), from one second to UnavailableRetry.
func Overloaded(wait time.Duration) *Error {
	wait = min(max(wait, time.Second), UnavailableRetry)
	return &Error{
		Code:    CodeUnavailable,
		Message: "The registry is busy right now. You were not charged. Try again in " + WaitWords(wait) + ".",
		Details: map[string]any{"reason": ReasonOverloaded, "retry_after": roundUp(wait, time.Second)}, RetryAfter: wait,
	}
}

// TooMany returns a CodeQuotaExceeded error for an exceeded rate limit and appends the wait to the
// message. Details contain the reason, the wait in seconds (retry_after) and, unless zero, the
// limit.
func TooMany(reason string, limit int, wait time.Duration, message string) *Error {
	details := map[string]any{"reason": reason, "retry_after": roundUp(wait, time.Second)}
	if limit != 0 {
		details["limit"] = limit
	}
	return &Error{
		Code: CodeQuotaExceeded, Message: message + " Try again in " + WaitWords(wait) + ".",
		Details: details, RetryAfter: wait,
	}
}

// WaitWords returns a wait in words, rounded up: "1 second", "42 minutes", "3 hours".
func WaitWords(wait time.Duration) string {
	n, unit := roundUp(wait, time.Second), "second"
	switch {
	case wait > 2*time.Hour:
		n, unit = roundUp(wait, time.Hour), "hour"
	case wait > 2*time.Minute:
		n, unit = roundUp(wait, time.Minute), "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

func roundUp(d, unit time.Duration) int { return int((d + unit - 1) / unit) }
