// Package mcp is the API for AI assistants: it serves the registry's operations as tools of the
// Model Context Protocol, over Streamable HTTP on several paths and over standard input and output.
//
// One table defines the tools and their documentation. A tool decodes its arguments into the same
// parameters as the REST API and calls the same method of package registry, so the two behave the
// same. mcp-go implements the protocol itself. This package implements the parts that must not
// depend on mcp-go: authentication, strict parsing, charging and error messages.
//
// The server is stateless: no sessions, no streams, and no per-process state except the message
// limits. Results are small, because an assistant reads the whole result. Label text is untrusted
// third-party data, so results keep it separate from our own notes.
package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

const (
	// Path is the path of the endpoint.
	Path = "/mcp"
	// ReadOnlyPath is the path of an endpoint without the tools and prompts that change data.
	ReadOnlyPath = Path + "/readonly"
	// ChatGPTPath is the path of an endpoint that also has the tools that ChatGPT requires for deep
	// research and company knowledge.
	ChatGPTPath = Path + "/chatgpt"
)

// endpoints lists the paths of all endpoints.
var endpoints = []string{Path, ReadOnlyPath, ChatGPTPath}

// Service contains the operations of the registry that this package uses; *registry.Service
// implements it. Every method except Standing, Suggest, Rows and Vocabulary counts toward the
// caller's rate limit. Methods return the quota state even with an error, if it is known.
type Service interface {
	// Standing returns the quota state for messages that don't count toward any limit, and checks
	// the credential.
	Standing(context.Context, cola.Caller) (cola.QuotaState, error)
	// Admit counts a free request toward the rate limit.
	Admit(context.Context, cola.Caller) (cola.QuotaState, error)
	// Refuse admits a request that this package rejects itself, and returns the rejection, or
	// another error if the request is not admitted.
	Refuse(ctx context.Context, c cola.Caller, refusal error) (cola.QuotaState, error)

	SearchColasLimited(
		context.Context, cola.Caller, cola.SearchParams, registry.RowLimit[cola.ColaSummary],
	) (registry.ColaPage, cola.QuotaState, error)
	CountColasLimited(
		context.Context, cola.Caller, cola.CountParams, registry.RowLimit[cola.LabelGroup],
	) (registry.ColaCounts, cola.QuotaState, error)
	Cola(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.Cola], cola.QuotaState, error)
	SearchBrandsLimited(
		context.Context, cola.Caller, cola.BrandParams, registry.RowLimit[cola.BrandMatch],
	) (registry.BrandPage, cola.QuotaState, error)
	SearchPermitteesLimited(
		context.Context, cola.Caller, cola.PermitteeParams, registry.RowLimit[cola.PermitteeSummary],
	) (registry.PermitteePage, cola.QuotaState, error)
	Permittee(
		ctx context.Context, c cola.Caller, number, ifNoneMatch string,
	) (registry.Tagged[cola.PermitteeDetail], cola.QuotaState, error)
	BarcodeLimited(
		ctx context.Context, c cola.Caller, value string, fit registry.RowLimit[cola.ColaSummary],
	) (cola.BarcodeResult, cola.QuotaState, error)
	Suggest(context.Context, cola.Caller, cola.SuggestParams) (registry.Suggestions, cola.QuotaState, error)
	Usage(context.Context, cola.Caller) (cola.UsageStats, cola.QuotaState, error)
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
	SavedSearches(
		context.Context, cola.Caller, cola.SavedSearchListParams,
	) (registry.PageList[cola.SavedSearch], cola.QuotaState, error)
	ChangeSavedSearch(
		ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams,
	) (cola.SavedSearch, cola.QuotaState, error)
	DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)

	// Rows returns already charged labels as list rows. It reads only from memory.
	Rows([]cola.ColaSummary) []cola.ColaRow
	// Vocabulary returns the values in use, for prompts, completion and the reference resources.
	Vocabulary(context.Context) (registry.Vocabulary, error)
}

// Authenticator identifies the caller of a request by its headers. It returns unauthorized or
// internal errors.
type Authenticator interface {
	Authenticate(context.Context, http.Header, cola.Channel) (cola.Caller, error)
}

// Options configures the endpoints. Hosts must be set, or every request is rejected.
type Options struct {
	PublicURL string        // where callers reach the service; may be empty
	SiteName  string        // display name of the service; default web.DefaultSiteName
	Version   string        // program version
	Logger    *slog.Logger  // gets one line per request; default slog.Default
	Timeout   time.Duration // per message; default 30 seconds
	Now       cola.Clock    // default time.Now

	// Hosts are the accepted host names, without ports. Requests with another name in the Host
	// header are rejected, unless it is the local address of the connection. This prevents DNS
	// rebinding.
	Hosts []string
	// Origins are the origins (scheme, host and port) of pages whose scripts may send requests.
	// Requests without an Origin header are accepted, because they don't come from scripts.
	Origins []string

	// Resource describes the endpoint at Path to OAuth clients. It is zero if API keys are the only
	// credentials.
	Resource auth.Resource

	// Metrics registers the metrics, once per registerer. It is optional.
	Metrics prometheus.Registerer
	// LogRequest records calls in their accounts' request logs; may be nil.
	LogRequest web.LogRequest
}

