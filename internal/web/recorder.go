// Package web is what every HTTP edge does alike: a request's id, its one line in the log, its metrics, recovery, and the
// forms of errors and of the quota headers. It knows no route and no operation.
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
	"github.com/prometheus/client_golang/prometheus"

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
	Attrs     []slog.Attr // what an edge tells beside; values of fixed lists of ours only

	resource        auth.Resource // that challenges tell of
	bodyRead        bool          // to its end
	restoreDeadline func()        // ends what Hurry did; may be nil
	bodyTruncated   bool          // it did not come in time, or ended early
}

type eventKey struct{}

// EventOf returns the request's event. Outside RequestID, as in a test of one handler, it is one that nobody reads.
func EventOf(ctx context.Context) *Event {
	if e, ok := ctx.Value(eventKey{}).(*Event); ok {
		return e
	}
	return &Event{}
}

// WithChallenge has refusals for want of credentials or of a scope tell how to get them. It goes inside RequestID.
func WithChallenge(resource auth.Resource) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			EventOf(r.Context()).resource = resource
			next.ServeHTTP(w, r)
		})
	}
}

// validRequestID is what a request id from outside may look like: it goes into logs and headers. What could be a key is none.
func validRequestID(s string) bool {
	return requestIDPattern.MatchString(s) && !strings.Contains(s, auth.KeyPrefix)
}

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// RequestID gives each request an id, its own when it brings a sane one, and returns it with the answer.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !validRequestID(id) {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		ctx := context.WithValue(r.Context(), eventKey{}, &Event{RequestID: id})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Recorder tells of requests: a line of the log and some metrics for each.
type Recorder struct {
	log     *slog.Logger
	metrics *metrics
	route   func(*http.Request) string
}

// NewRecorder returns a Recorder. route tells what a request was for, once it has been served: one of the routes, or Other.
// With a registerer requests are measured; edges that register with the same one share the metrics.
func NewRecorder(log *slog.Logger, registerer prometheus.Registerer, routes []string, route func(*http.Request) string) *Recorder {
	return &Recorder{log: log, metrics: newMetrics(registerer, routes), route: route}
}

// Record measures a request and logs one event of it, when it is done.
func (rec *Recorder) Record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec.metrics.startRequest()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			// Deferred, so that a connection cut off by a panic is recorded too.
			took, route, sent := time.Since(start), rec.route(r), ww.BytesWritten()
			if r.Method == http.MethodHead {
				sent = 0 // net/http takes the body and leaves it out
			}
			o := outcome{methodLabel(r.Method), ww.Status()}
			rec.metrics.finishRequest(route, o, took, sent, EventOf(r.Context()).Stack != nil)
			rec.logEvent(r, route, o, took, sent)
		}()
		next.ServeHTTP(ww, r)
	})
}

func (rec *Recorder) logEvent(r *http.Request, route string, o outcome, took time.Duration, bytes int) {
	e := EventOf(r.Context())
	attrs := []slog.Attr{
		slog.String("request_id", e.RequestID),
		slog.String("method", o.method),
		slog.String("route", route),
		slog.Int("status", o.status),
		slog.Duration("duration", took),
		slog.Int("bytes", bytes),
	}
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

// Recover turns a panic into a 500 that tells nothing of it. When the answer has begun the connection is cut off instead,
// so that nobody takes a part for the whole.
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

// Compress encodes answers with zstd or gzip for those who accept it.
func Compress() func(http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024))
	if err != nil {
		panic(err) // the options are constants
	}
	return func(next http.Handler) http.Handler { return wrap(next) }
}
