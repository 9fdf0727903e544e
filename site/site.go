// Package site serves the public pages of the service: the landing page, the guides in docs/, and
// the API and MCP tool reference.
//
// Pages are the same for everyone. Browsers and proxies may cache all but the landing page, search
// results and error pages. Most pages are rendered once, on first request; those with example calls
// are rendered again when the records in the examples change. All pages work without JavaScript and
// read no session.
package site

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/registry"
)

// Options configures the site.
type Options struct {
	PublicURL string            // scheme and host of the service, without a trailing slash
	Reference httpapi.Reference // of the REST API
	Service   Service           // supplies the samples on the landing page and in example calls
	// Answers returns this registry's responses to a public operation's example call, one per
	// format. ToolAnswer does so for a tool that reads public records. If nil or after an error,
	// pages show the documented call and response.
	Answers    func(context.Context, *httpapi.Operation) ([]httpapi.Response, error)
	ToolAnswer func(ctx context.Context, name, arguments string) (json.RawMessage, error)
	SiteName   string // default web.DefaultSiteName
	// PrivacyURL (default "/privacy") and TermsURL, if set, are linked from every page.
	PrivacyURL, TermsURL string
	Operator             web.Operator // named on every page
	SignUp               bool         // whether visitors can create an account with an emailed link
	SignInForApps        bool         // whether apps can sign in with an issuer as an alternative to keys
	Closed               bool         // whether only the operator creates accounts
	Billing              bool         // whether account holders can change their plan
	Demo                 bool         // whether the registry holds demo labels
	// RequestLogDays is how many days requests are kept, as shown on the privacy page; 0 if
	// requests are not kept.
	RequestLogDays int
	Built          time.Time    // date of the program's source, when pages last changed; zero if unknown
	Logger         *slog.Logger // logs one event per request; default none
	Now            cola.Clock   // default time.Now
	// Metrics registers the site's metrics, once per registerer; nil disables them.
	Metrics prometheus.Registerer
}

// Paths of the site.
const (
	docsPath      = "/docs"
	referencePath = docsPath + "/reference"
	toolsPath     = docsPath + "/tools"
	findPath      = docsPath + "/find"
	codePath      = docsPath + "/samples/{operation}"
	imagesPath    = docsPath + "/images/"
	assetsPath    = "/site/"
	samplesPath   = assetsPath + "samples/{name}"
	privacyPath   = "/privacy"
	plansPath     = "/plans" // served by the dashboard
)

// Handles reports whether the site handles a path, even with a 404.
func Handles(path string) bool {
	area, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return area == "docs" || area == "site" || path == privacyPath || path == faviconPath || path == robotsPath || path == sitemapPath
}

// server renders and serves the pages.
type server struct {
	opts         Options
	layout       *template.Template
	assets       *web.Assets
	menu         []menuGroup
	search       index
	objects      map[string]string  // URLs of the objects in the reference, by name
	commonErrors []httpapi.ErrorDoc // described in the overview of the reference

	tools   map[string]mcp.ToolDoc // by name
	landing landing

	typingLimit *ratelimit.Limiter[netip.Prefix] // limits searches and code samples by IP address or IPv6 /64

	mu    sync.RWMutex               // guards pages
	pages map[string]func() document // by path

	refresh  sync.Mutex        // guards examples
	examples *registry.Samples // with the records in the example calls; nil before the first refresh
	filled   atomic.Bool       // whether the first refresh is complete
}

// Site is the handler for the paths that Handles accepts.
type Site struct {
	http.Handler
	Landing  http.Handler                // the page at / for signed-out visitors
	NotFound http.Handler                // the 404 page for signed-out visitors
	Frame    func(web.PublicPage) []byte // renders a page of the dashboard for signed-out visitors
}

// New returns the site.
func New(o Options) *Site {
	s := newServer(o)
	return &Site{s.routes(), http.HandlerFunc(s.serveLanding), http.HandlerFunc(s.notFound), s.frame}
}

