package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/internal/web"
)

// routeLabel returns the pattern of the route that a request was for; what stood in its place in the path is not told. One
// refused before it came to its route, for its credentials or its method, is told under the route that its method, GET or POST would
// have taken.
func (a *api) routeLabel(r *http.Request) string {
	if path := routedPath(r); a.patterns[path] { // see unlessFixed
		return path
	}
	rctx := chi.RouteContext(r.Context())
	if pattern := rctx.RoutePattern(); a.patterns[pattern] {
		return pattern
	}
	for _, method := range []string{r.Method, http.MethodGet, http.MethodPost} {
		if pattern := rctx.Routes.Find(chi.NewRouteContext(), method, routedPath(r)); a.patterns[pattern] {
			return pattern
		}
	}
	return web.Other
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
