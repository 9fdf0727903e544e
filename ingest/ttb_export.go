package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

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

// ttbColumns are the column names in folded form.
var ttbColumns = func() []string {
	names := strings.Split(ttbHeader, ",")
	for i := range names {
		names[i] = foldColumn(names[i])
	}
	return names
}()

// maxTTBLines bounds the lines of a broken row.
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
	case beginsTTBRow(text[len(dst):]):
	case looksLikeTTBRow(text[len(dst):]):
		return text, row, nil // decoding rejects it because of its ID
	default:
		row.problem = errNoTTBRow.Error()
		return dst, row, nil
	}
	for n := 1; n < maxTTBLines && !r.complete(text[len(dst):]); n++ {
		if _, err := r.content(); err != nil {
			break // the next call reports it
		}
		if beginsTTBRow(r.pending) || looksLikeTTBRow(r.pending) {
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
		if long {
			text = text[:0] // drop it: no line of an export is that long
		}
		r.pending, r.line = text, line
		r.has = !blank(text) && !bytes.Equal(text, r.header)
	}
	return r.line, nil
}

// complete reports whether a row has all its fields.
func (r *ttbRows) complete(text []byte) bool {
	r.scratch = append(r.scratch[:0], text...)
	var err error
	r.cells, err = splitCSV(r.scratch, r.cells[:0], false)
	n := len(r.cells)
	return n > maxTTBCells || err == nil && n >= ttbWidth && len(r.cells[n-1].text) > 0 && knownClass(r.cells)
}

// beginsTTBRow reports whether a line starts with a TTB ID, plain or as wrapped by a spreadsheet,
// and a comma.
func beginsTTBRow(line []byte) bool {
	n := 0
	rest := bytes.TrimLeft(line, ` "='`)
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	rest = bytes.TrimLeft(rest[n:], `" `)
	return n == 14 && len(rest) > 0 && rest[0] == ','
}

// looksLikeTTBRow reports whether a line without a TTB ID is nevertheless a row, with a damaged ID,
// rather than the rest of the previous row.
func looksLikeTTBRow(line []byte) bool {
	cells, err := splitCSV(bytes.Clone(line), nil, true)
	return err == nil && len(cells) >= ttbWidth && isCompleted(cells[ttbCompleted].text)
}

// isCompleted reports whether a field has the form of a Completed Date: MM/DD/YYYY, or M/D/YYYY as
// written by spreadsheets.
func isCompleted(field []byte) bool {
	parts := bytes.Split(unwrapCode(field), []byte{'/'})
	if len(parts) != 3 || len(parts[0]) > 2 || len(parts[1]) > 2 || len(parts[2]) != 4 {
		return false
	}
	for _, p := range parts {
		if len(p) == 0 || len(bytes.Trim(p, "0123456789")) > 0 {
			return false
		}
	}
	return true
}

// ttbDecoder decodes rows of TTB's registry export.
//
// The export has no approval date: Completed Date is the day of the latest update. An empty field
// leaves the stored value.
func ttbDecoder() decodeFunc[cola.Cola] {
	r := newRecordReader()
	return func(raw []byte, patch *cola.Patch[cola.Cola], notes notes) string {
		r.begin(notes)
		raw, problem := r.csvText(raw)
		if problem != "" {
			return problem
		}
		row, err := r.ttbRow(raw)
		if err != nil {
			return err.Error()
		}
		label, err := ttbLabel(row)
		if err != nil {
			return err.Error()
		}
		carried := statedFields(&label)
		carried = normalizeCola(r, &label, carried)
		patch.Record, patch.Fields = label, carried
		return r.problems.String()
	}
}

// ttbRow splits a row strictly and, if that fails, treats misplaced quotes as text.
func (r *recordReader) ttbRow(raw []byte) (ttbRow, error) {
	strict := append([]byte(nil), raw...) // splitting modifies it
	var row ttbRow
	var err error
	if r.cells, err = splitCSV(strict, r.cells[:0], false); err == nil {
		row, err = readTTBRow(r.cells)
	}
	if err == nil {
		return row, nil
	}
	if r.cells, _ = splitCSV(raw, r.cells[:0], true); errors.Is(err, errOpenQuote) || errors.Is(err, errBareQuote) {
		return readTTBRow(r.cells)
	}
	return ttbRow{}, err
}

// ttbLabel returns the label of a row.
func ttbLabel(row ttbRow) (cola.Cola, error) {
	var label cola.Cola
	id := unwrapText(row[ttbID])
	if err := setTTBID(&label.TTBID, id); err != nil {
		return label, fmt.Errorf("TTB ID: %w", err)
	}
	if completed := unwrapText(row[ttbCompleted]); completed != "" {
		day, err := time.Parse("1/2/2006", completed)
		if err != nil {
			return label, fmt.Errorf("column Completed Date: %s is not a date; use MM/DD/YYYY", quote(completed))
		}
		label.LatestUpdateDate = cola.DateOf(day)
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
