package site

import (
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/httpapi"
)

// input is a field of a form for trying an operation or tool.
type input struct {
	httpapi.Field
	Choices     []string // options, if the value is one of a fixed list
	Value, Hint string
	JSONType    string // of a tool's argument; empty for strings
}

// maxShownInputs is the maximum number of parameters for which a form shows every input.
const maxShownInputs = 6

// inputs returns the inputs for the path and query parameters of an operation, or for the arguments
// of a tool, with the values of its example call. Shown has the inputs that are required or have a
// value, or all of them if there are few.
func inputs(op httpapi.Operation) (form struct{ Shown, More []input }) {
	example, err := url.Parse(op.ExamplePath)
	if err != nil {
		panic("site: example path: " + err.Error()) // built by package httpapi
	}
	values := example.Query()
	segments := strings.Split(example.EscapedPath(), "/")
	for i, name := range strings.Split(op.Path, "/") {
		if value, err := url.PathUnescape(segments[i]); err == nil && strings.HasPrefix(name, "{") {
			values.Set(strings.Trim(name, "{}"), value)
		}
	}
	for _, f := range op.Parameters {
		if f.Place == "header" {
			continue
		}
		in := input{Field: f, Value: strings.Join(values[f.Name], ",")}
		in.Hint, _, _ = strings.Cut(f.Type, ",")
		jsonType, _, isArray := strings.Cut(in.Hint, " of ")
		if f.Place == "" && jsonType != "string" && jsonType != "date" {
			in.JSONType = jsonType
		}
		if isArray {
			in.Hint = "one or more"
		}
		switch {
		case len(f.Allowed) > 0 && in.Hint == "one or more":
			in.Hint = strings.Join(f.Allowed, ", ")
		case len(f.Allowed) > 0:
			in.Choices, in.Hint = f.Allowed, "not set"
		case f.Type == "boolean":
			in.Choices, in.Hint = []string{"true", "false"}, "not set"
		case f.Default == "":
			in.Hint += ", e.g. " + f.Example
		}
		if f.Default != "" {
			in.Hint += ", default " + f.Default
		}
		if in.Value != "" || f.Required || len(op.Parameters) <= maxShownInputs {
			form.Shown = append(form.Shown, in)
		} else {
			form.More = append(form.More, in)
		}
	}
	return form
}
