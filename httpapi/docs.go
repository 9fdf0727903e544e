package httpapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
)

//go:embed docs.html
var docsSource string

// reference is the data of the page at /docs. It comes from the OpenAPI document, except for the
// plans.
type reference struct {
	Title, Version, Intro, BaseURL string
	Plans                          []plan
	Groups                         []group
	Errors                         []errorDoc
	Headers                        []fieldDoc
	Objects                        []object
}

type group struct {
	Name, Anchor, Description string
	Operations                []operationDoc
}

type operationDoc struct {
	ID, Method, Path, Summary, Description, Cost, Curl, Placeholder string
	Parameters                                                      []fieldDoc
	Body                                                            []fieldDoc
	BodyDoc, BodyObject                                             string
	Answers                                                         []answerDoc
	Errors                                                          []errorDoc
}

// fieldDoc is one parameter, header or field of an object.
type fieldDoc struct {
	Name, Place, Type, Link, Doc, Example, Default string
	Required, Nullable                             bool
	Allowed                                        []string
}

type answerDoc struct{ Status, MediaType, Object, Example string }

type errorDoc struct{ Status, Code, Description string }

type object struct {
	Name   string
	Fields []fieldDoc
}

// plan is a row in the table of plans.
type plan struct {
	Tier   cola.Tier
	Limits cola.Limits
	Price  string
}

// mustRenderDocs renders the reference page. It panics on errors, because this package makes its
// input.
func mustRenderDocs(doc description, publicURL string) []byte {
	page := template.Must(template.New("docs").Funcs(template.FuncMap{"text": markup, "count": count}).Parse(
		docsSource))
	var b bytes.Buffer
	if err := page.Execute(&b, newReference(doc, publicURL)); err != nil {
		panic(fmt.Sprintf("httpapi: render reference: %v", err))
	}
	return b.Bytes()
}

func newReference(doc description, publicURL string) reference {
	ref := reference{
		Title: doc.Info.Title, Version: doc.Info.Version, Intro: doc.Info.Description,
		BaseURL: cmp.Or(publicURL, defaultURL) + basePath,
	}
	for _, t := range cola.Tiers() {
		ref.Plans = append(ref.Plans, plan{t, t.Limits(), t.Price()})
	}
	for _, tag := range doc.Tags {
		ref.Groups = append(ref.Groups, newGroup(doc, tag))
	}
	for _, name := range sortedKeys(doc.Components.Headers) {
		h := doc.Components.Headers[name]
		f := newField(name, h.Schema)
		f.Doc, f.Example, f.Place = h.Description, plainText(h.Example), ""
		ref.Headers = append(ref.Headers, f)
	}
	for _, kind := range errorKinds() {
		ref.Errors = append(ref.Errors, errorDoc{strconv.Itoa(kind.status), kind.codes(), kind.description})
	}
	for _, name := range sortedKeys(doc.Components.Schemas.Map()) {
		ref.Objects = append(ref.Objects, object{name, fieldsOf(doc, schemaPrefix+name)})
	}
	return ref
}

// newGroup gathers the operations of a tag.
func newGroup(doc description, tag *huma.Tag) group {
	g := group{Name: tag.Name, Anchor: anchor(tag.Name), Description: tag.Description}
	for _, op := range doc.operations {
		if slices.Contains(op.Tags, tag.Name) {
			g.Operations = append(g.Operations, newOperationDoc(doc, op))
		}
	}
	return g
}

func newOperationDoc(doc description, op documentedOperation) operationDoc {
	description, _, _ := strings.Cut(op.Description, "\n\n**Cost:**") // shown separately
	d := operationDoc{
		ID: op.OperationID, Method: op.method, Path: basePath + op.path, Summary: op.Summary, Description: description,
		Cost: op.Extensions["x-cost"].(string),
	}
	call := op.Extensions["x-codeSamples"].([]map[string]string)[0]
	d.Curl = call["source"]
	if name, ok := strings.CutPrefix(call["label"], placeholderLabel); ok {
		d.Placeholder = name
	}
	for _, p := range op.Parameters {
		f := newField(p.Name, p.Schema)
		f.Place, f.Required, f.Doc, f.Example = p.In, p.Required, p.Description, plainText(p.Example)
		if p.Schema.Type == huma.TypeArray {
			f.Type = "one or more, comma-separated"
		}
		d.Parameters = append(d.Parameters, f)
	}
	if body := op.RequestBody; body != nil {
		d.BodyDoc = body.Description
		if content := body.Content[mediaJSON]; content != nil {
			ref := content.Schema.Ref
			d.BodyObject, d.Body = strings.TrimPrefix(ref, schemaPrefix), bodyFields(doc, ref, "")
		}
	}
	for _, status := range sortedKeys(op.Responses) {
		response := op.Responses[status]
		if name, ok := strings.CutPrefix(response.Ref, responsePrefix); ok {
			response = doc.Components.Responses[name]
		}
		if status >= "300" {
			d.Errors = append(d.Errors, errorDoc{Status: status, Description: response.Description})
			continue
		}
		if len(response.Content) == 0 {
			d.Answers = append(d.Answers, answerDoc{Status: status})
		}
		for _, mediaType := range sortedKeys(response.Content) {
			d.Answers = append(d.Answers, newAnswer(status, mediaType, response.Content[mediaType]))
		}
	}
	return d
}

