package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds how deeply values may nest.
const maxDepth = 64

var (
	errDepth    = fmt.Errorf("values nest more than %d deep", maxDepth)
	errTrailing = errors.New("not valid JSON: text after the record")
)

// jsonKind is the type of a JSON value.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// String names the type in messages.
func (k jsonKind) String() string {
	return [...]string{"null", "true or false", "a number", "text", "an array", "an object"}[k]
}

// jsonLexer reads one JSON value that is whole in memory, strictly: it accepts what encoding/json accepts, to a depth.
type jsonLexer struct {
	b       []byte
	i       int
	depth   int
	scratch []byte // of the last string that had escapes
}

func (l *jsonLexer) reset(b []byte) { l.b, l.i, l.depth = b, 0, 0 }

func (l *jsonLexer) space() {
	for l.i < len(l.b) {
		switch l.b[l.i] {
		case ' ', '\t', '\r', '\n':
			l.i++
		default:
			return
		}
	}
}

// kind tells the type of the next value without taking any of it.
func (l *jsonLexer) kind() (jsonKind, error) {
	l.space()
	if l.i >= len(l.b) {
		return 0, errCutOff
	}
	switch c := l.b[l.i]; {
	case c == '"':
		return jsonString, nil
	case c == '{':
		return jsonObject, nil
	case c == '[':
		return jsonArray, nil
	case c == 't', c == 'f':
		return jsonBool, nil
	case c == 'n':
		return jsonNull, nil
	case c == '-', c >= '0' && c <= '9':
		return jsonNumber, nil
	}
	return 0, l.unexpected()
}

func (l *jsonLexer) unexpected() error {
	if l.i >= len(l.b) {
		return errCutOff
	}
	r, _ := utf8.DecodeRune(l.b[l.i:])
	return fmt.Errorf("not valid JSON: %q at byte %d of the record", r, l.i+1)
}

// enter takes the opening bracket of an object or array; more is false when it is empty, and then its end is taken too.
func (l *jsonLexer) enter() (more bool, err error) {
	closing := l.b[l.i] + 2
	if l.depth++; l.depth > maxDepth {
		return false, errDepth
	}
	l.i++
	l.space()
	if l.i < len(l.b) && l.b[l.i] == closing {
		l.i++
		l.depth--
		return false, nil
	}
	return true, nil
}

// after takes the comma after a member or element, or the closing bracket; more tells which.
func (l *jsonLexer) after(closing byte) (more bool, err error) {
	l.space()
	switch {
	case l.i >= len(l.b):
		return false, errCutOff
	case l.b[l.i] == ',':
		l.i++
		return true, nil
	case l.b[l.i] == closing:
		l.i++
		l.depth--
		return false, nil
	}
	return false, l.unexpected()
}

// key takes a key and its colon. It holds until the next string is read.
func (l *jsonLexer) key() ([]byte, error) {
	l.space()
	if l.i >= len(l.b) || l.b[l.i] != '"' {
		return nil, l.unexpected()
	}
	key, err := l.str()
	if err != nil {
		return nil, err
	}
	l.space()
	if l.i >= len(l.b) || l.b[l.i] != ':' {
		return nil, l.unexpected()
	}
	l.i++
	return key, nil
}

// number takes a number and returns its text.
func (l *jsonLexer) number() ([]byte, error) {
	start := l.i
	if l.b[l.i] == '-' {
		l.i++
	}
	if l.i < len(l.b) && l.b[l.i] == '0' {
		l.i++
	} else if !l.digits() {
		return nil, l.unexpected()
	}
	if l.i < len(l.b) && l.b[l.i] == '.' {
		l.i++
		if !l.digits() {
			return nil, l.unexpected()
		}
	}
	if l.i < len(l.b) && l.b[l.i]|0x20 == 'e' {
		l.i++
		if l.i < len(l.b) && (l.b[l.i] == '+' || l.b[l.i] == '-') {
			l.i++
		}
		if !l.digits() {
			return nil, l.unexpected()
		}
	}
	return l.b[start:l.i], nil
}

func (l *jsonLexer) digits() bool {
	start := l.i
	for l.i < len(l.b) && l.b[l.i] >= '0' && l.b[l.i] <= '9' {
		l.i++
	}
	return l.i > start
}

// word takes true, false or null.
func (l *jsonLexer) word() ([]byte, error) {
	for _, w := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(l.b[l.i:], []byte(w)) {
			l.i += len(w)
			return l.b[l.i-len(w) : l.i], nil
		}
	}
	return nil, l.unexpected()
}

// skip takes a value of any type.
func (l *jsonLexer) skip() error {
	kind, err := l.kind()
	if err != nil {
		return err
	}
	switch kind {
	case jsonString:
		_, err = l.str()
	case jsonNumber:
		_, err = l.number()
	case jsonBool, jsonNull:
		_, err = l.word()
	default:
		err = l.skipNested(kind)
	}
	return err
}

func (l *jsonLexer) skipNested(kind jsonKind) error {
	closing := l.b[l.i] + 2
	more, err := l.enter()
	for more && err == nil {
		if kind == jsonObject {
			if _, err = l.key(); err != nil {
				return err
			}
		}
		if err = l.skip(); err != nil {
			return err
		}
		more, err = l.after(closing)
	}
	return err
}

// end checks that nothing follows the value.
func (l *jsonLexer) end() error {
	if l.space(); l.i < len(l.b) {
		return errTrailing
	}
	return nil
}
