// Package params reads what callers send, as text, into the parameter structs of package cola.
// Every edge takes its requests apart in its own way and reads the values here, so that what is
// wrong with one is told in the same words.
package params

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Reader reads values into parameter structs. The JSON name of a field is the parameter's name; its
// type says how often the parameter may be given and how it is read. A pointer to a struct is an
// object: parameters of its own, which are told with its name before theirs ("filters.brand_name").
// A Reader is safe for concurrent use.
type Reader[P any] struct {
	objects  map[string]*object // by prefix; the parameter struct itself has none
	order    []*object          // in which they stand in the struct
	problems []int              // index of the field that findings go to
	nulls    []int              // index of the field that the names of nulls go to; nil: there is none, and null is nothing
}

// Value is one value of a parameter, as sent.
type Value struct {
	Name, Text string

	within string // prefix of the object that it stands in; part of the name
	opens  bool   // it is an object, whose own values follow
	null   bool   // it is null, in a struct that has a use for that
}

// maxUnknown is how many unknown names are told of one by one: what anyone can send must not fill
// an answer.
const maxUnknown = 20

// New prepares a Reader. taker is what takes the parameters, for telling that it has no such one.
// New panics on a field type it cannot read: that is a fault of the program, met by any test.
func New[P any](taker string) *Reader[P] {
	t := reflect.TypeFor[P]()
	found, ok := t.FieldByName("Problems")
	if !ok || found.Type != reflect.TypeFor[cola.Problems]() {
		panic("params: " + t.String() + " has nowhere to put problems")
	}
	r := &Reader[P]{objects: map[string]*object{}, problems: found.Index}
	if found, ok := t.FieldByName("Nulls"); ok && found.Type == reflect.TypeFor[[]string]() {
		r.nulls = found.Index
	}
	addObject(r, t, nil, "", taker)
	return r
}

// Takes reports whether there is a parameter of a name, and whether it may have several values.
func (r *Reader[P]) Takes(name string) (several, ok bool) {
	field, ok := r.objects[""].fields[name]
	return field.list, ok
}

// Read reads values, given with what is known to be wrong already. It always returns a struct: all
// that is wrong is in its Problems. An empty value is an absent one.
func (r *Reader[P]) Read(values []Value, problems cola.Problems) P {
	var params P
	into := reflect.ValueOf(&params).Elem()
	given, unknown := map[string][]Value{}, 0
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
			given[v.Name] = append(given[v.Name], v)
		}
	}
	if more := unknown - maxUnknown; more > 0 {
		problems.Add("…", "There are %d further parameters that are not known either.", more)
	}
	for name, all := range given {
		if len(all) > 1 {
			problems.Add(name, "It is given %d times, first as %s and last as %s; give it once.",
				len(all), Quoted(all[0].Text), Quoted(all[len(all)-1].Text))
			continue
		}
		field, _ := r.field(all[0])
		if problem := field.set(fieldAt(into, field.index), all[0].Text); problem != "" {
			problems.Add(name, "%s", problem)
		}
	}
	into.FieldByIndex(r.problems).Set(reflect.ValueOf(problems))
	return params
}

// field returns the parameter that a value is of.
func (r *Reader[P]) field(v Value) (parameter, bool) {
	field, known := r.objects[v.within].fields[v.Name[len(v.within):]]
	return field, known
}

// fieldAt returns the field that an index leads to, opening the objects on the way.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			v = allocate(v)
		}
		v = v.Field(i)
	}
	return v
}

// allocate returns the object that a field points to, making it where there is none.
func allocate(field reflect.Value) reflect.Value {
	if field.IsNil() {
		field.Set(reflect.New(field.Type().Elem()))
	}
	return field.Elem()
}

// Problems returns what is wrong with what was read.
func (r *Reader[P]) Problems(read P) cola.Problems {
	return reflect.ValueOf(read).FieldByIndex(r.problems).Interface().(cola.Problems)
}

// Fields turns the fields of a form of a browser into values. A dotted name, such as
// filters.brand_name, is a parameter of the object before the dot; one that is empty is absent, as
// everywhere, and an object of which all are empty is, too.
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
