package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lookUp returns the value at a path in decoded JSON. A path consists of steps separated by slashes:
//
//   - the name of a member
//   - the index of an element, from 0
//   - name=value: the first element whose member has that value; several conditions, separated by
//     semicolons, must all hold
//   - *: every element; the rest of the path applies to each, and the result is the list of values
func lookUp(value any, path string) (any, error) {
	if path == "" {
		return value, nil
	}
	step, rest, _ := strings.Cut(path, "/")
	switch v := value.(type) {
	case map[string]any:
		member, ok := v[step]
		if !ok {
			return nil, fmt.Errorf("no member %q", step)
		}
		return lookUp(member, rest)
	case []any:
		if step == "*" {
			return lookUpAll(v, rest)
		}
		i, err := element(v, step)
		if err != nil {
			return nil, err
		}
		return lookUp(v[i], rest)
	}
	return nil, fmt.Errorf("no list or object at %q", path)
}

func lookUpAll(list []any, path string) (any, error) {
	values := make([]any, 0, len(list))
	for i, e := range list {
		value, err := lookUp(e, path)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		values = append(values, value)
	}
	return values, nil
}

// element returns the index of the element that a step selects.
func element(list []any, step string) (int, error) {
	i, err := strconv.Atoi(step)
	if strings.Contains(step, "=") {
		i, err = slices.IndexFunc(list, func(e any) bool { return hasMembers(e, strings.Split(step, ";")) }), nil
	}
	if err != nil || i < 0 || i >= len(list) {
		return 0, fmt.Errorf("no element %q in a list of %d", step, len(list))
	}
	return i, nil
}

// hasMembers reports whether an object has members with the values in name=value pairs.
func hasMembers(value any, pairs []string) bool {
	object, _ := value.(map[string]any)
	return !slices.ContainsFunc(pairs, func(pair string) bool {
		name, want, _ := strings.Cut(pair, "=")
		text, err := textOf(object[name])
		return err != nil || text != want
	})
}

var errNoText = errors.New("a list or object has no text")

// textOf returns a value as text, after converting it to JSON. It fails for lists and objects.
func textOf(v any) (string, error) {
	v, err := asJSON(v)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool, nil:
		return fmt.Sprint(v), nil
	}
	return "", errNoText
}

// asJSON converts a value to the types that json.Unmarshal stores in an any.
func asJSON(v any) (decoded any, err error) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &decoded)
	}
	return decoded, err
}
