// Package httpapi is the REST API of the registry: it decodes requests, calls package registry and
// renders the results.
//
// One table of operations mounts the routes and describes them in the OpenAPI document. Package site
// renders the reference from that document, so the documentation always matches the implementation.
// Requests are decoded here rather than by a framework, because the API reports all problems with a
// request at once, in the same words as the MCP server and the dashboard.
package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// Service contains the operations of the registry that the API uses; *registry.Service implements
// it. Methods with a caller are for authenticated requests and, except for Suggest, count toward
// the rate limit. They return the quota state even with an error, if it is known.
type Service interface {
	// Overloaded returns an error if new requests must be rejected because too many are waiting, or
	// nil.
	Overloaded() error
	// Enter waits until the request may start. Call leave before writing the response. The error is
	// Overloaded's or ctx's.
	Enter(ctx context.Context) (leave func(), err error)
	// Refuse admits a request that the API itself rejects, and returns the rejection, or another
	// error if the request is not admitted. Rejected requests are free.
	Refuse(ctx context.Context, c cola.Caller, refusal error) (cola.QuotaState, error)

	SearchColas(context.Context, cola.Caller, cola.SearchParams) (registry.ColaPage, cola.QuotaState, error)
	Rows([]cola.ColaSummary) []cola.ColaRow
	CountColas(context.Context, cola.Caller, cola.CountParams) (registry.ColaCounts, cola.QuotaState, error)
	Cola(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.Cola], cola.QuotaState, error)
	SearchPermittees(
		context.Context, cola.Caller, cola.PermitteeParams,
	) (registry.PermitteePage, cola.QuotaState, error)
	SearchBrands(context.Context, cola.Caller, cola.BrandParams) (registry.BrandPage, cola.QuotaState, error)
	Permittee(
		ctx context.Context, c cola.Caller, number, ifNoneMatch string,
	) (registry.Tagged[cola.PermitteeDetail], cola.QuotaState, error)
	Barcode(ctx context.Context, c cola.Caller, value string) (cola.BarcodeResult, cola.QuotaState, error)
	Suggest(context.Context, cola.Caller, cola.SuggestParams) (registry.Suggestions, cola.QuotaState, error)
	Usage(context.Context, cola.Caller) (cola.UsageStats, cola.QuotaState, error)
	Coverage(context.Context, cola.Caller) (cola.Coverage, cola.QuotaState, error)
	ProcessingTimes(
		context.Context, cola.Caller, cola.ProcessingTimeParams,
	) (registry.List[cola.ProcessingTime], cola.QuotaState, error)
	FormulaProcessingTimes(
		context.Context, cola.Caller, cola.FormulaProcessingTimeParams,
	) (registry.List[cola.FormulaProcessingTime], cola.QuotaState, error)
	RegistrationProcessingTimes(
		context.Context, cola.Caller, cola.RegistrationProcessingTimeParams,
	) (registry.List[cola.RegistrationProcessingTime], cola.QuotaState, error)
	ProductionReports(
		context.Context, cola.Caller, cola.ProductionReportParams,
	) (registry.PageList[cola.ProductionReport], cola.QuotaState, error)
	AVAs(context.Context, cola.Caller, cola.AVAParams) (registry.List[cola.AVA], cola.QuotaState, error)
	AVA(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.AVADetail], cola.QuotaState, error)
	CreateSavedSearch(
		context.Context, cola.Caller, cola.SavedSearchParams,
	) (registry.CreatedSavedSearch, cola.QuotaState, error)
	SavedSearchNotes(cola.SavedSearchFilters) []string
	SavedSearches(
		context.Context, cola.Caller, cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearch], cola.QuotaState, error)
	SavedSearch(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.SavedSearch], cola.QuotaState, error)
	ChangeSavedSearch(
		ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams,
	) (cola.SavedSearch, cola.QuotaState, error)
	DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
	PreviewSavedSearch(
		context.Context, cola.Caller, cola.PreviewParams,
	) (cola.SavedSearchPreview, cola.QuotaState, error)
	SavedSearchRuns(
		ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearchRun], cola.QuotaState, error)
	SavedSearchMatches(
		ctx context.Context, c cola.Caller, id string, p cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error)
	RunMatches(
		ctx context.Context, c cola.Caller, id, run string, p cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearchMatch], cola.QuotaState, error)
	RunSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.SavedSearch, cola.QuotaState, error)
	ExplainSavedSearch(ctx context.Context, c cola.Caller, id, label string) (cola.Explanation, cola.QuotaState, error)

	destinationService
	subscriptionService

	LabelOfImage(imageID string) (cola.TTBID, error)
	ImageFile(ctx context.Context, imageID string) (registry.ImageFile, error)
	ImageContent(ctx context.Context, f registry.ImageFile, width int) ([]byte, error)
	DrawableImage(ctx context.Context, imageID string) (cola.Cola, cola.Image, error)
	Ready(context.Context) error
}

