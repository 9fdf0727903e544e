package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxCSVLines is over how many lines a quoted field may go on before its quote is taken for one
// that was never closed.
const maxCSVLines = 200

// csvRows splits CSV text into records: a line each, or more where a quoted field holds line ends.
// A record whose quotes are broken is refused as its first line alone, and reading goes on with the
// line after that.
type csvRows struct {
	in   *input
	skip func(line []byte) bool // lines that are not rows, such as a header that comes again; may be nil
}

func (r *csvRows) next(dst []byte) ([]byte, rawRow, error) {
	for {
		text, row, err := r.record(dst)
		record := text[len(dst):]
		if err == nil && row.problem == "" && (blank(record) || r.skip != nil && r.skip(record)) {
			continue
		}
		return text, row, err
	}
}

// record reads one record, blank or not.
func (r *csvRows) record(dst []byte) ([]byte, rawRow, error) {
	text, line, long, ok := r.in.readLine(dst)
	if !ok {
		return dst, rawRow{}, r.in.ended()
	}
	row := rawRow{line: line}
	if long {
		row.problem = problemLong
		return dst, row, nil
	}
	firstEnd := len(text)
	open, err := scanQuotes(text[len(dst):], false)
	for n := 1; open && err == nil; n++ {
		text = append(text, '\n')
		at := len(text)
		if text, _, long, ok = r.in.readLine(text); !ok && r.in.failure() != nil {
			return dst, rawRow{}, r.in.ended()
		}
		if !ok || long || n >= maxCSVLines || len(text)-len(dst) > maxRow {
			err = errOpenQuote
			break
		}
		open, err = scanQuotes(text[at:], true)
	}
	if err != nil {
		if rest := text[firstEnd:]; len(rest) > 0 {
			r.in.unread(endLine(rest[1:], ok), line+1)
		}
		row.problem = err.Error()
		return dst, row, nil
	}
	return text, row, nil
}

// endLine returns the text with the line end that reading its last line took.
func endLine(text []byte, ended bool) []byte {
	if !ended {
		return text
	}
	return append(text, '\n')
}

var (
	errOpenQuote = errors.New("a quoted field is not closed")
	errBareQuote = errors.New(`text follows a closing quote; write a quote within a quoted field twice ("")`)
)

// scanQuotes follows the quotes of a line, which begins within a quoted field when open is true,
// and reports whether one is open at its end.
func scanQuotes(line []byte, open bool) (stillOpen bool, err error) {
	for {
		if !open {
			start, ok := nextQuoted(line)
			if !ok {
				return false, nil
			}
			line, open = line[start:], true
		}
		end := closingQuote(line)
		if end < 0 {
			return true, nil
		}
		line = bytes.TrimLeft(line[end+1:], " \t")
		if len(line) == 0 {
			return false, nil
		}
		if line[0] != ',' {
			return false, errBareQuote
		}
		line, open = line[1:], false
	}
}

// nextQuoted finds the next field that is quoted in text that begins with a field, and returns
// where its text begins, after the quote.
func nextQuoted(text []byte) (start int, ok bool) {
	for i := 0; ; {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		if i < len(text) && text[i] == '"' {
			return i + 1, true
		}
		n := bytes.IndexByte(text[i:], ',')
		if n < 0 {
			return 0, false
		}
		i += n + 1
	}
}

// closingQuote finds the quote that ends a quoted field in the text after its opening quote, or
// returns -1.
func closingQuote(text []byte) int {
	for i := 0; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		if i += n; i+1 == len(text) || text[i+1] != '"' {
			return i
		}
		i++
	}
	return -1
}

func blank(line []byte) bool { return len(bytes.TrimLeft(line, " \t\r,")) == 0 }

func trimSpace(b []byte) []byte { return bytes.TrimSpace(b) }

// csvField is one field of a CSV record, without its quotes and without white space around.
type csvField struct {
	text   []byte
	quoted bool
	spaced bool // white space stood before an unquoted field
}

