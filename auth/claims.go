package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// claims are the members of a JSON object in a token, by their exact names. Duplicate names are
// rejected, so that all readers of a token read the same.
type claims map[string]json.RawMessage

// mostLevels and mostValues bound the JSON that is decoded before a token's signature is checked.
// Issuers list up to a few hundred groups.
const (
	mostLevels = 16
	mostValues = 1_000
)

// parseClaims parses a JSON object. Its errors reveal nothing of the content.
func parseClaims(data []byte) (claims, error) {
	data = bytes.TrimSpace(data)
	switch {
	case !utf8.Valid(data):
		return nil, errors.New("it is not valid UTF-8")
	case strictjson.Bounded(data, mostLevels, mostValues) != nil:
		return nil, errors.New("it has too many values")
	case !strictjson.Valid(data) || data[0] != '{':
		return nil, errNoObject
	}
	members, ambiguity := strictjson.Unambiguous(data, nil)
	if ambiguity != nil {
		return nil, errors.New("a name is given twice")
	}
	o := make(claims, len(members))
	for _, m := range members {
		o[m.Name] = m.Value
	}
	return o, nil
}

var errNoObject = errors.New("it is not a JSON object")

// text returns a string claim, or "" if it is missing.
func (o claims) text(name string) (string, error) {
	raw, given := o[name]
	if !given {
		return "", nil
	}
	s, ok := strictjson.Text(raw)
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}

// texts returns the strings of a claim that is an array of strings or a single one.
func (o claims) texts(name string) (list []string, err error) {
	raw, given := o[name]
	if !given {
		return nil, nil
	}
	if s, ok := strictjson.Text(raw); ok {
		return []string{s}, nil
	}
	if raw[0] != '[' {
		return nil, fmt.Errorf("%s is neither a string nor an array of strings", name)
	}
	for _, e := range strictjson.Elements(raw) {
		s, ok := strictjson.Text(e)
		if !ok {
			return nil, fmt.Errorf("%s holds something other than strings", name)
		}
		list = append(list, s)
	}
	return list, nil
}

// lastSecond is the end of the year 9999. Later times are most likely in milliseconds.
const lastSecond = 253402300799

// instant returns a claim that is a time in seconds since 1970; given is false if it is missing.
func (o claims) instant(name string) (at time.Time, given bool, err error) {
	raw, given := o[name]
	if !given {
		return time.Time{}, false, nil
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, true, fmt.Errorf("%s is not a time in seconds since 1970", name)
	}
	return time.UnixMilli(int64(seconds * 1000)), true, nil
}