// Authenticator identifies the caller of a request by its headers. It returns unauthorized or
// internal errors.
type Authenticator interface {
	Authenticate(context.Context, http.Header, cola.Channel) (cola.Caller, error)
}

// Options configures the API. The zero value uses defaults.
type Options struct {
	PublicURL   string        // URL of the service, without a trailing slash; links are relative if empty
	SiteName    string        // display name of the service; default: web.DefaultSiteName
	Version     string        // program version, reported by /healthz
	Logger      *slog.Logger  // logs one event per request; default: slog.Default()
	Timeout     time.Duration // per request; default: 30 seconds
	MaxDrawings int           // concurrent drawings of label images; default: number of CPUs minus one, at least one

	// Resource describes the API to OAuth clients whose token is rejected; zero if only API keys
	// are accepted.
	Resource auth.Resource

	// Discovery configures the public pages about the service.
	Discovery Discovery

	// Metrics registers the API's metrics, once per registerer; nil disables them.
	Metrics prometheus.Registerer
	// LogRequest records accounts' requests; may be nil.
	LogRequest web.LogRequest
}

// basePath is the path of the API under the service's root.
const basePath = "/api/v1"

// specPath is the path of the OpenAPI document.
const specPath = basePath + "/openapi.json"

// api is the HTTP handler's state.
type api struct {
	svc            Service
	auth           Authenticator
	opts           Options
	ops            []operation
	patterns       map[string]bool // route patterns, in chi's syntax
	recorder       *web.Recorder
	imageReads     workQueue // for image lookups in the database
	imageReadLimit *rate.Limiter
	drawings       *imageCache
	files          *imageCache
	largeImages    workQueue // for sending large files
	known          *knownImages
	buffers        sync.Pool // of *bytes.Buffer
	imageQuery     decoder[imageParams]
	spec           func() staticDocument // the OpenAPI document
}

// Handles reports whether the API handles a path, even with a 404.
func Handles(path string) bool {
	area, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch area {
	case "api", "healthz", "readyz", "images", "unsubscribe", "confirm", "feeds", "llms.txt":
		return true
	}
	return path == openAIChallengePath || path == registryAuthPath
}

// API handles requests to the API.
type API struct {
	http.Handler
	Reference Reference // describes the API

	api *api
}

// New returns the handler for /api/v1/…, /llms.txt, /healthz, /readyz, /images/…, /.well-known/…
// and the token links (/unsubscribe/…, /confirm/… and /feeds/…). It needs unmodified request paths:
// do not mount it in a mux that cleans paths.
func New(svc Service, authenticator Authenticator, o Options) *API {
	o = o.withDefaults()
	a := &api{
		svc:            svc,
		auth:           authenticator,
		opts:           o,
		ops:            operations(svc),
		imageReads:     newWorkQueue(maxImageReads, maxQueuedImageReads),
		imageReadLimit: rate.NewLimiter(imageReadRate, imageReadRate/4),
		drawings:       newImageCache(o.MaxDrawings, maxQueuedDrawings, drawingCacheBytes),
		files:          newImageCache(maxFileReads, maxQueuedFileReads, fileCacheBytes),
		largeImages:    newWorkQueue(maxLargeImages, 0),
		known:          newKnownImages(),
		buffers:        sync.Pool{New: newBuffer},
		imageQuery:     newDecoder[imageParams](),
	}
	spec := describe(a.ops, o)
	a.spec = sync.OnceValue(func() staticDocument { return newStaticDocument("application/json", mustMarshal(spec)) })
	a.patterns = a.routePatterns()
	a.recorder = web.NewRecorder(o.Logger, o.Metrics, sortedKeys(a.patterns), a.routeLabel).
		WithRequestLog(o.LogRequest)
	return &API{a.routes(), newReference(spec, o.PublicURL), a}
}

