package ingest

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/colaregistry/colaregistry/cola"
)

// maxProblems is how many problems of a row are told: enough to mend it by.
const maxProblems = 5

// problems collects what is wrong with one row.
type problems struct {
	list []string
}

// add notes what is wrong with a field, or with the row when field is empty.
func (p *problems) add(field string, err error) {
	if len(p.list) >= maxProblems {
		return
	}
	if field != "" {
		field += ": "
	}
	p.list = append(p.list, field+err.Error())
}

func (p *problems) none() bool { return len(p.list) == 0 }

func (p *problems) reset() { p.list = p.list[:0] }

func (p *problems) String() string { return strings.Join(p.list, "; ") }

// place is where in a row an object stands: in a list, or, when list is empty, at the top.
type place struct {
	list  string
	index int
}

// name returns the name of a field there, as problems tell it.
func (p place) name(field string) string {
	if p.list == "" {
		return field
	}
	if field == "" {
		return fmt.Sprintf("%s[%d]", p.list, p.index)
	}
	return fmt.Sprintf("%s[%d].%s", p.list, p.index, field)
}

// recordReader decodes JSON objects and CSV records into records of the types that schemas describe. It is used by one
// goroutine.
type recordReader struct {
	dec      jsontext.Decoder // of raw
	raw      bytes.Buffer
	problems problems
	notes    notes
	cells    []csvField
	unknown  map[string]string // warnings about keys met before
	images   *schema
	barcodes *schema
}

func newRecordReader() *recordReader {
	return &recordReader{
		images:   newSchema[cola.Image](),
		barcodes: newSchema[cola.Barcode](),
		unknown:  map[string]string{},
	}
}

// noteUnknown notes a key that is no field.
func (r *recordReader) noteUnknown(s *schema, in place, key string) {
	if in.list == "" {
		if warning, ok := r.unknown[key]; ok {
			r.notes.add(warning)
			return
		}
	}
	if len(r.unknown) >= maxNotes {
		return
	}
	id := key
	if in.list != "" {
		id = in.list + "[]." + id
	}
	warning, ok := r.unknown[id]
	if !ok {
		warning = s.unknownKey(in.list, key)
		r.unknown[id] = warning
	}
	r.notes.add(warning)
}

// object reads an object into record, a pointer's element, and returns which fields it carried. Wrong values go to problems,
// named as of that place; the error is about the text's syntax.
func (r *recordReader) object(s *schema, record reflect.Value, in place) (carried cola.Fields, err error) {
	if kind := r.dec.PeekKind(); kind != '{' {
		r.problems.add(in.name(""), fmt.Errorf("is %s, where an object is due", kindNames[kind]))
		return 0, r.skip()
	}
	err = r.nested('}', func(int) error {
		member, err := r.member(s, record, in)
		carried |= member
		return err
	})
	return carried, err
}

// member reads a key and its value into record.
func (r *recordReader) member(s *schema, record reflect.Value, in place) (carried cola.Fields, err error) {
	token, err := r.token()
	if err != nil {
		return 0, err
	}
	key := token.String()
	i, ok := s.byName[key]
	switch {
	case !ok && s.within[key] != nil:
		return r.object(s.within[key], record, in)
	case !ok:
		r.noteUnknown(s, in, strings.Clone(key)) // a clone, so that known keys stay on the stack
		return 0, r.skip()
	case s.fields[i].omit:
		return 0, r.skip()
	}
	f := &s.fields[i]
	return carried.With(i), r.value(f, record.FieldByIndex(f.index).Addr().Interface(), in)
}

// value reads a JSON value into a field.
func (r *recordReader) value(f *schemaField, field any, in place) error {
	kind := r.dec.PeekKind()
	switch kind {
	case '[':
		return r.array(f, field, in)
	case '{':
		r.problems.add(in.name(f.name), fmt.Errorf("is an object, where %s is due", due(field)))
		return r.skip()
	}
	token, err := r.token()
	if err != nil {
		return err
	}
	var wrong error
	switch kind {
	case '"':
		wrong = setText(field, token.String(), f.form)
	case '0':
		wrong = setNumber(field, token.String(), f.form)
	case 'n':
		wrong = setNull(field)
	default:
		wrong = setBool(field, kind == 't')
	}
	if wrong != nil {
		r.problems.add(in.name(f.name), wrong)
	}
	return nil
}
