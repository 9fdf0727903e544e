package ingest

import (
	"errors"
	"slices"
)

// jsonScanner finds where JSON values end, copying their text. It checks what it needs for that: strings, brackets, and that
// no value follows another without a comma between; so that a record without its end does not swallow the next.
type jsonScanner struct {
	in      *input
	drop    []string // keys of a record whose values are read as null
	out     []byte   // text so far, that of earlier rows first
	start   int      // of the present row in out
	discard bool     // read without copying
	long    bool     // the row is longer than maxRow and not all of it was copied
	stack   []byte   // closing brackets due
	key     []byte   // of the present member
}

// errWrapper ends the scan of an object before the value of a key that holds records.
var errWrapper = errors.New("the object holds records")

// begin starts a row whose text is appended to dst.
func (s *jsonScanner) begin(dst []byte) {
	s.out, s.start, s.discard, s.long = dst, len(dst), false, false
}

// row returns the row scanned since begin.
func (s *jsonScanner) row(dst []byte, line int) ([]byte, rawRow) {
	if s.long {
		return dst, rawRow{line: line, problem: problemLong}
	}
	return s.out, rawRow{line: line}
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

// object scans an object, member by member. When the value of one of the wrappers' keys is an array or an object, it stops
// before that with errWrapper.
func (s *jsonScanner) object(wrappers []string) error {
	s.emitByte('{')
	for first := true; ; first = false {
		c, err := s.token()
		if err != nil {
			return err
		}
		if c == '}' {
			s.emitByte(c)
			return nil
		}
		if !first {
			if c != ',' {
				return errSyntax
			}
			s.emitByte(c)
			if c, err = s.token(); err != nil {
				return err
			}
		}
		if c != '"' {
			return errSyntax
		}
		if c, err = s.member(); err != nil {
			return err
		}
		if (c == '[' || c == '{') && slices.Contains(wrappers, string(s.key)) {
			return errWrapper
		}
		if err := s.memberValue(); err != nil {
			return err
		}
	}
}

// member scans a key and its colon and returns the first byte of the value.
func (s *jsonScanner) member() (byte, error) {
	before, discard := len(s.out), s.discard
	if err := s.str(); err != nil {
		return 0, err
	}
	s.key = s.key[:0]
	if !discard && !s.long {
		s.key = append(s.key, s.out[before+1:len(s.out)-1]...)
	}
	c, err := s.token()
	if err != nil {
		return 0, err
	}
	if c != ':' {
		return 0, errSyntax
	}
	s.emitByte(c)
	return s.token()
}

// memberValue scans the value of the present key.
func (s *jsonScanner) memberValue() error {
	if s.discard || !slices.Contains(s.drop, string(s.key)) {
		return s.value()
	}
	s.discard = true
	err := s.value()
	s.discard = false
	s.emit([]byte("null"))
	return err
}

// tail scans the rest of a wrapper after the records it holds.
func (s *jsonScanner) tail() error {
	s.begin(nil)
	s.discard = true
	for {
		c, err := s.token()
		if err != nil {
			return err
		}
		switch c {
		case '}':
			s.in.take()
			return nil
		case ',':
			s.in.take()
			if c, err = s.token(); err != nil {
				return err
			}
			if c != '"' {
				return errSyntax
			}
			if _, err := s.member(); err != nil {
				return err
			}
			if err := s.value(); err != nil {
				return err
			}
		default:
			return errSyntax
		}
	}
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