// newServer adds all pages. Each is rendered on first request: rendering all of them takes longer
// than the rest of a server's startup.
func newServer(o Options) *server {
	o.SiteName = cmp.Or(o.SiteName, web.DefaultSiteName)
	o.PrivacyURL = cmp.Or(o.PrivacyURL, privacyPath)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{
		opts: o, assets: web.LoadAssets(assetFiles, assetsPath, "site.css"), tools: toolsByName(),
		landing: newLanding(o.Now), typingLimit: newTypingLimit(o.Now), pages: map[string]func() document{},
		commonErrors: commonErrors(&o.Reference),
	}
	s.layout = template.Must(template.New("layout").Funcs(s.templateFuncs()).ParseFS(pageFiles, "pages/*.html"))
	s.menu = s.newMenu()
	s.addGuides()
	s.addReference()
	s.addTools()
	s.add(page{
		Title: "Privacy", Path: privacyPath, Layout: bare, Body: "privacy", Data: o.RequestLogDays,
		Description: "The personal data this server stores, how long it’s kept, and who receives it.",
	})
	s.indexAccountPages()
	s.search.build()
	s.addCrawlerFiles()
	return s
}

// indexAccountPages adds the public pages outside the documentation to the search.
func (s *server) indexAccountPages() {
	s.search.add(entry{
		Area: areaAccount, Page: "Plans", Title: "Plans and pricing", Path: plansPath, keywords: "cost costs",
		text: "Compare the price and limits of each plan, and change yours.",
	})
	if s.opts.PrivacyURL == privacyPath { // the operator has no other policy
		s.search.add(entry{
			Area: areaAccount, Page: "Privacy", Title: "Privacy", Path: privacyPath,
			text: "The personal data this server stores, how long it’s kept, and who receives it.",
		})
	}
}

func (s *server) routes() http.Handler {
	handlers := map[string]http.HandlerFunc{
		findPath:              s.find,
		imagesPath + "{name}": s.serveImage,
		s.assets.Pattern():    s.assets.Handler(s.notFound),
		samplesPath:           s.serveSample,
		codePath:              s.serveCodeSamples,
	}
	for path := range s.pages {
		handlers[path] = s.servePage
	}
	patterns := map[string]bool{web.Other: true} // for metrics
	for path := range handlers {
		patterns[patternOf(path)] = true
	}
	o, r := s.opts, chi.NewRouter()
	record := web.NewRecorder(o.Logger, o.Metrics, slices.Sorted(maps.Keys(patterns)), pattern).Record
	r.Use(web.RequestID, record, web.Compress(), web.Recover)
	for path, h := range handlers {
		r.Get(path, h)
		r.Head(path, h)
	}
	r.NotFound(s.notFound)
	r.MethodNotAllowed(methodNotAllowed)
	return r
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	web.Fail(w, r, cola.Errorf(cola.CodeMethodNotAllowed, "Use GET or HEAD."))
}

// pattern returns the pattern under which metrics count a request.
func pattern(r *http.Request) string { return patternOf(chi.RouteContext(r.Context()).RoutePattern()) }

// patternOf returns the pattern under which metrics count a route. All pages of the documentation
// share one.
func patternOf(route string) string {
	switch {
	case route == "" || strings.HasSuffix(route, "*"):
		return web.Other
	case strings.HasPrefix(route, docsPath) && route != findPath && !strings.Contains(route, "{"):
		return docsPath
	}
	return route
}

// document is a rendered page or another file.
type document struct {
	contentType string
	content     []byte
	etag        string
}

func newDocument(contentType string, content []byte) document {
	sum := sha256.Sum256(content)
	// Weak, because the content may be sent compressed.
	return document{contentType, content, `W/"` + hex.EncodeToString(sum[:12]) + `"`}
}

const htmlType = "text/html; charset=utf-8"

// bare is the layout without the documentation menu.
const bare = "bare"

