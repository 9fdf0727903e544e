package params

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// idParameter is the only parameter with significant leading zeros, which a JSON number loses.
const idParameter = "ttb_id"

// maxElements is the maximum number of invalid elements reported per array.
const maxElements = 5

// Values converts the members of a JSON object to text values, so that JSON and query strings get
// the same messages. It accepts commonly confused JSON types if no information is lost: a number
// for a string, a string for a number or boolean, one value for an array, and null for an absent
// value unless the struct embeds cola.Nulled.
func (r *Reader[P]) Values(members []strictjson.Member) (values []Value, problems cola.Problems) {
	return r.flatten(members, false)
}

// StrictValues is Values for clients that follow a schema: each value must have the JSON type of
// its parameter.
func (r *Reader[P]) StrictValues(members []strictjson.Member) (values []Value, problems cola.Problems) {
	return r.flatten(members, true)
}

func (r *Reader[P]) flatten(members []strictjson.Member, strict bool) (values []Value, problems cola.Problems) {
	f := flattener{nulls: r.nulls != nil, strict: strict}
	f.object(r.objects[""], members)
	return f.values, f.problems
}

// Example returns a JSON object with example values of the first parameters.
func (r *Reader[P]) Example() string { return r.objects[""].example }

// flattener collects the values of nested objects.
type flattener struct {
	nulls    bool // null differs from an absent value
	strict   bool // values must have the types of their parameters
	values   []Value
	problems cola.Problems
}

func (f *flattener) object(o *object, members []strictjson.Member) {
	seen := map[string]int{}
	for _, m := range members {
		v := Value{Name: o.prefix + m.Name, within: o.prefix}
		field, known := o.fields[m.Name]
		if !known {
			f.values = append(f.values, v)
			continue
		}
		seen[m.Name]++
		switch {
		case seen[m.Name] == 2:
			f.problems.Add(v.Name, "Duplicate parameter; send it only once.")
		case seen[m.Name] > 2:
		case m.Value[0] == 'n':
			v.null = true
			if f.nulls {
				f.values = append(f.values, v)
			}
		case field.object != nil && m.Value[0] == '{':
			v.opens = true
			f.values = append(f.values, v)
			f.object(field.object, strictjson.Members(m.Value))
		case field.object != nil:
			f.problems.Add(v.Name, "%s", field.object.wrongType(kindOf(m.Value)))
		case f.strict && !field.accepts(m.Value), field.jsonType == aString && kindOf(m.Value) == aBoolean:
			f.problems.Add(v.Name, "Must be %s, not %s.", field.jsonType, kindOf(m.Value))
		case field.list && m.Value[0] == '[':
			f.elements(v, m.Value)
		default:
			f.scalar(v, m.Value, field.jsonType)
		}
	}
}

// accepts reports whether a JSON value has the type of the parameter.
func (p parameter) accepts(value json.RawMessage) bool {
	kind := kindOf(value)
	return kind == p.jsonType || kind == aNumber && p.jsonType == anInteger || kind == anArray && p.list
}

// JSON types as named in messages.
const (
	aString   = "a string"
	aNumber   = "a number"
	anInteger = "an integer"
	aBoolean  = "a boolean"
	anArray   = "an array"
	anObject  = "an object"
)

// kindOf names the type of a JSON value.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return aString
	case '[':
		return anArray
	case '{':
		return anObject
	case 't', 'f':
		return aBoolean
	}
	return aNumber
}

// scalar reads one non-null value. jsonType is the type of its parameter.
func (f *flattener) scalar(v Value, value json.RawMessage, jsonType string) {
	switch value[0] {
	case '"':
		v.Text, _ = strictjson.Text(value)
	case 't', 'f':
		v.Text = string(value)
	case '{', '[':
		f.problems.Add(v.Name, "Must be %s, not %s.", jsonType, kindOf(value))
		return
	default:
		v.Text = digits(value)
		if v.Name == idParameter {
			if v.Text = ttbIDOf(v.Text); v.Text == "" {
				f.problems.Add(v.Name,
					`%s is not a TTB ID; send a string of 14 digits, such as "11054001000049".`,
					Truncate(string(value)))
				return
			}
		}
	}
	f.values = append(f.values, v)
}

// elements reads an array of strings.
func (f *flattener) elements(v Value, array json.RawMessage) {
	wrong := 0
	for i, e := range strictjson.Elements(array) {
		var ok bool
		if v.Text, ok = strictjson.Text(e); ok {
			f.values = append(f.values, v)
			continue
		}
		if wrong++; wrong <= maxElements {
			f.problems.Add(v.Name, "Element %d is not a string; send an array of strings.", i+1)
		}
	}
}

// digits returns a JSON number without an exponent if it is an integer that every client can
// represent exactly, and otherwise as sent.
func digits(number json.RawMessage) string {
	text := string(number)
	if !strings.ContainsAny(text, ".eE") {
		return text
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
		return text
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// ttbIDOf returns the TTB ID for a number with fourteen digits, or with thirteen if the ID has a
// leading zero (years before 2010). It returns "" for any other number.
func ttbIDOf(number string) string {
	if len(number) == 13 {
		number = "0" + number
	}
	if _, ok := cola.ParseTTBID(number); !ok {
		return ""
	}
	return number
}
