package cola

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Limits on a record.
const (
	maxNameRunes  = 500    // characters in a name, code or other short text
	maxProseRunes = 10_000 // characters in a description or a web address
	maxItems      = 500    // items in a list
)

// Valid years in records.
const (
	minYear = 1900
	maxYear = 2200
)

// recordErrors collects the errors in a record. Unlike Problems, it doesn't normalize, and its
// methods don't allocate for valid values, because an import checks millions.
type recordErrors struct {
	messages []string
	in       string // the list being checked, if any
	at       int    // index in the list
}

// err joins the messages into one error, or returns nil.
func (f *recordErrors) err() error {
	if f.messages == nil {
		return nil
	}
	return errors.New(strings.Join(f.messages, "; "))
}

func (f *recordErrors) add(field, format string, args ...any) {
	if f.in != "" {
		field = fmt.Sprintf("%s[%d].%s", f.in, f.at, field)
	}
	f.messages = append(f.messages, field+": "+fmt.Sprintf(format, args...))
}

// required checks that a field of a list item is set.
func (f *recordErrors) required(field, value string) {
	if value == "" {
		f.add(field, "must not be empty")
	}
}

// name checks one short line of printable text.
func (f *recordErrors) name(field, value string) { f.text(field, value, maxNameRunes, "") }

// prose checks long text, which may contain line breaks and tabs.
func (f *recordErrors) prose(field, value string) { f.text(field, value, maxProseRunes, "\n\r\t") }

func (f *recordErrors) text(field, value string, maxLength int, controls string) {
	if len(value) <= maxLength && printableASCII(value) {
		return
	}
	if !utf8.ValidString(value) {
		f.add(field, "%s is not valid UTF-8", Quoted(value))
		return
	}
	bad := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(controls, r) }
	if strings.ContainsFunc(value, bad) {
		f.add(field, "%s contains a control character", Quoted(value))
	}
	if n := utf8.RuneCountInString(value); n > maxLength {
		f.add(field, "%s has %d characters; the limit is %d", Quoted(value), n, maxLength)
	}
}

// printableASCII reports whether s is printable ASCII. It is the fast path for almost all text.
func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// oneOf checks that a value is exactly one of the allowed words, including letter case.
func (f *recordErrors) oneOf(field, value string, allowed []string) {
	if value == "" || slices.Contains(allowed, value) {
		return
	}
	f.add(field, "%s is not one of %s%s", Quoted(value), strings.Join(allowed, ", "), suggestion(value, allowed))
}

// category checks that a path starts with a root of the taxonomy, including letter case.
func (f *recordErrors) category(field, path string) {
	root, _, _ := strings.Cut(path, ">")
	root = strings.TrimSpace(root)
	if path == "" || slices.Contains(vocabulary.CategoryRoots(), root) {
		return
	}
	f.add(field, "%s must start with one of %s%s", Quoted(path), strings.Join(vocabulary.CategoryRoots(), ", "),
		suggestion(root, vocabulary.CategoryRoots()))
}

// suggestion suggests a similar allowed word, if there is one.
func suggestion(word string, allowed []string) string {
	near, ok := vocabulary.Nearest(word, allowed)
	if !ok {
		return ""
	}
	return " (did you mean " + near + "?)"
}

// list checks a list of names.
func (f *recordErrors) list(field string, values []string) {
	f.length(field, len(values))
	for _, v := range values {
		f.name(field, v)
		f.required(field, v)
	}
}

func (f *recordErrors) length(field string, n int) {
	if n > maxItems {
		f.add(field, "has %d entries; the limit is %d", n, maxItems)
	}
}

// count checks a whole number from 0 to maximum.
func (f *recordErrors) count(field string, v Opt[int], maximum int) {
	switch {
	case v.V < 0:
		f.add(field, "%d is negative", v.V)
	case v.V > maximum:
		f.add(field, "%d is greater than %d", v.V, maximum)
	}
}

// amount checks a finite number from 0 to maximum.
func (f *recordErrors) amount(field string, v Opt[float64], maximum float64) {
	switch {
	case math.IsNaN(v.V) || math.IsInf(v.V, 0):
		f.add(field, "%s is not a finite number", plain(v.V))
	case v.V < 0:
		f.add(field, "%s is negative", plain(v.V))
	case v.V > maximum:
		f.add(field, "%s is greater than %s", plain(v.V), plain(maximum))
	}
}

// year checks that a year is between first and maxYear.
func (f *recordErrors) year(field string, v Opt[int], first int) {
	if v.OK && (v.V < first || v.V > maxYear) {
		f.add(field, "%d is not a year between %d and %d", v.V, first, maxYear)
	}
}

// date checks that a day is in a year from minYear to maxYear.
func (f *recordErrors) date(field string, d Date) {
	if d != 0 && (d < minDay || d > maxDay) {
		f.add(field, "%s is not between %d and %d", d, minYear, maxYear)
	}
}

const (
	minDay = Date(693596) // 1900-01-01
	maxDay = Date(803533) // 2200-12-31
)
