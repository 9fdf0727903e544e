package ingest

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
)

// finishFunc normalizes and checks a decoded row and creates its patch. It adds problems to
// r.problems. If r.problems already has some, it need only copy the readable fields.
type finishFunc[R, T any] func(r *recordReader, row *R, present cola.Fields, patch *cola.Patch[T])

// same returns a finishFunc that calls check on rows that are already records.
func same[T any](check func(r *recordReader, row *T, present cola.Fields)) finishFunc[T, T] {
	return func(r *recordReader, row *T, present cola.Fields, patch *cola.Patch[T]) {
		if r.problems.empty() {
			check(r, row, present)
		}
		patch.Record, patch.Fields = *row, present
	}
}

const (
	problemEncoding = "not valid UTF-8; convert the file to UTF-8"
	noteWindows     = "not UTF-8; read as Windows-1252"
)

// jsonDecoder decodes JSON objects into R, according to a schema.
func jsonDecoder[R, T any](s *schema, finish finishFunc[R, T]) func() decodeFunc[T] {
	return func() decodeFunc[T] {
		r := newRecordReader()
		row := new(R)
		value := reflect.ValueOf(row).Elem()
		return func(raw []byte, patch *cola.Patch[T], notes notes) string {
			if !utf8.Valid(raw) {
				return problemEncoding
			}
			*row = *new(R)
			r.begin(notes)
			r.reset(bytes.TrimLeft(raw, "\x1e")) // record separator of JSON text sequences
			present, err := r.object(s, value, place{})
			if err = r.end(err); err != nil {
				return err.Error()
			}
			finish(r, row, present, patch)
			return r.problems.String()
		}
	}
}

// begin prepares the reader for a row.
func (r *recordReader) begin(n notes) {
	r.notes = n
	r.problems.reset()
	r.unit = ""
}

// clearCell is the CSV cell that clears its field: databases export NULL this way. An empty cell
// leaves the field unchanged.
const clearCell = `\N`

// csvDecoder decodes CSV records. columns maps each column to a schema field, or to -1 to ignore it.
func csvDecoder[R, T any](s *schema, delimiter byte, columns []int, finish finishFunc[R, T]) func() decodeFunc[T] {
	return func() decodeFunc[T] {
		r := newRecordReader()
		row := new(R)
		value := reflect.ValueOf(row).Elem()
		return func(raw []byte, patch *cola.Patch[T], notes notes) string {
			*row = *new(R)
			r.begin(notes)
			if problem := r.split(raw, delimiter, len(columns)); problem != "" {
				return problem
			}
			var present cola.Fields
			for i, column := range columns {
				if column < 0 || len(r.cells[i].text) == 0 || s.fields[column].omit {
					continue
				}
				f := &s.fields[column]
				present = present.With(column)
				r.cell(f, value.FieldByIndex(f.index).Addr().Interface(), r.cells[i].text)
			}
			finish(r, row, present, patch)
			return r.problems.String()
		}
	}
}

// split splits a CSV record into r.cells. It returns a problem if the number of cells differs from
// the number of columns.
func (r *recordReader) split(raw []byte, delimiter byte, columns int) (problem string) {
	raw, problem = r.csvText(raw)
	if problem != "" {
		return problem
	}
	var err error
	if r.cells, err = splitCSV(raw, delimiter, r.cells[:0], false); err != nil {
		return err.Error()
	}
	switch n := len(r.cells); {
	case n < columns:
		return fmt.Sprintf("has %s; the header has %d", counted(n, "field"), columns)
	case n > columns:
		return fmt.Sprintf("has %s; the header has %d; quote fields that contain a %s", counted(n, "field"), columns, delimiterName(delimiter))
	}
	return ""
}

func delimiterName(delimiter byte) string {
	switch delimiter {
	case '\t':
		return "tab"
	case ';':
		return "semicolon"
	case '|':
		return "vertical bar"
	}
	return "comma"
}

// csvText converts a record to UTF-8.
func (r *recordReader) csvText(raw []byte) (text []byte, problem string) {
	if utf8.Valid(raw) {
		return raw, ""
	}
	text, ok := windows1252(raw)
	if !ok {
		return nil, problemEncoding
	}
	r.notes.add(noteWindows)
	return text, ""
}

// cell parses a CSV cell into a field. A list may be a JSON array.
func (r *recordReader) cell(f *schemaField, field any, text []byte) {
	var err error
	switch {
	case string(text) == clearCell:
		err = setNull(field)
	case text[0] == '[' && isList(field):
		r.reset(text)
		err = r.end(r.array(f, field, place{}))
	default:
		form, value := f.form, string(text)
		form.lists = "|,"
		if form.zip {
			value = padZIP(value)
		}
		err = r.setString(field, value, form)
	}
	if err != nil {
		r.problems.add(f.name, err)
	}
}

func isList(field any) bool {
	switch field.(type) {
	case *[]string, *[]cola.Image, *[]cola.Barcode:
		return true
	}
	return false
}

// detect detects the format of records with API field names: JSON, or CSV with a key column.
func detect[R, T any](in *input, s *schema, key string, finish finishFunc[R, T]) (format[T], error) {
	json, err := isJSON(in)
	switch {
	case err != nil:
		return format[T]{}, err
	case json:
		return format[T]{rows: newJSONRows(in), decoder: jsonDecoder(s, finish)}, nil
	}
	header, err := readHeader(in, func(names []string) bool { _, ok := s.column(names, key); return ok })
	if err != nil {
		return format[T]{}, fmt.Errorf("%w; expected JSON, or CSV with a %s column", err, key)
	}
	return csvFormat(in, s, header, finish), nil
}

// csvFormat returns the format for CSV with the given header.
func csvFormat[R, T any](in *input, s *schema, header csvHeader, finish finishFunc[R, T]) format[T] {
	columns, unknown := s.columns(header.names)
	return format[T]{
		rows:    &csvRows{in: in, delimiter: header.delimiter, skip: header.matches},
		decoder: csvDecoder(s, header.delimiter, columns, finish),
		header:  header.line,
		done:    func() []string { return unknown },
	}
}

// isJSON distinguishes JSON from CSV by the first character.
func isJSON(in *input) (bool, error) {
	in.skipSpace()
	c, ok := in.peek()
	if !ok {
		return false, in.failure()
	}
	return c == '{' || c == '[', nil
}
