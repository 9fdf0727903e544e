package httpapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/colaregistry/colaregistry/cola"
)

const schemaPrefix = "#/components/schemas/"

// schemas makes JSON schemas of the types that requests are decoded into and answers are made of.
type schemas struct {
	registry huma.Registry
	aliases  map[reflect.Type]reflect.Type // types with a JSON form of their own → what that form is
}

func newSchemas() *schemas {
	s := &schemas{
		registry: huma.NewMapRegistry(schemaPrefix, schemaName),
		aliases: map[reflect.Type]reflect.Type{
			reflect.TypeFor[cola.Opt[int]]():     reflect.TypeFor[int](),
			reflect.TypeFor[cola.Opt[float64]](): reflect.TypeFor[float64](),
			reflect.TypeFor[cola.Opt[bool]]():    reflect.TypeFor[bool](),
			reflect.TypeFor[cola.Text]():         reflect.TypeFor[string](),
		},
	}
	for t, form := range s.aliases {
		s.registry.RegisterTypeAlias(t, form)
	}
	return s
}

// schemaName names the components: those of the contract by its names, the bodies of answers by what they hold.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[cola.Cola]():
		return "ColaDetail"
	case reflect.TypeFor[dataOf[cola.Cola]]():
		return "ColaDetailResponse"
	case reflect.TypeFor[colaPage]():
		return "ColaSearchResponse"
	case reflect.TypeFor[permitteePage]():
		return "PermitteeSearchResponse"
	case reflect.TypeFor[errorBody]():
		return "ErrorResponse"
	case reflect.TypeFor[errorInfo]():
		return "Error"
	case reflect.TypeFor[healthBody]():
		return "Health"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	for prefix, suffix := range map[string]string{"DataOf": "Response", "RowsOf": "ListResponse", "PageOf": "ListResponse"} {
		if of, ok := strings.CutPrefix(name, prefix); ok {
			return of + suffix
		}
	}
	return name
}

// of returns the schema of a type, by reference where it is a component.
func (s *schemas) of(t reflect.Type) *huma.Schema { return s.registry.Schema(t, true, "") }

// field returns the schema of one field of a parameter struct. Its alias stands in for its type, because huma takes a tag
// such as default to be of the Go type.
func (s *schemas) field(f reflect.StructField) *huma.Schema {
	if form, ok := s.aliases[f.Type]; ok {
		f.Type = form
	}
	return huma.SchemaFromField(s.registry, f, f.Name)
}

// finish settles in every component what huma leaves: null is one of the values of a nullable enumeration, and objects may
// grow fields, so a client must not refuse those it does not know. Required fields come in the order of the JSON.
func (s *schemas) finish() {
	for name, schema := range s.registry.Map() {
		order := jsonOrder(s.registry.TypeFromRef(schemaPrefix + name))
		slices.SortFunc(schema.Required, func(a, b string) int { return order[a] - order[b] })
		if schema.AdditionalProperties == false {
			schema.AdditionalProperties = nil
		}
		for _, property := range schema.Properties {
			if property.Nullable && property.Enum != nil {
				property.Enum = append(property.Enum, nil)
			}
		}
	}
}

// jsonOrder numbers the fields of a struct as encoding/json writes them.
func jsonOrder(t reflect.Type) map[string]int {
	order := map[string]int{}
	for i, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		order[name] = i
	}
	return order
}

// sample makes an example of a schema out of the examples of its fields.
func (s *schemas) sample(schema *huma.Schema) any {
	order := map[string]int{}
	if schema.Ref != "" {
		order = jsonOrder(s.registry.TypeFromRef(schema.Ref))
		schema = s.registry.SchemaFromRef(schema.Ref)
	}
	switch {
	case len(schema.Examples) > 0:
		return schema.Examples[0]
	case schema.Type == huma.TypeArray:
		return []any{s.sample(schema.Items)}
	case schema.Type == huma.TypeObject:
		var o sampleObject
		for name, property := range schema.Properties {
			o = append(o, sampleMember{name, s.sample(property)})
		}
		slices.SortFunc(o, func(a, b sampleMember) int { return order[a.name] - order[b.name] })
		return o
	}
	return nil
}

// sampleObject is an example of an object, its members in the order that answers have them.
type sampleObject []sampleMember

type sampleMember struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o sampleObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPlain(append(cola.AppendJSONString(b, m.name), ':'), m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
