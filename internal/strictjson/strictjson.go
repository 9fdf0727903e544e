// Package strictjson takes JSON of others apart without losing anything of it: names that are given twice are seen twice, a name in
// another letter case is another name, and nesting is bounded before anything is read. encoding/json takes the last of two and any
// case, so that two readers of the same bytes may come to different ends.
package strictjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage // without white space around it
}

// Valid reports whether b is JSON and nothing else, in UTF-8.
func Valid(b []byte) bool { return utf8.Valid(b) && json.Valid(b) }

// Members returns the members of valid JSON that is an object, in their order, also those of one name.
func Members(object json.RawMessage) (all []Member) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // the brace; nothing here fails on valid JSON
	for d.More() {
		name, _ := d.Token()
		var m Member
		m.Name, _ = name.(string)
		_ = d.Decode(&m.Value)
		all = append(all, m)
	}
	return all
}

// Elements returns the elements of valid JSON that is an array.
func Elements(array json.RawMessage) (all []json.RawMessage) {
	_ = json.Unmarshal(array, &all) // it is valid JSON
	return all
}

// Find returns the value of the first member of a name, or nil.
func Find(all []Member, name string) json.RawMessage {
	for _, m := range all {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Text returns a JSON string; ok is false for anything else.
func Text(value json.RawMessage) (s string, ok bool) {
	return s, len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil
}

// Ambiguity is a name in an object that two readers may take for different things.
type Ambiguity struct {
	Name  string
	Right string // how it is spelt; empty: it is given twice
}

// Unambiguous returns the members of valid JSON that is an object. ambiguity tells of the first name that is given twice, or that is
// one of the names that mean something in another letter case; it is nil when there is none.
func Unambiguous(object json.RawMessage, meaningful []string) (all []Member, ambiguity *Ambiguity) {
	all = Members(object)
	met := make(map[string]bool, len(all))
	for _, m := range all {
		if met[m.Name] {
			return nil, &Ambiguity{Name: m.Name}
		}
		met[m.Name] = true
		for _, right := range meaningful {
			if m.Name != right && strings.EqualFold(m.Name, right) {
				return nil, &Ambiguity{Name: m.Name, Right: right}
			}
		}
	}
	return all, nil
}

// Deeper reports whether JSON is nested deeper than a number of levels, without reading it otherwise.
func Deeper(b []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > levels {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
