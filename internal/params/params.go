// Package params reads what callers send, as text, into the parameter structs of package cola. Every edge takes its requests
// apart in its own way and reads the values here, so that what is wrong with one is told in the same words.
package params

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Reader reads values into parameter structs. The JSON name of a field is the parameter's name; its type says how often the
// parameter may be given and how it is read. A Reader is safe for concurrent use.
type Reader[P any] struct {
	fields   map[string]parameter
	names    []string // sorted
	problems []int    // index of the field that findings go to
	taker    string   // what takes the parameters, such as "this endpoint"
}

// Value is one value of a parameter, as sent.
type Value struct{ Name, Text string }

// parameter is one field of a parameter struct.
type parameter struct {
	index    []int
	list     bool // may be given several times, and holds comma-separated values
	set      func(field reflect.Value, value string) (problem string)
	min, max string // bounds as documented; empty when open
}

// New prepares a Reader. taker is what takes the parameters, for telling that it has no such one. New panics on a field type it
// cannot read: that is a fault of the program, met by any test.
func New[P any](taker string) *Reader[P] {
	t := reflect.TypeFor[P]()
	found, ok := t.FieldByName("Problems")
	if !ok || found.Type != reflect.TypeFor[cola.Problems]() {
		panic("params: " + t.String() + " has nowhere to put problems")
	}
	r := &Reader[P]{fields: map[string]parameter{}, problems: found.Index, taker: taker}
	for _, f := range cola.FieldsOf[P]() {
		tag := t.FieldByIndex(f.Index).Tag
		p := parameter{index: f.Index, min: tag.Get("minimum"), max: tag.Get("maximum")}
		p.list = f.Type == reflect.TypeFor[[]string]()
		if p.set = setter(p, f.Type); p.set == nil {
			panic(fmt.Sprintf("params: no way to read %s of %s", f.Name, t))
		}
		r.fields[f.Name] = p
		r.names = append(r.names, f.Name)
	}
	slices.Sort(r.names)
	return r
}

// Takes reports whether there is a parameter of a name, and whether it may have several values.
func (r *Reader[P]) Takes(name string) (several, ok bool) {
	field, ok := r.fields[name]
	return field.list, ok
}

// Read reads values, given with what is known to be wrong already. It always returns a struct: all that is wrong is in its
// Problems. An empty value is an absent one.
func (r *Reader[P]) Read(values []Value, problems cola.Problems) P {
	var params P
	into := reflect.ValueOf(&params).Elem()
	given := map[string][]string{}
	for _, v := range values {
		field, known := r.fields[v.Name]
		switch {
		case !known:
			r.unknown(v.Name, &problems)
		case v.Text == "":
		case field.list:
			field.set(into.FieldByIndex(field.index), v.Text)
		default:
			given[v.Name] = append(given[v.Name], v.Text)
		}
	}
	for name, texts := range given {
		if len(texts) > 1 {
			problems.Add(name, "It is given %d times, first as %s and last as %s; give it once.",
				len(texts), Quoted(texts[0]), Quoted(texts[len(texts)-1]))
			continue
		}
		field := r.fields[name]
		if problem := field.set(into.FieldByIndex(field.index), texts[0]); problem != "" {
			problems.Add(name, "%s", problem)
		}
	}
	into.FieldByIndex(r.problems).Set(reflect.ValueOf(problems))
	return params
}

func (r *Reader[P]) unknown(name string, problems *cola.Problems) {
	label := Shown(name)
	if _, told := (*problems)[label]; told {
		return
	}
	problems.Add(label, "%s", Unknown(name, r.taker, r.names))
}

// Problems returns what is wrong with what was read.
func (r *Reader[P]) Problems(read P) cola.Problems {
	return reflect.ValueOf(read).FieldByIndex(r.problems).Interface().(cola.Problems)
}

// Unknown tells that taker has no parameter of a name, and which it has; names are sorted.
func Unknown(name, taker string, names []string) string {
	switch nearest, ok := cola.Nearest(name, names); {
	case len(names) == 0:
		return "There is no such parameter; " + taker + " takes none."
	case ok:
		return "There is no such parameter; did you mean " + nearest + "?"
	}
	return "There is no such parameter; " + taker + " takes " + strings.Join(names, ", ") + "."
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
		return Quoted(value) + " is not a date; write YYYY-MM-DD, such as 2024-05-31."
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
		return Quoted(value) + " is not accepted; write a whole number" + p.bounds() + "."
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
		return Quoted(value) + " is not accepted; write a number" + p.bounds() + "."
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
