package ingest

import (
	"fmt"
	"reflect"
	"strings"

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
	lex      jsonLexer
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
func (r *recordReader) noteUnknown(s *schema, in place, key []byte) {
	if in.list == "" {
		if warning, ok := r.unknown[string(key)]; ok {
			r.notes.add(warning)
			return
		}
	}
	if len(r.unknown) >= maxNotes {
		return
	}
	id := string(key)
	if in.list != "" {
		id = in.list + "[]." + id
	}
	warning, ok := r.unknown[id]
	if !ok {
		warning = s.unknownKey(in.list, string(key))
		r.unknown[id] = warning
	}
	r.notes.add(warning)
}

// object reads an object into record, a pointer's element, and returns which fields it carried. What is wrong with a value
// goes to problems, named as of that place; the error is about the object's syntax.
func (r *recordReader) object(s *schema, record reflect.Value, in place) (cola.Fields, error) {
	var carried cola.Fields
	kind, err := r.lex.kind()
	if err != nil {
		return 0, err
	}
	if kind != jsonObject {
		r.problems.add(in.name(""), fmt.Errorf("is %s, where an object is due", kind))
		return 0, r.lex.skip()
	}
	more, err := r.lex.enter()
	for more && err == nil {
		var key []byte
		if key, err = r.lex.key(); err != nil {
			return 0, err
		}
		i, ok := s.byName[string(key)]
		switch {
		case !ok && s.within[string(key)] != nil:
			var more cola.Fields
			more, err = r.object(s.within[string(key)], record, in)
			carried |= more
		case !ok:
			r.noteUnknown(s, in, key)
			err = r.lex.skip()
		case s.fields[i].omit:
			err = r.lex.skip()
		default:
			f := &s.fields[i]
			carried = carried.With(i)
			err = r.value(f, record.FieldByIndex(f.index).Addr().Interface(), in)
		}
		if err != nil {
			return 0, err
		}
		more, err = r.lex.after('}')
	}
	return carried, err
}

// value reads a JSON value into a field.
func (r *recordReader) value(f *schemaField, field any, in place) error {
	kind, err := r.lex.kind()
	if err != nil {
		return err
	}
	var text []byte
	var wrong error
	switch kind {
	case jsonString:
		if text, err = r.lex.str(); err == nil {
			wrong = setText(field, text, f.form)
		}
	case jsonNumber:
		if text, err = r.lex.number(); err == nil {
			wrong = setNumber(field, string(text), f.form)
		}
	case jsonBool:
		if text, err = r.lex.word(); err == nil {
			wrong = setBool(field, len(text) == len("true"))
		}
	case jsonNull:
		if _, err = r.lex.word(); err == nil {
			wrong = setNull(field)
		}
	case jsonArray:
		return r.array(f, field, in)
	default:
		wrong = fmt.Errorf("is an object, where %s is due", due(field))
		err = r.lex.skip()
	}
	if wrong != nil && err == nil {
		r.problems.add(in.name(f.name), wrong)
	}
	return err
}
