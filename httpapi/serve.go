package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/web"
)

// maxBodyBytes is the largest request body that is put up with. Reads take no body; one that comes along is not read.
const maxBodyBytes = 64 << 10

// authenticate settles who makes a request, before anything else is told about the path or its parameters.
func (a *api) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Authorization, X-API-Key")
		web.EventOf(r.Context()).Channel = cola.ChannelREST
		caller, err := a.auth.Authenticate(r.Context(), r.Header, cola.ChannelREST)
		if err != nil {
			web.Fail(w, r, err)
			return
		}
		web.EventOf(r.Context()).Caller = caller
		r = r.WithContext(cola.WithCaller(r.Context(), caller))
		if r.ContentLength > maxBodyBytes {
			a.refuse(w, r, cola.Errorf(cola.CodePayloadTooLarge,
				"The body has %d bytes; at most %d are accepted.", r.ContentLength, maxBodyBytes))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve runs an operation for the caller in the request's context.
func (a *api) serve(op *operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, _ := cola.CallerFrom(r.Context())
		event := web.EventOf(r.Context())
		event.Meter = op.Meter
		ans, state, err := op.call(r, caller)
		event.Units = state.Charged
		web.SetQuota(w.Header(), state)
		if err != nil {
			web.Fail(w, r, err)
			return
		}
		a.answer(w, r, ans)
	}
}

// refuse answers an authenticated request that no operation takes. It counts in the burst like any other.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, refusal error) {
	caller, _ := cola.CallerFrom(r.Context())
	state, err := a.svc.Refuse(r.Context(), caller, refusal)
	web.SetQuota(w.Header(), state)
	web.Fail(w, r, err)
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, a.noSuchPath(r))
}

func (a *api) notFoundOpen(w http.ResponseWriter, r *http.Request) {
	web.Fail(w, r, a.noSuchPath(r))
}

// noSuchPath names the nearest path there is. What all of them begin with is left out of the comparison: it would make any
// two look alike.
func (a *api) noSuchPath(r *http.Request) error {
	full := map[string]string{"/docs": "/docs", "/healthz": "/healthz", "/readyz": "/readyz", "/openapi.json": basePath + "/openapi.json"}
	for i := range a.ops {
		if a.ops[i].PathParam.Name == "" {
			full[a.ops[i].Path] = basePath + a.ops[i].Path
		}
	}
	path := r.URL.Path
	nearest, ok := vocabulary.Nearest(strings.TrimPrefix(path, basePath), sortedKeys(full))
	if ok && full[nearest] != path {
		return cola.Errorf(cola.CodeNotFound, "There is nothing at %s; did you mean %s?", params.Shown(path), full[nearest])
	}
	return cola.Errorf(cola.CodeNotFound, "There is nothing at %s. The reference at /docs lists every path.", params.Shown(path))
}

func (a *api) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, wrongMethod(w, r))
}

// methodNotAllowedOpen also gets the methods that chi has no name for, at any path, before the routes of the API could ask
// for credentials.
func (a *api) methodNotAllowedOpen(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(routedPath(r), basePath+"/") {
		a.authenticate(http.HandlerFunc(a.methodNotAllowed)).ServeHTTP(w, r)
		return
	}
	web.Fail(w, r, wrongMethod(w, r))
}

// wrongMethod sets Allow to what the routes take at the path, and returns the error that says so. A method that no route
// could take is refused before chi looks at the path, so the path may also turn out to be unknown.
func wrongMethod(w http.ResponseWriter, r *http.Request) error {
	rctx := chi.RouteContext(r.Context())
	var allowed []string
	path, fixed := routedPath(r), false
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		pattern := rctx.Routes.Find(chi.NewRouteContext(), m, path)
		switch {
		case pattern == path && !fixed: // the route that has it without a variable has it alone
			fixed, allowed = true, []string{m}
		case pattern == path, pattern != "" && !fixed:
			allowed = append(allowed, m)
		}
	}
	if len(allowed) == 0 {
		return cola.Errorf(cola.CodeNotFound, "There is nothing at %s. The reference at /docs lists every path.", params.Shown(r.URL.Path))
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	return &cola.Error{
		Code:    cola.CodeMethodNotAllowed,
		Message: fmt.Sprintf("%s is not allowed at %s; use %s.", params.Shown(r.Method), params.Shown(r.URL.Path), strings.Join(allowed, " or ")),
		Details: map[string]any{"allowed": allowed},
	}
}
