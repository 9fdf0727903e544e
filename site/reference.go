package site

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/yuin/goldmark"

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
			s.index(entry{
				Page: section.Name, Title: op.Summary, Path: p.Path + "#" + op.ID, text: operationText(op),
			})
		}
		s.add(p)
	}
	objects := page{
		Title: "Objects", Path: referencePath + "/objects", Body: "objects", Data: ref.Objects,
		Description: "The JSON objects in requests and responses.",
	}
	for _, o := range ref.Objects {
		objects.Headings = append(objects.Headings, heading{o.Name, o.Name, 2})
		s.index(entry{
			Page: "Objects", Title: o.Name, Path: objects.Path + "#" + o.Name, text: fieldsText(o.Fields),
		})
	}
	s.add(objects)
}

// operationText returns the text of an operation that the search finds.
func operationText(op *httpapi.Operation) string {
	description := strings.NewReplacer("`", "", "**", "").Replace(op.Description)
	return op.Method + " " + op.Path + " " + description + " " + fieldsText(op.Parameters) + fieldsText(op.Body)
}

func fieldsText(fields []httpapi.Field) (text string) {
	for _, f := range fields {
		text += f.Name + " " + f.Doc + " "
	}
	return text
}

// templateFuncs are the functions of the templates.
func (s *server) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"asset":   s.assets.url,
		"base":    func() string { return s.opts.PublicURL },
		"count":   web.Thousands,
		"code":    highlight,
		"text":    commonMark,
		"price":   price,
		"tryable": tryable,

		"privacyurl": func() string { return s.opts.PrivacyURL },
		"termsurl":   func() string { return s.opts.TermsURL },
		"contact":    func() string { return s.opts.Contact },
		"contacturl": contactURL,
		"date":       dateText,
		"name":       func() string { return s.opts.SiteName },
	}
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
