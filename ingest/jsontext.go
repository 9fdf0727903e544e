package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deeply values may nest.
const maxDepth = 64

var (
	errDepth    = fmt.Errorf("values nest more than %d deep", maxDepth)
	errTrailing = errors.New("not valid JSON: text after the record")
)

// jsonOptions make the decoder accept what encoding/json does: of two values under one name the later counts, and half a
// surrogate pair becomes U+FFFD.
var jsonOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// kindNames names types of JSON values in messages.
var kindNames = map[jsontext.Kind]string{
	'n': "null", 'f': "true or false", 't': "true or false", '0': "a number", '"': "text", '[': "an array", '{': "an object",
}

// reset makes text the JSON to read.
func (r *recordReader) reset(text []byte) {
	r.raw = *bytes.NewBuffer(text)
	r.dec.Reset(&r.raw, jsonOptions...)
}

// end returns what is wrong with the syntax of the text after its value was read with err.
func (r *recordReader) end(err error) error {
	if err == nil {
		if _, err := r.dec.ReadToken(); err == io.EOF {
			return nil
		}
		return errTrailing
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutOff
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("not valid JSON: %w at byte %d of the record", syntax.Err, syntax.ByteOffset+1)
	}
	return err
}

// token reads the next token, which may not be within more than maxDepth brackets.
func (r *recordReader) token() (jsontext.Token, error) {
	token, err := r.dec.ReadToken()
	if err == nil && r.dec.StackDepth() > maxDepth {
		err = errDepth
	}
	return token, err
}

// skip reads a value of any type.
func (r *recordReader) skip() error {
	for depth := r.dec.StackDepth(); ; {
		if _, err := r.token(); err != nil || r.dec.StackDepth() <= depth {
			return err
		}
	}
}

// nested reads an array or object: its brackets, and by read each of its values or members.
func (r *recordReader) nested(closing jsontext.Kind, read func(i int) error) error {
	_, err := r.token()
	for i := 0; err == nil && r.dec.PeekKind() != closing; i++ {
		err = read(i)
	}
	if err == nil {
		_, err = r.token()
	}
	return err
}
