package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxCSVLines is the maximum number of lines in a quoted field. A longer field counts as unclosed.
const maxCSVLines = 200

// csvRows splits CSV text into records: one line each, or more if a quoted field contains line
// breaks. If a record's quotes are broken, only its first line is rejected, and reading continues
// with the next line.
type csvRows struct {
	in        *input
	delimiter byte
	skip      func(line []byte) bool // lines to skip, such as repeated headers; may be nil
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

// record reads the next record, which may be blank.
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
	open, err := scanQuotes(text[len(dst):], r.delimiter, false)
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
		open, err = scanQuotes(text[at:], r.delimiter, true)
	}
	if err != nil {
		if long {
			text = append(text, ' ') // readLine truncated the line; the extra byte puts it over the limit again on the next read
		}
		if rest := text[firstEnd:]; len(rest) > 0 {
			r.in.unread(endLine(rest[1:], ok), line+1)
		}
		row.problem = err.Error()
		return text[:firstEnd], row, nil
	}
	return text, row, nil
}

// endLine restores the newline that readLine removed from the last line, if it had one.
func endLine(text []byte, ended bool) []byte {
	if !ended {
		return text
	}
	return append(text, '\n')
}

var (
	errOpenQuote = errors.New("unclosed quoted field")
	errBareQuote = errors.New(`text after a closing quote; escape each quote inside a quoted field as ""`)
)

// scanQuotes scans the quotes in a line and reports whether a quoted field continues after it. open
// means that the line starts inside a quoted field.
func scanQuotes(line []byte, delimiter byte, open bool) (stillOpen bool, err error) {
	for {
		if !open {
			start, ok := nextQuoted(line, delimiter)
			if !ok {
				return false, nil
			}
			line, open = line[start:], true
		}
		end := closingQuote(line)
		if end < 0 {
			return true, nil
		}
		line = trimBlanks(line[end+1:], delimiter)
		if len(line) == 0 {
			return false, nil
		}
		if line[0] != delimiter {
			return false, errBareQuote
		}
		line, open = line[1:], false
	}
}

// nextQuoted returns the offset of the next quoted field's text, after its opening quote.
func nextQuoted(text []byte, delimiter byte) (start int, ok bool) {
	for i := 0; ; {
		i = len(text) - len(trimBlanks(text[i:], delimiter))
		if i < len(text) && text[i] == '"' {
			return i + 1, true
		}
		n := bytes.IndexByte(text[i:], delimiter)
		if n < 0 {
			return 0, false
		}
		i += n + 1
	}
}

// closingQuote returns the index of the quote that closes a field, or -1. text starts after the
// opening quote.
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

// blank reports whether a line has only white space and delimiters.
func blank(line []byte) bool { return len(bytes.TrimLeft(line, " \t\r,;|")) == 0 }

// trimBlanks removes leading spaces, and leading tabs unless they delimit fields.
func trimBlanks(text []byte, delimiter byte) []byte {
	for len(text) > 0 && text[0] != delimiter && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	return text
}

// csvField is a field of a CSV record, without quotes and surrounding white space.
type csvField struct {
	text   []byte
	quoted bool
	spaced bool // white space preceded an unquoted field
}