// edge serves the endpoint at one path.
type edge struct {
	path         string
	resource     auth.Resource
	svc          Service
	auth         Authenticator
	opts         Options
	originPolicy originPolicy
	tools        map[string]*tool
	names        []string // names of the tools, in order
	prompts      []string // names of the prompts
	protocol     *server.MCPServer
	limits       messageLimiter
	metrics      *metrics
}

// New returns a handler for the paths that Handles accepts.
func New(svc Service, authenticator Authenticator, o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	o.SiteName = cmp.Or(o.SiteName, web.DefaultSiteName)
	shared := edge{
		svc: svc, auth: authenticator, opts: o, originPolicy: newOriginPolicy(o.Hosts, o.Origins),
		limits: newMessageLimiter(o.Now),
	}
	shared.metrics = newMetrics(o.Metrics, toolNames(toolsAt(ChatGPTPath)))
	byPath := map[string]http.Handler{}
	for _, path := range endpoints {
		e := shared.at(path)
		challenge := web.WithChallenge(e.resource)
		byPath[path] = chain(http.HandlerFunc(e.serveHTTP), web.Recover, e.originPolicy.enforce, web.Compress(), challenge)
		byPath[wellKnown+path] = chain(e.describeResource(), web.Recover, challenge)
	}
	byPath[wellKnown] = byPath[wellKnown+Path]
	for path, served := range discoveryDocuments(o) {
		byPath[path] = chain(served, web.Recover)
	}
	recorder := web.NewRecorder(o.Logger, o.Metrics, paths, func(r *http.Request) string { return r.URL.Path }).
		WithRequestLog(o.LogRequest)
	return chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { byPath[r.URL.Path].ServeHTTP(w, r) }),
		recorder.Record, web.RequestID)
}

// at returns a copy of the edge for the endpoint at a path.
func (e edge) at(path string) *edge {
	e.path, e.resource, e.tools = path, resourceAt(e.opts.Resource, path), map[string]*tool{}
	offered := toolsAt(path)
	for i := range offered {
		e.tools[offered[i].name] = &offered[i]
	}
	e.names = toolNames(offered)
	e.protocol = e.newProtocol(offered)
	return &e
}

func toolNames(table []tool) (names []string) {
	for _, t := range table {
		names = append(names, t.name)
	}
	return names
}

// chain wraps a handler in middleware, innermost first.
func chain(h http.Handler, wraps ...func(http.Handler) http.Handler) http.Handler {
	for _, wrap := range wraps {
		h = wrap(h)
	}
	return h
}

// wellKnown is the path of the protected resource metadata (RFC 9728, section 3) for clients that
// know only the host. Clients that know an endpoint append its path.
const wellKnown = "/.well-known/oauth-protected-resource"

// paths are the paths that this package serves.
var paths = func() []string {
	all := append([]string{wellKnown, serverCardPath, serverJSONPath, catalogPath}, endpoints...)
	for _, path := range endpoints {
		all = append(all, wellKnown+path)
	}
	return all
}()

// Handles reports whether this package serves a path.
func Handles(path string) bool { return slices.Contains(paths, path) }

// Resource returns the description of the endpoint at Path for OAuth clients. publicURL is the
// scheme and host for callers, without a trailing slash.
func Resource(publicURL string, issuers, scopes []string) auth.Resource {
	return auth.Resource{ID: publicURL + Path, Metadata: publicURL + wellKnown + Path, Issuers: issuers, Scopes: scopes}
}

// resourceAt returns the description of the endpoint at another path. Clients request a token for
// the URL that they call, so each endpoint has its own identifier.
func resourceAt(r auth.Resource, path string) auth.Resource {
	suffix := strings.TrimPrefix(path, Path)
	if len(r.Issuers) > 0 {
		r.ID, r.Metadata = r.ID+suffix, r.Metadata+suffix
	}
	return r
}

// Audiences returns the identifiers of all endpoints, for which clients request access tokens. r is
// the description of the endpoint at Path.
func Audiences(r auth.Resource) (ids []string) {
	for _, path := range endpoints {
		ids = append(ids, resourceAt(r, path).ID)
	}
	return ids
}

// metadata is the protected resource metadata (RFC 9728, section 2). It omits the write scope:
// clients request every listed scope, and should not request that one until they need it.
type metadata struct {
	Resource      string   `json:"resource"`
	Issuers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	Methods       []string `json:"bearer_methods_supported"`
	Name          string   `json:"resource_name"`
	Documentation string   `json:"resource_documentation"`
}

// describeResource serves the metadata without authentication, because assistants request it before
// they have credentials.
func (e *edge) describeResource() http.Handler {
	r := e.resource
	if len(r.Issuers) == 0 {
		return web.CORS{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			web.Fail(w, req, cola.Errorf(cola.CodeNotFound, "This server accepts API keys only; apps can't sign in."))
		}))
	}
	return publicDocument("application/json", mustJSON(
		metadata{r.ID, r.Issuers, r.Scopes, []string{"header"}, e.opts.SiteName, e.opts.PublicURL + "/docs"}))
}
