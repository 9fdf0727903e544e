package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// ttbHeader is the header of the export of TTB's public registry.
const ttbHeader = "TTB ID,Permit No.,Serial Number,Completed Date,Fanciful Name,Brand Name,Origin,Origin " +
	"Desc,Class/Type,Class/Type Desc"

// The columns of the export.
const (
	ttbID = iota
	ttbPermit
	ttbSerial
	ttbCompleted
	ttbFanciful
	ttbBrand
	ttbOrigin
	ttbOriginDesc
	ttbClass
	ttbClassDesc
	ttbWidth
)

// ttbTitles are the column names; ttbColumns has them in folded form.
var (
	ttbTitles  = strings.Split(ttbHeader, ",")
	ttbColumns = func() (names []string) {
		for _, title := range ttbTitles {
			names = append(names, foldColumn(title))
		}
		return names
	}()
)

// ttbRequired are the columns without which no row can become a label.
var ttbRequired = []int{ttbID, ttbPermit, ttbCompleted, ttbBrand, ttbClass}

// isTTBHeader reports whether a header is from an export, perhaps edited: it has column names that
// no other format has.
func isTTBHeader(names []string) bool {
	has := func(column int) bool { return slices.Contains(names, ttbColumns[column]) }
	return has(ttbPermit) && has(ttbID) || has(ttbClass) && has(ttbCompleted)
}

// ttbExport returns the format of an export. With TTB's own columns, unquoted commas and line
// breaks can be repaired. Otherwise the columns may be in any order, but rows must be valid CSV.
func ttbExport(in *input, header csvHeader) (format[cola.Cola], error) {
	if header.delimiter == ',' && slices.Equal(header.names, ttbColumns) {
		return format[cola.Cola]{
			rows: newTTBRows(in, header), decoder: ttbDecoder((*recordReader).repairTTBRow), header: header.line,
		}, nil
	}
	layout, warnings, err := newTTBLayout(header)
	if err != nil {
		return format[cola.Cola]{}, err
	}
	return format[cola.Cola]{
		rows:    &csvRows{in: in, delimiter: header.delimiter, skip: header.matches},
		decoder: ttbDecoder(layout.read),
		header:  header.line,
		done:    func() []string { return warnings },
	}, nil
}

// ttbLayout is the arrangement of columns in an edited export.
type ttbLayout struct {
	columns   [ttbWidth]int // position of each column, or -1
	width     int
	delimiter byte
}

// newTTBLayout returns the layout of a header and warnings about its differences from TTB's. A
// missing required column is an error.
func newTTBLayout(header csvHeader) (l ttbLayout, warnings []string, err error) {
	l = ttbLayout{width: len(header.names), delimiter: header.delimiter}
	var missing, absent []string
	for column, name := range ttbColumns {
		l.columns[column] = slices.Index(header.names, name)
		switch {
		case l.columns[column] >= 0:
		case slices.Contains(ttbRequired, column):
			missing = append(missing, ttbTitles[column])
		default:
			absent = append(absent, ttbTitles[column])
		}
	}
	for i, name := range header.names {
		switch {
		case name == "":
		case !slices.Contains(ttbColumns, name):
			warnings = append(warnings, fmt.Sprintf("unknown column %s ignored", quote(header.titles[i])))
		case slices.Index(header.names, name) < i:
			warnings = append(warnings, fmt.Sprintf("duplicate column %s; using the first", quote(header.titles[i])))
		}
	}
	if len(absent) > 0 {
		warnings = append(warnings, "missing columns: "+strings.Join(absent, ", ")+"; stored values are kept")
	}
	return l, warnings, requireColumns(missing, "TTB's registry export", ttbHeader)
}

// read splits a row, which must be valid CSV.
func (l ttbLayout) read(r *recordReader, raw []byte) (row ttbRow, problem string) {
	if problem := r.split(raw, l.delimiter, l.width); problem != "" {
		return row, problem
	}
	for column, position := range l.columns {
		if position >= 0 {
			row[column] = normalizeSpace(string(r.cells[position].text))
		}
	}
	return row, ""
}

