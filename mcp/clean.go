package mcp

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
)

// clean removes hidden characters from the strings of a JSON text: control, bidirectional and invisible ones. Line feeds stay,
// a CR LF becomes one, and other white space becomes a space. The JSON must be compact and as encoding/json writes it, so that
// these characters occur within strings only.
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
		} else if !cola.IsHidden(r) {
			out = append(out, b[i:i+n]...)
		}
		i += n
	}
	return out
}

// escaped returns the length of the escape sequence that b starts with, and its replacement.
func escaped(b []byte) (n int, replacement []byte) {
	switch {
	case len(b) >= 6 && b[1] == 'u':
		r, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		switch {
		case err != nil || !cola.IsHidden(rune(r)) && r != '\u2028' && r != '\u2029':
			return 6, b[:6]
		case r == '\u2028' || r == '\u2029':
			return 6, []byte{' '}
		}
		return 6, nil
	case len(b) < 2:
		return len(b), b
	}
	switch b[1] {
	case 'r':
		if bytes.HasPrefix(b[2:], []byte(`\n`)) {
			return 2, nil
		}
		return 2, []byte{' '}
	case 't':
		return 2, []byte{' '}
	case 'b', 'f':
		return 2, nil
	}
	return 2, b[:2]
}