func newAnswer(status, mediaType string, m *huma.MediaType) answerDoc {
	a := answerDoc{Status: status, MediaType: mediaType, Object: strings.TrimPrefix(m.Schema.Ref, schemaPrefix)}
	if m.Example != nil {
		a.Example = indented(m.Example)
	}
	return a
}

// indented formats a value as indented JSON, without HTML escapes: html/template adds those.
func indented(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("httpapi: encode example: %v", err)) // examples are made by this package
	}
	return b.String()
}

// fieldsOf lists the fields of a referenced object, in the order of the JSON.
func fieldsOf(doc description, ref string) (fields []fieldDoc) {
	schema, order := doc.Components.Schemas.SchemaFromRef(ref), schemas.Order(doc.Components.Schemas.TypeFromRef(ref))
	names := sortedKeys(schema.Properties)
	slices.SortStableFunc(names, func(a, b string) int { return order[a] - order[b] })
	for _, name := range names {
		f := newField(name, schema.Properties[name])
		f.Required = slices.Contains(schema.Required, name)
		fields = append(fields, f)
	}
	return fields
}

// bodyFields lists the fields of a request body; nested fields have dotted names.
func bodyFields(doc description, ref, prefix string) (fields []fieldDoc) {
	for _, f := range fieldsOf(doc, ref) {
		link := f.Link
		f.Name = prefix + f.Name
		if link != "" {
			f.Type = "object"
		}
		fields = append(fields, f)
		if link != "" {
			fields = append(fields, bodyFields(doc, schemaPrefix+link, f.Name+".")...)
		}
	}
	return fields
}

// newField describes a schema as a field.
func newField(name string, schema *huma.Schema) fieldDoc {
	f := fieldDoc{
		Name:     name,
		Doc:      schema.Description,
		Nullable: schema.Nullable || len(schema.AnyOf) > 0,
		Default:  plainText(schema.Default),
	}
	f.Type, f.Link = typeOf(schema)
	if len(schema.Examples) > 0 {
		f.Example = plainText(schema.Examples[0])
	}
	values := schema
	if schema.Items != nil {
		values = schema.Items
	}
	for _, v := range values.Enum {
		if v != nil {
			f.Allowed = append(f.Allowed, plainText(v))
		}
	}
	return f
}

// typeOf names the type of a schema with its bounds; link is the object it refers to, if any.
func typeOf(schema *huma.Schema) (words, link string) {
	switch {
	case len(schema.AnyOf) > 0: // an object or null
		return typeOf(schema.AnyOf[0])
	case schema.Ref != "":
		name := strings.TrimPrefix(schema.Ref, schemaPrefix)
		return name, name
	case schema.Type == huma.TypeArray:
		words, link = typeOf(schema.Items)
		words = "array of " + words
		if schema.MaxItems != nil {
			words += ", at most " + strconv.Itoa(*schema.MaxItems)
		}
		return words, link
	case schema.Format == "date":
		return "date", ""
	}
	return schema.Type + bounds(schema), ""
}

func bounds(s *huma.Schema) string {
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return ", " + number(s.Minimum) + " to " + number(s.Maximum)
	case s.Minimum != nil:
		return ", at least " + number(s.Minimum)
	case s.Maximum != nil:
		return ", at most " + number(s.Maximum)
	case s.MaxLength != nil:
		return ", up to " + strconv.Itoa(*s.MaxLength) + " characters"
	}
	return ""
}

// plainText formats an example or default as in a request.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []string:
		return strings.Join(v, ",")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	boldSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// markup converts the CommonMark of descriptions (paragraphs, code, bold) to HTML.
func markup(s string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(s, "\n\n") {
		p := template.HTMLEscapeString(paragraph)
		p = codeSpan.ReplaceAllString(p, "<code>$1</code>")
		p = boldSpan.ReplaceAllString(p, "<strong>$1</strong>")
		b.WriteString("<p>" + p + "</p>")
	}
	return template.HTML(b.String()) // escaped above
}

// count formats a number with thousands separators.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
