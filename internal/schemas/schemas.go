// Package schemas generates JSON schemas from the request and response structs of the API and the
// MCP endpoint. Limits, descriptions and examples are defined once, in struct tags.
package schemas

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
)

// Prefix is the prefix of every reference to a schema in a Set.
const Prefix = "#/components/schemas/"

// Set is a set of schemas that refer to one another by name. It is not safe for concurrent use.
type Set struct {
	registry huma.Registry
	aliases  map[reflect.Type]reflect.Type // type with custom JSON → type with the same JSON
	closed   map[string]bool               // names of schemas that reject unknown fields
}

// New returns an empty Set. name returns the schema name for a struct.
func New(name func(t reflect.Type, hint string) string) *Set {
	s := &Set{
		registry: huma.NewMapRegistry(Prefix, name),
		closed:   map[string]bool{},
		aliases: map[reflect.Type]reflect.Type{
			reflect.TypeFor[cola.Opt[int]]():            reflect.TypeFor[int](),
			reflect.TypeFor[cola.Opt[int64]]():          reflect.TypeFor[int64](),
			reflect.TypeFor[cola.Opt[float64]]():        reflect.TypeFor[float64](),
			reflect.TypeFor[cola.Opt[bool]]():           reflect.TypeFor[bool](),
			reflect.TypeFor[cola.Opt[string]]():         reflect.TypeFor[string](),
			reflect.TypeFor[cola.Opt[cola.Timestamp]](): reflect.TypeFor[string](),
			reflect.TypeFor[cola.Opt[cola.Text]]():      reflect.TypeFor[string](),
			reflect.TypeFor[cola.FilterSet]():           reflect.TypeFor[[]string](),
			reflect.TypeFor[cola.Timestamp]():           reflect.TypeFor[string](),
			reflect.TypeFor[cola.Text]():                reflect.TypeFor[string](),
		},
	}
	for t, form := range s.aliases {
		s.registry.RegisterTypeAlias(t, form)
	}
	return s
}

// Registry returns the referenced schemas.
func (s *Set) Registry() huma.Registry { return s.registry }

// Of returns the schema for a type. A struct's schema is a reference.
func (s *Set) Of(t reflect.Type) *huma.Schema { return s.registry.Schema(t, true, "") }

// Close makes the schemas of structs reject unknown fields, as the API does in requests.
func (s *Set) Close(types ...reflect.Type) {
	for _, t := range types {
		s.closed[strings.TrimPrefix(s.Of(t).Ref, Prefix)] = true
	}
}

// OrNull reports whether a field with the given tag may be null instead of an object. The tag
// exists because huma supports null only for scalars.
func OrNull(tag reflect.StructTag) bool { return tag.Get("ornull") == "true" }

// Field returns the schema for one field of a parameter struct. It replaces the field's type with
// its alias, because huma parses tags such as default as values of the Go type.
func (s *Set) Field(f reflect.StructField) *huma.Schema {
	if form, ok := s.aliases[f.Type]; ok {
		f.Type = form
	}
	return huma.SchemaFromField(s.registry, f, f.Name)
}

// Finish adds features that huma does not support to every schema in the Set:
//
// - Nullable enums include null.
// - Objects with an ornull tag may be null.
// - Response objects allow unknown fields, because later versions may add some.
// - Required fields are in JSON order.
func (s *Set) Finish() {
	for name, schema := range s.registry.Map() {
		t := s.registry.TypeFromRef(Prefix + name)
		order := Order(t)
		slices.SortFunc(schema.Required, func(a, b string) int { return order[a] - order[b] })
		if schema.AdditionalProperties == false && !s.closed[name] {
			schema.AdditionalProperties = nil
		}
		for _, property := range schema.Properties {
			if property.Nullable && property.Enum != nil {
				property.Enum = append(property.Enum, nil)
			}
		}
		for _, f := range reflect.VisibleFields(t) {
			if OrNull(f.Tag) {
				allowNull(schema.Properties, jsonName(f))
			}
		}
	}
}

// allowNull changes a property that refers to an object so that it may be null.
func allowNull(properties map[string]*huma.Schema, name string) {
	p := properties[name]
	properties[name] = &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
}

// Order returns the position of each field in the output of encoding/json.
func Order(t reflect.Type) map[string]int {
	order := map[string]int{}
	for i, f := range reflect.VisibleFields(t) {
		order[jsonName(f)] = i
	}
	return order
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// notesField is present only in responses with notes on their data, such as why it is empty.
const notesField = "notes"

// Sample builds an example of a schema from the examples of its fields, without notes.
func (s *Set) Sample(schema *huma.Schema) any {
	order := map[string]int{}
	if schema.Ref != "" {
		order = Order(s.registry.TypeFromRef(schema.Ref))
		schema = s.registry.SchemaFromRef(schema.Ref)
	}
	switch {
	case len(schema.AnyOf) > 0:
		return s.Sample(schema.AnyOf[0])
	case len(schema.Examples) > 0:
		return schema.Examples[0]
	case schema.Type == huma.TypeArray:
		return []any{s.Sample(schema.Items)}
	case schema.Type == huma.TypeObject:
		var o object
		for name, property := range schema.Properties {
			if name != notesField {
				o = append(o, member{name, s.Sample(property)})
			}
		}
		slices.SortFunc(o, func(a, b member) int { return order[a.name] - order[b.name] })
		return o
	}
	return nil
}

// object is an example of an object with its members in response order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = cola.AppendJSON(append(cola.AppendJSONString(b, m.name), ':'), m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
