package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// page is a title and the data for a template.
type page struct {
	Title    string
	Data     any
	Call     *apiCall // the equivalent API call; may be nil
	Redirect string   // URL to redirect to; may be empty

	Description string // for search engines and link previews; only public pages have one
	Indexable   bool   // search engines may list the page
}

// layoutData is a page with the data for the layout around it.
type layoutData struct {
	page
	Area     string // path of the page's area, for the navigation
	Path     string // path and query of the page
	SignedIn bool   // the visitor is signed in and the navigation is available
	Account  registry.Account
	Holder   cola.AccountID // the signed-in account, for accountField
	Quota    cola.QuotaState
	Paid     *billingLine // nil if the account never subscribed
	Notice   string
	Assets   *web.Assets
	API      string // base URL of the REST API
	Site     string // name of the service
	Operator web.Operator
	Demo     bool // the registry holds demo labels

	TermsURL, PrivacyURL string // TermsURL may be empty
}

//go:embed pages
var pageFiles embed.FS

// pages maps file names, without their extension, to page templates.
type pages map[string]*template.Template

// sharedFiles are parsed into every page: the layout and shared components.
var sharedFiles = []string{"pages/layout.html", "pages/components.html", "pages/fields.html", "pages/charts.html"}

// parsePages parses the templates. It panics on errors, which any test would find.
func parsePages(a *web.Assets, now cola.Clock) pages {
	base := template.Must(template.New("layout").Funcs(templateFuncs(a, now)).ParseFS(pageFiles, sharedFiles...))
	files, err := pageFiles.ReadDir("pages")
	if err != nil {
		panic(err)
	}
	all := pages{}
	for _, f := range files {
		name := "pages/" + f.Name()
		if slices.Contains(sharedFiles, name) {
			continue
		}
		all[strings.TrimSuffix(path.Base(name), ".html")] = template.Must(
			template.Must(base.Clone()).ParseFS(pageFiles, name))
	}
	return all
}

// show writes a page within the layout or, for signed-out visitors, within Options.Frame.
func (req *request) show(status int, name string, p page) error {
	f := layoutData{
		page: p, Area: areaOf(req.http.URL.Path), Path: req.http.URL.RequestURI(), SignedIn: req.signedIn && req.account.DeletesAt.IsZero(),
		Account: req.account, Holder: req.caller.Account, Quota: req.quota,
		Paid:   newBillingLine(req.account.Paid),
		Notice: req.browsers.Pop(req.ctx(), noticeKey), Assets: req.assets, API: req.opts.PublicURL + apiPath,
		Site: req.opts.SiteName, Operator: req.opts.Operator, TermsURL: req.opts.TermsURL, PrivacyURL: req.opts.PrivacyURL,
		Demo: req.opts.Demo,
	}
	if p.Indexable {
		req.w.Header().Del("X-Robots-Tag")
	}
	if req.signedIn || req.opts.Frame == nil {
		return req.write(status, name, "layout", f)
	}
	content, err := req.render(name, "main", f)
	if err != nil {
		return err
	}
	return req.send(status, req.opts.Frame(web.PublicPage{
		Title: p.Title, Description: p.Description, Path: req.http.URL.Path, Redirect: p.Redirect,
		Content: template.HTML(content), // a rendered template
	}))
}

// showPart writes a fragment of a page: a template that the page's file defines.
func (req *request) showPart(name, part string, data any) error {
	return req.write(http.StatusOK, name, part, data)
}

func (req *request) write(status int, name, part string, data any) error {
	content, err := req.render(name, part, data)
	if err != nil {
		return err
	}
	return req.send(status, content)
}

// render renders a template of a page.
func (req *request) render(name, part string, data any) ([]byte, error) {
	t, ok := req.pages[name]
	if !ok {
		return nil, fmt.Errorf("unknown page %q", name)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, part, data); err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

func (req *request) send(status int, page []byte) error {
	h := req.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	req.w.WriteHeader(status)
	_, _ = req.w.Write(page) // the client may have disconnected
	return nil
}

// areaOf returns the area of a path: its first segment.
func areaOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + first
}

//go:embed assets
var assetFiles embed.FS
