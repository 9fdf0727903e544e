// Package web is what every HTTP edge does alike: a request's id, its one line in the log, its metrics, recovery, and the
// forms of errors and of the quota headers. It knows no route and no operation.
package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
)

// Event is what one request's log line is made of. The handlers of the request fill it in; it never holds a secret nor
// what was searched for.
type Event struct {
	RequestID string
	Channel   cola.Channel // empty where no credentials are asked for
	Caller    cola.Caller  // zero when not authenticated
	Meter     cola.Meter
	Units     int         // charged
	Code      cola.Code   // of an error answer
	Fault     error       // ours, not the caller's
	Stack     []byte      // of a panic
	Beside    []slog.Attr // what an edge tells beside; values of fixed lists of ours only

	resource auth.Resource // that challenges tell of
	bodyRead bool          // to its end
	unhurry  func()        // ends what Hurry did; may be nil
	bodyLost bool          // it did not come in time, or ended early
}

type eventKey struct{}

// EventOf returns the request's event. Outside RequestID, as in a test of one handler, it is one that nobody reads.
func EventOf(ctx context.Context) *Event {
	if e, ok := ctx.Value(eventKey{}).(*Event); ok {
		return e
	}
	return &Event{}
}

// Challenging has refusals for want of credentials or of a scope tell how to get them. It goes inside RequestID.
func Challenging(resource auth.Resource) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			EventOf(r.Context()).resource = resource
			next.ServeHTTP(w, r)
		})
	}
}

// saneRequestID is what a request id from outside may look like: it goes into logs and headers. What could be a key is none.
func saneRequestID(s string) bool {
	return requestIDShape.MatchString(s) && !strings.Contains(s, auth.KeyPrefix)
}

var requestIDShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// RequestID gives each request an id, its own when it brings a sane one, and returns it with the answer.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !saneRequestID(id) {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		ctx := context.WithValue(r.Context(), eventKey{}, &Event{RequestID: id})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
