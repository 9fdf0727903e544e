package mcp

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// clean removes hidden characters from the texts in JSON: control characters, and characters that
// are invisible or change the direction of text. Line breaks stay and become \n; a tab becomes a
// space. The JSON must be compact and as encoding/json writes it, so that these characters occur
// only within strings.
func clean(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] == '\\' {
			n, replacement := escaped(b[i:])
			out = append(out, replacement...)
			i += n
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if n == 1 && r != utf8.RuneError && r != 0x7f {
			out = append(out, b[i]) // everything below ' ' is escaped
		} else if !vocabulary.IsInvisible(r) {
			out = append(out, b[i:i+n]...)
		}
		i += n
	}
	return out
}

var lineBreak = []byte(`\n`)

// escaped returns the length of the escape sequence at the start of b and its replacement. The two
// characters \r\n are one line break.
func escaped(b []byte) (n int, replacement []byte) {
	if len(b) < 2 {
		return len(b), b
	}
	switch b[1] {
	case 'u':
		return escapedRune(b)
	case 'n':
		return 2, lineBreak
	case 'r':
		if bytes.HasPrefix(b[2:], lineBreak) {
			return 4, lineBreak
		}
		return 2, lineBreak
	case 't':
		return 2, []byte{' '}
	case 'b', 'f':
		return 2, nil
	}
	return 2, b[:2]
}

// escapedRune is escaped for \u and four hexadecimal digits.
func escapedRune(b []byte) (n int, replacement []byte) {
	n = min(len(b), 6)
	r, err := strconv.ParseUint(string(b[2:n]), 16, 16)
	switch {
	case err != nil:
		return n, b[:n]
	case r == '\u2028' || r == '\u2029':
		return n, lineBreak
	case vocabulary.IsInvisible(rune(r)):
		return n, nil
	}
	return n, b[:n]
}
