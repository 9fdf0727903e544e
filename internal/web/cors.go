package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/cors"
)

// maxRequestedHeaders is the maximum length, in bytes, of an Access-Control-Request-Headers value
// that a preflight response echoes.
const maxRequestedHeaders = 2 << 10

// CORS lets pages from other origins call an API. Scripts send credentials in headers, never in
// cookies, so responses never allow credentials.
type CORS struct {
	AllowOrigin func(origin string) bool // nil allows every origin
	Exposed     []string                 // response headers that scripts may read in addition to the common ones
}

// Handler adds CORS headers to responses and answers preflight requests. A preflight response
// allows the requested headers, because tracing and client libraries add some (traceparent,
// baggage, sentry-trace) and ignoring a header is safe. It allows every method, so that scripts can
// read a 405.
func (c CORS) Handler(next http.Handler) http.Handler {
	o := cors.Options{
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: slices.Concat(QuotaHeaders(),
			[]string{"X-Request-Id", "Retry-After", "WWW-Authenticate", "Allow"}, c.Exposed),
		MaxAge: int(time.Hour / time.Second),
	}
	if c.AllowOrigin != nil {
		o.AllowOriginFunc = func(_ *http.Request, origin string) bool { return c.AllowOrigin(origin) }
	}
	handler := cors.Handler(o)(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if list := r.Header.Get("Access-Control-Request-Headers"); list != "" && !areHeaderNames(list) {
			r = r.Clone(r.Context())
			r.Header.Del("Access-Control-Request-Headers") // allow none of them
		}
		handler.ServeHTTP(w, r)
	})
}

// areHeaderNames reports whether a list is short enough to echo and contains only letters,
// digits, hyphens, underscores and dots, which are the characters that the cors package echoes.
func areHeaderNames(list string) bool {
	if len(list) > maxRequestedHeaders {
		return false
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.Trim(name, " \t")
		if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !isHeaderNameChar(c) }) {
			return false
		}
	}
	return true
}

func isHeaderNameChar(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.", c)
}
