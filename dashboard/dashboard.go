// Package dashboard serves the website: the pages where account holders search labels, see their
// usage, and manage keys, saved searches and connected apps. Pages are rendered on the server and
// work without JavaScript. If the API returns the same data, the page shows the call.
//
// A request is handled in three steps:
//  1. The session cookie identifies the caller. The ledger checks the caller as for API requests.
//  2. The handler reads the form into a parameter struct of package cola or registry, and calls one
//     method of the service.
//  3. It shows a page or redirects. Errors are pages too (see errors.go).
package dashboard

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// Service contains the operations of the registry that the dashboard uses; *registry.Service
// implements it.
type Service interface {
	// Standing returns the caller's quota state, or the error that would reject the caller's
	// requests. It does not count toward the rate limit.
	Standing(ctx context.Context, c cola.Caller) (cola.QuotaState, error)
	Account(ctx context.Context, c cola.Caller) (registry.Account, cola.QuotaState, error)

	homeService
	keyService
	usageService
	planService
	coverageService
	collectionService
	accessService
	deletionService
	searchService
	destinationService
	exploreService
	listService
	brandService
	countService
	requestLogService
}

// Browsers identifies signed-in browsers and signs people in and out; *auth.Browsers implements it.
type Browsers interface {
	Load(next http.Handler) http.Handler
	Caller(ctx context.Context) (cola.Caller, bool)
	Issuers() []auth.IssuerChoice
	Begin(ctx context.Context, issuerKey, returnTo string) (redirect string, err error)
	Finish(ctx context.Context, query url.Values, browser string) (returnTo string, err error)
	RequestLink(ctx context.Context, email string) error
	LinkAccount(ctx context.Context, token string) (auth.LinkTarget, error)
	UseLink(ctx context.Context, token, browser string) (created bool, err error)
	SignOut(ctx context.Context) (redirect string, err error)
	Put(ctx context.Context, key, value string)
	Pop(ctx context.Context, key string) string
	OpenForm(ctx context.Context) (token string, err error)
	TakeForm(ctx context.Context, token string) (first bool, err error)
}

// Options configures the dashboard. PublicURL and Logger must be set.
type Options struct {
	PublicURL  string   // scheme and host of the service, without a trailing slash
	Hosts      []string // additional host names of the service, without ports
	BillingURL string   // page for changing the plan, unless SellsPlans; may be empty
	SellsPlans bool     // account holders change their plan in Stripe
	// SignInForApps is true if apps can sign in with an issuer as an alternative to keys.
	SignInForApps bool
	// API serves a request to the REST API on behalf of a caller; nil disables tryPath.
	API      func(w http.ResponseWriter, r *http.Request, c cola.Caller)
	Landing  http.Handler // serves the root to signed-out visitors; nil redirects them to sign in
	NotFound http.Handler // serves unknown paths to signed-out visitors; nil shows an error page
	// Frame renders other pages for signed-out visitors, in the frame of the public site; nil uses
	// the dashboard's layout.
	Frame         func(web.PublicPage) []byte
	Operator      web.Operator          // named on every page
	SiteName      string                // default web.DefaultSiteName
	PrivacyURL    string                // default "/privacy"
	TermsURL      string                // optional
	SignInByEmail bool                  // the server sends sign-in links
	SignUp        bool                  // anyone can create an account with a sign-in link
	InviteOnly    bool                  // the sign-in page says that accounts are by invitation only
	Closed        bool                  // only the operator creates accounts
	Demo          bool                  // the registry holds demo labels
	Logger        *slog.Logger          // receives one event per request
	Metrics       prometheus.Registerer // registers the metrics, once per registerer; optional
	LogRequest    web.LogRequest        // records charged pages; optional
	Now           cola.Clock            // default time.Now
}

// edge serves the dashboard.
type edge struct {
	svc      Service
	browsers Browsers
	opts     Options
	now      cola.Clock
	limiter  *rateLimiter
	assets   *web.Assets
	pages    pages
	hosts    []string // host names of the service; see plainHost
}

