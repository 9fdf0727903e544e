// Package web contains code shared by all HTTP APIs: request IDs, log lines, metrics, panic
// recovery, and the formats of errors and quota headers. It does not depend on particular routes or
// operations.
package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
)

// Event is the content of a request's log line. Handlers fill it in. The line never contains
// secrets or search terms.
type Event struct {
	RequestID string
	Channel   cola.Channel // empty for public routes
	Caller    cola.Caller  // zero if not authenticated
	Meter     cola.Meter
	Units     int         // units charged
	Code      cola.Code   // error code of the response
	Fault     error       // server fault, not the caller's error
	Stack     []byte      // stack of a panic
	Attrs     []slog.Attr // further attributes, whose values must come from fixed lists
	Forwarded bool        // another Recorder logs and measures the request, under the same ID

	// The following fields are for the account's request log, not for the log line.
	Logged bool  // the request log includes the request
	Call   *Call // replaces the HTTP method, path and query; may be nil
	Answer any   // the body of an error response, marshaled only if needed

	resource        auth.Resource // resource named in challenges
	bodyRead        bool          // the body was read to the end
	restoreDeadline func()        // undoes ShortenBodyTimeout; may be nil
	bodyTruncated   bool          // the body timed out or ended early
}

type eventKey struct{}

// EventOf returns the request's event. Without RequestID, as in a test of a single handler, it
// returns an unused one.
func EventOf(ctx context.Context) *Event {
	if e, ok := ctx.Value(eventKey{}).(*Event); ok {
		return e
	}
	return &Event{}
}

// WithChallenge adds WWW-Authenticate to responses that reject credentials or a scope. It must run
// inside RequestID.
func WithChallenge(resource auth.Resource) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			EventOf(r.Context()).resource = resource
			next.ServeHTTP(w, r)
		})
	}
}

// validRequestID reports whether a client's request ID is safe for logs and headers. It rejects
// anything that could be a key.
func validRequestID(s string) bool {
	return s != "" && requestIDPattern.MatchString(s) && !strings.Contains(s, auth.KeyPrefix)
}

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// RequestID gives each request an ID, using the client's if it is valid, and returns it in a
// response header.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(Begin(w, r)))
	})
}

// Begin returns the request's context with an event, and sets the headers that every response has.
// Middleware that also changes the context calls Begin instead of using RequestID, because each
// change copies the request.
func Begin(w http.ResponseWriter, r *http.Request) context.Context {
	id := r.Header.Get("X-Request-Id")
	if !validRequestID(id) {
		id = rand.Text()
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return context.WithValue(r.Context(), eventKey{}, &Event{RequestID: id})
}

// Recorder writes a log line and metrics for each request, and records it in its account's request
// log.
type Recorder struct {
	log      *slog.Logger
	metrics  *metrics
	route    func(*http.Request) string
	requests LogRequest // nil if requests aren't recorded
}

// NewRecorder returns a Recorder. route returns the route of a served request: one of routes, or
// Other. Requests are measured if registerer is not nil. Recorders that share a registerer share
// its metrics.
func NewRecorder(
	log *slog.Logger, registerer prometheus.Registerer, routes []string, route func(*http.Request) string,
) *Recorder {
	return &Recorder{log: log, metrics: newMetrics(registerer, routes), route: route}
}

// WithRequestLog makes the recorder keep request logs for accounts, and returns it. A nil function
// disables them.
func (rec *Recorder) WithRequestLog(record LogRequest) *Recorder {
	rec.requests = record
	return rec
}

// Record measures each request and logs its event when the request ends.
func (rec *Recorder) Record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec.metrics.startRequest()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			// Deferred, so that a request aborted by a panic is recorded too.
			if EventOf(r.Context()).Forwarded {
				rec.metrics.skipRequest()
				return
			}
			took, route, size := time.Since(start), rec.route(r), ww.BytesWritten()
			if r.Method == http.MethodHead {
				size = 0 // net/http discards the body
			}
			o := outcome{methodLabel(r.Method), ww.Status()}
			rec.metrics.finishRequest(route, o, took, size, EventOf(r.Context()).Stack != nil)
			rec.logEvent(r, route, o, took, size)
			rec.logRequest(r, o.status, took)
		}()
		next.ServeHTTP(ww, r)
	})
}

func (rec *Recorder) logEvent(r *http.Request, route string, o outcome, took time.Duration, bytes int) {
	e := EventOf(r.Context())
	attrs := append(make([]slog.Attr, 0, 16), // enough for most requests; stays on the stack
		slog.String("request_id", e.RequestID),
		slog.String("method", o.method),
		slog.String("route", route),
		slog.Int("status", o.status),
		slog.Duration("duration", took),
		slog.Int("bytes", bytes),
	)
	if client := cola.ClientFrom(r.Context()); client.IsValid() {
		attrs = append(attrs, slog.String("client", client.String()))
	}
	if e.Channel != "" {
		attrs = append(attrs, slog.String("channel", string(e.Channel)))
	}
	if e.Caller.Account != 0 {
		attrs = append(attrs,
			slog.Int64("account", int64(e.Caller.Account)),
			slog.String("credential_kind", string(e.Caller.Credential.Kind)),
			slog.Int64("credential", e.Caller.Credential.ID),
			slog.Int("units", e.Units))
	}
	if e.Meter != cola.MeterNone {
		attrs = append(attrs, slog.String("meter", string(e.Meter)))
	}
	if e.Code != "" {
		attrs = append(attrs, slog.String("code", string(e.Code)))
	}
	attrs = append(attrs, e.Attrs...)
	level := slog.LevelInfo
	if e.Fault != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", e.Fault.Error()))
	}
	if e.Stack != nil {
		attrs = append(attrs, slog.String("stack", string(e.Stack)))
	}
	rec.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// Recover turns a panic into a 500 without details. If the response has started, it closes the
// connection instead, so that a partial response is not mistaken for a complete one.
func Recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			e := EventOf(r.Context())
			e.Stack = debug.Stack()
			fault := fmt.Errorf("panic: %v", p)
			if ww.Status() != 0 {
				e.Fault, e.Code = fault, cola.CodeInternal
				panic(http.ErrAbortHandler)
			}
			Fail(ww, r, fault)
		}()
		next.ServeHTTP(ww, r)
	})
}

// Compress compresses responses with zstd or gzip if the client accepts either. Zstandard's default
// level makes pages 7% smaller than its fastest level, which is gzhttp's default, and takes 8% more
// time.
func Compress() func(http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.ZstdCompressionLevel(int(zstd.SpeedDefault)))
	if err != nil {
		panic(err) // the options are constants
	}
	return func(next http.Handler) http.Handler { return wrap(next) }
}
