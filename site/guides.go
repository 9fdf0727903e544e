package site

import (
	"bytes"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry"
	"github.com/colaregistry/colaregistry/mcp"
)

// guide is a Markdown file that is served both as a page and as Markdown.
type guide struct {
	file   string // in the root package's Docs
	path   string
	title  string // the first heading
	source []byte
}

// guideNames returns the guides about using the service; operatorGuideNames returns those about
// running it. The other files in docs/ are for contributors, and are not served.
func guideNames() []string {
	return []string{
		"QUICKSTART", "AUTHENTICATION", "API", "PAGINATION", "QUOTAS", "ERRORS", "SEARCH", "CATEGORIES", "ALERTS",
		"WEBHOOKS", "DASHBOARD", "ASSISTANTS", "COVERAGE",
	}
}

func operatorGuideNames() []string {
	return []string{"INSTALL", "CONFIGURATION", "DATA", "IMPORT", "OPERATIONS", "METRICS", "PLANS", "METERING", "OAUTH", "SECURITY"}
}

func readGuides(names []string) []guide {
	all := make([]guide, len(names))
	for i, name := range names {
		g := guide{file: "docs/" + name + ".md"}
		g.path, _ = guidePath(g.file)
		var err error
		if g.source, err = colaregistry.Docs.ReadFile(g.file); err != nil {
			panic(err) // unreachable: the file is embedded
		}
		g.title = firstHeading(g.source)
		all[i] = g
	}
	return all
}

// firstHeading returns the heading in the first line of a Markdown file.
func firstHeading(source []byte) string {
	first, _, _ := bytes.Cut(source, []byte("\n"))
	return string(bytes.TrimPrefix(first, []byte("# ")))
}

// guidePath returns the path of the page for a Markdown file; ok is false if it isn't served.
func guidePath(file string) (path string, ok bool) {
	if file == toolsFile {
		return toolsPath, true
	}
	name, ok := strings.CutPrefix(strings.TrimSuffix(file, ".md"), "docs/")
	if !ok || !slices.Contains(guideNames(), name) && !slices.Contains(operatorGuideNames(), name) {
		return "", false
	}
	return docsPath + "/" + strings.ToLower(name), true
}

// menuGroup is a group of links in the menu of the documentation.
type menuGroup struct {
	Title string
	Links []menuLink
}

type menuLink struct{ Title, Path string }

func (s *server) newMenu() []menuGroup {
	reference := menuGroup{Title: "API reference", Links: []menuLink{{Title: "Overview", Path: referencePath}}}
	for _, section := range s.opts.Reference.Sections {
		reference.Links = append(reference.Links, menuLink{Title: section.Name, Path: referencePath + "/" + section.Anchor})
	}
	reference.Links = append(reference.Links, menuLink{Title: "Objects", Path: referencePath + "/objects"})
	tools := menuGroup{Title: "MCP tools", Links: []menuLink{{Title: "Overview", Path: toolsPath}}}
	for _, section := range mcp.ToolSections() {
		name := strings.TrimPrefix(section.Name, "Tools for ")
		tools.Links = append(tools.Links, menuLink{
			Title: strings.ToUpper(name[:1]) + name[1:], Path: toolsPath + "/" + section.Anchor,
		})
	}
	return []menuGroup{guideLinks("Guides", guideNames()), reference, tools, guideLinks("Self-hosting", operatorGuideNames())}
}

func guideLinks(title string, names []string) menuGroup {
	group := menuGroup{Title: title}
	for _, g := range readGuides(names) {
		group.Links = append(group.Links, menuLink{Title: g.title, Path: g.path})
	}
	return group
}

// addGuides adds a page for each guide, and the documentation's home page.
func (s *server) addGuides() {
	s.add(page{
		Title: "Documentation", Path: docsPath, Body: "docs", Data: s.opts.Reference.Sections, Wide: true,
		Description: "Guides and API reference for the label approval registry.",
	})
	for _, g := range readGuides(guideNames()) {
		s.addGuide(areaGuides, g)
	}
	for _, g := range readGuides(operatorGuideNames()) {
		s.addGuide(areaOperators, g)
	}
}

// signInParts finds the parts of a guide that apply only to servers where apps can sign in, each
// with the text that other servers show instead.
var signInParts = regexp.MustCompile(`(?s) *<!-- if sign-in -->\n(.*?) *<!-- else: (.*?) -->\n`)

// withSignIn keeps either the parts of a guide that need sign-in for apps or the text instead.
func withSignIn(source []byte, signIn bool) []byte {
	if signIn {
		return signInParts.ReplaceAll(source, []byte("$1"))
	}
	return signInParts.ReplaceAll(source, []byte("$2\n"))
}

// addGuide adds a guide as a page and as Markdown, and its sections to the search.
func (s *server) addGuide(area string, g guide) {
	g.source = withSignIn(g.source, s.opts.SignInForApps)
	m := s.renderMarkdown(g.file, g.source)
	s.add(page{
		Title: g.title, Path: g.path, Description: metaDescription(m.summary), Headings: m.headings,
		Body: "guide", Data: template.HTML(m.html),
	})
	s.addFile(g.path+".md", markdownType, s.plainMarkdown(g.file, g.source))
	for _, section := range m.sections {
		target := g.path
		if section.id != "" {
			target += "#" + section.id
		}
		s.search.add(entry{
			Area: area, Page: g.title, Title: section.title, Path: target, text: section.text, code: section.code,
		})
	}
}

// maxDescription is the number of characters of a description that search engines show.
const maxDescription = 155

// metaDescription returns the first sentences of a text, as many as search engines show, but at
// least one.
func metaDescription(text string) string {
	end, characters := 0, 0
	for i, c := range text {
		characters++
		ends := c == '.' && (i+1 == len(text) || text[i+1] == ' ')
		if ends && (end == 0 || characters <= maxDescription) {
			end = i + 1
		}
	}
	if end == 0 && text != "" { // the text introduces an example
		return strings.TrimSuffix(text, ":") + "."
	}
	return text[:end]
}

// serveImage serves an image from a guide.
func (s *server) serveImage(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	content, err := colaregistry.Docs.ReadFile("docs/images/" + name)
	if err != nil {
		s.notFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
