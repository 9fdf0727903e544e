package ingest

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// str takes a string and returns its text, which holds until the next one is read.
func (l *jsonLexer) str() ([]byte, error) {
	rest := l.b[l.i+1:]
	n := 0
	for n < len(rest) && rest[n] != '"' && rest[n] != '\\' && rest[n] >= ' ' {
		n++
	}
	if n < len(rest) && rest[n] == '"' {
		l.i += n + 2
		return rest[:n], nil
	}
	l.scratch = append(l.scratch[:0], rest[:n]...)
	l.i += n + 1
	for l.i < len(l.b) {
		switch c := l.b[l.i]; {
		case c == '"':
			l.i++
			return l.scratch, nil
		case c < ' ':
			return nil, l.unexpected()
		case c == '\\':
			if err := l.escape(); err != nil {
				return nil, err
			}
		default:
			l.scratch = append(l.scratch, c)
			l.i++
		}
	}
	return nil, errCutOff
}

// escape takes an escape sequence into scratch. Half a surrogate pair becomes U+FFFD.
func (l *jsonLexer) escape() error {
	if l.i+1 >= len(l.b) {
		return errCutOff
	}
	c := l.b[l.i+1]
	if c != 'u' {
		at := bytes.IndexByte([]byte(`"\/bfnrt`), c)
		if at < 0 {
			return l.unexpected()
		}
		l.scratch = append(l.scratch, "\"\\/\b\f\n\r\t"[at])
		l.i += 2
		return nil
	}
	r, ok := l.hex4(l.i)
	if !ok {
		return l.unexpected()
	}
	l.i += 6
	if utf16.IsSurrogate(r) {
		second, ok := l.hex4(l.i)
		if r = utf16.DecodeRune(r, second); ok && r != utf8.RuneError {
			l.i += 6
		}
	}
	l.scratch = utf8.AppendRune(l.scratch, r)
	return nil
}

// hex4 reads \uXXXX at i.
func (l *jsonLexer) hex4(i int) (r rune, ok bool) {
	if i+6 > len(l.b) || l.b[i] != '\\' || l.b[i+1] != 'u' {
		return 0, false
	}
	for _, c := range l.b[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
