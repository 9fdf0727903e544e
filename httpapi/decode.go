package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// decoder reads query strings into parameter structs. The JSON name of a field is the parameter's name; its type says
// how often the parameter may be given and how it is read. A decoder is safe for concurrent use.
type decoder[P any] struct {
	fields   map[string]parameter
	names    []string // sorted
	problems []int    // index of the field that findings go to
}

// parameter is one field of a parameter struct.
type parameter struct {
	index    []int
	list     bool // may be given several times, and holds comma-separated values
	set      func(field reflect.Value, value string) (problem string)
	min, max string // bounds as documented; empty when open
}

// newDecoder prepares a decoder. It panics on a field type it cannot read: that is a fault of the program, met by any test.
func newDecoder[P any]() *decoder[P] {
	t := reflect.TypeFor[P]()
	found, ok := t.FieldByName("Problems")
	if !ok || found.Type != reflect.TypeFor[cola.Problems]() {
		panic("httpapi: " + t.String() + " has nowhere to put problems")
	}
	d := &decoder[P]{fields: map[string]parameter{}, problems: found.Index}
	for _, f := range cola.FieldsOf[P]() {
		tag := t.FieldByIndex(f.Index).Tag
		p := parameter{index: f.Index, min: tag.Get("minimum"), max: tag.Get("maximum")}
		p.list = f.Type == reflect.TypeFor[[]string]()
		if p.set = setter(p, f.Type); p.set == nil {
			panic(fmt.Sprintf("httpapi: no way to read %s of %s", f.Name, t))
		}
		d.fields[f.Name] = p
		d.names = append(d.names, f.Name)
	}
	slices.Sort(d.names)
	return d
}

// decode reads a raw query string. It always returns a struct: whatever is wrong is in its Problems.
func (d *decoder[P]) decode(rawQuery string) P {
	var params P
	into := reflect.ValueOf(&params).Elem()
	var problems cola.Problems
	given := map[string][]string{}
	for _, p := range splitQuery(rawQuery, &problems) {
		field, known := d.fields[p.name]
		switch {
		case !known:
			d.unknown(p.name, &problems)
		case p.value == "":
		case field.list:
			field.set(into.FieldByIndex(field.index), p.value)
		default:
			given[p.name] = append(given[p.name], p.value)
		}
	}
	for name, values := range given {
		if len(values) > 1 {
			problems.Add(name, "It is given %d times, first as %s and last as %s; give it once.",
				len(values), quoted(values[0]), quoted(values[len(values)-1]))
			continue
		}
		field := d.fields[name]
		if problem := field.set(into.FieldByIndex(field.index), values[0]); problem != "" {
			problems.Add(name, "%s", problem)
		}
	}
	into.FieldByIndex(d.problems).Set(reflect.ValueOf(problems))
	return params
}

func (d *decoder[P]) unknown(name string, problems *cola.Problems) {
	label := shown(name)
	if _, told := (*problems)[label]; told {
		return
	}
	switch nearest, ok := cola.Nearest(name, d.names); {
	case len(d.names) == 0:
		problems.Add(label, "There is no such parameter; this endpoint takes none.")
	case ok:
		problems.Add(label, "There is no such parameter; did you mean %s?", nearest)
	default:
		problems.Add(label, "There is no such parameter; this endpoint takes %s.", strings.Join(d.names, ", "))
	}
}

// setter returns what reads a value into a field of type t, or nil when there is no way.
func setter(p parameter, t reflect.Type) func(reflect.Value, string) string {
	switch t {
	case reflect.TypeFor[string]():
		return setString
	case reflect.TypeFor[[]string]():
		return addToList
	case reflect.TypeFor[cola.Date]():
		return setDate
	case reflect.TypeFor[cola.Opt[int]]():
		return p.setInteger
	case reflect.TypeFor[cola.Opt[float64]]():
		return p.setNumber
	}
	return nil
}

func setString(field reflect.Value, value string) string {
	field.SetString(value)
	return ""
}

func addToList(field reflect.Value, value string) string {
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one != "" {
			field.Set(reflect.Append(field, reflect.ValueOf(one)))
		}
	}
	return ""
}

func setDate(field reflect.Value, value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	d, err := cola.ParseDate(value)
	if err != nil {
		return quoted(value) + " is not a date; write YYYY-MM-DD, such as 2024-05-31."
	}
	field.Set(reflect.ValueOf(d))
	return ""
}

func (p parameter) setInteger(field reflect.Value, value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return quoted(value) + " is not accepted; write a whole number" + p.bounds() + "."
	}
	field.Set(reflect.ValueOf(cola.Some(n)))
	return ""
}

func (p parameter) setNumber(field reflect.Value, value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	// ParseFloat also reads hexadecimal and the names of infinities; a parameter is a plain decimal number.
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || strings.Trim(value, "0123456789.eE+-") != "" {
		return quoted(value) + " is not accepted; write a number" + p.bounds() + "."
	}
	field.Set(reflect.ValueOf(cola.Some(n)))
	return ""
}

func (p parameter) bounds() string {
	switch {
	case p.min != "" && p.max != "":
		return " from " + p.min + " to " + p.max
	case p.min != "":
		return " of at least " + p.min
	case p.max != "":
		return " of at most " + p.max
	}
	return ""
}
