package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxScanDepth is the maximum nesting depth of scanned values, including dropped ones.
const maxScanDepth = 1000

var errScanDepth = fmt.Errorf("values nest more than %d levels deep", maxScanDepth)

// jsonScanner finds the ends of JSON values and copies their text. It checks only as much as this
// requires: strings, brackets, keys of a record, and commas between values. Thus an unterminated
// record does not swallow the next one, and an error inside a record, such as NaN, affects only
// that record.
type jsonScanner struct {
	in      *input
	drop    []string // record keys whose values are replaced by null
	out     []byte   // text of earlier rows and of the current one
	start   int      // start of the current row in out
	discard bool     // scan without copying
	long    bool     // the row exceeds maxRow and is incomplete
	stack   []byte   // expected closing brackets
	key     []byte   // key of the current member of the record
}

// errWrapper stops the scan of an object at a key whose value contains records.
var errWrapper = errors.New("the object contains records")

// begin starts a row, whose text will be appended to dst.
func (s *jsonScanner) begin(dst []byte) {
	s.out, s.start, s.discard, s.long = dst, len(dst), false, false
	s.stack = s.stack[:0]
}

// row returns the row scanned since begin.
func (s *jsonScanner) row(dst []byte, line int) ([]byte, rawRow) {
	if s.long {
		return dst, rawRow{line: line, problem: problemLong}
	}
	return s.out, rawRow{line: line}
}

// tail scans the rest of a wrapper after its records.
func (s *jsonScanner) tail() error {
	s.begin(nil)
	s.discard = true
	s.stack = append(s.stack, '}')
	return s.rest(0, true, nil)
}

// value scans the value that begins at the next byte. If the value is an object with an array or
// object under a key in wrappers, it stops before the nested value and returns errWrapper.
func (s *jsonScanner) value(wrappers []string) error { return s.rest(len(s.stack), false, wrappers) }

// rest scans until a value at the given depth has ended. ended means that the previous token ended
// a value.
func (s *jsonScanner) rest(depth int, ended bool, wrappers []string) error {
	keyDue := false
	for {
		c, err := s.token()
		if err != nil {
			return err
		}
		isSeparator := c == ',' || c == ':'
		closes := c == '}' || c == ']'
		switch {
		case isSeparator && (!ended || len(s.stack) == depth), ended && !isSeparator && !closes, closes && len(s.stack) == depth, keyDue && c != '"' && c != '}':
			return errSyntax
		case isSeparator:
			s.emitByte(c)
		case c == '{' || c == '[':
			err = s.push(c)
		case closes:
			err = s.pop(c)
		case keyDue:
			err = s.name()
		default:
			err = s.scalar(c)
		}
		if err == nil && c == ':' && s.inRecord() {
			ended, err = s.member(wrappers)
		} else {
			ended = !isSeparator && c != '{' && c != '['
		}
		if err != nil || ended && len(s.stack) == depth {
			return err
		}
		keyDue = (c == '{' || c == ',') && s.inRecord()
	}
}

// inRecord reports whether the scanner is at the outermost level of an object.
func (s *jsonScanner) inRecord() bool { return len(s.stack) == 1 && s.stack[0] == '}' }

// name scans a key of the record.
func (s *jsonScanner) name() error {
	before := len(s.out)
	err := s.str()
	s.key = s.key[:0]
	if err == nil && !s.discard && !s.long {
		s.key = append(s.key, s.out[before+1:len(s.out)-1]...)
	}
	return err
}

// member handles the value of the current key: it stops if the value contains records, and scans it
// without copying if it is dropped.
func (s *jsonScanner) member(wrappers []string) (scanned bool, err error) {
	if s.discard {
		return false, nil
	}
	if slices.Contains(wrappers, string(s.key)) {
		if c, err := s.token(); err != nil || c == '[' || c == '{' {
			return false, cmp.Or(err, errWrapper)
		}
	}
	if !slices.Contains(s.drop, string(s.key)) {
		return false, nil
	}
	s.discard = true
	err = s.value(nil)
	s.discard = false
	s.emit([]byte("null"))
	return true, err
}

// push consumes an opening bracket.
func (s *jsonScanner) push(c byte) error {
	if len(s.stack) >= maxScanDepth {
		return errScanDepth
	}
	s.stack = append(s.stack, c+2) // in ASCII, the closing bracket is two positions after the opening one
	s.emitByte(c)
	return nil
}

// pop consumes a closing bracket, which must match the opening one.
func (s *jsonScanner) pop(c byte) error {
	n := len(s.stack) - 1
	if n < 0 || s.stack[n] != c {
		return errSyntax
	}
	s.stack = s.stack[:n]
	s.emitByte(c)
	return nil
}

// token returns the next nonspace byte without consuming it.
func (s *jsonScanner) token() (byte, error) {
	s.in.skipSpace()
	c, ok := s.in.peek()
	if !ok {
		return 0, errCutOff
	}
	return c, nil
}

// scalar scans a string, number or literal.
func (s *jsonScanner) scalar(c byte) error {
	if c == '"' {
		return s.str()
	}
	for n := 0; ; n++ {
		c, ok := s.in.peek()
		if !ok {
			return nil
		}
		switch c {
		case ' ', '\t', '\r', '\n', ',', ':', '{', '}', '[', ']', '"':
			if n == 0 {
				return errSyntax
			}
			return nil
		}
		s.emitByte(c)
	}
}

// str scans a string. A line break inside it is an error and is not consumed.
func (s *jsonScanner) str() error {
	s.emitByte('"')
	escaped := false
	for s.in.fill() {
		chunk := s.in.buf[s.in.pos:s.in.end]
		n := 0
		for n < len(chunk) && (escaped || chunk[n] != '"') && chunk[n] >= ' ' {
			escaped = !escaped && chunk[n] == '\\'
			n++
		}
		s.emit(chunk[:n])
		s.in.pos += n
		s.in.bol = s.in.bol && n == 0
		if n == len(chunk) {
			continue
		}
		if chunk[n] != '"' {
			return errors.New("not valid JSON: line break or control character in a string")
		}
		s.emitByte('"')
		return nil
	}
	return errCutOff
}

// endsLine reports whether only white space follows on the current line.
func (s *jsonScanner) endsLine() bool {
	for {
		c, ok := s.in.peek()
		switch {
		case !ok, c == '\n':
			return true
		case c != ' ' && c != '\t' && c != '\r':
			return false
		}
		s.in.take()
	}
}

func (s *jsonScanner) emit(b []byte) {
	switch {
	case s.discard:
	case len(s.out)-s.start+len(b) > maxRow:
		s.long = true
	default:
		s.out = append(s.out, b...)
	}
}

func (s *jsonScanner) emitByte(c byte) {
	s.in.take()
	if !s.discard {
		if len(s.out)-s.start >= maxRow {
			s.long = true
			return
		}
		s.out = append(s.out, c)
	}
}