// page is the input of the layout.
type page struct {
	Title, Description string
	Path               string
	Redirect           string // URL to redirect to immediately; may be empty
	Menu               []menuGroup
	Layout             string // template: "layout" (default) has the documentation menu, "bare" doesn't
	Body               string // template of the content
	Data               any
	Query              string // of the search
	Headings           []heading
	Wide               bool // whether a column for samples replaces the table of contents, which moves to the menu
}

// heading is an entry in a page's table of contents.
type heading struct {
	ID, Text string
	Level    int
}

// add serves a page at its path.
func (s *server) add(p page) {
	s.addDocument(p.Path, sync.OnceValue(func() document { return newDocument(htmlType, s.render(p)) }))
}

// addFile serves a file at a path.
func (s *server) addFile(path, contentType string, content []byte) {
	d := newDocument(contentType, content)
	s.addDocument(path, func() document { return d })
}

func (s *server) addDocument(path string, get func() document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = get
}

// page returns the page at a path; its etag is empty if there is none.
func (s *server) page(path string) document {
	s.mu.RLock()
	get := s.pages[path]
	s.mu.RUnlock()
	if get == nil {
		return document{}
	}
	return get()
}

// render renders a page within the layout.
func (s *server) render(p page) []byte {
	p.Menu = s.menu
	var body, b bytes.Buffer
	if err := s.layout.ExecuteTemplate(&body, p.Body, p.Data); err != nil {
		panic(fmt.Sprintf("site: render %s: %v", p.Path, err))
	}
	p.Data = template.HTML(body.String())
	if err := s.layout.ExecuteTemplate(&b, cmp.Or(p.Layout, "layout"), p); err != nil {
		panic(fmt.Sprintf("site: render %s: %v", p.Path, err))
	}
	return b.Bytes()
}

// frame renders a page of another package within the layout.
func (s *server) frame(p web.PublicPage) []byte {
	return s.render(page{
		Title: p.Title, Description: p.Description, Path: p.Path, Redirect: p.Redirect,
		Layout: bare, Body: "framed", Data: p.Content,
	})
}

func (s *server) servePage(w http.ResponseWriter, r *http.Request) {
	cacheControl := "public, max-age=300"
	if hasExamples(r.URL.Path) && !s.refreshExamples(r.Context()) {
		cacheControl = "no-cache" // placeholders will soon be replaced
	}
	d := s.page(r.URL.Path)
	s.serveDocument(w, r, &d, cacheControl)
}

// hasExamples reports whether the page at a path shows example calls with records from the
// registry.
func hasExamples(path string) bool {
	return strings.HasPrefix(path, referencePath+"/") || strings.HasPrefix(path, toolsPath+"/")
}

func (s *server) serveDocument(w http.ResponseWriter, r *http.Request, d *document, cacheControl string) {
	h := w.Header()
	s.setHeaders(h)
	h.Set("Etag", d.etag)
	h.Set("Cache-Control", cacheControl)
	h.Set("Content-Type", d.contentType)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.content))
}

// write writes a page that isn't cached.
func (s *server) write(w http.ResponseWriter, status int, p page) {
	content := s.render(p)
	h := w.Header()
	s.setHeaders(h)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	web.Write(w, status, htmlType, content)
}

// notFound shows an error page. A page's path with a trailing slash redirects to the page.
func (s *server) notFound(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutSuffix(r.URL.Path, "/"); ok && (s.page(path).etag != "" || path == findPath) {
		to := url.URL{Path: path, RawQuery: r.URL.RawQuery}
		s.setHeaders(w.Header())
		w.Header().Set("Cache-Control", "public, max-age=300")
		http.Redirect(w, r, to.String(), http.StatusMovedPermanently)
		return
	}
	s.write(w, http.StatusNotFound, page{Title: "Page not found", Path: r.URL.Path, Layout: bare, Body: "not_found"})
}

// setHeaders sets the security headers of a page: only our own scripts and styles are loaded, and
// embedding is blocked.
func (s *server) setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
		"img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
}

//go:embed pages
var pageFiles embed.FS

//go:embed assets
var assetFiles embed.FS
