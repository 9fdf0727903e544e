package ingest

import (
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// schema knows the fields of a record type by their JSON names. It is read-only once made.
type schema struct {
	fields []schemaField
	byName map[string]int
	// ignored are keys that stand for nothing stored: what the API computes, or what a format holds
	// besides.
	ignored map[string]bool
	// within are keys of objects that hold more fields of the same record, and how those are read.
	within map[string]*schema
}

type schemaField struct {
	name  string
	index []int
	form  textForm
	omit  bool // computed from other fields, so never carried
}

// newSchema returns the schema of T. The ignored keys cause no warning about an unknown key.
func newSchema[T any](ignored ...string) *schema {
	s := &schema{byName: map[string]int{}, ignored: map[string]bool{}}
	for i, f := range cola.FieldsOf[T]() {
		s.fields = append(s.fields, schemaField{name: f.Name, index: f.Index})
		s.byName[f.Name] = i
	}
	for _, name := range ignored {
		s.ignored[name] = true
	}
	return s
}

// form sets how texts are read into some fields, or into all when none is named.
func (s *schema) form(form textForm, names ...string) *schema {
	for i := range s.fields {
		if len(names) == 0 {
			s.fields[i].form = form
		}
	}
	for _, name := range names {
		s.fields[s.byName[name]].form = form
	}
	return s
}

// computed marks fields that follow from others: sources may state them, to no effect.
func (s *schema) computed(names ...string) *schema {
	for _, name := range names {
		s.fields[s.byName[name]].omit = true
	}
	return s
}

// alias lets a key stand for a field of another name.
func (s *schema) alias(key, name string) *schema {
	s.byName[key] = s.byName[name]
	return s
}

// names lists the field names.
func (s *schema) names() []string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	return names
}

// unknownKey is the warning about a key that is no field, empty for one that is known to be none.
func (s *schema) unknownKey(list, key string) string {
	if s.ignored[key] {
		return ""
	}
	if list != "" {
		list += "[]."
	}
	hint := ""
	if nearest, ok := vocabulary.Nearest(key, s.names()); ok {
		hint = "; did you mean " + nearest + "?"
	}
	return fmt.Sprintf("unknown field %s is ignored%s", quote(list+key), hint)
}

// notes are what decoding rows finds odd: message to rows.
type notes map[string]int

// maxNotes bounds how many different messages are kept.
const maxNotes = 100

func (n notes) add(message string) {
	if message == "" {
		return
	}
	if _, ok := n[message]; ok || len(n) < maxNotes {
		n[message]++
	}
}
