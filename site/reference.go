package site

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/web"
)

// addReference adds the pages of the API reference: an overview, a page for each section, and the
// objects.
func (s *server) addReference() {
	ref := &s.opts.Reference
	s.add(page{
		Title: "API reference", Path: referencePath, Body: "reference", Data: ref,
		Description: "Base URL, authentication, limits and errors for the label approval registry’s REST API.",
		Headings: []heading{
			{"request", "Requests", 2}, {"plans", "Plans and limits", 2}, {"conventions", "Conventions", 2},
			{"errors", "Errors", 2}, {"headers", "Response headers", 2},
		},
	})
	s.addObjects()
	s.addSections(referencePath, ref.Sections)
	s.indexOperations(areaReference, referencePath, ref.Sections)
	s.indexParameters()
	s.indexOverview()
}

const (
	objectsPath  = referencePath + "/objects"
	objectsTitle = "API objects"
)

// addObjects adds a page for the objects of each section, and a list of all objects.
func (s *server) addObjects() {
	groups := slices.Clone(s.opts.Reference.Sections)
	groups = append(groups, httpapi.Section{Name: "Errors", Anchor: "errors", Objects: s.opts.Reference.Objects})
	groups = slices.DeleteFunc(groups, func(g httpapi.Section) bool { return len(g.Objects) == 0 })
	s.objects = map[string]string{}
	for _, g := range groups {
		for _, o := range g.Objects {
			s.objects[o.Name] = objectsPath + "/" + g.Anchor + "#" + o.Name
		}
	}
	for i := range groups {
		p := page{
			Title: objectsTitle + ": " + groups[i].Name, Path: objectsPath + "/" + groups[i].Anchor,
			Body: "section_objects", Data: &groups[i],
			Description: "The JSON objects in the requests and responses of this section.",
		}
		for _, o := range groups[i].Objects {
			p.Headings = append(p.Headings, heading{o.Name, o.Name, 2})
			s.search.add(entry{
				Area: areaReference, Page: objectsTitle, Title: o.Name, Path: s.objects[o.Name], text: fieldsText(o.Fields),
				fields: fieldNames(o.Fields),
			})
		}
		s.add(p)
	}
	s.add(page{
		Title: objectsTitle, Path: objectsPath, Body: "objects", Description: "The JSON objects in requests and responses.",
		Data: objectsOverview{groups, responseBodies(s.opts.Reference.Sections)},
	})
}

// objectsOverview is the data for the list of all objects.
type objectsOverview struct {
	Sections []httpapi.Section
	Bodies   []menuLink // response bodies
}

// responseBodies returns each response body with a link to the first operation that returns it.
// Former links to the body as an object lead there.
func responseBodies(sections []httpapi.Section) (links []menuLink) {
	seen := map[string]bool{"": true}
	for _, section := range sections {
		for _, op := range section.Operations {
			for _, r := range op.Responses {
				if !seen[r.Body] {
					seen[r.Body] = true
					links = append(links, menuLink{r.Body, referencePath + "/" + section.Anchor + "#" + op.ID + ".response"})
				}
			}
		}
	}
	return links
}

// addSections adds a page for each section of operations or tools.
func (s *server) addSections(path string, sections []httpapi.Section) {
	for i := range sections {
		section := &sections[i]
		p := page{
			Title: section.Name, Path: path + "/" + section.Anchor, Body: "section", Data: section,
			Description: section.Description, Wide: true,
		}
		if path == referencePath {
			p.Title += " API"
		}
		for _, op := range section.Operations {
			p.Headings = append(p.Headings, heading{op.ID, op.Summary, 2})
		}
		s.add(p)
	}
}

// refreshExamples renders the pages with example calls again if the samples have changed. The calls
// then use the samples' record and show this registry's responses. If another request is already
// doing so, refreshExamples returns immediately. It reports whether the pages have such examples,
// from these samples or earlier ones; otherwise, they show placeholders.
func (s *server) refreshExamples(ctx context.Context) bool {
	samples := s.currentSamples(ctx)
	if samples == nil || samples.Record.TTBID == 0 || !s.refresh.TryLock() {
		return s.filled.Load()
	}
	defer s.refresh.Unlock()
	if s.examples == samples {
		return true
	}
	records := map[string]string{"ttb_id": samples.Record.TTBID.String()}
	for name, value := range map[string]string{
		"permit_number": samples.Record.PermitNumber, "barcode_value": string(samples.Record.BarcodeValue),
	} {
		if value != "" {
			records[name] = value
		}
	}
	ctx = context.WithoutCancel(ctx) // other readers get these pages too
	s.addSections(referencePath, s.withAnswers(ctx, s.opts.Reference.WithRecords(records).Sections))
	s.addSections(toolsPath, s.toolSections(ctx, records))
	s.examples = samples
	s.filled.Store(true)
	return true
}

// withAnswers replaces the responses to the example calls of public operations with this registry's.
// Without a response, or if it has no records, the operation keeps the documented call and
// response.
func (s *server) withAnswers(ctx context.Context, sections []httpapi.Section) []httpapi.Section {
	if s.opts.Answers == nil {
		return sections
	}
	for i := range sections {
		for j := range sections[i].Operations {
			op := &sections[i].Operations[j]
			if !op.Public || len(op.Placeholders) > 0 {
				continue
			}
			answers, err := s.opts.Answers(ctx, op)
			if err != nil || isEmptyAnswer(answers[0].Example) {
				s.logUnanswered(op.ID, err)
				*op = s.opts.Reference.Sections[i].Operations[j]
				continue
			}
			op.Responses = answers
		}
	}
	return sections
}

