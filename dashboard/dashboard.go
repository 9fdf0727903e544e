// Package dashboard is the edge for people: the pages of account holders. So far these are the pages that manage_url and dashboard_url, and so
// messages, lead to. They say how saved searches are managed through the API, and nothing of any account: nobody signs in here yet.
package dashboard

import (
	"bytes"
	_ "embed"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/internal/web"
)

const (
	searchesPath = "/saved-searches"
	searchPath   = searchesPath + "/{uuid}"
	apiPath      = "/api/v1"
)

// Handles reports whether a path is one that the edge answers at.
func Handles(path string) bool {
	return path == searchesPath || strings.HasPrefix(path, searchesPath+"/")
}

// Options settle how the edge serves.
type Options struct {
	PublicURL string                // scheme and host that users reach the service at, without a slash at the end
	Logger    *slog.Logger          // gets one event a request
	Metrics   prometheus.Registerer // where the edge registers what it measures, once for each registerer; nil: nothing is measured
}

// New returns the handler of the paths that the edge Handles.
func New(o Options) http.Handler {
	e := &edge{publicURL: strings.TrimRight(o.PublicURL, "/")}
	r := chi.NewRouter()
	recorder := web.NewRecorder(o.Logger, o.Metrics, []string{searchesPath, searchPath}, routeOf)
	r.Use(web.RequestID, recorder.Record, web.Compress(), web.Recover)
	r.NotFound(e.notFound)
	r.MethodNotAllowed(e.wrongMethod)
	for path, page := range map[string]http.HandlerFunc{searchesPath: e.searches, searchPath: e.search} {
		r.Get(path, page)
		r.Head(path, page)
	}
	return r
}

// routeOf returns the pattern of the route that a request took.
func routeOf(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil && c.RoutePattern() != "" {
		return c.RoutePattern()
	}
	return web.Other
}

type edge struct{ publicURL string }

// page is a page that says something, and which calls of the API do it.
type page struct {
	Title, Text string
	Calls       []string
}

func (e *edge) searches(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusOK, page{"Your saved searches", "They are managed through the API, with a key of your account. This call lists them:", []string{e.call(searchesPath)}})
}

func (e *edge) search(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.Parse(chi.URLParam(r, "uuid"))
	if err != nil {
		e.notFound(w, r)
		return
	}
	path := searchesPath + "/" + id.String()
	write(w, r, http.StatusOK, page{"Your saved search", "It is managed through the API, with a key of your account. These calls show what it has found, pause it, and delete it:", []string{
		e.call(path + "/matches"),
		e.call(path) + ` -X PATCH -H "Content-Type: application/json" -d '{"schedule": {"active": false}}'`,
		e.call(path) + " -X DELETE",
	}})
}

// call writes a call of the API.
func (e *edge) call(path string) string {
	return `curl -H "X-API-Key: $KEY" ` + e.publicURL + apiPath + path
}

func (e *edge) notFound(w http.ResponseWriter, r *http.Request) {
	write(w, r, http.StatusNotFound, page{"There is nothing here", "If a message led you here, make sure that the address is whole: it ends with the id of a saved search.", nil})
}

func (e *edge) wrongMethod(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	write(w, r, http.StatusMethodNotAllowed, page{"This page is only for reading", "Saved searches are changed through the API.", nil})
}

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// policy lets a page show itself. It runs no script, and is shown within no other.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func write(w http.ResponseWriter, r *http.Request, status int, p page) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		web.Fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever asked may have gone
}