// New returns the handler for the paths that Handles accepts.
func New(svc Service, browsers Browsers, o Options) http.Handler {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	o.SiteName = cmp.Or(o.SiteName, web.DefaultSiteName)
	o.PrivacyURL = cmp.Or(o.PrivacyURL, "/privacy")
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &edge{svc: svc, browsers: browsers, opts: o, now: o.Now, limiter: newRateLimiter(o.Now), assets: web.LoadAssets(assetFiles, assetsPath, "style.css")}
	e.pages, e.hosts = parsePages(e.assets, o.Now), ownHosts(o)
	table := routes()
	r := chi.NewRouter()
	recorder := web.NewRecorder(o.Logger, o.Metrics, routePatterns(table), routePattern).WithRequestLog(o.LogRequest)
	r.Use(web.RequestID, recorder.Record, web.Compress(), e.securityHeaders, web.Recover)
	r.Get(e.assets.Pattern(), e.assets.Handler(http.NotFound)) // reads no session
	r.Group(func(r chi.Router) {
		r.Use(e.rejectEmbedded, browsers.Load, e.rejectCrossOrigin)
		r.NotFound(e.public((*request).notFoundPage))
		r.MethodNotAllowed(e.public((*request).methodNotAllowed))
		for _, to := range table {
			e.mount(r, to)
		}
	})
	return r
}

// mount adds a route to the router.
func (e *edge) mount(r chi.Router, to route) {
	serve := e.public(to.serve)
	if !to.public {
		serve = e.authenticated(to)
	}
	r.Method(to.method, to.pattern, serve)
	if to.method == http.MethodGet {
		r.Method(http.MethodHead, to.pattern, serve)
	}
}

// routePattern returns the pattern of a request's route.
func routePattern(r *http.Request) string {
	if c := chi.RouteContext(r.Context()); c != nil && c.RoutePattern() != "" && c.RoutePattern() != "/*" {
		return c.RoutePattern()
	}
	return web.Other
}

// route is a page or the target of a form.
type route struct {
	method, pattern string
	serve           func(*request) error
	public          bool // needs no sign-in
	leaving         bool // available after account deletion was requested
	suspended       bool // available while the account is suspended
}

// The areas of the dashboard; each is the first segment of its paths.
const (
	homePath         = "/"
	signInPath       = "/sign-in"
	signOutPath      = "/sign-out"
	keysPath         = "/keys"
	usagePath        = "/usage"
	requestsPath     = "/requests"
	plansPath        = "/plans"
	coveragePath     = "/coverage"
	collectionPath   = "/collection"
	appsPath         = "/apps"
	accountPath      = "/account"
	searchesPath     = "/saved-searches"
	destinationsPath = "/destinations"
	deliveriesPath   = "/deliveries"
	explorePath      = "/explore"
	brandsPath       = "/brands"
	trendsPath       = "/trends"
	setupPath        = "/setup"
	quickstartPath   = "/quickstart" // redirects to setupPath
	connectPath      = "/connect"    // redirects to setupPath
	assetsPath       = "/assets/"
)

// areas lists the areas of the dashboard, except the root.
var areas = []string{
	signInPath, signOutPath, keysPath, usagePath, requestsPath, plansPath, coveragePath, collectionPath, appsPath, accountPath,
	searchesPath, destinationsPath, deliveriesPath, explorePath, brandsPath, trendsPath, setupPath, quickstartPath, connectPath,
	strings.TrimRight(assetsPath, "/"),
}

// Handles reports whether a path belongs to the dashboard.
func Handles(path string) bool {
	return path == homePath || slices.ContainsFunc(areas, func(area string) bool {
		return path == area || strings.HasPrefix(path, area+"/")
	})
}

func get(pattern string, serve func(*request) error) route {
	return route{method: http.MethodGet, pattern: pattern, serve: serve}
}

func post(pattern string, serve func(*request) error) route {
	return route{method: http.MethodPost, pattern: pattern, serve: serve}
}

// publicRoutes marks routes as public.
func publicRoutes(routes ...route) []route {
	for i := range routes {
		routes[i].public = true
	}
	return routes
}

// Pages returns the patterns of all GET routes.
func Pages() (patterns []string) {
	for _, r := range routes() {
		if r.method == http.MethodGet {
			patterns = append(patterns, r.pattern)
		}
	}
	return patterns
}

// routes returns all routes of the dashboard.
func routes() []route {
	return slices.Concat(
		[]route{get(homePath, (*request).home)},
		signInRoutes(),
		keyRoutes(),
		usageRoutes(),
		planRoutes(),
		requestLogRoutes(),
		coverageRoutes(),
		collectionRoutes(),
		accessRoutes(),
		deletionRoutes(),
		searchRoutes(),
		destinationRoutes(),
		exploreRoutes(),
		listRoutes(),
		brandRoutes(),
		countRoutes(),
		setupRoutes(),
	)
}

// routePatterns returns the distinct patterns of the routes and of the assets.
func routePatterns(table []route) []string {
	patterns := []string{assetsPath + "{version}/{name}"}
	for _, r := range table {
		patterns = append(patterns, r.pattern)
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}
