package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// begin reads the column names from the text of the object up to the records.
func (t *jsonTable) begin(prefix []byte) error {
	var before map[string]json.RawMessage
	if err := json.Unmarshal(append(bytes.Clone(prefix), "null}"...), &before); err != nil {
		return fmt.Errorf("text before %s: %w", quote(t.rows), errSyntax)
	}
	names, err := columnNames(before[t.columns])
	if err != nil || len(names) == 0 {
		return fmt.Errorf("%s must list the column names before %s", quote(t.columns), quote(t.rows))
	}
	t.names = names
	return t.check(names)
}

// columnNames reads a list of names, or an object with the names as keys. A name may have an
// explanation after " - ".
func columnNames(definitions []byte) (names []string, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(definitions))
	opening, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != ']' && dec.PeekKind() != '}' {
		if kind := dec.PeekKind(); kind != '"' {
			return nil, fmt.Errorf("%v is not a name", kind)
		}
		var token jsontext.Token
		if token, err = dec.ReadToken(); err != nil {
			break
		}
		name, _, _ := strings.Cut(token.String(), " - ")
		names = append(names, foldColumn(name))
		if opening.Kind() == '{' {
			err = dec.SkipValue()
		}
	}
	return names, err
}

// record replaces the array of cells at text[start:] with an object, so that the row can be
// decoded, and imported again, by itself.
func (t *jsonTable) record(text []byte, start int) (record []byte, problem string) {
	var cells []json.RawMessage
	if err := json.Unmarshal(text[start:], &cells); err != nil {
		return text, errSyntax.Error()
	}
	if len(cells) != len(t.names) {
		return text, fmt.Sprintf("has %s; %s has %d", counted(len(cells), "field"), t.columns, len(t.names))
	}
	record = append(text[:start], '{')
	for i, cell := range cells {
		if i > 0 {
			record = append(record, ',')
		}
		record = fmt.Appendf(record, "%q:%s", t.names[i], cell)
	}
	return append(record, '}'), ""
}
