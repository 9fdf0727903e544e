package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

const publicURL = "https://registry.example"

// noService has no working operations. The reference needs only their descriptions.
type noService struct{ httpapi.Service }

// newAPI returns the REST API, which describes itself.
func newAPI() *httpapi.API {
	return httpapi.New(noService{}, nil, httpapi.Options{PublicURL: publicURL, Logger: slog.New(slog.DiscardHandler)})
}

func newTestServer() *server {
	return newServer(Options{
		PublicURL: publicURL, Reference: newAPI().Reference, Service: samples{}, Logger: slog.New(slog.DiscardHandler),
	})
}

// send sends a request with header lines ("Name: value").
func send(h http.Handler, method, target string, lines ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func mustRead(t *testing.T, resp *http.Response) string {
	t.Helper()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// parsed is a page with its elements by ID, and the URLs in it.
type parsed struct {
	*html.Node
	ids   map[string]*html.Node
	links []string
}

// mustParse parses a page. Its element IDs must be unique.
func mustParse(t *testing.T, path string, content []byte) parsed {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	p := parsed{Node: root, ids: map[string]*html.Node{}}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if p.ids[a.Val] != nil {
					t.Errorf("%s: duplicate element ID %s", path, a.Val)
				}
				p.ids[a.Val] = n
			case "href", "src", "action":
				p.links = append(p.links, a.Val)
			case "style":
				t.Errorf("%s: inline style %q, which the security policy forbids", path, a.Val)
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("%s: inline script %q, which the security policy forbids", path, a.Key)
			}
		}
	}
	return p
}

// shownText returns the text of an element and its descendants, with single spaces.
func shownText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// mustParseAll parses every page.
func mustParseAll(t *testing.T, s *server) map[string]parsed {
	t.Helper()
	all := map[string]parsed{}
	for path := range s.pages {
		d := s.page(path)
		if d.contentType != markdownType {
			all[path] = mustParse(t, path, d.content)
		}
	}
	return all
}

// otherLinks are the links to other parts of the service.
var otherLinks = []string{"/", "/api/v1/openapi.json", "/keys/new", "/plans", "/sign-in"}

// TestLinks checks that every link to this site leads to a page and an element on it, that every
// page of the documentation is linked, and that links to other parts of the service are listed.
func TestLinks(t *testing.T) {
	s := newTestServer()
	h, pages := s.routes(), mustParseAll(t, s)
	linked, others := map[string]bool{findPath: true}, map[string]bool{}
	for path, p := range pages {
		for _, link := range p.links {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			switch u = (&url.URL{Scheme: "https", Host: "registry.example", Path: path}).ResolveReference(u); {
			case u.Host != "registry.example":
				if u.Scheme != "https" {
					t.Errorf("%s: link to %s", path, link)
				}
			case !Handles(u.Path):
				others[u.Path] = true
			default:
				target, isPage := pages[u.Path]
				if isPage && u.Fragment != "" && target.ids[u.Fragment] == nil {
					t.Errorf("%s: link to %s, which has no such element", path, link)
				}
				if linked[u.Path] = true; !isPage && send(h, "GET", u.Path).StatusCode != http.StatusOK {
					t.Errorf("%s: broken link to %s", path, link)
				}
			}
		}
	}
	for path := range pages {
		if !linked[path] && strings.HasPrefix(path, docsPath) {
			t.Errorf("no link to %s", path)
		}
	}
	if diff := cmp.Diff(otherLinks, slices.Sorted(maps.Keys(others))); diff != "" {
		t.Errorf("links to other parts of the service (-want +got):\n%s", diff)
	}
}

// TestFormerFragments checks that links to the single-page reference, which was at /docs, still
// lead to the right operation.
func TestFormerFragments(t *testing.T) {
	s := newTestServer()
	docs := mustParse(t, docsPath, s.page(docsPath).content)
	for _, section := range s.opts.Reference.Sections {
		for _, op := range section.Operations {
			if docs.ids[op.ID] == nil {
				t.Errorf("%s has no element %s", docsPath, op.ID)
			}
		}
	}
}

// loadedAssets finds the style sheets and scripts of a page.
var loadedAssets = regexp.MustCompile(`(?:<link rel="stylesheet" href|<script src)="/site/\w+/([^"]+)"`)

// TestPages checks every page's head and its size, including style sheets and scripts, and that
// pages contain the public URL.
func TestPages(t *testing.T) {
	const maxPage = 150_000 // bytes, before compression
	titles := map[string]string{}
	s := newTestServer()
	for path := range s.pages {
		d := s.page(path)
		if d.contentType != htmlType {
			continue
		}
		page := string(d.content)
		size := len(page)
		for _, asset := range loadedAssets.FindAllStringSubmatch(page, -1) {
			content := s.assets.File(asset[1])
			if size += len(content); content == nil {
				t.Errorf("%s loads %s, which is missing", path, asset[1])
			}
		}
		if size > maxPage {
			t.Errorf("%s loads %d bytes, want at most %d", path, size, maxPage)
		}
		p := mustParse(t, path, d.content)
		var title, description string
		headings := 0
		for n := range p.Descendants() {
			switch {
			case n.Data == "title" && title == "": // an icon may also have one
				title = shownText(n)
			case n.Data == "meta" && slices.Contains(n.Attr, html.Attribute{Key: "name", Val: "description"}):
				description = n.Attr[1].Val
			case n.Data == "h1":
				headings++
			}
		}
		if titles[title] != "" || strings.HasPrefix(title, " ") {
			t.Errorf("%s has the title %q, like %q", path, title, titles[title])
		}
		titles[title] = path
		if headings != 1 || len(description) < 20 {
			t.Errorf("%s has %d first-level headings and the description %q", path, headings, description)
		}
		if strings.Contains(page, exampleURL) || strings.Contains(page, "ZgotmplZ") || strings.Contains(page, "sequenceDiagram") {
			t.Errorf("%s contains the example URL, a value rejected by the template, or the source of a diagram", path)
		}
		if !strings.Contains(page, `<link rel="canonical" href="`+publicURL+path+`">`) {
			t.Errorf("%s has no canonical URL", path)
		}
	}
}