// splitCSV appends the fields of a record to fields. It modifies the record, and the fields alias
// it. Unclosed quotes, and text after a closing quote, are errors unless loose, in which case they
// are part of the text.
func splitCSV(record []byte, delimiter byte, fields []csvField, loose bool) ([]csvField, error) {
	for {
		field, rest, more, err := nextField(record, delimiter, loose)
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

// nextField splits off the first field. more means that a delimiter follows it.
func nextField(record []byte, delimiter byte, loose bool) (field csvField, rest []byte, more bool, err error) {
	text := trimBlanks(record, delimiter)
	if len(text) > 0 && text[0] == '"' {
		field, rest, more, err = quotedField(text[1:], delimiter)
		if err == nil || !loose {
			return field, rest, more, err
		}
	}
	value, rest, more := bytes.Cut(record, []byte{delimiter})
	return csvField{text: bytes.TrimSpace(value), spaced: len(text) < len(record)}, rest, more, nil
}

// quotedField reads a quoted field. text starts after the opening quote.
func quotedField(text []byte, delimiter byte) (field csvField, rest []byte, more bool, err error) {
	end := closingQuote(text)
	if end < 0 {
		return field, nil, false, errOpenQuote
	}
	after := trimBlanks(text[end+1:], delimiter)
	if len(after) > 0 && after[0] != delimiter {
		return field, nil, false, errBareQuote
	}
	field = csvField{text: bytes.TrimSpace(unquote(text[:end])), quoted: true}
	if len(after) == 0 {
		return field, nil, false, nil
	}
	return field, after[1:], true, nil
}

// unquote replaces doubled quotes with single ones, in place.
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

// delimiters are the CSV delimiters, in the order in which readHeader tries them.
const delimiters = ",\t;|"

// csvHeader is the line of column names.
type csvHeader struct {
	line      []byte
	delimiter byte
	names     []string // folded: lower case, with underscores between words
	titles    []string // as written
}

// maxPreamble is the number of lines searched for a header, which may follow lines such as titles.
const maxPreamble = 20

// readHeader reads through the first line whose column names, split at one of the delimiters,
// satisfy isHeader.
func readHeader(in *input, isHeader func(names []string) bool) (csvHeader, error) {
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
		for i := range len(delimiters) {
			header, ok := parseHeader(line, delimiters[i])
			if ok && isHeader(header.names) {
				return header, nil
			}
		}
	}
	if bytes.HasPrefix(first, []byte("<?xml")) {
		return csvHeader{}, fmt.Errorf("%w: an XML document; import TTB's cola_stats.xml as %s", errUnknownFormat, ProcessingTimes)
	}
	return csvHeader{}, fmt.Errorf("%w: the text starts with %s%s", errUnknownFormat, quote(first), kindHint(first))
}

// kindHint returns a hint about the kind of records that a header belongs to, or "".
func kindHint(line []byte) string {
	for i := range len(delimiters) {
		header, _ := parseHeader(line, delimiters[i])
		has := func(name string) bool { return slices.Contains(header.names, name) }
		kind := Kind("")
		switch {
		case has("ttb_id"):
			kind = Colas
		case isTTBList(header.names):
			kind = Permittees
		case has("statistical_group"):
			kind = ProductionReports
		case has("processing_new"):
			kind = FormulaProcessingTimes
		default:
			continue
		}
		return fmt.Sprintf("; import it as %s", kind)
	}
	return ""
}

func parseHeader(line []byte, delimiter byte) (h csvHeader, ok bool) {
	cells, err := splitCSV(bytes.Clone(line), delimiter, nil, true)
	if err != nil {
		return h, false
	}
	h = csvHeader{line: line, delimiter: delimiter}
	for _, c := range cells {
		h.titles = append(h.titles, string(c.text))
		h.names = append(h.names, foldColumn(string(c.text)))
	}
	return h, true
}

// matches reports whether a line repeats the header, as in concatenated files.
func (h csvHeader) matches(line []byte) bool { return bytes.Equal(line, h.line) }

// foldColumn converts a column name to the form of field names.
func foldColumn(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "_")
}

// column returns the index of the column for a field.
func (s *schema) column(names []string, field string) (int, bool) {
	for i, name := range names {
		if f, ok := s.byName[name]; ok && s.fields[f].name == field {
			return i, true
		}
	}
	return 0, false
}

// requireColumns returns an error that names the missing columns of a format, if there are any.
// columns describes all columns of the format.
func requireColumns(missing []string, format, columns string) error {
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("missing columns: %s; %s has %s", strings.Join(missing, ", "), format, columns)
}

// missing returns the titles of fields without a column.
func (s *schema) missing(names []string, titles ...string) (missing []string) {
	for _, title := range titles {
		if _, ok := s.column(names, s.fields[s.byName[foldColumn(title)]].name); !ok {
			missing = append(missing, title)
		}
	}
	return missing
}

// columns returns the field of each column, or -1, and warnings about unknown and duplicate
// columns.
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
			warnings = append(warnings, fmt.Sprintf("duplicate column %s; using the first", name))
			f = -1
		default:
			seen[f] = true
		}
		fields = append(fields, f)
	}
	return fields, warnings
}
