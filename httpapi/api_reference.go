package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
)

// Reference describes the API for the reference pages. It is built from the OpenAPI document,
// except for the plans and the table of errors.
type Reference struct {
	Title, Version, Intro string
	Conventions           string // CommonMark
	BaseURL               string // includes the path /api/v1
	Plans                 []Plan
	Sections              []Section
	Errors                []ErrorDoc
	Headers               []Field  // response headers
	Objects               []Object // used by no section, such as those in errors
}

// Section is a group of operations.
type Section struct {
	Name, Description string
	Anchor            string // Name as part of a URL
	Operations        []Operation
	Objects           []Object // used by the operations, except objects in earlier sections; whole records first
}

// Operation describes one operation.
type Operation struct {
	ID, Method, Path, Summary string
	Description               string // CommonMark: paragraphs, code and bold
	Cost                      string
	ReadOnly                  bool   // changes no data; always a GET request
	Public                    bool   // reads records that are the same for all accounts
	ExamplePath               string // path and query of the example call
	Samples                   []Sample
	Placeholders              []Placeholder // values that the reader must replace in the samples
	Parameters                []Field
	Body                      []Field
	BodyDoc, BodyObject       string
	Responses                 []Response
	Errors                    []ErrorDoc

	call exampleCall
}

// Placeholder is a value in a sample that differs between accounts or registries.
type Placeholder struct{ Name, Value string }

// Sample is an example call in a programming language.
type Sample struct{ Language, Source string }

// Field is one parameter, header or field of an object.
type Field struct {
	Name, Place, Type, Link, Doc, Example, Default string
	Required, Nullable                             bool
	Allowed                                        []string
}

// Response describes a successful response.
type Response struct {
	Status, MediaType, Example string
	Fields                     []Field // fields of the JSON body
	Body                       string  // component name of the JSON body; empty for other media types
}

// ErrorDoc describes an error.
type ErrorDoc struct {
	ID                  string // name of the component
	Status, Description string
	Codes               []string
}

// Object describes a JSON object.
type Object struct {
	Name   string
	Fields []Field
}

// Plan is a row in the table of plans.
type Plan struct {
	Tier   cola.Tier
	Limits cola.Limits
	Price  string
}

func newReference(doc description, publicURL string) Reference {
	intro, conventions, _ := strings.Cut(doc.Info.Description, "\n\n")
	ref := Reference{
		Title: doc.Info.Title, Version: doc.Info.Version, Intro: intro, Conventions: conventions,
		BaseURL: cmp.Or(publicURL, defaultURL) + basePath,
	}
	for _, t := range cola.Tiers() {
		ref.Plans = append(ref.Plans, Plan{t, t.Limits(), t.Price()})
	}
	for _, tag := range doc.Tags {
		ref.Sections = append(ref.Sections, newSection(doc, tag))
	}
	for _, name := range sortedKeys(doc.Components.Headers) {
		h := doc.Components.Headers[name]
		f := NewField(name, h.Schema)
		f.Doc, f.Place = h.Description, ""
		f.Example = strings.ReplaceAll(plainText(h.Example), defaultURL+basePath, ref.BaseURL)
		ref.Headers = append(ref.Headers, f)
	}
	for _, kind := range errorKinds() {
		ref.Errors = append(ref.Errors, ErrorDoc{kind.name, strconv.Itoa(kind.status), kind.description, kind.codes()})
	}
	ref.addObjects(doc)
	return ref
}

// addObjects adds each object to the first section that uses it, or to the reference if no section
// does. Response bodies are described with their operations instead.
func (ref *Reference) addObjects(doc description) {
	seen := map[string]bool{}
	for i := range ref.Sections {
		section := &ref.Sections[i]
		var records, others []string
		for _, op := range section.Operations {
			for _, response := range op.Responses {
				seen[response.Body] = true
				for _, f := range response.Fields {
					if f.Name == "data" && f.Type == f.Link { // not a list
						records = append(records, f.Link)
					} else if f.Link != "" {
						others = append(others, f.Link)
					}
				}
			}
			others = append(others, op.BodyObject)
		}
		section.Objects = objectsFrom(doc, append(records, others...), seen)
	}
	ref.Objects = objectsFrom(doc, sortedKeys(doc.Components.Schemas.Map()), seen)
}