// maxTTBLines is the maximum number of lines that a row with line breaks may span.
const maxTTBLines = 20

// ttbRows splits the export of TTB's registry into rows. Its unquoted fields may contain line
// breaks, so a row continues until it is complete or a line starts the next one. The text keeps the
// line breaks.
type ttbRows struct {
	in      *input
	header  []byte
	pending []byte // a line that belongs to the next row
	line    int    // line number of pending
	has     bool   // pending is set
	long    bool   // pending is longer than maxRow and truncated
	cells   []csvField
	scratch []byte
}

func newTTBRows(in *input, header csvHeader) *ttbRows { return &ttbRows{in: in, header: header.line} }

var errNoTTBRow = errors.New("does not start with a TTB ID, and is not part of a previous row")

func (r *ttbRows) next(dst []byte) ([]byte, rawRow, error) {
	line, err := r.content()
	if err != nil {
		return dst, rawRow{}, err
	}
	row := rawRow{line: line}
	text := append(dst, r.pending...)
	r.has = false
	switch {
	case r.long:
		row.problem = problemLong
		return dst, row, nil
	case beginsTTBRow(text[len(dst):]):
	case looksLikeTTBRow(text[len(dst):]):
		return text, row, nil // decoding rejects it because of its ID
	default:
		row.problem = errNoTTBRow.Error()
		return text, row, nil
	}
	for n := 1; n < maxTTBLines && !r.complete(text[len(dst):]); n++ {
		if _, err := r.content(); err != nil {
			break // the next call reports it
		}
		if r.long || len(text)-len(dst)+len(r.pending) > maxRow || beginsTTBRow(r.pending) || looksLikeTTBRow(r.pending) {
			break
		}
		text = append(append(text, '\n'), r.pending...)
		r.has = false
	}
	return text, row, nil
}

// content reads the next line into pending, unless it is set, and returns its number. It skips
// blank lines and repeated headers.
func (r *ttbRows) content() (line int, err error) {
	for !r.has {
		text, line, long, ok := r.in.readLine(r.pending[:0])
		if !ok {
			return 0, r.in.ended()
		}
		r.pending, r.line, r.long = text, line, long
		r.has = !blank(text) && !bytes.Equal(text, r.header)
	}
	return r.line, nil
}

// complete reports whether a row has all its fields.
func (r *ttbRows) complete(text []byte) bool {
	r.scratch = append(r.scratch[:0], text...)
	var err error
	r.cells, err = splitCSV(r.scratch, ',', r.cells[:0], false)
	n := len(r.cells)
	return n > maxTTBCells || err == nil && n >= ttbWidth && len(r.cells[n-1].text) > 0 && knownClass(r.cells)
}

// beginsTTBRow reports whether a line starts with a TTB ID and a comma. The ID may be plain, in
// single quotes or wrapped by a spreadsheet.
func beginsTTBRow(line []byte) bool {
	n := 0
	rest := bytes.TrimLeft(line, ` "='`)
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	rest = bytes.TrimLeft(rest[n:], `" '`)
	return n == 14 && len(rest) > 0 && rest[0] == ','
}

// looksLikeTTBRow reports whether a line without a TTB ID is nevertheless a row, with a damaged ID,
// rather than the rest of the previous row.
func looksLikeTTBRow(line []byte) bool {
	cells, err := splitCSV(bytes.Clone(line), ',', nil, true)
	return err == nil && len(cells) >= ttbWidth && isCompleted(cells[ttbCompleted].text)
}

// isCompleted reports whether a field has the form of a Completed Date: MM/DD/YYYY, or M/D/YYYY or
// YYYY-MM-DD as written by spreadsheets and programs.
func isCompleted(field []byte) bool {
	return datePattern(field) == "D/D/YYYY" || datePattern(field) == "YYYY-D-D"
}

// hasShortYear reports whether a field is a date with a two-digit year, such as 1/2/24.
func hasShortYear(field []byte) bool { return datePattern(field) == "D/D/D" }