// TestUnservedFiles checks that documents for contributors have no page, under any name.
func TestUnservedFiles(t *testing.T) {
	s := newTestServer()
	h := s.routes()
	files, err := os.ReadDir("../docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		file := "docs/" + f.Name()
		if path, served := guidePath(file); f.IsDir() || served && s.page(path).etag != "" {
			continue
		}
		name := strings.TrimSuffix(f.Name(), ".md")
		for _, target := range []string{"/docs/" + name, "/docs/" + strings.ToLower(name), "/docs/images/" + f.Name(),
			"/docs/" + f.Name(), "/docs/images/..%2F" + f.Name(), "/docs/images/../" + f.Name(), "/site/x/..%2Fsite.go"} {
			if resp := send(h, "GET", target); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d, want 404", target, resp.StatusCode)
			}
		}
	}
}

// TestReference checks that the reference contains every operation, parameter, header, object,
// field and cost of the OpenAPI document.
func TestReference(t *testing.T) {
	api, s := newAPI(), newTestServer()
	pages := mustParseAll(t, s)
	var doc struct {
		Tags  []struct{ Name, Description string }
		Paths map[string]map[string]struct {
			OperationID, Summary string
			Tags                 []string
			Cost                 string `json:"x-cost"`
			Parameters           []struct{ Name, Description string }
			Responses            map[string]any
		}
		Components struct {
			Headers map[string]struct{ Description string }
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	if err := json.NewDecoder(send(api, "GET", "/api/v1/openapi.json").Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	contains := func(where string, n *html.Node, parts ...string) {
		t.Helper()
		if n == nil {
			t.Errorf("%s is missing", where)
			return
		}
		// There may be no space between elements.
		unspaced := func(s string) string { return strings.Join(strings.Fields(s), "") }
		shown := unspaced(shownText(n))
		for _, part := range parts {
			if !strings.Contains(shown, unspaced(part)) {
				t.Errorf("%s lacks %q", where, part)
			}
		}
	}
	operations := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			operations++
			page := referencePath + "/" + strings.ReplaceAll(strings.ToLower(op.Tags[0]), " ", "-")
			cost := strings.ReplaceAll(op.Cost, "`", "")
			parts := []string{strings.ToUpper(method) + " /api/v1" + path, op.Summary, cost}
			parts = append(parts, "curl", "Python", "JavaScript", "Go")
			for _, p := range op.Parameters {
				parts = append(parts, p.Name, p.Description)
			}
			for status := range op.Responses {
				parts = append(parts, status)
			}
			contains(page+"#"+op.OperationID, pages[page].ids[op.OperationID], parts...)
		}
	}
	elements := map[string]*html.Node{}
	for path, p := range pages {
		if strings.HasPrefix(path, objectsPath+"/") {
			maps.Copy(elements, p.ids)
		}
	}
	for _, section := range s.opts.Reference.Sections {
		for _, op := range section.Operations {
			for _, response := range op.Responses {
				if n := pages[referencePath+"/"+section.Anchor].ids[op.ID+".response"]; n != nil {
					elements[response.Body] = n
				}
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		if n := pages[objectsPath].ids[name]; n == nil {
			t.Errorf("former link to object %s leads nowhere", name)
		}
		var parts []string
		for field, property := range schema.Properties {
			if parts = append(parts, field); len(schema.Properties) > 1 {
				parts = append(parts, property.Description)
			}
		}
		contains("object "+name, elements[name], parts...)
	}
	overview := []string{publicURL + "/api/v1", "1,000,000", "upgrade_url", "method_not_allowed"}
	for name, header := range doc.Components.Headers {
		overview = append(overview, name, header.Description)
	}
	contains("overview", pages[referencePath].Node, overview...)
	body := []string{"filters.type_wine", "schedule.cadence", "schedule.day", "required"}
	for name, property := range doc.Components.Schemas["SavedSearchRequest"].Properties {
		body = append(body, name, property.Description)
	}
	contains("the fields of a body", pages[referencePath+"/saved-searches"].ids["createSavedSearch"], body...)
	if operations < 40 || len(doc.Components.Schemas) < 40 {
		t.Errorf("document has %d operations and %d objects", operations, len(doc.Components.Schemas))
	}
}

// TestErrors checks that each error is described once: in the overview if most operations return it,
// and otherwise with each of its operations.
func TestErrors(t *testing.T) {
	s := newTestServer()
	pages, common := mustParseAll(t, s), map[string]bool{}
	describes := func(n *html.Node, e httpapi.ErrorDoc) bool {
		return n != nil && strings.Contains(shownText(n), strings.Join(strings.Fields(e.Description), " "))
	}
	names := func(n *html.Node, e httpapi.ErrorDoc) bool {
		return strings.Contains(shownText(n), strings.Join(e.Codes, ", "))
	}
	for _, e := range s.commonErrors {
		common[e.ID] = true
		if n := pages[referencePath].ids["error-"+e.ID]; !describes(n, e) || !names(n, e) {
			t.Errorf("overview lacks %s or its codes", e.ID)
		}
	}
	if all := s.commonErrors; !slices.IsSortedFunc(all, func(a, b httpapi.ErrorDoc) int { return strings.Compare(a.Status, b.Status) }) {
		t.Errorf("common errors aren't in order of status: %v", all)
	}
	if !common["Unauthorized"] || !common["MethodNotAllowed"] || common["InsufficientScope"] {
		t.Errorf("common errors: %v", common)
	}
	described := maps.Clone(common)
	for _, section := range s.opts.Reference.Sections {
		page := pages[referencePath+"/"+section.Anchor]
		for _, op := range section.Operations {
			for _, e := range op.Errors {
				described[e.ID] = true
				if describes(page.ids[op.ID], e) == common[e.ID] {
					t.Errorf("%s describes %s: %v", op.ID, e.ID, !common[e.ID])
				}
				if !common[e.ID] && !names(page.ids[op.ID], e) {
					t.Errorf("%s lacks the codes of %s", op.ID, e.ID)
				}
			}
		}
	}
	for _, e := range s.opts.Reference.Errors {
		if !described[e.ID] {
			t.Errorf("no page describes %s", e.ID)
		}
	}
}

// TestCurrentLinks checks which link in the header is marked as the current page or as a page above it.
func TestCurrentLinks(t *testing.T) {
	for path, want := range map[string]string{
		"/": "", privacyPath: "", docsPath: docsPath + " page", docsPath + "/quickstart": docsPath + " true",
		toolsPath: docsPath + " true", referencePath: referencePath + " page", referencePath + "/labels": referencePath + " true",
		objectsPath + "/labels": referencePath + " true", plansPath: plansPath + " page", docsPath + "/references": docsPath + " true",
	} {
		var got []string
		for _, link := range []string{docsPath, referencePath, plansPath} {
			if value := current(link, path); value != "" {
				got = append(got, link+" "+value)
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s: current links %q, want %q", path, got, want)
		}
	}
}

// TestTitles checks that no two pages have the same title, and that API reference titles contain
// "API".
func TestTitles(t *testing.T) {
	s, seen := newTestServer(), map[string]string{}
	for path, p := range mustParseAll(t, s) {
		if s.page(path).contentType != htmlType {
			continue
		}
		title := ""
		for n := range p.Descendants() {
			if n.DataAtom == atom.Title {
				title = shownText(n)
			}
		}
		if other := seen[title]; other != "" || title == "" {
			t.Errorf("%s has the title %q, like %q", path, title, other)
		}
		seen[title] = path
		if strings.HasPrefix(path, referencePath) && !strings.Contains(title, "API") {
			t.Errorf("%s has the title %q", path, title)
		}
	}
}

// TestDescriptions checks that search engines can show page descriptions in full.
func TestDescriptions(t *testing.T) {
	s := newTestServer()
	pages := mustParseAll(t, s)
	landing, _ := s.currentLanding(t.Context())
	pages["/"] = mustParse(t, "/", landing.content)
	for path, p := range pages {
		for n := range p.Descendants() {
			if attr(n, "name") == "description" {
				text := attr(n, "content")
				if length := utf8.RuneCountInString(text); length > maxDescription || !strings.HasSuffix(text, ".") || strings.HasSuffix(text, "..") {
					t.Errorf("%s: description of %d characters: %s", path, length, text)
				}
			}
		}
	}
}

// TestTry checks that all read-only operations can be tried on the page, with a labeled field for
// each parameter in the path or query, and that the fields have the values of the example call.
func TestTry(t *testing.T) {
	s := newTestServer()
	pages, tried := mustParseAll(t, s), 0
	for _, section := range s.opts.Reference.Sections {
		for _, op := range section.Operations {
			form := tryForm(pages[referencePath+"/"+section.Anchor].ids[op.ID])
			if want := op.Method == "GET"; (form != nil) != want {
				t.Errorf("%s can be tried: %t, want %t", op.ID, form != nil, want)
			}
			if form == nil {
				continue
			}
			tried++
			path, query, labeled := attr(form, "data-path"), url.Values{}, 0
			for name, value := range fieldValues(form) {
				labeled++
				if rest := strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1); rest != path {
					path = rest
				} else if value != "" {
					query.Set(name, value)
				}
			}
			for _, p := range op.Parameters {
				if p.Place != "header" {
					labeled--
				}
			}
			example, err := url.Parse(op.ExamplePath)
			if err != nil || path != example.EscapedPath() || query.Encode() != example.Query().Encode() || labeled != 0 {
				t.Errorf("%s: fields describe %s?%s and differ from the parameters by %d; want the example %s",
					op.ID, path, query.Encode(), labeled, op.ExamplePath)
			}
			if text := shownText(form); !strings.Contains(text, "GET "+op.ExamplePath+" Send "+price(op.Cost)) {
				t.Errorf("%s: %q, want the request and its cost %q", op.ID, text, price(op.Cost))
			}
		}
	}
	if tried < 25 {
		t.Errorf("%d operations can be tried", tried)
	}
}

// TestCodeSamples checks that a form's initial values produce the printed samples, that other
// values produce other samples, and that long queries and calls that change data are rejected.
func TestCodeSamples(t *testing.T) {
	s := newTestServer()
	h, pages, compared := s.routes(), mustParseAll(t, s), 0
	get := func(operation string, values url.Values) (status int, all []string) {
		resp := send(h, "GET", "/docs/samples/"+operation+"?"+values.Encode())
		return resp.StatusCode, sources(mustParse(t, operation, []byte(mustRead(t, resp))).Node)
	}
	for _, section := range s.opts.Reference.Sections {
		for _, op := range section.Operations {
			s.typingLimit = newTypingLimit(time.Now)
			shown := pages[referencePath+"/"+section.Anchor].ids[op.ID]
			form, values := tryForm(shown), url.Values{}
			if form == nil {
				if status, _ := get(op.ID, nil); status != http.StatusNotFound {
					t.Errorf("%s: status %d, want 404", op.ID, status)
				}
				continue
			}
			for name, value := range fieldValues(form) {
				values.Set(name, value)
			}
			compared++
			status, got := get(op.ID, values)
			if diff := cmp.Diff(sources(shown)[:len(op.Samples)], got); status != http.StatusOK || diff != "" {
				t.Errorf("%s: status %d, samples (-printed +for the form):\n%s", op.ID, status, diff)
			}
		}
	}
	if compared < 25 {
		t.Errorf("compared the samples of %d operations", compared)
	}
	_, got := get("searchColas", url.Values{"q": {"<b>&"}, "unknown": {"1"}})
	if want := "curl -H \"X-API-Key: $API_KEY\" \\ \"" + publicURL + "/api/v1/colas?q=%3Cb%3E%26\""; got[0] != want {
		t.Errorf("curl sample: %s\nwant: %s", got[0], want)
	}
	if status, _ := get("searchColas", url.Values{"q": {strings.Repeat("x", maxSampleQuery)}}); status != http.StatusNotFound {
		t.Errorf("long query: status %d, want 404", status)
	}
}

// sources returns the texts of the code blocks in a part of a page.
func sources(root *html.Node) (all []string) {
	for n := range root.Descendants() {
		if n.DataAtom == atom.Pre {
			all = append(all, shownText(n))
		}
	}
	return all
}

// tryForm returns the form for trying an operation, or nil.
func tryForm(section *html.Node) *html.Node {
	for n := range section.Descendants() {
		if attr(n, "class") == "try" {
			return n
		}
	}
	return nil
}

// fieldValues returns the values of the labeled fields of a form.
func fieldValues(form *html.Node) map[string]string {
	values := map[string]string{}
	for n := range form.Descendants() {
		switch {
		case n.DataAtom == atom.Option && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "selected" }):
			values[attr(n.Parent, "name")] = shownText(n)
		case n.Parent.DataAtom == atom.Label && attr(n, "name") != "":
			values[attr(n, "name")] = attr(n, "value")
		}
	}
	return values
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestInputs checks the hints and choices of fields.
func TestInputs(t *testing.T) {
	form := inputs(httpapi.Operation{Path: "/a/{id}", ExamplePath: "/a/b%2Fc?q=x+y", Parameters: []httpapi.Field{
		{Name: "id", Place: "path", Type: "string, up to 9 characters", Example: "1", Required: true},
		{Name: "q", Place: "query", Type: "string", Example: "x"},
		{Name: "kind", Place: "query", Type: "one or more, comma-separated", Allowed: []string{"b", "c"}},
		{Name: "sort", Place: "query", Type: "string", Allowed: []string{"up", "down"}, Default: "up"},
		{Name: "latest", Place: "query", Type: "boolean", Example: "true"},
		{Name: "page", Place: "query", Type: "integer, at least 1", Default: "1", Example: "1"},
		{Name: "If-None-Match", Place: "header", Type: "string"},
	}})
	got := ""
	for _, in := range append(form.Shown, input{}) {
		got += fmt.Sprintf("%s=%s %q %q\n", in.Name, in.Value, in.Choices, in.Hint)
	}
	for _, in := range form.More {
		got += fmt.Sprintf("%s=%s %q %q\n", in.Name, in.Value, in.Choices, in.Hint)
	}
	const want = `id=b/c [] "string, e.g. 1"
q=x y [] "string, e.g. x"
= [] ""
kind= [] "b, c"
sort= ["up" "down"] "not set, default up"
latest= ["true" "false"] "not set"
page= [] "integer, default 1"
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// TestExampleRecords checks that example calls use the samples' record, even after it changes, and
// placeholders if there are no samples or the record lacks a value.
func TestExampleRecords(t *testing.T) {
	m := &registry.Samples{}
	service := &samples{m: m}
	s := newServer(Options{
		PublicURL: publicURL, Reference: newAPI().Reference, Service: service, Logger: slog.New(slog.DiscardHandler),
	})
	check := func(page, id, target string, placeholders int) {
		t.Helper()
		resp := send(s.routes(), "GET", page)
		p := mustParse(t, page, []byte(mustRead(t, resp)))
		found, text := 0, shownText(p.ids[id])
		for n := range p.ids[id].Descendants() {
			if slices.Contains(n.Attr, html.Attribute{Key: "class", Val: "soft placeholders"}) {
				found += strings.Count(shownText(n), " with your ")
			}
		}
		if !strings.Contains(shownText(tryForm(p.ids[id])), "GET "+target+" Send") || found != placeholders ||
			strings.Count(text, publicURL+target) != 4 {
			t.Errorf("%s#%s: want %s and %d placeholders: %s", page, id, target, placeholders, text)
		}
		if notes := strings.Count(text, "The example is a placeholder."); notes != placeholders {
			t.Errorf("%s#%s: %d parameters have a placeholder, want %d", page, id, notes, placeholders)
		}
	}
	const labels, permittees, searches = "/docs/reference/labels", "/docs/reference/permittees", "/docs/reference/saved-searches"
	check(labels, "getCola", "/api/v1/colas/11054001000049", 1)
	m.Record.TTBID, m.Record.PermitNumber, m.Record.BarcodeValue = 26266001000016, "BWN/OR 1", "036000291452"
	check(labels, "getCola", "/api/v1/colas/26266001000016", 0)
	check(labels, "lookUpBarcode", "/api/v1/barcode/036000291452", 0)
	check(permittees, "getPermittee", "/api/v1/permittees/BWN%2FOR%201", 0)
	check(searches, "explainSavedSearch", "/api/v1/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11/explain/26282001000009", 2)
	check("/docs/reference/runs-and-feeds", "listRunMatches", "/api/v1/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11/runs/1841/matches", 2)
	changed := *m
	changed.Record.TTBID, changed.Record.BarcodeValue = 26282001000009, ""
	service.m = &changed
	check(labels, "getCola", "/api/v1/colas/26282001000009", 0)
	check(labels, "lookUpBarcode", "/api/v1/barcode/036000291452", 1)
}

// TestAnswers checks which responses the pages show: if an example call reads public records, the
// registry's; after an error or for an empty list, the documented call and response.
func TestAnswers(t *testing.T) {
	m := &registry.Samples{}
	m.Record.TTBID, m.Record.PermitNumber = 26266001000016, "BWN-OR-16677"
	calls := map[string]string{}
	answer := func(id, call string) (string, error) {
		calls[id] = call
		switch id {
		case "getPermittee", "get_permittee":
			return "", errors.New("broken")
		case "searchPermittees", "search_permittees":
			return `{"data":[]}`, nil
		}
		return `{"data":["<answer>"]}`, nil
	}
	s := newServer(Options{
		PublicURL: publicURL, Reference: newAPI().Reference, Service: samples{m: m}, Logger: slog.New(slog.DiscardHandler),
		Answers: func(_ context.Context, op *httpapi.Operation) ([]httpapi.Response, error) {
			example, err := answer(op.ID, op.ExamplePath)
			return []httpapi.Response{{Status: "200", MediaType: "application/json", Example: example}}, err
		},
		ToolAnswer: func(_ context.Context, name, arguments string) (json.RawMessage, error) {
			example, err := answer(name, arguments)
			return json.RawMessage(example), err
		},
	})
	const shown = `<answer>`
	for _, tt := range []struct{ page, id, call, answer string }{
		{"/docs/reference/labels", "getCola", "/colas/26266001000016", shown},
		{"/docs/reference/labels", "searchColas", "/colas?q=oak", shown},
		{"/docs/reference/labels", "lookUpBarcode", "/barcode/036000291452", "036000291452"},
		{"/docs/reference/permittees", "getPermittee", "/permittees/NJ-I-721", "NJ-I-721"},
		{"/docs/reference/permittees", "searchPermittees", "/permittees?q=", "BWN-CA-20118"},
		{"/docs/tools/labels", "get_cola", "26266001000016", shown},
		{"/docs/tools/permittees", "get_permittee", "NJ-I-721", "NIEDERHOFF"},
		{"/docs/tools/permittees", "search_permittees", "vineyards", "BWN-CA-1180"},
	} {
		p := mustParse(t, tt.page, []byte(mustRead(t, send(s.routes(), "GET", tt.page))))
		if text := shownText(p.ids[tt.id]); !strings.Contains(text, tt.call) || !strings.Contains(text, tt.answer) {
			t.Errorf("%s#%s: no call %s or answer %s: %s", tt.page, tt.id, tt.call, tt.answer, text)
		}
	}
	for _, private := range []string{"getUsage", "listSavedSearches", "createSavedSearch", "get_usage", "create_saved_search", "lookUpBarcode"} {
		if call, ok := calls[private]; ok {
			t.Errorf("ran the example call for %s: %s", private, call)
		}
	}
}

// TestFirstExamples checks that browsers and proxies don't cache the placeholders that pages show
// while the first examples are being computed, or while there are no records.
func TestFirstExamples(t *testing.T) {
	m := &registry.Samples{}
	service := &samples{m: m}
	computing, proceed := make(chan struct{}), make(chan struct{})
	start := sync.OnceFunc(func() { close(computing) })
	s := newServer(Options{
		PublicURL: publicURL, Reference: newAPI().Reference, Service: service,
		Answers: func(_ context.Context, op *httpapi.Operation) ([]httpapi.Response, error) {
			start()
			<-proceed
			return op.Responses, nil
		},
	})
	h := s.routes()
	check := func(when, id, policy string) {
		t.Helper()
		resp := send(h, "GET", "/docs/reference/labels")
		if got := resp.Header.Get("Cache-Control"); got != policy || !strings.Contains(mustRead(t, resp), "/colas<wbr>/"+id) {
			t.Errorf("%s: Cache-Control %q, want %q and the ID %s", when, got, policy, id)
		}
	}
	const placeholder, cached = "11054001000049", "public, max-age=300"
	check("without records", placeholder, "no-cache")
	m.Record.TTBID = 26266001000016
	var first sync.WaitGroup
	first.Go(func() { check("first reader", "26266001000016", cached) })
	<-computing
	check("concurrent reader", placeholder, "no-cache")
	close(proceed)
	first.Wait()
	check("later reader", "26266001000016", cached)
	service.err, service.m = errors.New("broken"), nil
	check("after an error", "26266001000016", cached)
}

func TestPrice(t *testing.T) {
	for cost, want := range map[string]string{
		"Free; counts toward the rate limit.": "free", "One detail view. 404 is free.": "one detail view", "No end": "no end",
	} {
		if got := price(cost); got != want {
			t.Errorf("price(%q) = %q, want %q", cost, got, want)
		}
	}
}

// TestHighlight checks that highlighting adds elements for colors and for places where lines break or
// don't break, and changes no text.
func TestHighlight(t *testing.T) {
	long := strings.Repeat("1", maxUnbroken)
	for _, tt := range []struct{ language, source, want string }{
		{"json", `{"a": 1, "b": null}`, `{<i class=n>"a"</i>: <i class=v>1</i>, ` +
			`<i class=n>"b"</i>: <i class=v>null</i>}`},
		{"unknown", "<script>", "&lt;script&gt;"},
		{"", "<plain>", "&lt;plain&gt;"},
		{"curl", `curl "$A"`, `<b>curl <i>"</i><i class=n>$A</i><i>"</i></b>`},
		{"curl", "curl \\\n  https://a/b\n", "<b>cur<u>l \\</u>\n</b><b>  https://a<wbr>/b\n</b>"},
		{"curl", "curl \"$API/a\" \\\n", `<b>curl <i>"</i><i class=n>$API</i><i><wbr>/a</i><u><i>"</i> \</u>` + "\n</b>"},
		{"curl", `curl "$API/a?b=c,d&e=$X"`, `<b>curl <i>"</i><i class=n>$API</i><i><wbr>/a<wbr><u>?b</u>=c,d<wbr>&amp;e=</i>` +
			`<i class=n>$X</i><i>"</i></b>`},
		{"curl", `curl "$API/a?b=` + long + `,c"`, `<b>curl <i>"</i><i class=n>$API</i><i><wbr>/a<wbr><u>?b</u>=` + long + `,<wbr>c"</i></b>`},
		{"sh", `a --b-c "d e" "f"`, `<b>a <span><u>--b-c</u> <i>"d e"</i></span> <i>"f"</i></b>`},
		{"sh", "# it's \"a b\"\nc 'd \"e f\"'", "<b><i class=c># it's \"a b\"</i>\n</b><b>c <i>'d \"e f\"'</i></b>"},
		{"python", `f"a-{b}" + ` + long, `<b><i>f"a</i><u><i>-</i>{</u>b}<i>"</i> + <i class=v>` + long + `</i></b>`},
		{"json", "1\r\n" + long + ",2000-01-02\r\n", "<i class=v>1</i>\n<b><i class=v>" + long + "</i>,<i class=v>2000<u>-0</u>1<u>-0</u>2</i>\n</b>"},
		{"", "a-b -1 c- <-", "a<u>-b</u> <u>-1</u> c- &lt;-"},
		{"go", "// <i>", `<i class=c>// &lt;i&gt;</i>`},
		{"json", "{\n    \"a\": " + long + "\n}", "{\n<b class=h6>    <i class=n>\"a\"</i>: <i class=v>" + long + "</i>\n</b>}"},
		{"go", "a\n\t\tb" + long + "()\n", "a\n<b class=h12>\t\tb" + long + "()\n</b>"},
		{"json", `["https://a/b-c?d", ` + long + "]", `<b>[<i>"https://a<wbr>/b<u>-c</u><wbr><u>?d</u>"</i>, <i class=v>` + long + "</i>]</b>"},
	} {
		if got := string(highlight(tt.language, tt.source)); got != tt.want {
			t.Errorf("highlight(%s, %s) = %s, want %s", tt.language, tt.source, got, tt.want)
		}
	}
	for _, section := range newAPI().Reference.Sections {
		for _, op := range section.Operations {
			for _, sample := range op.Samples {
				n, err := html.Parse(strings.NewReader("<pre>" + string(highlight(sample.Language, sample.Source)) + "</pre>"))
				if err != nil || shownText(n) != strings.Join(strings.Fields(sample.Source), " ") {
					t.Errorf("highlighting changes the %s sample of %s to %q", sample.Language, op.ID, shownText(n))
				}
			}
		}
	}
}

