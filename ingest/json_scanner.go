package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxScanDepth bounds how deeply brackets may nest in a value that is scanned, dropped ones
// included.
const maxScanDepth = 1000

var errScanDepth = fmt.Errorf("not valid here: values nest more than %d deep", maxScanDepth)

// jsonScanner finds where JSON values end, copying their text. It checks only what that takes:
// strings, brackets, the keys of a record, and that no value follows another without a comma
// between. So a record without its end does not swallow the next, and one that is wrong within (a
// NaN, say) is refused alone.
type jsonScanner struct {
	in      *input
	drop    []string // keys of a record whose values are read as null
	out     []byte   // text so far, that of earlier rows first
	start   int      // of the present row in out
	discard bool     // read without copying
	long    bool     // the row is longer than maxRow and not all of it was copied
	stack   []byte   // closing brackets due
	key     []byte   // of the present member of the record
}

// errWrapper ends the scan of an object before the value of a key that holds records.
var errWrapper = errors.New("the object holds records")

// begin starts a row whose text is appended to dst.
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

// tail scans the rest of a wrapper after the records it holds.
func (s *jsonScanner) tail() error {
	s.begin(nil)
	s.discard = true
	s.stack = append(s.stack, '}')
	return s.rest(0, true, nil)
}

// value scans one value, whose first byte is next. When it is a record with an array or object
// under one of the wrappers' keys, it stops before that with errWrapper.
func (s *jsonScanner) value(wrappers []string) error { return s.rest(len(s.stack), false, wrappers) }

// rest scans until a value has ended at a depth. ended says that the last token before was the end
// of a value.
func (s *jsonScanner) rest(depth int, ended bool, wrappers []string) error {
	keyDue := false
	for {
		c, err := s.token()
		if err != nil {
			return err
		}
		between := c == ',' || c == ':'
		closes := c == '}' || c == ']'
		switch {
		case between && (!ended || len(s.stack) == depth), ended && !between && !closes, closes && len(s.stack) == depth, keyDue && c != '"' && c != '}':
			return errSyntax
		case between:
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
			ended = !between && c != '{' && c != '['
		}
		if err != nil || ended && len(s.stack) == depth {
			return err
		}
		keyDue = (c == '{' || c == ',') && s.inRecord()
	}
}

// inRecord reports whether the next token is one of the outermost object's own.
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

// member looks at the value of the present key: it stops before one that holds records, and scans
// one that is dropped.
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

// push takes an opening bracket.
func (s *jsonScanner) push(c byte) error {
	if len(s.stack) >= maxScanDepth {
		return errScanDepth
	}
	s.stack = append(s.stack, c+2) // the closing bracket stands two places on in ASCII
	s.emitByte(c)
	return nil
}

// pop takes a closing bracket, which must be the one that is due.
func (s *jsonScanner) pop(c byte) error {
	n := len(s.stack) - 1
	if n < 0 || s.stack[n] != c {
		return errSyntax
	}
	s.stack = s.stack[:n]
	s.emitByte(c)
	return nil
}

// token returns the next byte that is not white space, without taking it.
func (s *jsonScanner) token() (byte, error) {
	s.in.skipSpace()
	c, ok := s.in.peek()
	if !ok {
		return 0, errCutOff
	}
	return c, nil
}

// scalar scans a string, a number or a word.
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

// str scans a string. A line end within it is an error, and is not taken.
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
		if s.in.bol = s.in.bol && n == 0; n == len(chunk) {
			continue
		}
		if chunk[n] != '"' {
			return errors.New("not valid JSON: a line end or control character within a string")
		}
		s.emitByte('"')
		return nil
	}
	return errCutOff
}

// endsLine reports whether nothing but white space follows on the present line.
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