// objectsFrom returns the named objects, followed by the objects in their fields, except those in
// seen.
func objectsFrom(doc description, names []string, seen map[string]bool) (objects []Object) {
	for len(names) > 0 {
		var inner []string
		for _, name := range names {
			if name == "" || seen[name] {
				continue
			}
			seen[name] = true
			o := Object{name, fieldsOf(doc, schemaPrefix+name)}
			for _, f := range o.Fields {
				inner = append(inner, f.Link)
			}
			objects = append(objects, o)
		}
		names = inner
	}
	return objects
}

// newSection returns the section for a tag.
func newSection(doc description, tag *huma.Tag) Section {
	g := Section{Name: tag.Name, Anchor: anchor(tag.Name), Description: tag.Description}
	for _, op := range doc.operations {
		if slices.Contains(op.Tags, tag.Name) {
			g.Operations = append(g.Operations, newOperation(doc, op))
		}
	}
	return g
}

func newOperation(doc description, op documentedOperation) Operation {
	description, _, _ := strings.Cut(op.Description, "\n\n**Cost:**") // shown separately
	d := Operation{
		ID: op.OperationID, Method: op.method, Path: basePath + op.path, Summary: op.Summary, Description: description,
		Cost: op.Extensions["x-cost"].(string), ReadOnly: op.method == http.MethodGet,
		Public: op.method == http.MethodGet && isPublicTag(op.Tags[0]),
	}
	d.setCall(op.example.with(nil))
	for _, p := range op.Parameters {
		f := NewField(p.Name, p.Schema)
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
		name, isComponent := strings.CutPrefix(response.Ref, responsePrefix)
		if isComponent {
			response = doc.Components.Responses[name]
		}
		if status >= "300" {
			e := ErrorDoc{ID: name, Status: status, Description: response.Description}
			for _, kind := range errorKinds() {
				if kind.name == name {
					e.Codes = kind.codes()
				}
			}
			d.Errors = append(d.Errors, e)
			continue
		}
		if len(response.Content) == 0 {
			d.Responses = append(d.Responses, Response{Status: status})
		}
		for _, mediaType := range sortedKeys(response.Content) {
			d.Responses = append(d.Responses, newResponse(doc, status, mediaType, response.Content[mediaType]))
		}
	}
	return d
}

func newResponse(doc description, status, mediaType string, m *huma.MediaType) Response {
	a := Response{Status: status, MediaType: mediaType}
	if m.Schema.Ref != "" {
		a.Body, a.Fields = strings.TrimPrefix(m.Schema.Ref, schemaPrefix), fieldsOf(doc, m.Schema.Ref)
	}
	switch example := m.Example.(type) {
	case nil:
	case string:
		a.Example = example
	default:
		a.Example = indented(example)
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
		panic(fmt.Sprintf("httpapi: encode example: %v", err)) // examples are defined in this package
	}
	return b.String()
}

// fieldsOf lists the fields of a referenced object, in JSON order.
func fieldsOf(doc description, ref string) (fields []Field) {
	schema, order := doc.Components.Schemas.SchemaFromRef(ref), schemas.Order(doc.Components.Schemas.TypeFromRef(ref))
	names := sortedKeys(schema.Properties)
	slices.SortStableFunc(names, func(a, b string) int { return order[a] - order[b] })
	for _, name := range names {
		f := NewField(name, schema.Properties[name])
		f.Required = slices.Contains(schema.Required, name)
		fields = append(fields, f)
	}
	return fields
}

// bodyFields lists the fields of a request body; nested fields have dotted names.
func bodyFields(doc description, ref, prefix string) (fields []Field) {
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

// NewField describes a schema as a field.
func NewField(name string, schema *huma.Schema) Field {
	f := Field{
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

// plainText formats an example or default value as it is written in a request.
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

func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
