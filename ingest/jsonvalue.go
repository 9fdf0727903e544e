package ingest

import "errors"

// value scans one value of any type, whose first byte is next.
func (s *jsonScanner) value() error {
	s.stack = s.stack[:0]
	ended := false // the last token was the end of a value
	for {
		c, err := s.token()
		if err != nil {
			return err
		}
		switch c {
		case '{', '[':
			if ended {
				return errSyntax
			}
			s.stack = append(s.stack, c+2) // the closing bracket stands two places on in ASCII
			s.emitByte(c)
			continue
		case '}', ']':
			n := len(s.stack)
			if n == 0 || s.stack[n-1] != c {
				return errSyntax
			}
			s.stack = s.stack[:n-1]
			s.emitByte(c)
		case ',', ':':
			if !ended || len(s.stack) == 0 {
				return errSyntax
			}
			s.emitByte(c)
			ended = false
			continue
		default:
			if ended {
				return errSyntax
			}
			if err := s.scalar(c); err != nil {
				return err
			}
		}
		if len(s.stack) == 0 {
			return nil
		}
		ended = true
	}
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
