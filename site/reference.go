package site

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/yuin/goldmark"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/web"
)

// addReference adds the pages of the API reference: an overview, one for each section, and the
// objects.
func (s *server) addReference() {
	ref := &s.opts.Reference
	s.add(page{
		Title: "API reference", Path: referencePath, Body: "reference", Data: ref,
		Description: "Base URL, authentication, limits and errors for the label approval registry’s REST API.",
		Headings: []heading{
			{"request", "Requests", 2}, {"plans", "Plans and limits", 2}, {"errors", "Errors", 2},
			{"headers", "Response headers", 2},
		},
	})
	for i := range ref.Sections {
		section := &ref.Sections[i]
		p := page{
			Title: section.Name, Path: referencePath + "/" + section.Anchor, Body: "section", Data: section,
			Description: section.Description, Wide: true,
		}
		for j := range section.Operations {
			op := &section.Operations[j]
			p.Headings = append(p.Headings, heading{op.ID, op.Summary, 2})
			s.search.add(entry{
				Area: areaReference, Page: section.Name, Title: op.Summary, Path: p.Path + "#" + op.ID, text: operationText(op),
			})
		}
		s.add(p)
	}
	s.indexParameters()
	s.indexOverview()
	objects := page{
		Title: "Objects", Path: referencePath + "/objects", Body: "objects", Data: ref.Objects,
		Description: "The JSON objects in requests and responses.",
	}
	for _, o := range ref.Objects {
		objects.Headings = append(objects.Headings, heading{o.Name, o.Name, 2})
		s.search.add(entry{
			Area: areaReference, Page: "Objects", Title: o.Name, Path: objects.Path + "#" + o.Name, text: fieldsText(o.Fields),
		})
	}
	s.add(objects)
}

// operationText returns the text of an operation that the search finds.
func operationText(op *httpapi.Operation) string {
	description := strings.NewReplacer("`", "", "**", "").Replace(op.Description)
	return op.Method + " " + op.Path + "\n" + description + "\n" + fieldsText(op.Parameters) + fieldsText(op.Body)
}

// indexParameters adds each parameter to the search. Operations with the same parameter share an entry.
func (s *server) indexParameters() {
	type parameter struct{ name, doc string }
	at := map[parameter]int{} // in params
	var params []entry
	for i := range s.opts.Reference.Sections {
		section := &s.opts.Reference.Sections[i]
		for j := range section.Operations {
			op := &section.Operations[j]
			for _, f := range op.Parameters {
				n, ok := at[parameter{f.Name, f.Doc}]
				if ok {
					params[n].Page += ", " + op.Summary
					continue
				}
				at[parameter{f.Name, f.Doc}] = len(params)
				params = append(params, entry{
					Area: areaReference, Page: op.Summary, Title: f.Name, text: f.Doc + " " + strings.Join(f.Allowed, ", "),
					Path: referencePath + "/" + section.Anchor + "#" + op.ID + "." + f.Name,
				})
			}
		}
	}
	for _, e := range params {
		if operations := strings.Split(e.Page, ", "); len(operations) > 2 {
			e.Page = fmt.Sprintf("%s and %d more", operations[0], len(operations)-1)
		}
		s.search.add(e)
	}
}

// indexOverview adds the overview of the reference to the search: requests, plans, errors and headers.
func (s *server) indexOverview() {
	ref := &s.opts.Reference
	add := func(title, id, text string) {
		s.search.add(entry{Area: areaReference, Page: "Overview", Title: title, Path: referencePath + "#" + id, text: text})
	}
	add("Requests", "request", "The base URL is "+ref.BaseURL+". Send your API key in the header X-API-Key.")
	plans := "Price, monthly quotas of detail views and list records, and rate limit (burst) of each plan: "
	for _, p := range ref.Plans {
		plans += string(p.Tier) + " (" + p.Price + "), "
	}
	add("Plans and limits", "plans", strings.TrimSuffix(plans, ", "))
	for i, e := range ref.Errors {
		same := func(other httpapi.ErrorDoc) bool { return other.Status == e.Status && other.Code == e.Code }
		if slices.IndexFunc(ref.Errors, same) < i {
			continue // found with the first one
		}
		text := ""
		for _, other := range ref.Errors[i:] {
			if same(other) {
				text += other.Description + "\n"
			}
		}
		add(e.Status+" "+e.Code, "error-"+e.ID, text)
	}
	for _, h := range ref.Headers {
		add(h.Name, "header-"+h.Name, h.Doc)
	}
}