func (s *server) logUnanswered(call string, err error) {
	if err != nil && cola.CodeOf(err) != cola.CodeNotFound {
		s.opts.Logger.Warn("could not run an example call; showing the documented one", "call", call, "error", err)
	}
}

// isEmptyAnswer reports whether the JSON of a response has no records.
func isEmptyAnswer(answer string) bool {
	var body struct{ Data json.RawMessage }
	return json.Unmarshal([]byte(answer), &body) == nil && string(body.Data) == "[]"
}

// commonErrors returns the errors that most operations share and the error for unsupported methods,
// sorted by status. The overview describes them; other errors are described with their operations.
func commonErrors(ref *httpapi.Reference) []httpapi.ErrorDoc {
	operations, uses := 0, map[string]int{}
	for _, section := range ref.Sections {
		operations += len(section.Operations)
		for i := range section.Operations {
			for _, e := range section.Operations[i].Errors {
				uses[e.ID]++
			}
		}
	}
	common := slices.DeleteFunc(slices.Clone(ref.Errors), func(e httpapi.ErrorDoc) bool { return uses[e.ID] <= operations/2 })
	common = append(common, httpapi.ErrorDoc{
		ID: "MethodNotAllowed", Status: "405", Codes: []string{string(cola.CodeMethodNotAllowed)},
		Description: "The path doesn’t support this method. The Allow header lists the supported ones. Unknown paths return 404.",
	})
	slices.SortStableFunc(common, func(a, b httpapi.ErrorDoc) int { return strings.Compare(a.Status, b.Status) })
	return common
}

// isCommon reports whether the overview describes an error.
func (s *server) isCommon(id string) bool {
	return slices.ContainsFunc(s.commonErrors, func(e httpapi.ErrorDoc) bool { return e.ID == id })
}

// templateFuncs returns the functions that the templates use.
func (s *server) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"asset":     s.assets.URL,
		"base":      func() string { return s.opts.PublicURL },
		"count":     web.Thousands,
		"code":      highlight,
		"inline":    inlineCode,
		"text":      commonMark,
		"current":   current,
		"common":    s.isCommon,
		"errors":    func() []httpapi.ErrorDoc { return s.commonErrors },
		"format":    format,
		"inputs":    inputs,
		"join":      func(list []string) string { return strings.Join(list, ", ") },
		"hyphens":   func(s string) string { return strings.ReplaceAll(s, "_", "-") },
		"grouped":   grouped,
		"leaf":      leaf,
		"object":    func(name string) string { return s.objects[name] },
		"price":     price,
		"contains":  func(menu, path string) bool { return menu == objectsPath && strings.HasPrefix(path, menu+"/") },
		"suggested": suggestedSearches,

		"privacyurl": func() string { return s.opts.PrivacyURL },
		"termsurl":   func() string { return s.opts.TermsURL },
		"date":       dateText,
		"endpoint":   func(tool string) string { return s.tools[tool].Path },
		"demo":       func() bool { return s.opts.Demo },
		"name":       func() string { return s.opts.SiteName },
		"operator":   func() web.Operator { return s.opts.Operator },
		"requestlog": func() bool { return s.opts.RequestLogDays > 0 },
		"signup":     func() bool { return s.opts.SignUp },
		"appsignin":  func() bool { return s.opts.SignInForApps },
		"closed":     func() bool { return s.opts.Closed },
	}
}

// current returns the value of aria-current for a link in the header: "page" on its page, "true" on
// pages below it, and otherwise "".
func current(link, path string) string {
	switch {
	case path == link:
		return "page"
	case link == docsPath && (path == referencePath || strings.HasPrefix(path, referencePath+"/")):
		return "" // the API link is closer
	case strings.HasPrefix(path, link+"/"):
		return "true"
	}
	return ""
}

// fieldGroup is a group of an operation's parameters. The group before the first filter, and the
// only group of a short list, have no title.
type fieldGroup struct {
	Title  string
	Anchor string // prefix of the IDs of fields; empty if they have none
	Fields []httpapi.Field
	Open   bool // whether the page shows it expanded
}

// maxUngrouped is the maximum number of parameters that a page shows in one list.
const maxUngrouped = 12

// grouped groups long lists of parameters by the sections of filters, in order of appearance.
// Fields that aren't filters come first if they precede the first filter, and last otherwise. The
// page collapses all groups but the first.
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
	for f := range cola.Filters() {
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

// price shortens an operation's cost for a button.
func price(cost string) string {
	short := cost[:strings.IndexAny(cost+".", ".;")]
	return strings.ToLower(short[:1]) + short[1:]
}

// commonMark converts the CommonMark of descriptions to HTML.
func commonMark(s string) template.HTML {
	var b bytes.Buffer
	if err := descriptions.Convert([]byte(s), &b); err != nil {
		panic("site: render description: " + err.Error()) // writes to memory don't fail
	}
	return template.HTML(b.String())
}
