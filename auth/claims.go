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

// claims is a JSON object by its members' exact names, none of which is given twice: two readers of a token must not read two things.
type claims map[string]json.RawMessage

// mostLevels and mostValues bound the JSON that is decoded before a token's signature is checked.
// Issuers list up to a few hundred groups.
const (
	mostLevels = 16
	mostValues = 1_000
)

// parseClaims reads one JSON object, and nothing else. Its errors tell nothing of what it holds.
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

// text returns the string with a name, and an empty one when there is none.
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

// texts returns the strings with a name: those of an array, or the only one.
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

// lastSecond is the end of the year 9999. What lies beyond is most likely in milliseconds.
const lastSecond = 253402300799

// instant returns the time with a name, which JSON has in seconds since 1970; given is false when there is none.
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
