package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// maxBodyBytes is the maximum size of a request body. Operations that take no body don't read one.
const maxBodyBytes = 64 << 10

// authenticate identifies the caller before any response reveals anything about the path or its
// parameters.
func (a *api) authenticate(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Authorization, X-API-Key")
		event := web.EventOf(r.Context())
		event.Channel, event.Logged = cola.ChannelREST, true
		caller, known := r.Context().Value(callerKey{}).(cola.Caller)
		if !known {
			var err error
			if caller, err = a.auth.Authenticate(r.Context(), r.Header, cola.ChannelREST); err != nil {
				web.Fail(w, r, err)
				return
			}
		}
		event.Caller = caller
		if r.ContentLength > maxBodyBytes {
			a.refuse(w, r, cola.Errorf(cola.CodePayloadTooLarge,
				"The body is %d bytes; the limit is %d.", r.ContentLength, maxBodyBytes))
			return
		}
		next(w, r)
	}
}

type callerKey struct{}

// ServeAs serves a request from a caller that was already identified. The request is charged and
// limited like one with an API key, whatever the caller's channel. Use it only if other sites can't
// trigger the request.
func (a *API) ServeAs(w http.ResponseWriter, r *http.Request, c cola.Caller) {
	c.Channel = cola.ChannelREST
	ctx := context.WithValue(r.Context(), callerKey{}, c)
	ctx = context.WithValue(ctx, chi.RouteCtxKey, (*chi.Context)(nil)) // a.routes is not a subrouter
	a.ServeHTTP(w, r.WithContext(ctx))
}

// shed rejects requests to operations while the process is overloaded. A rejection must cost as
// little as possible, so it comes before everything else: the caller isn't identified, and the
// request is neither logged nor recorded for its account.
func (a *api) shed(cors web.CORS) func(http.Handler) http.Handler {
	setHeaders := cors.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isOperation(r) {
				if err := a.svc.Overloaded(); err != nil {
					setHeaders.ServeHTTP(w, r)
					web.Fail(w, r, err)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// isOperation reports whether a request is for an operation, even an unknown one, rather than for
// the OpenAPI document or a preflight.
func isOperation(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, basePath+"/") && r.URL.Path != specPath && r.Method != http.MethodOptions
}

// serve runs an operation for the caller in the request's context.
func (a *api) serve(op *operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		mediaType, ok := mediaJSON, true
		if op.Rows != nil {
			w.Header().Add("Vary", "Accept")
			if mediaType, ok = negotiate(acceptHeader(r), listMedia()); !ok {
				a.refuse(w, r, notAcceptable(acceptHeader(r)))
				return
			}
		}
		event := web.EventOf(r.Context())
		event.Meter = op.Meter
		res, state, err := a.call(op, r, event.Caller)
		event.Units = state.Charged
		web.SetQuota(w.Header(), state)
		if err != nil {
			web.Fail(w, r, err)
			return
		}
		a.writeResult(w, r, res, mediaType)
	}
}

// call runs an operation. Only GETs count as in progress: clients may send the bodies of other
// requests slowly.
func (a *api) call(op *operation, r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
	if op.method() != http.MethodGet {
		return op.call(r, caller)
	}
	leave, err := a.svc.Enter(r.Context())
	if err != nil {
		return result{}, cola.QuotaState{}, err
	}
	defer leave()
	return op.call(r, caller)
}

// refuse rejects an authenticated request before any operation runs. The request counts toward the
// rate limit.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, refusal error) {
	state, err := a.svc.Refuse(r.Context(), web.EventOf(r.Context()).Caller, refusal)
	web.SetQuota(w.Header(), state)
	web.Fail(w, r, err)
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, a.pathNotFoundError(r))
}

func (a *api) notFoundPublic(w http.ResponseWriter, r *http.Request) {
	if isAPIPath(canonicalRoutePath(r)) {
		a.authenticate(a.notFound)(w, r)
		return
	}
	web.Fail(w, r, a.pathNotFoundError(r))
}

// isAPIPath reports whether a path needs credentials, even if it is unknown.
func isAPIPath(path string) bool { return path == basePath || strings.HasPrefix(path, basePath+"/") }

// pathNotFoundError suggests the most similar existing path. It compares paths without their common
// prefix, which would make any two look similar.
func (a *api) pathNotFoundError(r *http.Request) error {
	full := map[string]string{
		"/docs":         "/docs",
		"/healthz":      "/healthz",
		"/readyz":       "/readyz",
		"/openapi.json": specPath,
	}
	for i := range a.ops {
		if a.ops[i].PathParam.Name == "" {
			full[a.ops[i].Path] = basePath + a.ops[i].Path
		}
	}
	path := r.URL.Path
	nearest, ok := vocabulary.Nearest(strings.TrimPrefix(path, basePath), sortedKeys(full))
	if ok && full[nearest] != path {
		return cola.Errorf(cola.CodeNotFound, "Unknown path %s; did you mean %s?", params.Truncate(path), full[nearest])
	}
	return unknownPath(path)
}

