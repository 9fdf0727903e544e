package params

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// parameter is one field of a parameter struct, or of an object within one.
type parameter struct {
	index    []int   // from the parameter struct
	object   *object // that it is itself; nil: it has a value
	list     bool    // may be given several times, and holds comma-separated values
	set      func(field reflect.Value, value string) (problem string)
	min, max string // bounds as documented; empty when open
	wanted   string // its JSON type, as kindOf names it; empty for an object
}

// object is a parameter struct, or one within it.
type object struct {
	prefix string // of the names of its parameters: its own name and a dot
	taker  string // what takes them, such as "this endpoint"
	fields map[string]parameter
	names  []string                 // sorted, without the prefix
	form   string                   // an example of it, in JSON
	whyNot func(name string) string // see reasoned
}

// nameExplainer is a parameter struct that knows of some names why it does not take them.
type nameExplainer interface {
	// WhyNot says why there is no parameter of a name; it is empty where there is no more to say.
	WhyNot(name string) string
}

// addObject adds a struct, and the objects within it, to the Reader. index leads to it.
func addObject[P any](r *Reader[P], t reflect.Type, index []int, prefix, taker string) *object {
	o := &object{prefix: prefix, taker: taker, fields: map[string]parameter{}, form: exampleObject(t)}
	r.objects[prefix] = o
	r.order = append(r.order, o)
	if knowing, ok := reflect.Zero(t).Interface().(nameExplainer); ok {
		o.whyNot = knowing.WhyNot
	}
	for _, f := range reflect.VisibleFields(t) {
		name := nameOf(f)
		if name == "" {
			continue
		}
		p := parameter{index: slices.Concat(index, f.Index), min: f.Tag.Get("minimum"), max: f.Tag.Get("maximum")}
		p.list, p.wanted = f.Type == reflect.TypeFor[[]string](), wantedType(f.Type)
		switch p.set = setter(p, f.Type); {
		case p.set != nil:
		case isObject(f.Type):
			p.object = addObject(r, f.Type.Elem(), p.index, prefix+name+".", prefix+name)
		default:
			panic(fmt.Sprintf("params: no way to read %s of %s", name, t))
		}
		o.fields[name] = p
		o.names = append(o.names, name)
	}
	slices.Sort(o.names)
	return o
}

// wantedType names the JSON type of a field, as OpenAPI describes it.
func wantedType(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[cola.Date]():
		return aString
	case reflect.TypeFor[[]string]():
		return "an array of strings"
	case reflect.TypeFor[cola.Opt[int]]():
		return anInteger
	case reflect.TypeFor[cola.Opt[float64]]():
		return aNumber
	case reflect.TypeFor[cola.Opt[bool]]():
		return aBoolean
	}
	return ""
}

// nameOf returns the name of the parameter that a field is, empty for none.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || name == "-" {
		return ""
	}
	return name
}

// exampleObject writes an object of the examples of its first two fields.
func exampleObject(t reflect.Type) string {
	var members []string
	for _, f := range reflect.VisibleFields(t) {
		if name, example := nameOf(f), exampleOf(f); name != "" && example != "" && len(members) < 2 {
			members = append(members, strconv.Quote(name)+": "+example)
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// exampleOf writes the example of a field as JSON; it is empty for none.
func exampleOf(f reflect.StructField) string {
	example := f.Tag.Get("example")
	switch {
	case isObject(f.Type):
		return exampleObject(f.Type.Elem())
	case example == "":
		return ""
	case f.Type == reflect.TypeFor[[]string]():
		return `["` + strings.ReplaceAll(example, ",", `", "`) + `"]`
	case f.Type == reflect.TypeFor[string](), f.Type == reflect.TypeFor[cola.Date]():
		return strconv.Quote(example)
	}
	return example
}

func isObject(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// wrongType tells that something else was sent in place of the object.
func (o *object) wrongType(what string) string {
	return "It is " + what + "; send an object, such as " + o.form + "."
}

// addUnknown notes that there is no parameter that a value could be of, once for each name.
func (r *Reader[P]) addUnknown(v Value, problems *cola.Problems) {
	label := Shown(v.Name)
	if _, told := (*problems)[label]; told {
		return
	}
	o, name := r.objects[v.within], v.Name[len(v.within):]
	problem := ""
	if o.whyNot != nil {
		problem = o.whyNot(name)
	}
	if problem == "" {
		problem = r.misplaced(o, name)
	}
	if problem == "" {
		problem = o.unknown(name)
	}
	problems.Add(label, "%s", problem)
}

// misplaced tells that a parameter of this very name is one of another object; it is empty where
// there is none.
func (r *Reader[P]) misplaced(o *object, name string) string {
	if slices.ContainsFunc(o.names, func(own string) bool { return strings.EqualFold(own, name) }) {
		return ""
	}
	for _, other := range r.order {
		for _, its := range other.names {
			switch {
			case other == o:
			case strings.EqualFold(its, name):
				return didYouMean(other.prefix + its)
			case other.prefix+its == o.prefix+name:
				return "Send it within an object: {" + nested(other.prefix, its) + "}."
			}
		}
	}
	return ""
}

// nested writes a parameter of an object as JSON has it.
func nested(prefix, name string) string {
	outer, rest, within := strings.Cut(prefix, ".")
	if !within {
		return strconv.Quote(name) + ": …"
	}
	return strconv.Quote(outer) + ": {" + nested(rest, name) + "}"
}

// unknown tells that the object has no parameter of a name, and which it has.
func (o *object) unknown(name string) string {
	if nearest, ok := vocabulary.Nearest(name, o.names); ok {
		return didYouMean(o.prefix + nearest)
	}
	return Unknown(name, o.taker, o.names)
}

// Unknown tells that taker has no parameter of a name, and which it has; names are sorted.
func Unknown(name, taker string, names []string) string {
	switch nearest, ok := vocabulary.Nearest(name, names); {
	case len(names) == 0:
		return "There is no such parameter; " + taker + " takes none."
	case ok:
		return didYouMean(nearest)
	}
	return "There is no such parameter; " + taker + " takes " + strings.Join(names, ", ") + "."
}

func didYouMean(name string) string { return "There is no such parameter; did you mean " + name + "?" }
