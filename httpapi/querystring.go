package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
)

// What is read of one query string. No search needs as much; more is a mistake or an attack.
const (
	maxQueryBytes = 8192
	maxQueryPairs = 100
)

// wholeQuery is the name that problems of the query string itself are told under.
const wholeQuery = "query"

// pair is one name and value of a query string, both percent-decoded once.
type pair struct{ name, value string }

// splitQuery takes a raw query string apart. What cannot be read is a problem of the parameter it belongs to, and the rest
// is read on: url.ParseQuery would drop the broken pairs and tell only the first error.
func splitQuery(raw string, problems *cola.Problems) []pair {
	if len(raw) > maxQueryBytes {
		problems.Add(wholeQuery, "The query string has %d bytes; at most %d are read.", len(raw), maxQueryBytes)
		return nil
	}
	var pairs []pair
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		if len(pairs) == maxQueryPairs {
			problems.Add(wholeQuery, "The query string has more than %d parameters.", maxQueryPairs)
			break
		}
		if p, ok := splitPair(part, problems); ok {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func splitPair(part string, problems *cola.Problems) (pair, bool) {
	rawName, rawValue, _ := strings.Cut(part, "=")
	name, err := url.QueryUnescape(rawName)
	if err != nil {
		problems.Add(shown(rawName), "The name of this parameter has %s.", badEscape(err))
		return pair{}, false
	}
	if name == "" {
		problems.Add(wholeQuery, "%s has no parameter name before the equals sign.", quoted(part))
		return pair{}, false
	}
	if strings.Contains(part, ";") {
		problems.Add(shown(name), "A semicolon is written %%3B; parameters are separated by &.")
		return pair{}, false
	}
	value, err := url.QueryUnescape(rawValue)
	if err != nil {
		problems.Add(shown(name), "%s has %s.", quoted(rawValue), badEscape(err))
		return pair{}, false
	}
	return pair{name, value}, true
}

func badEscape(err error) string {
	escape := err.Error()
	if e, ok := err.(url.EscapeError); ok {
		escape = string(e)
	}
	return "the invalid percent-encoding " + strconv.Quote(escape) + "; it is % and two hexadecimal digits, and a percent sign itself is %25"
}

// maxShown is how many characters of a caller's own text a message repeats.
const maxShown = 60

// shown shortens a caller's text and makes it valid UTF-8, for repeating it in a message or as a name.
func shown(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown]) + "…"
}

func quoted(s string) string { return strconv.Quote(shown(s)) }
