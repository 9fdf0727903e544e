package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// object is a JSON object by its members' exact names. Package encoding/json would take names in any letter case, and the last of
// two with one name: then two readers of a token may read two things.
type object map[string]json.RawMessage

// parseObject reads one JSON object, and nothing else. Its errors tell nothing of what it holds.
func parseObject(data []byte) (object, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not valid UTF-8")
	}
	in := json.NewDecoder(bytes.NewReader(data))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, errNoObject
	}
	o := object{}
	for in.More() {
		token, err := in.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return nil, errNoObject
		}
		if _, twice := o[name]; twice {
			return nil, errors.New("a name is given twice")
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, errNoObject
		}
		o[name] = value
	}
	if _, err := in.Token(); err != nil { // the closing brace
		return nil, errNoObject
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return o, nil
}

var errNoObject = errors.New("it is not a JSON object")

// text returns the string with a name, and an empty one when there is none.
func (o object) text(name string) (string, error) {
	raw, given := o[name]
	if !given {
		return "", nil
	}
	s, ok := textOf(raw)
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}

func textOf(raw json.RawMessage) (s string, ok bool) {
	if raw[0] != '"' { // null would pass for an empty string
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// texts returns the strings with a name: those of an array, or the only one.
func (o object) texts(name string) (list []string, err error) {
	raw, given := o[name]
	if !given {
		return nil, nil
	}
	if s, ok := textOf(raw); ok {
		return []string{s}, nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || elements == nil { // null is no array
		return nil, fmt.Errorf("%s is neither a string nor an array of strings", name)
	}
	for _, e := range elements {
		s, ok := textOf(e)
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
func (o object) instant(name string) (at time.Time, given bool, err error) {
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
