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

// What a record may hold at most.
const (
	maxNameRunes  = 500    // of a name, code or other short text
	maxProseRunes = 10_000 // of a description or a web address
	maxItems      = 500    // of a list within a record
)

// What a record may say of time: nothing in the registry is older or lies further ahead.
const (
	minYear = 1900
	maxYear = 2200
)

// faults collects what is wrong with the values of a record. Its methods allocate nothing for a value that is right: an
// import checks millions.
type faults struct {
	messages []string
	in       string // list within the record that is being checked, or empty
	at       int    // index in that list
}

// err joins the faults into one error, or returns nil.
func (f *faults) err() error {
	if f.messages == nil {
		return nil
	}
	return errors.New(strings.Join(f.messages, "; "))
}

func (f *faults) add(field, format string, args ...any) {
	if f.in != "" {
		field = fmt.Sprintf("%s[%d].%s", f.in, f.at, field)
	}
	f.messages = append(f.messages, field+": "+fmt.Sprintf(format, args...))
}

// required notes a text that is missing from a row of a list.
func (f *faults) required(field, value string) {
	if value == "" {
		f.add(field, "is missing")
	}
}

// name checks a short text: one printable line.
func (f *faults) name(field, value string) { f.text(field, value, maxNameRunes, "") }

// prose checks a long text, which may have line breaks and tabs.
func (f *faults) prose(field, value string) { f.text(field, value, maxProseRunes, "\n\r\t") }

func (f *faults) text(field, value string, most int, controls string) {
	if len(value) <= most && printableASCII(value) {
		return
	}
	if !utf8.ValidString(value) {
		f.add(field, "%s is not valid UTF-8", vocabulary.Quote(value))
		return
	}
	bad := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(controls, r) }
	if strings.ContainsFunc(value, bad) {
		f.add(field, "%s holds a control character", vocabulary.Quote(value))
	}
	if n := utf8.RuneCountInString(value); n > most {
		f.add(field, "%s has %d characters, more than %d", vocabulary.Quote(value), n, most)
	}
}

// printableASCII is the quick check that nearly every text passes.
func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// oneOf checks a word of a fixed list, as spelt there.
func (f *faults) oneOf(field, value string, allowed []string) {
	if value == "" || slices.Contains(allowed, value) {
		return
	}
	f.add(field, "%s is not one of %s%s", vocabulary.Quote(value), strings.Join(allowed, ", "), meant(value, allowed))
}

// category checks that a category path begins with a root of the taxonomy, as spelt there.
func (f *faults) category(field, path string) {
	root, _, _ := strings.Cut(path, ">")
	root = strings.TrimSpace(root)
	if path == "" || slices.Contains(vocabulary.CategoryRoots(), root) {
		return
	}
	f.add(field, "%s is under none of %s%s", vocabulary.Quote(path), strings.Join(vocabulary.CategoryRoots(), ", "), meant(root, vocabulary.CategoryRoots()))
}

// meant asks whether the nearest of the allowed words was meant, if one is near.
func meant(word string, allowed []string) string {
	near, ok := vocabulary.Nearest(word, allowed)
	if !ok {
		return ""
	}
	return " (did you mean " + near + "?)"
}

// list checks a list of short texts.
func (f *faults) list(field string, values []string) {
	f.length(field, len(values))
	for _, v := range values {
		f.name(field, v)
		f.required(field, v)
	}
}

func (f *faults) length(field string, n int) {
	if n > maxItems {
		f.add(field, "%d entries are more than %d", n, maxItems)
	}
}

// count checks a whole number that is not negative.
func (f *faults) count(field string, v Opt[int], most int) {
	switch {
	case v.V < 0:
		f.add(field, "%d is negative", v.V)
	case v.V > most:
		f.add(field, "%d is above %d", v.V, most)
	}
}

// amount checks a finite number that is not negative.
func (f *faults) amount(field string, v Opt[float64], most float64) {
	switch {
	case math.IsNaN(v.V) || math.IsInf(v.V, 0):
		f.add(field, "%s is not a finite number", plain(v.V))
	case v.V < 0:
		f.add(field, "%s is negative", plain(v.V))
	case v.V > most:
		f.add(field, "%s is above %s", plain(v.V), plain(most))
	}
}

// year checks a year from first to maxYear.
func (f *faults) year(field string, v Opt[int], first int) {
	if v.OK && (v.V < first || v.V > maxYear) {
		f.add(field, "%d is not a year from %d to %d", v.V, first, maxYear)
	}
}

// date checks a day from minYear to maxYear.
func (f *faults) date(field string, d Date) {
	if d != 0 && (d < minDay || d > maxDay) {
		f.add(field, "%s is not within %d to %d", d, minYear, maxYear)
	}
}

const (
	minDay = Date(693596) // 1900-01-01
	maxDay = Date(803533) // 2200-12-31
)
