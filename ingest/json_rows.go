package ingest

import (
	"bytes"
	"errors"
	"fmt"
)

// jsonRows splits JSON text into records: JSON lines, consecutive objects, an array of objects, or
// one of these under the "data" (API responses) or "features" (GeoJSON) key of an object. It only
// looks at brackets and strings; decoding finds errors inside records.
//
// A malformed record is rejected, and reading continues with the next line that starts an object.
// Inside an array, such a line is ambiguous, so a malformed record there ends the source with an
// error.
type jsonRows struct {
	scan    jsonScanner
	state   jsonState
	first   bool // no element of the current array has been read
	wrapped bool // the current array or object is inside a wrapper
	begun   bool // a record outside arrays has been read
	lines   bool // the first record is a whole line, so split the rest at line breaks
	fast    bool // lines may become true
	// table describes records that are arrays of cells; nil if all records are objects.
	table *jsonTable
}

// jsonTable describes an object that has records as arrays of cells under one key, and the column
// names under an earlier key.
type jsonTable struct {
	rows, columns string
	check         func(names []string) error // checks the names, in folded form
	names         []string                   // column names of the current object; nil if there is none
}

type jsonState uint8

const (
	atTop jsonState = iota
	inArray
	inWrapper // before the object inside a wrapper
	inTail    // after the content of a wrapper
)

// containers are the keys of wrapper objects that contain records.
var containers = []string{"data", "features"}

// newJSONRows returns a splitter for JSON. It replaces the values of the keys in drop, which may be
// large, with null.
func newJSONRows(in *input, drop ...string) *jsonRows {
	return &jsonRows{scan: jsonScanner{in: in, drop: drop}, fast: len(drop) == 0}
}

func (r *jsonRows) next(dst []byte) ([]byte, rawRow, error) {
	in := r.scan.in
	for {
		switch {
		case r.state == inArray:
			text, row, more, err := r.element(dst)
			if more || err != nil {
				return text, row, err
			}
		case r.state == inWrapper:
			line := in.line
			r.state = inTail
			r.scan.begin(dst)
			return r.arrayRow(dst, line, r.scan.value(nil))
		case r.state == inTail:
			if err := r.scan.tail(); err != nil {
				return dst, rawRow{}, in.broken("%w", err)
			}
			r.state = atTop
		case r.lines:
			return nextLine(in, dst)
		default:
			text, row, more, err := r.top(dst)
			if more || err != nil {
				return text, row, err
			}
		}
	}
}

// nextLine returns the next nonblank line.
func nextLine(in *input, dst []byte) ([]byte, rawRow, error) {
	for {
		text, line, long, ok := in.readLine(dst)
		switch {
		case !ok:
			return dst, rawRow{}, in.ended()
		case long:
			return dst, rawRow{line: line, problem: problemLong}, nil
		case len(bytes.TrimSpace(text[len(dst):])) > 0:
			return text, rawRow{line: line}, nil
		}
	}
}

// top reads text outside arrays. If it finds no row but the caller should keep reading, more is
// false and err is nil.
func (r *jsonRows) top(dst []byte) (text []byte, row rawRow, more bool, err error) {
	in := r.scan.in
	in.skipSpace()
	c, ok := in.peek()
	if !ok {
		return dst, rawRow{}, false, in.ended()
	}
	line := in.line
	switch c {
	case '[':
		in.take()
		r.state, r.first, r.wrapped = inArray, true, false
		return dst, rawRow{}, false, nil
	case '{':
	default:
		text, _, long, ok := in.readLine(dst)
		switch {
		case !ok:
			return dst, rawRow{}, false, in.ended()
		case long:
			text = dst
		}
		return text, rawRow{line: line, problem: "not a JSON object"}, true, nil
	}
	r.scan.begin(dst)
	keys := containers
	if r.table != nil {
		keys = append([]string{r.table.rows}, containers...)
	}
	switch err := r.scan.value(keys); {
	case errors.Is(err, errWrapper):
		if r.table != nil && string(r.scan.key) == r.table.rows {
			if err := r.table.begin(r.scan.out[len(dst):]); err != nil {
				return dst, rawRow{}, false, &brokenError{line, err}
			}
		}
		r.state, r.first, r.wrapped = inWrapper, true, true
		if c, _ := in.peek(); c == '[' {
			in.take()
			r.state = inArray
		}
		return dst, rawRow{}, false, nil
	case err != nil:
		if in.failure() != nil {
			return dst, rawRow{}, false, in.ended()
		}
		return r.resync(dst, line), rawRow{line: line, problem: err.Error()}, true, nil
	}
	if !r.begun {
		r.begun = true
		r.lines = r.fast && in.line == line && r.scan.endsLine()
	}
	text, row = r.scan.row(dst, line)
	return text, row, true, nil
}

// resync skips past the first line of the malformed record to the next line that starts an object.
// It appends the text of the record to dst, unless the text is too long.
func (r *jsonRows) resync(dst []byte, begin int) []byte {
	s := &r.scan
	for {
		c, ok := s.in.peek()
		if ok && !(s.in.bol && s.in.line > begin && c == '{') {
			s.emitByte(c)
			continue
		}
		if s.long {
			return dst
		}
		return s.out
	}
}

// element reads the next element of an array. more is false at the end of the array.
func (r *jsonRows) element(dst []byte) (text []byte, row rawRow, more bool, err error) {
	in := r.scan.in
	in.skipSpace()
	c, ok := in.peek()
	if ok && c == ',' && !r.first {
		in.take()
		in.skipSpace()
		c, ok = in.peek()
	} else if ok && c != ']' && !r.first {
		return dst, rawRow{}, false, in.broken("expected a comma between the records of an array, found %q", c)
	}
	if !ok {
		return dst, rawRow{}, false, in.broken("the array is truncated")
	}
	r.first = false
	line := in.line
	switch c {
	case ']':
		in.take()
		r.state = atTop
		if r.table != nil {
			r.table.names = nil
		}
		if r.wrapped {
			r.state = inTail
		}
		return dst, rawRow{}, false, nil
	case '{':
		r.scan.begin(dst)
		text, row, err = r.arrayRow(dst, line, r.scan.value(nil))
		return text, row, err == nil, err
	}
	r.scan.begin(dst)
	if err := r.scan.value(nil); err != nil {
		return dst, rawRow{}, false, in.broken("%w in an array", err)
	}
	text, row = r.scan.row(dst, line)
	if c == '[' && r.table != nil && r.table.names != nil && row.problem == "" {
		text, row.problem = r.table.record(text, len(dst))
		return text, row, true, nil
	}
	row.problem = fmt.Sprintf("not a JSON object (starts with %q)", c)
	return text, row, true, nil
}

// arrayRow returns the scanned row. An error in the row ends the source.
func (r *jsonRows) arrayRow(dst []byte, line int, err error) ([]byte, rawRow, error) {
	if err != nil {
		return dst, rawRow{}, r.scan.in.broken("%w, in the array record starting at line %d", err, line)
	}
	text, row := r.scan.row(dst, line)
	return text, row, nil
}