// TestTrailingSlash checks that a path with a trailing slash redirects to the page, with its query.
func TestTrailingSlash(t *testing.T) {
	h := newTestServer().routes()
	for target, want := range map[string]string{
		"/docs/": "/docs", "/docs/reference/?x=1": "/docs/reference?x=1", "/docs/find/?q=oak&x=%2F": "/docs/find?q=oak&x=%2F",
	} {
		if resp := send(h, "GET", target); resp.StatusCode != http.StatusMovedPermanently || resp.Header.Get("Location") != want {
			t.Errorf("%s: %d to %q, want a redirect to %s", target, resp.StatusCode, resp.Header.Get("Location"), want)
		}
	}
}

// TestResponses checks the status and headers of pages, files and errors.
func TestResponses(t *testing.T) {
	s := newTestServer()
	h := s.routes()
	const asHTML, cached = "text/html; charset=utf-8", "public, max-age=300"
	for _, tt := range []struct {
		method, target      string
		status              int
		contentType, policy string
	}{
		{"GET", "/docs", 200, asHTML, cached},
		{"GET", "/docs?utm_source=x", 200, asHTML, cached},
		{"GET", "/docs/quickstart", 200, asHTML, cached},
		{"GET", "/docs/reference", 200, asHTML, cached},
		{"GET", "/docs/reference/labels", 200, asHTML, "no-cache"}, // no records to show
		{"GET", "/docs/find?q=cursor", 200, asHTML, "no-store"},
		{"GET", "/docs/nothing", 404, asHTML, "no-store"},
		{"GET", "/docs//", 404, asHTML, "no-store"},
		{"GET", "/docs/reference/", 301, asHTML, cached},
		{"GET", "/docs/images/usage.png", 200, "image/png", "public, max-age=3600"},
		{"GET", "/docs/images/nothing.png", 404, asHTML, "no-store"},
		{"GET", s.assets.URL("site.css"), 200, "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"GET", "/site/old/site.js", 200, "text/javascript; charset=utf-8", "public, max-age=60"},
		{"GET", "/site/old/newsreader.woff2", 200, "font/woff2", "public, max-age=60"},
		{"GET", "/site/old/icon.svg", 200, "image/svg+xml", "public, max-age=60"},
		{"GET", "/site/old/nothing", 404, asHTML, "no-store"},
		{"GET", "/site", 404, asHTML, "no-store"},
		{"POST", "/docs", 405, "application/json", "private, no-store"},
		{"DELETE", "/docs/find", 405, "application/json", "private, no-store"},
	} {
		resp := send(h, tt.method, tt.target)
		got := resp.Header
		if resp.StatusCode != tt.status || got.Get("Content-Type") != tt.contentType ||
			got.Get("Cache-Control") != tt.policy {
			t.Errorf("%s %s: %d %v, want %d, %s, %s", tt.method, tt.target, resp.StatusCode, got, tt.status,
				tt.contentType, tt.policy)
		}
		if got.Get("X-Request-Id") == "" || got.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: headers %v lack the request ID or nosniff", tt.method, tt.target, got)
		}
		if tt.contentType == asHTML && (got.Get("X-Frame-Options") != "DENY" ||
			!strings.HasPrefix(got.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'; script-src 'self'")) {
			t.Errorf("%s: headers %v lack the security policy", tt.target, got)
		}
		if tt.method != "GET" {
			if got.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: Allow %q", tt.method, tt.target, got.Get("Allow"))
			}
			continue
		}
		head := send(h, "HEAD", tt.target, "X-Request-Id: same")
		second := send(h, "GET", tt.target, "X-Request-Id: same")
		if diff := cmp.Diff(second.Header, head.Header); head.StatusCode != tt.status || diff != "" {
			t.Errorf("HEAD %s: %d, headers (-get +head):\n%s", tt.target, head.StatusCode, diff)
		}
	}
}

