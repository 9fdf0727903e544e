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

// parameter is one field of a parameter struct or of an object in it.
type parameter struct {
	index    []int   // index of the field in the parameter struct
	object   *object // nil unless the parameter is an object
	list     bool    // can be repeated, and accepts comma-separated values
	set      func(field reflect.Value, value string) (problem string)
	min, max string // documented bounds; empty if unset
	jsonType string // JSON type as named by jsonTypeOf; empty for an object
}

// object is a parameter struct or a struct in it.
type object struct {
	prefix  string // prepended to its parameter names: its own name and a dot
	owner   string // what accepts the parameters, as named in messages: "this endpoint"
	fields  map[string]parameter
	names   []string                 // sorted, without the prefix
	example string                   // example in JSON
	whyNot  func(name string) string // see nameExplainer
}

// nameExplainer is a parameter struct that explains why some names are not parameters.
type nameExplainer interface {
	// WhyNot explains why a name is not a parameter, or returns "".
	WhyNot(name string) string
}

// addObject adds a struct at an index, and the objects in it, to the Reader.
func addObject[P any](r *Reader[P], t reflect.Type, index []int, prefix, owner string) *object {
	o := &object{prefix: prefix, owner: owner, fields: map[string]parameter{}, example: exampleObject(t)}
	r.objects[prefix] = o
	r.order = append(r.order, o)
	if explainer, ok := reflect.Zero(t).Interface().(nameExplainer); ok {
		o.whyNot = explainer.WhyNot
	}
	for _, f := range reflect.VisibleFields(t) {
		name := nameOf(f)
		if name == "" {
			continue
		}
		p := parameter{index: slices.Concat(index, f.Index), min: f.Tag.Get("minimum"), max: f.Tag.Get("maximum")}
		p.list, p.jsonType = f.Type == reflect.TypeFor[[]string](), jsonTypeOf(f.Type)
		switch p.set = setter(p, f.Type); {
		case p.set != nil:
		case isObject(f.Type):
			p.object = addObject(r, f.Type.Elem(), p.index, prefix+name+".", prefix+name)
		default:
			panic(fmt.Sprintf("params: unsupported type of %s in %s", name, t))
		}
		o.fields[name] = p
		o.names = append(o.names, name)
	}
	slices.Sort(o.names)
	return o
}

// jsonTypeOf names the JSON type of a field, as in OpenAPI.
func jsonTypeOf(t reflect.Type) string {
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

// nameOf returns a field's parameter name, or "" if the field is not a parameter.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || name == "-" {
		return ""
	}
	return name
}

// exampleObject returns a JSON object with the examples of the first two fields.
func exampleObject(t reflect.Type) string {
	var members []string
	for _, f := range reflect.VisibleFields(t) {
		if name, example := nameOf(f), exampleOf(f); name != "" && example != "" && len(members) < 2 {
			members = append(members, strconv.Quote(name)+": "+example)
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// exampleOf returns a field's example in JSON, or "".
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

// wrongType returns the message for a value of type kind in place of the object.
func (o *object) wrongType(kind string) string {
	return "Must be an object, such as " + o.example + ", not " + kind + "."
}

// addUnknown adds a problem for a value of an unknown parameter, once per name.
func (r *Reader[P]) addUnknown(v Value, problems *cola.Problems) {
	label := Truncate(v.Name)
	if _, reported := (*problems)[label]; reported {
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

// misplaced returns a message if another object has a parameter with this name, or "".
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
				return "Send it in an object: {" + nested(other.prefix, its) + "}."
			}
		}
	}
	return ""
}

// nested returns a parameter of an object in JSON.
func nested(prefix, name string) string {
	outer, rest, within := strings.Cut(prefix, ".")
	if !within {
		return strconv.Quote(name) + ": …"
	}
	return strconv.Quote(outer) + ": {" + nested(rest, name) + "}"
}

// unknown returns the message for an unknown name. It suggests a similar name or lists all names.
func (o *object) unknown(name string) string {
	if suggestion, ok := nearest(name, o.names); ok {
		return didYouMean(o.prefix + suggestion)
	}
	return Unknown(name, o.owner, o.names)
}

// Unknown returns the message for a name that owner does not accept. names must be sorted.
func Unknown(name, owner string, names []string) string {
	switch suggestion, ok := nearest(name, names); {
	case len(names) == 0:
		return "Unknown parameter; " + owner + " has no parameters."
	case ok:
		return didYouMean(suggestion)
	}
	return "Unknown parameter; " + owner + " accepts " + strings.Join(names, ", ") + "."
}

// nearest returns the parameter that an unknown name most likely means: our equivalent of another
// API's name, or a parameter with a similar name.
func nearest(name string, names []string) (string, bool) {
	ours := map[string]string{
		"count": "per_page", "limit": "per_page", "page_size": "per_page", "pagesize": "per_page", "size": "per_page",
		"keyword": "q", "query": "q", "search": "q", "text": "q",
		"offset": "page", "order": "sort", "order_by": "sort", "sort_by": "sort",
		"ean": "barcode_value", "gtin": "barcode_value", "upc": "barcode_value",
	}[strings.ToLower(name)]
	if slices.Contains(names, ours) {
		return ours, true
	}
	return vocabulary.Nearest(name, names)
}

func didYouMean(name string) string { return "Unknown parameter; did you mean " + name + "?" }
