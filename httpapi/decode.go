package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/strictjson"
	"github.com/colaregistry/colaregistry/internal/web"
)

// decoder reads query strings into a parameter struct.
type decoder[P any] struct{ *params.Reader[P] }

func newDecoder[P any]() decoder[P] { return decoder[P]{params.New[P]("this endpoint")} }

// decode reads a raw query string. It always returns a struct, whose Problems field lists the
// problems.
func (d decoder[P]) decode(rawQuery string) (p P) {
	d.decodeInto(&p, rawQuery)
	return p
}

// decodeInto is like decode, but fills an empty struct to avoid a copy.
func (d decoder[P]) decodeInto(p *P, rawQuery string) {
	var problems cola.Problems
	values := splitQuery(rawQuery, &problems)
	d.ReadInto(p, values, problems)
}

// Limits on a query string. Valid searches stay far below them.
const (
	maxQueryBytes = 8192
	maxQueryPairs = 100
)

// queryField is the field name for problems with the query string itself.
const queryField = "query"

// splitQuery splits a raw query string. It reports every malformed pair as a problem with its
// parameter, whereas url.ParseQuery drops malformed pairs and reports only the first.
func splitQuery(raw string, problems *cola.Problems) []params.Value {
	if len(raw) > maxQueryBytes {
		problems.Add(queryField, "The query string is %d bytes; the limit is %d.", len(raw), maxQueryBytes)
		return nil
	}
	var pairs []params.Value
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		if len(pairs) == maxQueryPairs {
			problems.Add(queryField, "The query string has more than %d parameters.", maxQueryPairs)
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
		problems.Add(params.Truncate(rawName), "The parameter name contains %s.", badEscape(err))
		return params.Value{}, false
	}
	if name == "" {
		problems.Add(queryField, "%s has no parameter name before the equals sign.", params.Quoted(part))
		return params.Value{}, false
	}
	if strings.Contains(part, ";") {
		problems.Add(params.Truncate(name), "Write a semicolon as %%3B; separate parameters with &.")
		return params.Value{}, false
	}
	value, err := url.QueryUnescape(rawValue)
	if err != nil {
		problems.Add(params.Truncate(name), "%s has %s.", params.Quoted(rawValue), badEscape(err))
		return params.Value{}, false
	}
	return params.Value{Name: name, Text: value}, true
}

func badEscape(err error) string {
	escape := err.Error()
	if e, ok := err.(url.EscapeError); ok {
		escape = string(e)
	}
	return "the invalid percent-encoding " + strconv.Quote(escape) +
		"; use % and two hexadecimal digits, and %25 for a percent sign"
}

// maxBodyDepth is the maximum nesting depth of objects and arrays in a body; valid bodies need less
// than half of it.
const maxBodyDepth = 8

// bodyField is the field name for problems with the body itself.
const bodyField = "body"

// The media types of bodies. The body of a PATCH is a merge patch (RFC 7396), even if it is sent as
// plain JSON.
const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json"
)

// mediaTypeMessage is the message of an unsupported_media_type error.
func mediaTypeMessage(media []string) string {
	return "The body must be " + strings.Join(media, " or ") +
		" in UTF-8, without compression (no Content-Encoding); set Content-Type: " + media[0] + "."
}

// bodyCall returns the call for an endpoint with a JSON body in one of the media types. An
// unreadable body is rejected here and counts toward the rate limit. Otherwise the service checks
// the values and reports the reader's problems together with its own. do gets the request so that
// it can read path values and headers.
func bodyCall[P, R any](
	svc Service, media []string, do func(*http.Request, cola.Caller, P) (R, cola.QuotaState, error),
	render func(R) result,
) call {
	reader := params.New[P]("this endpoint")
	return func(r *http.Request, caller cola.Caller) (result, cola.QuotaState, error) {
		members, err := readBody(r, media, reader.Example())
		if err != nil {
			state, err := svc.Refuse(web.Detach(r.Context()), caller, err)
			return result{}, state, err
		}
		values, problems := reader.StrictValues(members)
		rejectQuery(r.URL.RawQuery, &problems)
		value, state, err := do(r, caller, reader.Read(values, problems))
		if err != nil {
			return result{}, state, err
		}
		return render(value), state, nil
	}
}

// rejectQuery reports query parameters sent to an endpoint that reads its parameters from the body.
func rejectQuery(raw string, problems *cola.Problems) {
	var queryProblems cola.Problems
	for _, v := range splitQuery(raw, &queryProblems) {
		if name := params.Truncate(v.Name); len(queryProblems[name]) == 0 {
			queryProblems.Add(name, "Query parameters are not accepted here; send this one in the body.")
		}
	}
	problems.Merge(queryProblems)
}

// readBody returns the members of the JSON object in the body. form is an example of the object,
// for error messages.
func readBody(r *http.Request, media []string, form string) ([]strictjson.Member, error) {
	if !hasMediaType(media, r.Header) {
		return nil, &cola.Error{Code: cola.CodeUnsupportedMediaType, Message: mediaTypeMessage(media)}
	}
	body, err := web.ReadBody(r, maxBodyBytes, "The body is larger than %d bytes.")
	if err != nil {
		return nil, err
	}
	var problems cola.Problems
	if problem := objectProblem(body, form); problem != "" {
		problems.Add(bodyField, "%s", problem)
		return nil, problems.Err()
	}
	return strictjson.Members(body), nil
}

// hasMediaType reports whether a body has one of the media types, in UTF-8 and without a content
// encoding.
func hasMediaType(media []string, h http.Header) bool {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, encoding := parameters["charset"], h.Get("Content-Encoding")
	return err == nil && slices.Contains(media, mediaType) && (charset == "" || strings.EqualFold(charset, "utf-8")) &&
		(encoding == "" || strings.EqualFold(encoding, "identity"))
}

// objectProblem explains why a body is not a JSON object, or returns "" if it is one.
func objectProblem(body []byte, form string) string {
	body = bytes.Trim(body, " \t\r\n")
	example := "send a JSON object, such as " + form + "."
	switch {
	case len(body) == 0:
		return "The body is empty; " + example
	case !utf8.Valid(body):
		return "The body is not valid UTF-8."
	case bytes.HasPrefix(body, []byte("\ufeff")):
		return "The body starts with a byte order mark; send the JSON without it."
	}
	switch strictjson.Bounded(body, maxBodyDepth, strictjson.MaxValues) {
	case strictjson.ErrDepth:
		return "The body is nested too deeply; " + example
	case strictjson.ErrValues:
		return fmt.Sprintf("The body has too many values; the limit is %d.", strictjson.MaxValues)
	}
	var value json.RawMessage
	if err := json.Unmarshal(body, &value); err != nil {
		return "The body is not JSON: " + err.Error() + "; " + example
	}
	if body[0] != '{' {
		return "The body is not a JSON object; " + example
	}
	return ""
}

// singleHeader returns the value of a header, and reports a problem if it is repeated.
func singleHeader(h http.Header, name string, problems *cola.Problems) string {
	values := h.Values(name)
	if len(values) > 1 {
		problems.Add(name, "The header appears %d times; send it once.", len(values))
		return ""
	}
	return h.Get(name)
}