func unknownPath(path string) error {
	return cola.Errorf(cola.CodeNotFound, "Unknown path %s. /docs/reference lists every path.", params.Truncate(path))
}

func (a *api) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, methodNotAllowedError(w, r))
}

// methodNotAllowedPublic also handles methods unknown to chi, which rejects them at any path.
func (a *api) methodNotAllowedPublic(w http.ResponseWriter, r *http.Request) {
	if isAPIPath(canonicalRoutePath(r)) {
		a.authenticate(a.methodNotAllowed)(w, r)
		return
	}
	web.Fail(w, r, methodNotAllowedError(w, r))
}

// methodNotAllowedError sets Allow to the methods of the path, and returns the error. chi checks
// the method before the path, so the path may also be unknown.
func methodNotAllowedError(w http.ResponseWriter, r *http.Request) error {
	rctx := chi.RouteContext(r.Context())
	var allowed []string
	path, fixed := canonicalRoutePath(r), false
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete} {
		pattern := rctx.Routes.Find(chi.NewRouteContext(), m, path)
		switch {
		case pattern == path && !fixed: // a literal route takes precedence over a variable one
			fixed, allowed = true, []string{m}
		case pattern == path, pattern != "" && !fixed:
			allowed = append(allowed, m)
		}
	}
	if len(allowed) == 0 {
		return unknownPath(r.URL.Path)
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	return &cola.Error{
		Code: cola.CodeMethodNotAllowed,
		Message: fmt.Sprintf("%s is not allowed for %s; use %s.", params.Truncate(r.Method), params.Truncate(r.URL.Path),
			strings.Join(allowed, " or ")),
		Details: map[string]any{"allowed": allowed},
	}
}

// routeLabel returns the pattern of a request's route, without the values of its parameters. A
// request that was rejected before routing, because of its credentials or method, is labeled with
// the route that its path matches for its own method, or else for GET or POST.
func (a *api) routeLabel(r *http.Request) string {
	if path := canonicalRoutePath(r); a.patterns[path] { // see preferLiteralRoute
		return path
	}
	rctx := chi.RouteContext(r.Context())
	if pattern := rctx.RoutePattern(); a.patterns[pattern] {
		return pattern
	}
	for _, method := range []string{r.Method, http.MethodGet, http.MethodPost} {
		if pattern := rctx.Routes.Find(chi.NewRouteContext(), method, canonicalRoutePath(r)); a.patterns[pattern] {
			return pattern
		}
	}
	return web.Other
}

// begin gives requests an ID and a time limit; after the limit, the response tells the caller to
// retry.
func (a *api) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(web.Begin(w, r), a.opts.Timeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// canonicalPath routes requests by a path whose segments are decoded and escaped again. Otherwise
// chi would match either the decoded or the escaped path, depending on the escapes in it, and
// parameters would sometimes be decoded and sometimes not.
func canonicalPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chi.RouteContext(r.Context()).RoutePath = canonicalRoutePath(r)
		next.ServeHTTP(w, r)
	})
}

func canonicalRoutePath(r *http.Request) string {
	if path := r.URL.Path; r.URL.RawPath == "" && isPlainPath(path) {
		return path
	}
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i, s := range segments {
		if plain, err := url.PathUnescape(s); err == nil {
			segments[i] = url.PathEscape(plain)
		}
	}
	if path := strings.Join(segments, "/"); strings.HasPrefix(path, "/") {
		return path
	}
	return "/" // OPTIONS *
}

// isPlainPath reports whether a path consists of letters, digits, and characters that need no
// escape.
func isPlainPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsFunc(path, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("/-_.~", c)
	})
}

// healthBody is the body of /healthz and /readyz.
type healthBody struct {
	Status  string `json:"status"`
	Version string `json:"version"` // program version
}

// health reports that the process is running. It has no dependencies.
func (a *api) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := a.writeJSON(w, http.StatusOK, jsonBody(healthBody{Status: "ok", Version: a.opts.Version})); err != nil {
		web.Fail(w, r, err)
	}
}

// ready reports whether the service can handle requests. Load balancers stop sending traffic while
// it returns 503.
func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.svc.Ready(r.Context()); err != nil {
		if cola.CodeOf(err) == cola.CodeInternal {
			web.EventOf(r.Context()).Fault = err
			err = &cola.Error{
				Code:       cola.CodeUnavailable,
				Message:    "The service is not ready: a dependency is not responding.",
				RetryAfter: cola.UnavailableRetry,
			}
		}
		web.Fail(w, r, err)
		return
	}
	a.health(w, r)
}
