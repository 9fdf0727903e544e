package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Table contains the rows of a list and the names of the members to send.
type Table struct {
	Rows   any      // slice of structs
	Fields []string // names of the members; nil for all
}

// column is a member of a row. In CSV, it may also be a member of an object in the row.
type column struct {
	name      string
	index     []int
	omitEmpty bool
	each      []int // if the row's member is a list of objects, index of the member in each object
}

// columns returns the members to send: those in Fields, in that order, or all members in the order
// in which encoding/json writes them.
func (t Table) columns() (columns []column) {
	all := columnsOf(reflect.TypeOf(t.Rows).Elem())
	if t.Fields == nil {
		return all
	}
	for _, name := range t.Fields {
		columns = append(columns, all[slices.IndexFunc(all, func(c column) bool { return c.name == name })])
	}
	return columns
}

// MemberNames returns the names of a row type's members, in the order in which encoding/json writes
// them.
func MemberNames(row reflect.Type) (names []string) {
	for _, c := range columnsOf(row) {
		names = append(names, c.name)
	}
	return names
}

// columnsOf returns the members of a row type, in the order in which encoding/json writes them.
func columnsOf(row reflect.Type) (columns []column) {
	for _, f := range reflect.VisibleFields(row) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && name != "-" {
			omitted := options == "omitempty" || options == "omitzero"
			columns = append(columns, column{name: name, index: f.Index, omitEmpty: omitted})
		}
	}
	return columns
}

// CSVHeader returns the names of the columns that AppendCSV writes.
func (t Table) CSVHeader() (names []string) {
	for _, c := range t.csvColumns() {
		names = append(names, c.name)
	}
	return names
}

// csvColumns returns the columns to send as CSV. An object, or a list of objects, has one column
// per member of the object.
func (t Table) csvColumns() (columns []column) {
	row := reflect.TypeOf(t.Rows).Elem()
	for _, c := range t.columns() {
		switch value := row.FieldByIndex(c.index).Type; {
		case isObject(value):
			for _, inner := range columnsOf(value) {
				inner.name, inner.index = c.name+"."+inner.name, slices.Concat(c.index, inner.index)
				columns = append(columns, inner)
			}
		case value.Kind() == reflect.Slice && isObject(value.Elem()):
			for _, inner := range columnsOf(value.Elem()) {
				columns = append(columns, column{name: c.name + "." + inner.name, index: c.index, each: inner.index})
			}
		default:
			columns = append(columns, c)
		}
	}
	return columns
}

// isObject reports whether encoding/json writes a type as an object with its fields as members.
func isObject(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.Implements(reflect.TypeFor[json.Marshaler]())
}

// AppendArray appends the rows as a JSON array.
func (t Table) AppendArray(b []byte) ([]byte, error) {
	b, err := t.appendRows(append(b, '['), ",")
	return append(bytes.TrimSuffix(b, []byte(",")), ']'), err
}

// AppendNDJSON appends the rows as JSON objects, one per line.
func (t Table) AppendNDJSON(b []byte) ([]byte, error) { return t.appendRows(b, "\n") }

// appendRows appends the rows as JSON objects, each followed by end.
func (t Table) appendRows(b []byte, end string) ([]byte, error) {
	rows, columns := reflect.ValueOf(t.Rows), []column(nil)
	if t.Fields != nil {
		columns = t.columns()
	}
	for i := range rows.Len() {
		row, err := rows.Index(i), error(nil)
		if t.Fields != nil {
			b, err = appendMembers(b, row, columns)
		} else if fast, ok := row.Addr().Interface().(interface{ AppendJSON([]byte) []byte }); ok {
			b = fast.AppendJSON(b)
		} else {
			b, err = cola.AppendJSON(b, row.Interface())
		}
		if err != nil {
			return b, err
		}
		b = append(b, end...)
	}
	return b, nil
}

// appendMembers appends an object with some members of a row, as encoding/json would write them.
func appendMembers(b []byte, row reflect.Value, columns []column) ([]byte, error) {
	b = append(b, '{')
	first := true
	for _, c := range columns {
		value := row.FieldByIndex(c.index)
		if c.omitEmpty && value.IsZero() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = cola.AppendJSON(append(cola.AppendJSONString(b, c.name), ':'), value.Interface()); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// AppendCSV appends the rows as CSV (RFC 4180) with a header row.
func (t Table) AppendCSV(b []byte) ([]byte, error) {
	rows, columns := reflect.ValueOf(t.Rows), t.csvColumns()
	for i, name := range t.CSVHeader() {
		b = appendCell(b, name, i)
	}
	b = append(b, "\r\n"...)
	for i := range rows.Len() {
		for n, c := range columns {
			text, err := c.text(rows.Index(i))
			if err != nil {
				return b, err
			}
			if b = appendCell(b, text, n); text == "" && len(columns) == 1 {
				b = append(b, `""`...) // readers skip empty lines
			}
		}
		b = append(b, "\r\n"...)
	}
	return b, nil
}

// appendCell appends cell n of a CSV row.
func appendCell(b []byte, text string, n int) []byte {
	if n > 0 {
		b = append(b, ',')
	}
	if !strings.ContainsAny(text, ",\"\r\n") && strings.TrimSpace(text) == text {
		return append(b, text...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(text, `"`, `""`)...)
	return append(b, '"')
}

// text returns the text of a cell. It is empty if the row's value is null or absent; the values of
// a list are joined with semicolons.
func (c column) text(row reflect.Value) (text string, err error) {
	value := row.FieldByIndex(c.index)
	switch {
	case c.each != nil:
		text, err = c.listText(value)
	case c.omitEmpty && value.IsZero():
	case value.Kind() == reflect.String:
		text = value.String()
	default:
		text, err = cellText(value)
	}
	return InertCell(text), err
}

// listText joins the values of a member in a list of objects. A null becomes an empty value, so
// that the columns for the objects' members line up.
func (c column) listText(list reflect.Value) (string, error) {
	texts := make([]string, list.Len())
	for i := range texts {
		var err error
		if texts[i], err = cellText(list.Index(i).FieldByIndex(c.each)); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, separator), nil
}

// separator joins the values of a list in a cell.
const separator = "; "

// cellText returns the text of a value, which must not be an object in JSON.
func cellText(v reflect.Value) (string, error) {
	value, err := cola.AppendJSON(nil, v.Interface())
	switch {
	case err != nil:
		return "", err
	case bytes.Equal(value, []byte("null")):
		return "", nil
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err
	case value[0] == '[':
		var texts []string
		err := json.Unmarshal(value, &texts)
		return strings.Join(texts, separator), err
	case value[0] == '{':
		return "", fmt.Errorf("object in a cell: %s", value)
	}
	return string(value), nil // a number or a boolean
}
