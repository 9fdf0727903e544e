package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/schemas"
)

// argument is one argument of a tool, or a member of an object argument.
type argument struct {
	name     string
	schema   *huma.Schema // as in REST; for an object, only a description
	members  []argument   // the members of an object argument
	required bool

	describedElsewhere bool // the description names the tool that lists the members or values
	undescribed        bool // the list of tools omits the description
}

// inputArguments derives the arguments of a tool from the fields of their struct.
func inputArguments[P any](t *tool) []argument {
	input := argumentsOf(schemas.New(huma.DefaultSchemaNamer), reflect.TypeFor[P]())
	undescribed := append(slices.Clip(t.undescribed), "response_format") // the instructions describe it
	describe := func(a *argument) {
		if doc, ok := t.docs[a.name]; ok {
			a.schema.Description = doc
		}
		a.undescribed = slices.Contains(undescribed, a.name)
	}
	for i := range input {
		a := &input[i]
		a.required = slices.Contains(t.required, a.name)
		if d, ok := t.defaults[a.name]; ok {
			a.schema.Default = d
		}
		a.describedElsewhere = slices.Contains(t.describedElsewhere, a.name)
		describe(a)
		for j := range a.members {
			describe(&a.members[j])
		}
	}
	return input
}

// argumentsOf describes the fields of a struct. Objects are described inline: clients often ignore
// $ref.
func argumentsOf(set *schemas.Set, t reflect.Type) (all []argument) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		a := argument{name: name, required: options == ""}
		if f.Type.Kind() == reflect.Pointer {
			a.schema = &huma.Schema{Type: huma.TypeObject, Description: f.Tag.Get("doc")}
			a.members = argumentsOf(set, f.Type.Elem())
		} else {
			a.schema = set.Field(f)
			a.schema.Nullable = false
		}
		a.schema.Description = shortened.Replace(a.schema.Description)
		all = append(all, a)
	}
	return all
}

// shortened removes sentences about examples, which tool schemas omit, and about lists of values,
// which tool descriptions explain.
var shortened = strings.NewReplacer("; the example is a placeholder", "", " The example is a placeholder.", "",
	" With multiple values, a label needs to match only one.", "")

// inputSchema returns the schema of the arguments. It is strict, so that validating clients catch
// misspelled names, and short, because assistants pay for the tool list with every call.
func (t *tool) inputSchema() json.RawMessage {
	return mustJSON(append(object{{"type", "object"}}, closedObject(t.input)...))
}

// closedObject describes an object that allows only the given members.
func closedObject(members []argument) object {
	properties, required := object{}, []string{}
	for i := range members {
		m := &members[i]
		properties = append(properties, field{m.name, m.publishedSchema()})
		if m.required {
			required = append(required, m.name)
		}
	}
	s := object{{"properties", properties}}
	if len(required) > 0 {
		s = append(s, field{"required", required})
	}
	return append(s, field{"additionalProperties", false})
}

// publishedSchema returns the argument's schema in the list of tools. It allows every JSON type
// that params.Reader.Values accepts, so that validating clients don't reject valid calls.
func (a *argument) publishedSchema() object {
	s := a.schema
	types := acceptedTypes(s)
	if !a.required {
		types = append(types, "null")
	}
	o := object{{"type", types}}
	if len(types) == 1 {
		o[0].value = types[0]
	}
	if s.Description != "" && !a.undescribed {
		o = append(o, field{"description", s.Description})
	}
	switch {
	case a.describedElsewhere && s.Items != nil:
		return append(o, field{"items", object{{"type", s.Items.Type}}})
	case a.describedElsewhere:
		return o
	case a.members != nil:
		return append(o, closedObject(a.members)...)
	}
	if s.Items != nil {
		o = append(o, field{"items", object{{"type", s.Items.Type}, {"enum", s.Items.Enum}}})
	}
	if words := slices.Clip(s.Enum); words != nil {
		if !a.required {
			words = append(words, nil)
		}
		o = append(o, field{"enum", words})
	}
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"minimum", s.Minimum}, {"maximum", s.Maximum}} {
		if bound.value != nil {
			o = append(o, field{bound.name, *bound.value})
		}
	}
	if s.Pattern != "" {
		o = append(o, field{"pattern", s.Pattern})
	}
	if s.Format == "date" {
		o = append(o, field{"format", s.Format})
	}
	if s.Default != nil {
		o = append(o, field{"default", s.Default})
	}
	return o
}

// acceptedTypes returns the JSON types that params.Reader.Values reads into a parameter, its own
// type first.
func acceptedTypes(s *huma.Schema) []string {
	switch {
	case s.Type == huma.TypeObject, s.Type == huma.TypeString && (s.Enum != nil || s.Format == "date"):
		return []string{s.Type}
	case s.Type != huma.TypeString:
		return []string{s.Type, huma.TypeString}
	case s.Pattern != "": // a numeric ID
		return []string{s.Type, huma.TypeInteger}
	}
	return []string{s.Type, huma.TypeNumber}
}

// object is a JSON object with ordered members.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = cola.AppendJSON(append(cola.AppendJSONString(b, f.name), ':'), f.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// mustJSON encodes a value of this package as JSON. Encoding such a value never fails.
func mustJSON(v any) []byte {
	b, err := cola.AppendJSON(nil, v)
	if err != nil {
		panic(fmt.Sprintf("mcp: %v", err))
	}
	return b
}

// outputSchema describes the structured content of a tool: data is a record of one of the types, or
// a list of such records. The schema names the fields of the records, but not their types or the
// other members: assistants pay for the tool list with every call, and the OpenAPI document has the
// rest.
func outputSchema(list bool, types ...reflect.Type) object {
	data := namedFields(types...)
	if list {
		data = object{{"type", "array"}, {"items", data}}
	}
	return object{{"type", "object"}, {"properties", object{{"data", data}}}, {"required", []string{"data"}}}
}

// namedFields describes an object with the concise fields of all the types. The schema {} allows
// any value.
func namedFields(types ...reflect.Type) object {
	var properties object
	for _, t := range types {
		for _, f := range outputFields(t, false) {
			if !slices.ContainsFunc(properties, func(have field) bool { return have.name == f.name }) {
				properties = append(properties, field{f.name, object{}})
			}
		}
	}
	return object{{"type", "object"}, {"properties", properties}}
}

// isRecord reports whether a type is a struct that is encoded field by field, without its own JSON
// encoding.
func isRecord(t reflect.Type) bool {
	ours := t.PkgPath() == reflect.TypeFor[cola.Cola]().PkgPath() || t.PkgPath() == reflect.TypeFor[tool]().PkgPath()
	return t.Kind() == reflect.Struct && ours && !strings.HasPrefix(t.Name(), "Opt[")
}
