// Package retryafter reads the Retry-After header of HTTP responses (RFC 9110 §10.2.3).
package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Of returns the wait that a response requests in its Retry-After header, as seconds or as a date.
// It returns zero if the value is missing, invalid or in the past. Callers should cap the result,
// which may be many years.
func Of(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
