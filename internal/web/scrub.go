package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// removed replaces a credential.
const removed = "REMOVED"

// credential matches anything that looks like a credential, even if escaped: API keys, possibly
// truncated; JSON Web Tokens; webhook secrets; bearer tokens; and the user info of a URL.
var credential = regexp.MustCompile(`(?i)(?:lar(?:_|%(?:25)*5f)[0-9a-z]{36}|\blar(?:_|%(?:25)*5f)[0-9a-z]{5,}` +
	`|\beyJ[\w-]{10,}(?:\.[\w-]*){1,4}|whsec_[\w+/=-]+|\bbearer[ +]+[\w.~+/=-]{16,}|://[^/@\s"?#]+@)`)

// credentialMarks lists substrings. Every match of credential contains at least one of them, in
// upper or lower case.
var credentialMarks = []string{"lar", "eyj", "whsec_", "bearer", "://"}

// mayHoldCredential reports whether text can match credential. It is much faster than matching.
func mayHoldCredential(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(credentialMarks, func(mark string) bool { return strings.Contains(text, mark) })
}

// secretNames are substrings of parameter names that clients use to send credentials, in lower case
// and without separators.
var secretNames = []string{"apikey", "token", "secret", "password", "passwd", "authorization", "credential", "bearer", "jwt"}

// isSecretName reports whether a parameter is meant for a credential.
func isSecretName(name string) bool {
	name = separators.Replace(strings.ToLower(name))
	return name == "key" || name == "auth" ||
		slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// credentials lists the credentials of a request. Its methods remove them, and everything that
// looks like a credential, from text.
type credentials []string

// credentialsOf returns the credentials in the headers of a request.
func credentialsOf(h http.Header) (found credentials) {
	for _, value := range slices.Concat(h.Values("X-Api-Key"), h.Values("Authorization")) {
		for word := range strings.FieldsSeq(value) {
			if len(word) > len("Bearer") {
				found = append(found, word)
			}
		}
	}
	return found
}

// scrub removes credentials from text.
func (c credentials) scrub(text string) string {
	if len(text) > maxScrubbed {
		text = text[:maxScrubbed]
	}
	for _, secret := range c {
		text = strings.ReplaceAll(text, secret, removed)
	}
	if !mayHoldCredential(text) {
		return text
	}
	return credential.ReplaceAllString(text, removed)
}

// scrubPath removes credentials from an escaped path.
func (c credentials) scrubPath(path string) string {
	if !strings.Contains(path, "%") {
		return c.scrub(path)
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if scrubbed := c.scrub(plain); err == nil && scrubbed != plain {
			segments[i] = url.PathEscape(scrubbed)
		}
	}
	return c.scrub(strings.Join(segments, "/"))
}

// scrubQuery removes credentials, and the values of parameters meant for them, from a query string.
func (c credentials) scrubQuery(query string) string {
	if len(query) > maxScrubbed {
		query = query[:maxScrubbed]
	}
	if query == "" {
		return ""
	}
	b := make([]byte, 0, len(query)+1)
	for pair := range strings.SplitSeq(query, "&") {
		name, value, hasValue := strings.Cut(pair, "=")
		name, badName := url.QueryUnescape(name)
		value, badValue := url.QueryUnescape(value)
		if badName != nil || badValue != nil {
			b = append(b, removed+"&"...) // may hide a credential
			continue
		}
		if isSecretName(name) && value != "" {
			value = removed
		}
		b = append(b, readableEscape(c.scrub(name))...)
		if hasValue {
			b = append(append(b, '='), readableEscape(c.scrub(value))...)
		}
		b = append(b, '&')
	}
	return string(b[:len(b)-1])
}

// readableEscape is like url.QueryEscape, but keeps some characters that don't need escaping in a
// query.
func readableEscape(text string) string {
	escaped := url.QueryEscape(text)
	if !strings.Contains(escaped, "%") {
		return escaped
	}
	return readable.Replace(escaped)
}

var readable = strings.NewReplacer("%2C", ",", "%3A", ":", "%2F", "/")

// scrubJSON removes credentials, and the values of members meant for them, from JSON.
func (c credentials) scrubJSON(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	if len(content) > maxScrubbed {
		return "(too long to record)"
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return "(not JSON)"
	}
	scrubbed, err := cola.AppendJSON(nil, c.scrubValue(value))
	if err != nil {
		return "(not JSON)"
	}
	return string(scrubbed)
}

// scrubValue removes credentials from the strings of a decoded JSON value.
func (c credentials) scrubValue(value any) any {
	switch v := value.(type) {
	case string:
		return c.scrub(v)
	case []any:
		for i := range v {
			v[i] = c.scrubValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			if isSecretName(name) {
				member = removed
			}
			clean[c.scrub(name)] = c.scrubValue(member)
		}
		return clean
	}
	return value
}

// storable replaces invalid UTF-8 and NUL, which PostgreSQL can't store.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
