package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/colaregistry/colaregistry/cola"
)

// maxProblems is the maximum number of problems reported per row.
const maxProblems = 5

// problems collects the problems with one row.
type problems struct {
	list []string
}

// add adds a problem with a field, or with the row if field is empty.
func (p *problems) add(field string, err error) {
	if len(p.list) >= maxProblems {
		return
	}
	if field != "" {
		field += ": "
	}
	p.list = append(p.list, field+err.Error())
}

func (p *problems) empty() bool { return len(p.list) == 0 }

func (p *problems) reset() { p.list = p.list[:0] }

func (p *problems) String() string { return strings.Join(p.list, "; ") }

// place locates an object in a row: list[index], or the row itself if list is empty.
type place struct {
	list  string
	index int
}

// name returns the name of a field for messages.
func (p place) name(field string) string {
	if p.list == "" {
		return field
	}
	if field == "" {
		return fmt.Sprintf("%s[%d]", p.list, p.index)
	}
	return fmt.Sprintf("%s[%d].%s", p.list, p.index, field)
}

// recordReader decodes JSON objects and CSV records into records, according to schemas. It is not
// safe for concurrent use.
type recordReader struct {
	dec      jsontext.Decoder // reads raw
	raw      bytes.Buffer
	problems problems
	notes    notes
	cells    []csvField
	unknown  map[string]string // warnings by unknown key
	images   *schema
	barcodes *schema
	unit     string // unit in the text of a volume, such as 750 mL; empty if it has none
}

func newRecordReader() *recordReader {
	return &recordReader{
		images:   newSchema[cola.Image](),
		barcodes: newSchema[cola.Barcode](),
		unknown:  map[string]string{},
	}
}

// noteUnknown adds a note about an unknown key.
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

// object decodes an object into record, an addressable struct, and returns the fields it has.
// Invalid values become problems, named by their place. The error is a syntax error.
func (r *recordReader) object(s *schema, record reflect.Value, in place) (present cola.Fields, err error) {
	if kind := r.dec.PeekKind(); kind != '{' {
		r.problems.add(in.name(""), fmt.Errorf("must be an object, not %s", kindNames[kind]))
		return 0, r.skip()
	}
	err = r.nested('}', func(int) error {
		member, err := r.member(s, record, in)
		present |= member
		return err
	})
	return present, err
}

// member decodes a key and its value into record.
func (r *recordReader) member(s *schema, record reflect.Value, in place) (present cola.Fields, err error) {
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
		r.noteUnknown(s, in, strings.Clone(key)) // clone only unknown keys, so that known ones don't escape to the heap
		return 0, r.skip()
	case s.fields[i].omit:
		return 0, r.skip()
	}
	f := &s.fields[i]
	return present.With(i), r.value(f, record.FieldByIndex(f.index).Addr().Interface(), in)
}

// value decodes a JSON value into a field.
func (r *recordReader) value(f *schemaField, field any, in place) error {
	kind := r.dec.PeekKind()
	switch kind {
	case '[':
		return r.array(f, field, in)
	case '{':
		r.problems.add(in.name(f.name), fmt.Errorf("must be %s, not an object", expectedFormat(field)))
		return r.skip()
	}
	token, err := r.token()
	if err != nil {
		return err
	}
	var problem error
	switch kind {
	case '"':
		problem = r.setString(field, token.String(), f.form)
	case '0':
		problem = setNumber(field, token.String(), f.form)
	case 'n':
		problem = setNull(field)
	default:
		problem = setBool(field, kind == 't')
	}
	if problem != nil {
		r.problems.add(in.name(f.name), problem)
	}
	return nil
}

// maxListItems is the maximum length of each list in a record. Real labels have a few dozen items
// at most.
const maxListItems = 10_000

