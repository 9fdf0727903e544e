package cola

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Limits on parameters.
const (
	maxTextLength  = 200 // length of any text parameter, in characters
	maxShownValues = 5   // invalid values of one parameter that are reported individually
)

// Problems maps the names of a request's invalid parameters to messages. The zero value is ready to
// use. Its validating methods return the normalized value, or add a problem and return the zero
// value or the default.
type Problems map[string][]string

// Add adds a problem with a parameter. The message is a sentence without the parameter's name.
func (p *Problems) Add(parameter, format string, args ...any) {
	if *p == nil {
		*p = Problems{}
	}
	(*p)[parameter] = append((*p)[parameter], fmt.Sprintf(format, args...))
}

// Merge adds all of o's problems.
func (p *Problems) Merge(o Problems) {
	for name, messages := range o {
		for _, m := range messages {
			p.Add(name, "%s", m)
		}
	}
}

// Err returns nil if there are no problems, otherwise a CodeValidation error whose Details are
// {parameter: [messages]}.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	names := make([]string, 0, len(p))
	details := make(map[string]any, len(p))
	for name, messages := range p {
		names = append(names, name)
		details[name] = slices.Clone(messages)
	}
	sort.Strings(names)
	return &Error{
		Code:    CodeValidation,
		Message: "Invalid parameters: " + strings.Join(names, ", ") + ". See details.",
		Details: details,
	}
}

// problems returns a copy of the problems found while decoding.
func (d Decoded) problems() *Problems {
	p := &Problems{}
	p.Merge(d.Problems)
	return p
}

// text trims and checks free text.
func (p *Problems) text(name, value string) string { return p.textUpTo(name, value, maxTextLength) }

// AcceptsText reports whether text parameters accept a value.
func AcceptsText(value string) bool {
	var p Problems
	p.text("", value)
	return len(p) == 0
}

// textUpTo trims and checks free text of up to maxLength characters.
func (p *Problems) textUpTo(name, value string, maxLength int) string {
	value = strings.TrimSpace(value)
	switch {
	case !utf8.ValidString(value):
		p.Add(name, "The text is not valid UTF-8.")
	case strings.ContainsFunc(value, unicode.IsControl):
		p.Add(name, "%s contains a control character; only printable text is allowed.", Quoted(value))
	case utf8.RuneCountInString(value) > maxLength:
		p.Add(name, "The text is %d characters long; the limit is %d.", utf8.RuneCountInString(value), maxLength)
	default:
		return value
	}
	return ""
}

// Legible trims and checks text for people to read: at most maxLength characters, none of them
// invisible, and not blank. missing is the message for blank text.
func (p *Problems) Legible(name, value string, maxLength int, missing string) string {
	value = p.textUpTo(name, value, maxLength)
	switch {
	case strings.ContainsFunc(value, vocabulary.IsInvisible):
		p.Add(name, "%s contains an invisible character, such as a text direction mark; remove it.", Quoted(value))
		return ""
	case !strings.ContainsFunc(value, isLegible):
		p.require(name, missing)
		return ""
	}
	return value
}

func isLegible(r rune) bool { return unicode.IsPrint(r) && !unicode.IsMark(r) }

// Choice normalizes one of the allowed words, ignoring letter case. A blank value means no choice.
func (p *Problems) Choice(name, value string, allowed []string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	word, ok := oneOf(value, allowed)
	if !ok {
		p.refuseChoice(name, value, allowed)
	}
	return word
}

// Choices normalizes a list of allowed words. The result has no duplicates or blank values and is
// in the order of allowed.
func (p *Problems) Choices(name string, values, allowed []string) []string {
	if len(values) == 0 {
		return nil
	}
	chosen := make(map[string]bool, len(allowed))
	rejected := 0
	for _, value := range values {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		word, ok := oneOf(value, allowed)
		if ok {
			chosen[word] = true
			continue
		}
		if rejected++; rejected <= maxShownValues {
			p.refuseChoice(name, value, allowed)
		}
	}
	if more := rejected - maxShownValues; more > 0 {
		p.Add(name, "Invalid values not shown: %d.", more)
	}
	var words []string
	for _, word := range allowed {
		if chosen[word] {
			words = append(words, word)
		}
	}
	return words
}

func (p *Problems) refuseChoice(name, value string, allowed []string) {
	if len(allowed) == 1 {
		p.Add(name, "%s is invalid; the only accepted value is %s.", Quoted(value), allowed[0])
		return
	}
	hint := ""
	if near, ok := vocabulary.Nearest(value, allowed); ok {
		hint = " Did you mean " + near + "?"
	}
	p.Add(name, "%s is not one of %s.%s", Quoted(value), strings.Join(allowed, ", "), hint)
}

// oneOf finds an allowed word, ignoring letter case and spacing.
func oneOf(value string, allowed []string) (word string, ok bool) {
	value = strings.Join(strings.Fields(value), " ")
	i := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, value) })
	if i < 0 {
		return "", false
	}
	return allowed[i], true
}

// integer checks a whole number.
func (p *Problems) integer(name string, v Opt[int], fallback, minimum, maximum int) int {
	n := v.Or(fallback)
	switch {
	case n < minimum:
		p.Add(name, "%d is too small; use %d to %d.", n, minimum, maximum)
	case n > maximum:
		p.Add(name, "%d is too large; use %d to %d.", n, minimum, maximum)
	default:
		return n
	}
	return fallback
}

// page checks a page number. hint says how to read beyond MaxPage.
func (p *Problems) page(v Opt[int], hint string) int {
	if v.V > MaxPage {
		p.Add("page", "%d is too large; use 1 to %d. %s", v.V, MaxPage, hint)
		return 1
	}
	return p.integer("page", v, 1, 1, MaxPage)
}

// ordered adds a problem if the lower bound is above the upper one.
func (p *Problems) ordered(nameMin string, low Opt[float64], nameMax string, high Opt[float64]) {
	if low.OK && high.OK && low.V > high.V {
		p.Add(nameMin, "Must not be greater than %s (%s).", nameMax, plain(high.V))
	}
}

// bound checks an inclusive bound: a finite number from 0 to maximum.
func (p *Problems) bound(name string, v Opt[float64], maximum float64) Opt[float64] {
	switch {
	case !v.OK:
	case math.IsNaN(v.V) || math.IsInf(v.V, 0):
		p.Add(name, "%s is not a finite number.", plain(v.V))
	case v.V < 0:
		p.Add(name, "%s is negative; the minimum is 0.", plain(v.V))
	case v.V > maximum:
		p.Add(name, "%s is too large; the maximum is %s.", plain(v.V), plain(maximum))
	default:
		return Some(v.V + 0) // -0 becomes 0
	}
	return Opt[float64]{}
}

// State normalizes the name, adjective or code of a US state to its code. It accepts any two
// letters, because records may have codes for other places.
func (p *Problems) State(name, value string) string {
	if code := strings.ToUpper(strings.TrimSpace(value)); vocabulary.IsStateCode(code) {
		return code
	}
	return p.stateCode(name, value)
}

// plain formats a number without an exponent unless that would be very long.
func plain(v float64) string {
	if math.Abs(v) >= 1e15 || (v != 0 && math.Abs(v) < 1e-6) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// words normalizes text and collapses white space.
func (p *Problems) words(name, value string) string {
	return strings.Join(strings.Fields(p.text(name, value)), " ")
}
