package httpapi

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

// What is read of one query string. No search needs as much; more is a mistake or an attack.
const (
	maxQueryBytes = 8192
	maxQueryPairs = 100
)

// wholeQuery is the name that problems of the query string itself are told under.
const wholeQuery = "query"

// splitQuery takes a raw query string apart. What cannot be read is a problem of the parameter it belongs to, and the rest
// is read on: url.ParseQuery would drop the broken pairs and tell only the first error.
func splitQuery(raw string, problems *cola.Problems) []params.Value {
	if len(raw) > maxQueryBytes {
		problems.Add(wholeQuery, "The query string has %d bytes; at most %d are read.", len(raw), maxQueryBytes)
		return nil
	}
	var pairs []params.Value
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

func splitPair(part string, problems *cola.Problems) (params.Value, bool) {
	rawName, rawValue, _ := strings.Cut(part, "=")
	name, err := url.QueryUnescape(rawName)
	if err != nil {
		problems.Add(params.Shown(rawName), "The name of this parameter has %s.", badEscape(err))
		return params.Value{}, false
	}
	if name == "" {
		problems.Add(wholeQuery, "%s has no parameter name before the equals sign.", params.Quoted(part))
		return params.Value{}, false
	}
	if strings.Contains(part, ";") {
		problems.Add(params.Shown(name), "A semicolon is written %%3B; parameters are separated by &.")
		return params.Value{}, false
	}
	value, err := url.QueryUnescape(rawValue)
	if err != nil {
		problems.Add(params.Shown(name), "%s has %s.", params.Quoted(rawValue), badEscape(err))
		return params.Value{}, false
	}
	return params.Value{Name: name, Text: value}, true
}

func badEscape(err error) string {
	escape := err.Error()
	if e, ok := err.(url.EscapeError); ok {
		escape = string(e)
	}
	return "the invalid percent-encoding " + strconv.Quote(escape) + "; it is % and two hexadecimal digits, and a percent sign itself is %25"
}