func TestETag(t *testing.T) {
	h := newTestServer().routes()
	tag := send(h, "GET", "/docs/api").Header.Get("Etag")
	for list, want := range map[string]int{
		tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, "": 200,
	} {
		resp := send(h, "GET", "/docs/api", "If-None-Match: "+list)
		if body := mustRead(t, resp); resp.StatusCode != want || (body == "") != (want == 304) {
			t.Errorf("If-None-Match %s: status %d, %d bytes; want %d", list, resp.StatusCode, len(body), want)
		}
	}
	if other := send(h, "GET", "/docs/alerts").Header.Get("Etag"); tag == "" || tag == other {
		t.Errorf("different pages have the ETags %s and %s", tag, other)
	}
}

// BenchmarkRender renders all pages, as a process does for the first request of each. It reports
// their total size.
func BenchmarkRender(b *testing.B) {
	ref := newAPI().Reference
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = 0
		s := newServer(Options{PublicURL: publicURL, Reference: ref, Service: samples{}})
		for path := range s.pages {
			size += len(s.page(path).content)
		}
	}
	b.ReportMetric(float64(size), "page-bytes")
}

// TestGrouped checks that long lists of parameters are grouped without losing parameters, and that
// short lists are not grouped.
func TestGrouped(t *testing.T) {
	titles := map[string][]string{}
	for _, section := range newAPI().Reference.Sections {
		for _, op := range section.Operations {
			for _, fields := range [][]httpapi.Field{op.Parameters, op.Body} {
				n, names := 0, map[string]bool{}
				groups := grouped(op.ID, fields)
				for i, g := range groups {
					n += len(g.Fields)
					if len(groups) > 1 {
						titles[op.ID] = append(titles[op.ID], g.Title)
					}
					if g.Open != (len(groups) > 1 && i == 0 && g.Title != "") || names[g.Title] {
						t.Errorf("%s: group %q is open: %t, or appears twice", op.ID, g.Title, g.Open)
					}
					names[g.Title] = true
				}
				if n != len(fields) || len(groups) > 1 != (len(fields) > maxUngrouped) {
					t.Errorf("%s: %d of %d fields in %d groups", op.ID, n, len(fields), len(groups))
				}
			}
		}
	}
	filters := []string{"Keywords and names", "Product", "Place", "Identifiers and status", "Dates", "Alcohol and volume", "Container"}
	for id, want := range map[string][]string{
		"searchColas": append(slices.Clone(filters), "Results"), "countColas": append([]string{""}, filters...),
	} {
		if diff := cmp.Diff(want, titles[id]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if got := titles["createSavedSearch"]; len(got) < 5 || got[0] != "" || got[len(got)-1] != "Schedule" {
		t.Errorf("createSavedSearch has the groups %q", got)
	}
}

// TestOperator checks that pages name the operator, and that hostile names and contacts are
// escaped.
func TestOperator(t *testing.T) {
	for contact, link := range map[string]string{
		"ops@example.com":            `<a href="mailto:ops@example.com">`,
		"https://example.com/?a=b&c": `<a href="https://example.com/?a=b&amp;c">`,
		`"a><script>"@example.com`:   `<a href="mailto:%22a%3e%3cscript%3e%22@example.com">`,
		"":                           "contact the operator of this server",
	} {
		s := New(Options{
			PublicURL: publicURL, Reference: newAPI().Reference, Service: samples{}, Logger: slog.New(slog.DiscardHandler),
			Operator: web.Operator{Name: "A & <b>", Contact: contact},
		})
		resp := send(s, "GET", privacyPath)
		page := mustRead(t, resp)
		if resp.StatusCode != http.StatusOK || !strings.Contains(page, link) || strings.Contains(page, "<script>") ||
			strings.Count(page, "A &amp; &lt;b&gt;") < 2 {
			t.Errorf("contact %q: %d %s", contact, resp.StatusCode, page)
		}
	}
}

// TestSourceLink checks that every page and the installation guide link to the source code if the
// operator set its URL.
func TestSourceLink(t *testing.T) {
	const source = "https://example.com/source?a=b&c"
	for _, url := range []string{source, ""} {
		s := New(Options{Reference: newAPI().Reference, Service: samples{}, Operator: web.Operator{Source: url}, Logger: slog.New(slog.DiscardHandler)})
		for path, want := range map[string]int{"/docs/install": 2, "/docs/quickstart": 1, "/privacy": 1} {
			if url == "" {
				want = 0
			}
			if n := strings.Count(mustRead(t, send(s, "GET", path)), `href="https://example.com/source?a=b&amp;c"`); n != want {
				t.Errorf("source %q: %s has %d links, want %d", url, path, n, want)
			}
		}
		if guide := mustRead(t, send(s, "GET", "/docs/install.md")); strings.Contains(guide, "[source code]("+source+")") != (url != "") || strings.Contains(guide, "README") {
			t.Errorf("source %q: Markdown %.300s", url, guide)
		}
	}
}

// TestPrivacyStorage checks that the privacy page covers every item that scripts keep in the
// browser's storage, and images from other sites.
func TestPrivacyStorage(t *testing.T) {
	text := mustRead(t, send(New(Options{Reference: newAPI().Reference, Service: samples{}}), "GET", privacyPath))
	items := map[string]string{
		"signed-in": "flag showing that", "language": "language you chose", "key": "An API key", "labels": "list of labels",
	}
	for _, file := range []string{
		"assets/site.js", "../dashboard/assets/page.js", "../dashboard/assets/label.js",
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range storageItems.FindAllStringSubmatch(string(source), -1) {
			if item := items[m[1]]; item == "" || !strings.Contains(text, item) {
				t.Errorf("%s stores %s, which the page omits", file, m[1])
			}
		}
	}
	if !strings.Contains(text, "from that site") {
		t.Error("page omits images from other sites")
	}
}

// storageItems finds the names of items in storage.
var storageItems = regexp.MustCompile(`(?:Storage", |Item\(|listKey = )"([^"]+)"`)

// TestSampleTabs checks which code blocks of a guide become tabs: those in several languages, each
// but the first after a paragraph that only names its language.
func TestSampleTabs(t *testing.T) {
	block := func(language string) string { return "```" + language + "\n" + language + "()\n```\n\n" }
	for source, want := range map[string]string{
		block("sh") + "Python:\n\n" + block("python") + "Go:\n\n" + block("go") + "After.": "curl Python Go|After.",
		"Python:\n\n" + block("python") + "JavaScript (Node.js):\n\n" + block("js"):        "Python JavaScript|",
		block("sh") + "Now:\n\n" + block("sh"):                                             "|Now:",
		block("sh") + block("python"):                                                      "|",
		block("sh") + "Python:\n\n" + block("json"):                                        "|Python:",
		block("sh") + "Go:":                      "|Go:",
		"Go:\n\n" + block("go"):                  "|Go:",
		block("sh") + "In Go:\n\n" + block("go"): "|In Go:",
	} {
		m := newTestServer().renderMarkdown("docs/API.md", []byte(source))
		p := mustParse(t, source, []byte(m.html))
		var tabs, paragraphs []string
		for n := range p.Descendants() {
			switch {
			case n.Data == "summary":
				tabs = append(tabs, shownText(n))
			case n.Data == "p":
				paragraphs = append(paragraphs, shownText(n))
			}
		}
		got := strings.Join(tabs, " ") + "|" + strings.Join(paragraphs, " ")
		if got != want || strings.Count(m.html, " open") > 1 || strings.Count(m.html, "()") != strings.Count(source, "()") {
			t.Errorf("%s\n%s: %s, want %s", source, m.html, got, want)
		}
	}
}

// TestSignInForApps checks that ChatGPT, which accepts no keys, is advertised only if apps can sign
// in, and that the assistants guide has either the steps that need sign-in or the text instead.
func TestSignInForApps(t *testing.T) {
	full, err := registrytest.New(t).Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, signIn := range []bool{false, true} {
		site := New(Options{PublicURL: publicURL, Reference: newAPI().Reference, Service: samples{m: full}, SignInForApps: signIn})
		for path, h := range map[string]http.Handler{"/": site.Landing, docsPath: site} {
			page := mustRead(t, send(h, "GET", path))
			_, main, _ := strings.Cut(page, "<main")
			if got := strings.Contains(main, "ChatGPT"); got != signIn || !strings.Contains(main, "Cursor") {
				t.Errorf("sign-in %t: %s advertises ChatGPT: %t", signIn, path, got)
			}
		}
		for _, suffix := range []string{"", ".md"} {
			page := mustRead(t, send(site, "GET", docsPath+"/assistants"+suffix))
			for part, want := range map[string]bool{
				"add a custom connector": signIn, "/mcp/chatgpt": signIn, "ChatGPT can't connect": !signIn, "with a key, not": !signIn,
				"<!--": false, "-->": false, "\n\n\n": false,
			} {
				if got := strings.Contains(page, part); got != want {
					t.Errorf("sign-in %t: assistants%s contains %q: %t", signIn, suffix, part, got)
				}
			}
		}
	}
}

// TestMarkdown checks that every guide is also served as Markdown, that its links lead to pages or
// files on the site, and that llms.txt lists the guides about using the service.
func TestMarkdown(t *testing.T) {
	s := newTestServer()
	h := s.routes()
	llms, err := os.ReadFile("../httpapi/llms.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range append(readGuides(guideNames()), readGuides(operatorGuideNames())...) {
		resp := send(h, "GET", g.path+".md")
		text := mustRead(t, resp)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/markdown; charset=utf-8" ||
			!strings.HasPrefix(text, "# "+g.title+"\n") || strings.Contains(text, exampleURL) {
			t.Errorf("%s.md: %d %v %.300s", g.path, resp.StatusCode, resp.Header, text)
		}
		if strings.Contains(text, "$API/") && !strings.Contains(text, "export API=") {
			t.Errorf("%s.md: samples use the variable API, but the page doesn't set it", g.path)
		}
		if i < len(guideNames()) && !strings.Contains(string(llms), "}}"+g.path+".md)") {
			t.Errorf("llms.txt lacks %s", g.path)
		}
		for _, link := range markdownLinks.FindAllStringSubmatch(text, -1) {
			path, local := strings.CutPrefix(link[3], publicURL)
			if !local && !strings.HasPrefix(path, "#") && !strings.Contains(path, "://") && !strings.HasPrefix(path, "mailto:") {
				t.Errorf("%s.md has the relative link %s", g.path, path)
			}
			path, _, _ = strings.Cut(path, "#")
			if local && strings.HasPrefix(path, docsPath) && send(h, "GET", path).StatusCode != http.StatusOK {
				t.Errorf("%s.md links to %s, which is missing", g.path, path)
			}
		}
	}
}
