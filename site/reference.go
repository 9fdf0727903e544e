package site

import (
	"bytes"
	"html/template"
	"strconv"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark"

	"github.com/colaregistry/colaregistry/httpapi"
)

// addReference adds the pages of the API reference: an overview, one for each section, and the
// objects.
func (s *server) addReference() {
	ref := &s.opts.Reference
	s.add(page{
		Title: "API reference", Path: referencePath, Body: "reference", Data: ref,
		Description: "Base URL, authentication, limits and errors of the label approval registry’s REST API.",
		Headings: []heading{
			{"request", "Requests", 2}, {"plans", "Plans and limits", 2}, {"errors", "Errors", 2}, {"headers", "Response headers", 2},
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
			s.entries = append(s.entries, entry{
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
		s.entries = append(s.entries, entry{
			Page: "Objects", Title: o.Name, Path: objects.Path + "#" + o.Name, text: fieldsText(o.Fields),
		})
	}
	s.add(objects)
}

// operationText returns the text of an operation that the search finds.
func operationText(op *httpapi.Operation) string {
	return op.Method + " " + op.Path + " " + op.Description + " " + fieldsText(op.Parameters) + fieldsText(op.Body)
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
		"asset": s.assets.url,
		"base":  func() string { return s.opts.PublicURL },
		"count": count,
		"code":  highlight,
		"text":  commonMark,

		"contact":    func() string { return s.opts.Contact },
		"contacturl": contactURL,
		"date":       dateText,
		"name":       func() string { return s.opts.SiteName },
	}
}

// commonMark converts the CommonMark of descriptions to HTML.
func commonMark(s string) template.HTML {
	var b bytes.Buffer
	if err := goldmark.Convert([]byte(s), &b); err != nil {
		panic("site: render description: " + err.Error()) // writes to memory don't fail
	}
	return template.HTML(b.String()) // raw HTML is dropped
}

var formatter = html.New(html.WithClasses(true), html.ClassPrefix("c-"), html.PreventSurroundingPre(true))

// highlight returns source code with elements for the colors of a language.
func highlight(language, source string) template.HTML {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, source)
	if err != nil {
		return template.HTML(template.HTMLEscapeString(source))
	}
	var b bytes.Buffer
	if err := formatter.Format(&b, styles.Fallback, tokens); err != nil {
		panic("site: highlight: " + err.Error()) // writes to memory don't fail
	}
	return template.HTML(b.String()) // escaped by the formatter
}

// count formats a number with thousands separators.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