func newBuffer() any { return new(bytes.Buffer) }

func (o Options) withDefaults() Options {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	o.SiteName = cmp.Or(o.SiteName, web.DefaultSiteName)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxDrawings <= 0 {
		o.MaxDrawings = defaultMaxDrawings()
	}
	return o
}

// publicRoutes returns the GET routes that need no credentials.
func (a *api) publicRoutes() map[string]http.HandlerFunc {
	routes := map[string]http.HandlerFunc{
		unsubscribePath:   a.showUnsubscribe,
		confirmPath:       a.showConfirm,
		feedPath:          a.feed,
		"/healthz":        a.health,
		"/readyz":         a.ready,
		"/images/{image}": a.image,
		specPath:          a.serveDocument(a.spec),
	}
	maps.Copy(routes, a.discoveryRoutes())
	return routes
}

// publicPosts returns the POST routes that need no credentials. Each path is also in publicRoutes.
func (a *api) publicPosts() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{unsubscribePath: a.unsubscribe, confirmPath: a.confirm}
}

// routePatterns returns the pattern of every route.
func (a *api) routePatterns() map[string]bool {
	all := map[string]bool{}
	for path := range a.publicRoutes() {
		all[path] = true
	}
	for i := range a.ops {
		all[basePath+a.ops[i].Path] = true
	}
	return all
}

// routes mounts every route. Scripts from any origin may call them, because cookies don't
// authorize anything here.
func (a *api) routes() http.Handler {
	root := chi.NewRouter()
	cors := web.CORS{Exposed: append(listHeaders(), "ETag", "Location", replayedHeader)}
	root.Use(a.begin, a.shed(cors), a.recorder.Record, web.WithChallenge(a.opts.Resource), canonicalPath,
		cors.Handler, web.Compress(), web.Recover)
	root.NotFound(a.notFoundPublic)
	root.MethodNotAllowed(a.methodNotAllowedPublic)
	for path, handler := range a.publicRoutes() {
		getAndHead(root, path, handler)
	}
	for path, handler := range a.publicPosts() {
		root.Post(path, handler)
	}
	for i := range a.ops { // not in a subrouter: chi would add a path value to each request
		mount(root, &a.ops[i], a.authenticate(a.preferLiteralRoute(a.serve(&a.ops[i]))))
	}
	return root
}

func mount(r chi.Router, op *operation, handler http.HandlerFunc) {
	if op.method() == http.MethodGet {
		getAndHead(r, basePath+op.Path, handler)
		return
	}
	r.Method(op.Method, basePath+op.Path, handler)
}

// preferLiteralRoute rejects a request whose path is another route's literal path. Even if that
// route accepts only other methods, the path never supplies a value for this route's variable.
func (a *api) preferLiteralRoute(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if path := canonicalRoutePath(r); a.patterns[path] && chi.RouteContext(r.Context()).RoutePattern() != path {
			a.methodNotAllowed(w, r)
			return
		}
		next(w, r)
	}
}

// getAndHead mounts a handler for GET and HEAD. HEAD is charged like GET, because it does the same
// work; net/http omits the body.
func getAndHead(r chi.Router, path string, handler http.HandlerFunc) {
	r.Get(path, handler)
	r.Head(path, handler)
}