func fieldsText(fields []httpapi.Field) (text string) {
	for _, f := range fields {
		text += f.Name + ": " + f.Doc + "\n"
	}
	return text
}

// templateFuncs are the functions of the templates.
func (s *server) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"asset":     s.assets.url,
		"base":      func() string { return s.opts.PublicURL },
		"count":     web.Thousands,
		"code":      highlight,
		"text":      commonMark,
		"format":    format,
		"grouped":   grouped,
		"leaf":      leaf,
		"price":     price,
		"suggested": func() []string { return suggestedSearches },
		"tryable":   tryable,

		"date":     dateText,
		"demo":     func() bool { return s.opts.Demo },
		"name":     func() string { return s.opts.SiteName },
		"operator": func() web.Operator { return s.opts.Operator },
		"signup":   func() bool { return s.opts.SignUp },
	}
}

// fieldGroup is a part of the parameters of an operation, or all of them if it has no title.
type fieldGroup struct {
	Title  string
	Anchor string // prefix of the IDs of fields; empty if they have none
	Fields []httpapi.Field
	Open   bool // whether the page shows it unfolded
}

// maxUngrouped is the number of parameters up to which a page shows all of them in one list.
const maxUngrouped = 12

// grouped groups long lists of parameters by the sections of filters, in order of appearance. Fields
// before the first filter come first, and those after it last. The page folds all groups but the first.
func grouped(anchor string, fields []httpapi.Field) []fieldGroup {
	groups := []fieldGroup{{Anchor: anchor}}
	if len(fields) <= maxUngrouped {
		groups[0].Fields = fields
		return groups
	}
	sections := filterSections()
	others := fieldGroup{Title: "Results", Anchor: anchor}
	for _, f := range fields {
		title := sections[f.Name]
		i := slices.IndexFunc(groups, func(g fieldGroup) bool { return g.Title == title })
		switch {
		case title == "" && len(groups) > 1:
			others.Fields = append(others.Fields, f)
		case i < 0:
			groups = append(groups, fieldGroup{Title: title, Anchor: anchor, Fields: []httpapi.Field{f}})
		default:
			groups[i].Fields = append(groups[i].Fields, f)
		}
	}
	if len(groups[0].Fields) == 0 {
		groups = groups[1:]
		groups[0].Open = true
	}
	switch {
	case len(others.Fields) == 0:
		return groups
	case others.Fields[0].Name == "schedule":
		others.Title = "Schedule"
	}
	return append(groups, others)
}

// filterSections returns the section of each filter, by its name in parameters and bodies.
func filterSections() map[string]string {
	sections := map[string]string{}
	for _, f := range cola.Filters() {
		if f.Param != "" {
			sections[f.Param] = f.Section
		}
		for _, saved := range f.Saved {
			sections["filters."+saved] = f.Section
		}
	}
	return sections
}

// leaf returns the last part of a dotted name.
func leaf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// format returns the short name of a media type.
func format(mediaType string) string {
	switch mediaType {
	case "":
		return "No body"
	case "application/json":
		return "JSON"
	case "application/x-ndjson":
		return "NDJSON"
	case "text/csv":
		return "CSV"
	}
	return mediaType
}

// tryable returns the path and query of an operation's example call if a page may send it: it reads
// only, and works as it is.
func tryable(op httpapi.Operation) string {
	if op.Method != http.MethodGet || op.Placeholder != "" {
		return ""
	}
	return op.ExamplePath
}

// price shortens an operation's cost for a button.
func price(cost string) string {
	short := cost[:strings.IndexAny(cost+".", ".;")]
	return strings.ToLower(short[:1]) + short[1:]
}

// commonMark converts the CommonMark of descriptions to HTML.
func commonMark(s string) template.HTML {
	var b bytes.Buffer
	if err := goldmark.Convert([]byte(s), &b); err != nil {
		panic("site: render description: " + err.Error()) // writes to memory don't fail
	}
	return template.HTML(b.String()) // raw HTML is dropped
}
