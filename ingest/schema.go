package ingest

import (
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// schema maps JSON names to the fields of a record type. It is read-only after setup.
type schema struct {
	fields []schemaField
	byName map[string]int
	// ignored are known keys that are not stored: values that the API computes, or additional
	// fields of some input formats.
	ignored map[string]bool
	// within holds the schemas of nested objects, by key. Their fields belong to the same record.
	within map[string]*schema
}

type schemaField struct {
	name  string
	index []int
	form  textForm
	omit  bool // computed from other fields, so never read
}

// newSchema returns the schema of T. The ignored keys cause no unknown-key warnings.
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

// form sets the form of strings in the named fields, or in all fields if there are no names.
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

// computed marks derived fields, which sources may contain without effect.
func (s *schema) computed(names ...string) *schema {
	for _, name := range names {
		s.fields[s.byName[name]].omit = true
	}
	return s
}

// alias maps a key to a field with another name.
func (s *schema) alias(key, name string) *schema {
	s.byName[key] = s.byName[name]
	return s
}

// synonyms maps keys to fields with other names.
func (s *schema) synonyms(names map[string]string) *schema {
	for key, name := range names {
		s.alias(key, name)
	}
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

// unknownKey returns the warning about an unknown key, or "" for an ignored one.
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
	return fmt.Sprintf("unknown field %s ignored%s", quote(list+key), hint)
}

// notes counts the rows that caused each warning.
type notes map[string]int

// maxNotes is the maximum number of different messages.
const maxNotes = 100

func (n notes) add(message string) {
	if message == "" {
		return
	}
	if _, ok := n[message]; ok || len(n) < maxNotes {
		n[message]++
	}
}