// datePattern returns the form of a date, with YYYY for a four-digit number and D for a one- or
// two-digit number, or "" if the field has other parts.
func datePattern(field []byte) string {
	field = unwrapCode(field)
	separator := "/"
	if bytes.IndexByte(field, '-') >= 0 {
		separator = "-"
	}
	parts := strings.Split(string(field), separator)
	for i, part := range parts {
		switch n := len(part); {
		case strings.Trim(part, "0123456789") != "" || len(parts) != 3:
			return ""
		case n == 4:
			parts[i] = "YYYY"
		case n == 1 || n == 2:
			parts[i] = "D"
		default:
			return ""
		}
	}
	return strings.Join(parts, separator)
}

// errCompleted returns the error about an invalid Completed Date.
func errCompleted(field []byte) error {
	if hasShortYear(field) {
		return fmt.Errorf("column Completed Date: %s has a two-digit year; %s", quote(unwrapCode(field)), adviceDate)
	}
	return fmt.Errorf("column Completed Date: %s is not a date; %s", quote(unwrapCode(field)), adviceDate)
}

// ttbDecoder decodes rows of TTB's registry export. It calls read to split each row.
//
// The export has no approval date: Completed Date is the day of the latest update. An empty field
// leaves the stored value unchanged.
func ttbDecoder(read func(r *recordReader, raw []byte) (row ttbRow, problem string)) func() decodeFunc[cola.Cola] {
	return func() decodeFunc[cola.Cola] {
		r := newRecordReader()
		return func(raw []byte, patch *cola.Patch[cola.Cola], notes notes) string {
			r.begin(notes)
			row, problem := read(r, raw)
			if problem != "" {
				return problem
			}
			label, err := ttbLabel(row)
			if err != nil {
				return err.Error()
			}
			present := statedFields(&label)
			present = normalizeCola(r, &label, present)
			patch.Record, patch.Fields = label, present
			return r.problems.String()
		}
	}
}

// repairTTBRow splits a row strictly and, if that fails, treats misplaced quotes as text.
func (r *recordReader) repairTTBRow(raw []byte) (row ttbRow, problem string) {
	if raw, problem = r.csvText(raw); problem != "" {
		return row, problem
	}
	strict := append([]byte(nil), raw...) // splitting modifies it
	var err error
	if r.cells, err = splitCSV(strict, ',', r.cells[:0], false); err == nil {
		row, err = readTTBRow(r.cells)
	}
	if errors.Is(err, errOpenQuote) || errors.Is(err, errBareQuote) {
		r.cells, _ = splitCSV(raw, ',', r.cells[:0], true)
		row, err = readTTBRow(r.cells)
	}
	if err != nil {
		return ttbRow{}, err.Error()
	}
	return row, ""
}

// ttbLabel returns the label of a row.
func ttbLabel(row ttbRow) (cola.Cola, error) {
	var label cola.Cola
	id := unwrapText(row[ttbID])
	if err := setTTBID(&label.TTBID, id); err != nil {
		return label, fmt.Errorf("TTB ID: %w", err)
	}
	if completed := unwrapText(row[ttbCompleted]); completed != "" {
		day, ok := parseDate(completed)
		if !ok {
			return label, errCompleted([]byte(completed))
		}
		label.LatestUpdateDate = day
	}
	label.PermitNumber = unwrapText(row[ttbPermit])
	label.SerialNumber = cola.Text(unwrapText(row[ttbSerial]))
	label.ProductName = cola.Text(row[ttbFanciful])
	label.BrandName = row[ttbBrand]
	label.OriginID = cola.Text(strings.ToUpper(unwrapText(row[ttbOrigin])))
	label.OriginName = cola.Text(row[ttbOriginDesc])
	label.ClassID = cola.Text(strings.ToUpper(unwrapText(row[ttbClass])))
	label.ClassName = cola.Text(row[ttbClassDesc])
	return label, nil
}

func unwrapText(s string) string { return string(unwrapCode([]byte(s))) }