// splitCSV returns the fields of a record, appended to fields. The record's own bytes are used and
// changed. Quotes that are not closed, or closed before the field's end, are an error, unless
// loose: then they are part of the text.
func splitCSV(record []byte, fields []csvField, loose bool) ([]csvField, error) {
	for {
		field, rest, more, err := nextField(record, loose)
		if err != nil {
			return fields, err
		}
		fields = append(fields, field)
		if !more {
			return fields, nil
		}
		record = rest
	}
}

// nextField splits off the first field; more is true if a comma followed it.
func nextField(record []byte, loose bool) (field csvField, rest []byte, more bool, err error) {
	text := bytes.TrimLeft(record, " \t")
	if len(text) > 0 && text[0] == '"' {
		field, rest, more, err = quotedField(text[1:])
		if err == nil || !loose {
			return field, rest, more, err
		}
	}
	value, rest, more := bytes.Cut(record, []byte{','})
	return csvField{text: bytes.TrimSpace(value), spaced: len(text) < len(record)}, rest, more, nil
}

// quotedField reads a field after its opening quote.
func quotedField(text []byte) (field csvField, rest []byte, more bool, err error) {
	end := closingQuote(text)
	if end < 0 {
		return field, nil, false, errOpenQuote
	}
	after := bytes.TrimLeft(text[end+1:], " \t")
	if len(after) > 0 && after[0] != ',' {
		return field, nil, false, errBareQuote
	}
	field = csvField{text: bytes.TrimSpace(unquote(text[:end])), quoted: true}
	if len(after) == 0 {
		return field, nil, false, nil
	}
	return field, after[1:], true, nil
}

// unquote makes each doubled quote one, in place.
func unquote(text []byte) []byte {
	i := bytes.IndexByte(text, '"')
	if i < 0 {
		return text
	}
	to := text[:i]
	for ; i < len(text); i++ {
		to = append(to, text[i])
		if text[i] == '"' {
			i++
		}
	}
	return to
}

// csvHeader is the line that names the columns.
type csvHeader struct {
	line  []byte
	names []string // folded: lower case, words joined by underscores
}

// maxPreamble is how many lines, such as titles, may stand above a header.
const maxPreamble = 20

// readHeader reads up to the first line whose column names are the ones looked for.
func readHeader(in *input, wanted func(names []string) bool) (csvHeader, error) {
	var first []byte
	for range maxPreamble {
		line, _, _, ok := in.readLine(nil)
		if !ok {
			if err := in.ended(); !errors.Is(err, io.EOF) {
				return csvHeader{}, err
			}
			break
		}
		if first == nil {
			first = bytes.Clone(line)
		}
		cells, err := splitCSV(bytes.Clone(line), nil, true)
		if err != nil {
			continue
		}
		names := make([]string, len(cells))
		for i, c := range cells {
			names[i] = foldColumn(string(c.text))
		}
		if wanted(names) {
			return csvHeader{line: line, names: names}, nil
		}
	}
	hint := ""
	if bytes.IndexByte(first, ',') < 0 && bytes.ContainsAny(first, "\t;") {
		hint = ", and its columns seem to be separated by tabs or semicolons, where commas are due"
	}
	return csvHeader{}, fmt.Errorf("the format is not known: the text begins with %s%s", quote(first), hint)
}

// again reports whether a line is the header once more, as in files that were joined.
func (h csvHeader) again(line []byte) bool { return bytes.Equal(line, h.line) }

// foldColumn returns the name of a column as fields are named.
func foldColumn(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "_")
}

// column finds a column that stands for a field.
func (s *schema) column(names []string, field string) (int, bool) {
	for i, name := range names {
		if f, ok := s.byName[name]; ok && s.fields[f].name == field {
			return i, true
		}
	}
	return 0, false
}

// columns returns the field of each column, -1 for none, and warnings about those that are unknown
// or come twice.
func (s *schema) columns(names []string) (fields []int, warnings []string) {
	seen := map[int]bool{}
	for _, name := range names {
		f, ok := s.byName[name]
		switch {
		case !ok:
			if warning := s.unknownKey("", name); name != "" && warning != "" {
				warnings = append(warnings, warning)
			}
			f = -1
		case seen[f]:
			warnings = append(warnings, fmt.Sprintf("the column %s comes twice; the first is taken", name))
			f = -1
		default:
			seen[f] = true
		}
		fields = append(fields, f)
	}
	return fields, warnings
}
