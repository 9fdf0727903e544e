package cola

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Lengths of parameters, in characters.
const (
	maxTextLength  = 200 // of any text parameter
	maxShownValues = 5   // of one parameter, wrong ones, told one by one
)

// findings settles parameters one at a time and collects what is wrong with them. Each method returns the settled value, or
// the zero value when it noted a problem.
type findings struct{ problems Problems }

// findingsFrom starts with what was found wrong before. The map is copied: it belongs to the parameters, which may be
// normalised again.
func findingsFrom(d Decoded) *findings {
	f := &findings{}
	f.problems.Merge(d.Problems)
	return f
}

func (f *findings) err() error { return f.problems.Err() }

// text settles free text: white space around it is dropped.
func (f *findings) text(name, value string) string { return f.textUpTo(name, value, maxTextLength) }

// AcceptsText reports whether a text is valid as the value of any text parameter.
func AcceptsText(value string) bool {
	var f findings
	f.text("", value)
	return len(f.problems) == 0
}

// textUpTo settles free text of so many characters at most.
func (f *findings) textUpTo(name, value string, most int) string {
	value = strings.TrimSpace(value)
	switch {
	case !utf8.ValidString(value):
		f.problems.Add(name, "The text is not valid UTF-8.")
	case strings.ContainsFunc(value, unicode.IsControl):
		f.problems.Add(name, "%s holds a control character; only printable text is allowed.", vocabulary.Quote(value))
	case utf8.RuneCountInString(value) > most:
		f.problems.Add(name, "The text has %d characters; at most %d are allowed.", utf8.RuneCountInString(value), most)
	default:
		return value
	}
	return ""
}

// legible settles a text that people read, of so many characters at most, which must hold something to read. missing is what to say when
// it does not.
func (f *findings) legible(name, value string, most int, missing string) string {
	value = f.textUpTo(name, value, most)
	switch {
	case strings.ContainsFunc(value, vocabulary.IsInvisible):
		f.problems.Add(name, "%s holds a character that nobody sees, such as one that turns the direction of writing; leave it out.", vocabulary.Quote(value))
		return ""
	case !strings.ContainsFunc(value, isLegible):
		f.require(name, missing)
		return ""
	}
	return value
}

func isLegible(r rune) bool { return unicode.IsPrint(r) && !unicode.IsMark(r) }

// choice settles one of the allowed words, given in any letter case.
func (f *findings) choice(name, value string, allowed []string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	word, ok := oneOf(value, allowed)
	if !ok {
		f.refuseChoice(name, value, allowed)
	}
	return word
}

// choices settles any of the allowed words: each once, in the order of allowed, empty values left out.
func (f *findings) choices(name string, values, allowed []string) []string {
	chosen := make(map[string]bool, len(allowed))
	refused := 0
	for _, value := range values {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		word, ok := oneOf(value, allowed)
		if ok {
			chosen[word] = true
			continue
		}
		if refused++; refused <= maxShownValues {
			f.refuseChoice(name, value, allowed)
		}
	}
	if more := refused - maxShownValues; more > 0 {
		f.problems.Add(name, "%d further values are not allowed either.", more)
	}
	var words []string
	for _, word := range allowed {
		if chosen[word] {
			words = append(words, word)
		}
	}
	return words
}

func (f *findings) refuseChoice(name, value string, allowed []string) {
	hint := ""
	if near, ok := vocabulary.Nearest(value, allowed); ok {
		hint = " Did you mean " + near + "?"
	}
	f.problems.Add(name, "%s is not allowed; allowed: %s.%s", vocabulary.Quote(value), strings.Join(allowed, ", "), hint)
}

// Choice settles one of the allowed words, given in any letter case, for a parameter that no struct of parameters has. It
// returns nothing, having noted a problem, for any other word; an empty value is none.
func (p *Problems) Choice(name, value string, allowed []string) string {
	f := findings{*p}
	word := f.choice(name, value, allowed)
	*p = f.problems
	return word
}

// Legible settles a text that people read, as Choice settles a word: of so many characters at most, none of them hidden and not all of
// them blank. missing is what to say when there is nothing to read.
func (p *Problems) Legible(name, value string, most int, missing string) string {
	f := findings{*p}
	text := f.legible(name, value, most, missing)
	*p = f.problems
	return text
}

// oneOf finds a word in another letter case or spacing.
func oneOf(value string, allowed []string) (word string, ok bool) {
	value = strings.Join(strings.Fields(value), " ")
	i := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, value) })
	if i < 0 {
		return "", false
	}
	return allowed[i], true
}

// integer settles a whole number from least to most.
func (f *findings) integer(name string, v Opt[int], fallback, least, most int) int {
	n := v.Or(fallback)
	switch {
	case n < least:
		f.problems.Add(name, "%d is too small; allowed: %d to %d.", n, least, most)
	case n > most:
		f.problems.Add(name, "%d is too large; allowed: %d to %d.", n, least, most)
	default:
		return n
	}
	return fallback
}

// page settles the number of a page of a list that has MaxPage of them. further says how to read what lies beyond.
func (f *findings) page(v Opt[int], further string) int {
	if v.V > MaxPage {
		f.problems.Add("page", "%d is too large; allowed: 1 to %d. %s", v.V, MaxPage, further)
		return 1
	}
	return f.integer("page", v, 1, 1, MaxPage)
}

// ordered adds a problem if a lower bound is above the upper one.
func (f *findings) ordered(nameMin string, low Opt[float64], nameMax string, high Opt[float64]) {
	if low.OK && high.OK && low.V > high.V {
		f.problems.Add(nameMin, "%s is above %s, which is %s; nothing lies between.", plain(low.V), nameMax, plain(high.V))
	}
}

// bound settles an inclusive bound, a finite number from 0 to most.
func (f *findings) bound(name string, v Opt[float64], most float64) Opt[float64] {
	switch {
	case !v.OK:
	case math.IsNaN(v.V) || math.IsInf(v.V, 0):
		f.problems.Add(name, "%s is not a finite number.", plain(v.V))
	case v.V < 0:
		f.problems.Add(name, "%s is negative; the least is 0.", plain(v.V))
	case v.V > most:
		f.problems.Add(name, "%s is too large; the most is %s.", plain(v.V), plain(most))
	default:
		return Some(v.V + 0) // -0 becomes 0
	}
	return Opt[float64]{}
}

// state settles two letters, or the name or adjective of a US state, to the code in upper case. Two letters need not be those of a
// state that is known here: records may have others.
func (f *findings) state(name, value string) string {
	if code := strings.ToUpper(strings.TrimSpace(value)); vocabulary.IsStateCode(code) {
		return code
	}
	return f.stateCode(name, value)
}

// State settles a state, as Choice settles a word: two letters in any case, or its name, to the code in upper case.
func (p *Problems) State(name, value string) string {
	f := findings{*p}
	code := f.state(name, value)
	*p = f.problems
	return code
}

// plain writes a number the way people do, unless that would be very long.
func plain(v float64) string {
	if math.Abs(v) >= 1e15 || (v != 0 && math.Abs(v) < 1e-6) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
