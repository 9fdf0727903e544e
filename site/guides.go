package site

import (
	"bytes"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/colaregistry/colaregistry"
	"github.com/colaregistry/colaregistry/mcp"
)

// guide is a Markdown file that is served as a page.
type guide struct {
	file  string // in the root package's Docs
	path  string
	title string // in the menu
}

func newGuide(file, title string) guide {
	name := strings.TrimSuffix(path.Base(file), ".md")
	return guide{file, docsPath + "/" + strings.ToLower(name), title}
}

// guides are the pages about using the service; operatorGuides are those about running it. The other
// files in docs/ are for contributors, and are not served.
var (
	guides = []guide{
		newGuide("docs/QUICKSTART.md", "Quickstart"),
		newGuide("docs/AUTHENTICATION.md", "Authentication"),
		newGuide("docs/API.md", "API guide"),
		newGuide("docs/PAGINATION.md", "Pagination"),
		newGuide("docs/QUOTAS.md", "Quotas and rate limits"),
		newGuide("docs/ERRORS.md", "Errors"),
		newGuide("docs/SEARCH.md", "How matching works"),
		newGuide("docs/CATEGORIES.md", "Categories"),
		newGuide("docs/ALERTS.md", "Alerts and webhooks"),
		newGuide("docs/DASHBOARD.md", "Dashboard"),
		newGuide("docs/ASSISTANTS.md", "Assistants"),
		newGuide("docs/COVERAGE.md", "Data and coverage"),
	}
	operatorGuides = []guide{
		newGuide("docs/CONFIGURATION.md", "Configuration"),
		newGuide("docs/DATA.md", "Fetching data"),
		newGuide("docs/IMPORT.md", "Import"),
		newGuide("docs/OPERATIONS.md", "Operations"),
		newGuide("docs/METERING.md", "Metering"),
		newGuide("docs/OAUTH.md", "Sign-in and OAuth"),
		newGuide("docs/SECURITY.md", "Security"),
	}
)

// guidePath returns the path of the page for a Markdown file; ok is false if it isn't served.
func guidePath(file string) (path string, ok bool) {
	if file == toolsFile {
		return toolsPath, true
	}
	for _, all := range [][]guide{guides, operatorGuides} {
		for _, g := range all {
			if g.file == file {
				return g.path, true
			}
		}
	}
	return "", false
}

// menuGroup is a group of links in the menu of the documentation.
type menuGroup struct {
	Title string
	Links []menuLink
}

type menuLink struct{ Title, Path string }

func (s *server) newMenu() []menuGroup {
	learn := menuGroup{Title: "Guides"}
	for _, g := range guides {
		learn.Links = append(learn.Links, menuLink{Title: g.title, Path: g.path})
	}
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
	operate := menuGroup{Title: "Self-hosting"}
	for _, g := range operatorGuides {
		operate.Links = append(operate.Links, menuLink{Title: g.title, Path: g.path})
	}
	return []menuGroup{learn, reference, tools, operate}
}

// addGuides adds a page for each guide, and the start page of the documentation.
func (s *server) addGuides() {
	s.add(page{
		Title: "Documentation", Path: docsPath, Body: "docs", Data: s.opts.Reference.Sections, Wide: true,
		Description: "Guides and API reference for the label approval registry.",
	})
	for i, all := range [][]guide{guides, operatorGuides} {
		for _, g := range all {
			area := []string{areaGuides, areaOperators}[i]
			source, err := colaregistry.Docs.ReadFile(g.file)
			if err != nil {
				panic(err) // unreachable: the file is embedded
			}
			m := s.renderMarkdown(g.file, source)
			s.add(page{
				Title: m.title, Path: g.path, Description: m.summary, Headings: m.headings, Body: "guide",
				Data: template.HTML(m.html),
			})
			for _, section := range m.sections {
				target := g.path
				if section.id != "" {
					target += "#" + section.id
				}
				s.search.add(entry{Area: area, Page: g.title, Title: section.title, Path: target, text: section.text})
			}
		}
	}
}

// serveImage serves an image of a guide.
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
