// Package schemas makes JSON schemas of the structs that requests are decoded into and answers are
// made of, for every edge: what their tags say of bounds, words and examples is written once.
package schemas

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
)

// Prefix begins the reference of every schema of a Set.
const Prefix = "#/components/schemas/"

// Set is a number of schemas that refer to one another by name. It is for one goroutine.
type Set struct {
	registry huma.Registry
	aliases  map[reflect.Type]reflect.Type // types with a JSON form of their own → what that form is
	closed   map[string]bool               // names of those that take no fields that they do not have
}

// New returns an empty Set whose schemas of structs are named by name.
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

// Registry holds the schemas that are referred to.
func (s *Set) Registry() huma.Registry { return s.registry }

// Of returns the schema of a type, by reference where it is a struct.
func (s *Set) Of(t reflect.Type) *huma.Schema { return s.registry.Schema(t, true, "") }

// Close has structs take no fields but their own, as requests do.
func (s *Set) Close(types ...reflect.Type) {
	for _, t := range types {
		s.closed[strings.TrimPrefix(s.Of(t).Ref, Prefix)] = true
	}
}

// OrNull reports whether a field holds an object or null. Its tag is one of ours: huma knows null
// for scalars only.
func OrNull(tag reflect.StructTag) bool { return tag.Get("ornull") == "true" }

// Field returns the schema of one field of a parameter struct. Its alias stands in for its type,
// because huma takes a tag such as default to be of the Go type.
func (s *Set) Field(f reflect.StructField) *huma.Schema {
	if form, ok := s.aliases[f.Type]; ok {
		f.Type = form
	}
	return huma.SchemaFromField(s.registry, f, f.Name)
}

// Finish settles in every schema of the Set what huma leaves: null is one of the values of a
// nullable enumeration, an object may be null where it says so, and objects of answers may grow
// fields, so a client must not refuse those it does not know. Required fields come in the order of
// the JSON.
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

// allowNull makes a property that refers to an object that or null.
func allowNull(properties map[string]*huma.Schema, name string) {
	p := properties[name]
	properties[name] = &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
}

// Order numbers the fields of a struct as encoding/json writes them.
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

// notesField is what answers have only when there is something to say about their data, such as why
// there is none.
const notesField = "notes"

// Sample makes an example of a schema from the examples of its fields, without notes.
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

// object is an example of an object, its members in the order that answers have them.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
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
