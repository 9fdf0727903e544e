package ingest

import (
	"errors"
	"fmt"
)

// maxScanDepth bounds how deeply brackets may nest in a value that is scanned, dropped ones included.
const maxScanDepth = 1000

var errScanDepth = fmt.Errorf("not valid here: values nest more than %d deep", maxScanDepth)

// value scans one value of any type, whose first byte is next.
func (s *jsonScanner) value() error {
	s.stack = s.stack[:0]
	ended := false // the last token was the end of a value
	for {
		c, err := s.token()
		if err != nil {
			return err
		}
		between := c == ',' || c == ':'
		closes := c == '}' || c == ']'
		switch {
		case between && (!ended || len(s.stack) == 0), ended && !between && !closes:
			return errSyntax
		case between:
			s.emitByte(c)
		case c == '{' || c == '[':
			err = s.push(c)
		case closes:
			err = s.pop(c)
		default:
			err = s.scalar(c)
		}
		if err != nil {
			return err
		}
		if ended = !between && c != '{' && c != '['; ended && len(s.stack) == 0 {
			return nil
		}
	}
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