// array decodes a JSON array into a list field. The list is never nil, so an empty list is
// distinguishable from a missing one.
func (r *recordReader) array(f *schemaField, field any, in place) error {
	switch list := field.(type) {
	case *[]string:
		return r.texts(f, list, in)
	case *[]cola.Image:
		*list = []cola.Image{}
		return r.elements(f.name, func(in place) error {
			var image cola.Image
			present, err := r.object(r.images, reflect.ValueOf(&image).Elem(), in)
			if index := r.images.byName["image_index"]; !present.Has(index) {
				image.ImageIndex = in.index
			}
			setPosition(&image)
			*list = append(*list, image)
			return err
		})
	case *[]cola.Barcode:
		*list = []cola.Barcode{}
		return r.elements(f.name, func(in place) error {
			var barcode cola.Barcode
			_, err := r.object(r.barcodes, reflect.ValueOf(&barcode).Elem(), in)
			*list = append(*list, barcode)
			return err
		})
	}
	r.problems.add(in.name(f.name), fmt.Errorf("must be %s, not an array", expectedFormat(field)))
	return r.skip()
}

// elements reads an array of objects and calls read with the place of each.
func (r *recordReader) elements(name string, read func(in place) error) error {
	return r.each(name, func(i int) error { return read(place{name, i}) })
}

// texts reads an array of strings. It skips nulls and empty strings, and accepts numbers as
// strings.
func (r *recordReader) texts(f *schemaField, list *[]string, in place) error {
	*list = []string{}
	element := &schemaField{name: f.name}
	return r.each(in.name(f.name), func(int) error {
		var text string
		err := r.value(element, &text, in)
		if text != "" {
			*list = append(*list, text)
		}
		return err
	})
}

// each reads an array and calls read for each value.
func (r *recordReader) each(name string, read func(i int) error) error {
	return r.nested(']', func(i int) error {
		if i >= maxListItems {
			return fmt.Errorf("%s has more than %d entries", name, maxListItems)
		}
		return read(i)
	})
}

// maxDepth is the maximum nesting depth of values.
const maxDepth = 64

var (
	errDepth    = fmt.Errorf("values nest more than %d levels deep", maxDepth)
	errTrailing = errors.New("not valid JSON: text after the record")
)

// jsonOptions match encoding/json: the last of duplicate names wins, and an unpaired surrogate
// becomes U+FFFD.
var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// kindNames are names of JSON types for messages.
var kindNames = map[jsontext.Kind]string{
	'n': "null", 'f': "true or false", 't': "true or false", '0': "a number", '"': "text", '[': "an array", '{': "an object",
}

// reset starts reading JSON from text.
func (r *recordReader) reset(text []byte) {
	r.raw = *bytes.NewBuffer(text)
	r.dec.Reset(&r.raw, jsonOptions...)
}

// end checks that nothing follows a value. If reading the value failed with err, it returns err in
// a form suitable for messages.
func (r *recordReader) end(err error) error {
	if err == nil {
		if _, err := r.dec.ReadToken(); err == io.EOF {
			return nil
		}
		return errTrailing
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutOff
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("not valid JSON: %w at byte %d of the record", syntax.Err, syntax.ByteOffset+1)
	}
	return err
}

// token reads the next token. It fails if brackets nest deeper than maxDepth.
func (r *recordReader) token() (jsontext.Token, error) {
	token, err := r.dec.ReadToken()
	if err == nil && r.dec.StackDepth() > maxDepth {
		err = errDepth
	}
	return token, err
}

// skip reads a value of any type.
func (r *recordReader) skip() error {
	for depth := r.dec.StackDepth(); ; {
		if _, err := r.token(); err != nil || r.dec.StackDepth() <= depth {
			return err
		}
	}
}

// nested reads an array or object, calling read for each value or member.
func (r *recordReader) nested(closing jsontext.Kind, read func(i int) error) error {
	_, err := r.token()
	for i := 0; err == nil && r.dec.PeekKind() != closing; i++ {
		err = read(i)
	}
	if err == nil {
		_, err = r.token()
	}
	return err
}
