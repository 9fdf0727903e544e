package params

import (
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
)

// setter returns a function that parses a value into a field of type t, or nil for an unsupported
// type.
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
	case reflect.TypeFor[cola.Opt[bool]]():
		return setBoolean
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
		return Quoted(value) + " is not a date; use YYYY-MM-DD, such as 2024-05-31."
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
		return Quoted(value) + " is not valid; use a whole number" + p.bounds() + "."
	}
	field.Set(reflect.ValueOf(cola.Some(n)))
	return ""
}

func (p parameter) setNumber(field reflect.Value, value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	// ParseFloat also accepts hexadecimal numbers and infinities; parameters must be decimal.
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || strings.Trim(value, "0123456789.eE+-") != "" {
		return Quoted(value) + " is not valid; use a number" + p.bounds() + "."
	}
	field.Set(reflect.ValueOf(cola.Some(n)))
	return ""
}

func (p parameter) bounds() string {
	switch {
	case p.min != "" && p.max != "":
		return " from " + p.min + " to " + p.max
	case p.min != "":
		return " that is at least " + p.min
	case p.max != "":
		return " that is at most " + p.max
	}
	return ""
}

func setBoolean(field reflect.Value, value string) string {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "":
	case "true":
		field.Set(reflect.ValueOf(cola.Some(true)))
	case "false":
		field.Set(reflect.ValueOf(cola.Some(false)))
	default:
		return Quoted(value) + " is not valid; use true or false."
	}
	return ""
}

// MaxTextLength is the maximum number of characters of a caller's text in a message.
const MaxTextLength = 60

// Truncate shortens a caller's text and makes it valid UTF-8, for use in a message or as a name.
func Truncate(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= MaxTextLength {
		return s
	}
	return string([]rune(s)[:MaxTextLength]) + "…"
}

// Quoted shortens and quotes a caller's text for use in a message.
func Quoted(s string) string { return strconv.Quote(Truncate(s)) }
