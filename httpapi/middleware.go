package httpapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/cors"
	"github.com/klauspost/compress/gzhttp"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
)

// event is what one request's log line is made of. The handlers of the request fill it in; it never holds a secret nor
// what was searched for.
type event struct {
	requestID string
	channel   cola.Channel // empty where no credentials are asked for
	caller    cola.Caller  // zero when not authenticated
	meter     cola.Meter
	units     int       // charged
	code      cola.Code // of an error answer
	fault     error     // ours, not the caller's
	stack     []byte    // of a panic
}

type eventKey struct{}

// eventOf returns the request's event. Outside record, as in a test of one handler, it is one that nobody reads.
func eventOf(r *http.Request) *event {
	if e, ok := r.Context().Value(eventKey{}).(*event); ok {
		return e
	}
	return &event{}
}

// saneRequestID is what a request id from outside may look like: it goes into logs and headers. What could be a key is none.
func saneRequestID(s string) bool {
	return requestIDShape.MatchString(s) && !strings.Contains(s, auth.KeyPrefix)
}

var requestIDShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// requestID gives each request an id, its own when it brings a sane one, and returns it with the answer.
func requestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !saneRequestID(id) {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		ctx := context.WithValue(r.Context(), eventKey{}, &event{requestID: id})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// record measures a request and logs one event of it, when it is done.
func (a *api) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		a.metrics.began()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			// Deferred, so that a connection cut off by a panic is recorded too.
			took, route, sent := time.Since(start), a.routeLabel(r), ww.BytesWritten()
			if r.Method == http.MethodHead {
				sent = 0 // net/http takes the body and leaves it out
			}
			o := outcome{methodLabel(r.Method), ww.Status()}
			a.metrics.ended(route, o, took, sent, eventOf(r).stack != nil)
			a.logEvent(r, route, o, took, sent)
		}()
		next.ServeHTTP(ww, r)
	})
}

// routeLabel returns the pattern of the route that a request was for; what stood in its place in the path is not told. One
// refused before it came to its route, for its credentials or its method, is told under the route that GET would have taken.
func (a *api) routeLabel(r *http.Request) string {
	rctx := chi.RouteContext(r.Context())
	if pattern := rctx.RoutePattern(); a.patterns[pattern] {
		return pattern
	}
	if pattern := rctx.Routes.Find(chi.NewRouteContext(), http.MethodGet, routedPath(r)); a.patterns[pattern] {
		return pattern
	}
	return other
}

func (a *api) logEvent(r *http.Request, route string, o outcome, took time.Duration, bytes int) {
	e := eventOf(r)
	attrs := []slog.Attr{
		slog.String("request_id", e.requestID),
		slog.String("method", o.method),
		slog.String("route", route),
		slog.Int("status", o.status),
		slog.Duration("duration", took),
		slog.Int("bytes", bytes),
	}
	if e.channel != "" {
		attrs = append(attrs, slog.String("channel", string(e.channel)))
	}
	if e.caller.Account != 0 {
		attrs = append(attrs,
			slog.Int64("account", int64(e.caller.Account)),
			slog.String("credential_kind", string(e.caller.Credential.Kind)),
			slog.Int64("credential", e.caller.Credential.ID),
			slog.Int("units", e.units))
	}
	if e.meter != cola.MeterNone {
		attrs = append(attrs, slog.String("meter", string(e.meter)))
	}
	if e.code != "" {
		attrs = append(attrs, slog.String("code", string(e.code)))
	}
	level := slog.LevelInfo
	if e.fault != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", e.fault.Error()))
	}
	if e.stack != nil {
		attrs = append(attrs, slog.String("stack", string(e.stack)))
	}
	a.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// recover turns a panic into a 500 that tells nothing of it. When the answer has begun the connection is cut off instead,
// so that nobody takes a part for the whole.
func (a *api) recover(next http.Handler) http.Handler {
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
			e := eventOf(r)
			e.stack = debug.Stack()
			fault := fmt.Errorf("panic: %v", p)
			if ww.Status() != 0 {
				e.fault, e.code = fault, cola.CodeInternal
				panic(http.ErrAbortHandler)
			}
			a.fail(ww, r, fault)
		}()
		next.ServeHTTP(ww, r)
	})
}

// limitTime ends the work on a request that takes too long; the caller is then told to try again.
func (a *api) limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.opts.Timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// canonicalPath routes by path segments that are decoded and escaped anew. Without it chi matches the path as decoded or
// as sent, depending on how it was escaped, and its variables come out decoded once or not at all.
func canonicalPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chi.RouteContext(r.Context()).RoutePath = routedPath(r)
		next.ServeHTTP(w, r)
	})
}

func routedPath(r *http.Request) string {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			segments[i] = url.PathEscape(plain)
		}
	}
	if path := strings.Join(segments, "/"); strings.HasPrefix(path, "/") {
		return path
	}
	return "/" // as of OPTIONS *
}

// cors lets scripts in browsers call the API. Credentials come in headers that a script must hold itself, never in a
// cookie, so any origin may.
func (a *api) cors() func(http.Handler) http.Handler {
	return cors.Handler(cors.Options{
		AllowedOrigins: a.opts.AllowedOrigins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead},
		AllowedHeaders: []string{"X-API-Key", "Authorization", "If-None-Match", "X-Request-Id"},
		ExposedHeaders: append(everyAnswer(), "Retry-After", "ETag"),
		MaxAge:         int(time.Hour / time.Second),
	})
}

// compress encodes answers with zstd or gzip for those who accept it.
func compress() func(http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024))
	if err != nil {
		panic(err) // the options are constants
	}
	return func(next http.Handler) http.Handler { return wrap(next) }
}
