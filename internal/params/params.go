// Package params parses parameters, sent as text, into the parameter structs of package cola. Each
// API has its own request format but parses the values here, so that all APIs report problems
// with the same messages.
package params

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Reader parses values into parameter structs. A field's JSON name is the parameter's name. Its
// type determines its syntax and whether it can be repeated. A pointer to a struct is an object,
// whose parameters have dotted names ("filters.brand_name"). A Reader is safe for concurrent use.
type Reader[P any] struct {
	objects  map[string]*object // by prefix; "" for the parameter struct
	order    []*object          // in field order
	problems []int              // index of the Problems field
	nulls    []int              // index of the Nulls field; if nil, null values are ignored
}

// Value is one value of a parameter, as sent.
type Value struct {
	Name, Text string

	within string // prefix of its object, which is part of Name
	opens  bool   // starts an object, whose values follow
	null   bool   // null, in a struct with a Nulls field
}

// maxUnknown is the maximum number of unknown names reported, so that a request cannot inflate its
// response.
const maxUnknown = 20

// New returns a Reader. owner names what accepts the parameters, such as "this endpoint", in
// messages about unknown parameters. New panics if a field has an unsupported type, so any test
// that calls it catches the mistake.
func New[P any](owner string) *Reader[P] {
	t := reflect.TypeFor[P]()
	found, ok := t.FieldByName("Problems")
	if !ok || found.Type != reflect.TypeFor[cola.Problems]() {
		panic("params: " + t.String() + " has no Problems field")
	}
	r := &Reader[P]{objects: map[string]*object{}, problems: found.Index}
	if found, ok := t.FieldByName("Nulls"); ok && found.Type == reflect.TypeFor[[]string]() {
		r.nulls = found.Index
	}
	addObject(r, t, nil, "", owner)
	return r
}

// Takes reports whether a parameter exists and whether it can be repeated.
func (r *Reader[P]) Takes(name string) (repeatable, ok bool) {
	field, ok := r.objects[""].fields[name]
	return field.list, ok
}

// Read parses values and adds their problems to the given ones. It always returns a struct, with
// all problems in its Problems field. An empty value counts as absent.
func (r *Reader[P]) Read(values []Value, problems cola.Problems) P {
	var params P
	r.ReadInto(&params, values, problems)
	return params
}

// ReadInto is like Read, but fills an empty struct instead of copying the result.
func (r *Reader[P]) ReadInto(params *P, values []Value, problems cola.Problems) {
	into := reflect.ValueOf(params).Elem()
	byName, unknown := map[string][]Value{}, 0
	for _, v := range values {
		field, known := r.field(v)
		switch {
		case !known:
			if unknown++; unknown <= maxUnknown {
				r.addUnknown(v, &problems)
			}
		case v.null:
			nulls := into.FieldByIndex(r.nulls)
			nulls.Set(reflect.Append(nulls, reflect.ValueOf(v.Name)))
		case field.object != nil && !v.opens:
			problems.Add(v.Name, "%s", field.object.wrongType(aString))
		case field.object != nil:
			allocate(fieldAt(into, field.index))
		case v.Text == "":
		case field.list:
			field.set(fieldAt(into, field.index), v.Text)
		default:
			byName[v.Name] = append(byName[v.Name], v)
		}
	}
	if more := unknown - maxUnknown; more > 0 {
		problems.Add("…", "Unknown parameters not shown: %d.", more)
	}
	for name, all := range byName {
		if len(all) > 1 {
			problems.Add(name, "Sent %d times, first as %s and last as %s; send it once.",
				len(all), Quoted(all[0].Text), Quoted(all[len(all)-1].Text))
			continue
		}
		field, _ := r.field(all[0])
		if problem := field.set(fieldAt(into, field.index), all[0].Text); problem != "" {
			problems.Add(name, "%s", problem)
		}
	}
	into.FieldByIndex(r.problems).Set(reflect.ValueOf(problems))
}

// field returns the parameter for a value.
func (r *Reader[P]) field(v Value) (parameter, bool) {
	field, known := r.objects[v.within].fields[v.Name[len(v.within):]]
	return field, known
}

// fieldAt returns the field at an index, allocating objects along the way.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			v = allocate(v)
		}
		v = v.Field(i)
	}
	return v
}

// allocate returns the object that a field points to and allocates it if needed.
func allocate(field reflect.Value) reflect.Value {
	if field.IsNil() {
		field.Set(reflect.New(field.Type().Elem()))
	}
	return field.Elem()
}

// Problems returns the problems in a struct returned by Read.
func (r *Reader[P]) Problems(read P) cola.Problems {
	return reflect.ValueOf(read).FieldByIndex(r.problems).Interface().(cola.Problems)
}

// Fields converts the fields of an HTML form to values. A dotted name, such as filters.brand_name,
// is a parameter of the object before the dot. As in other formats, empty fields count as absent,
// and so does an object with only empty fields.
func (r *Reader[P]) Fields(form url.Values) []Value {
	var values []Value
	for _, name := range slices.Sorted(maps.Keys(form)) {
		within := ""
		if at := strings.LastIndexByte(name, '.'); r.objects[name[:at+1]] != nil {
			within = name[:at+1]
		}
		for _, text := range form[name] {
			values = append(values, Value{Name: name, Text: text, within: within})
		}
	}
	return values
}
