package ingest

import (
	"errors"
	"fmt"
	"io"
)

// rowReader splits the text of a source into rows without understanding them. It is used by one goroutine.
type rowReader interface {
	// next appends the text of the next row to dst. Its error is io.EOF at the end, or a brokenError when the text cannot
	// be split any further.
	next(dst []byte) (text []byte, row rawRow, err error)
}

// rawRow says where a row is and whether it is one at all.
type rawRow struct {
	line    int    // its first line, from 1
	problem string // why it is no row that could be decoded; empty for a good one
}

// brokenError ends a source whose text cannot be split into rows any further.
type brokenError struct {
	line int
	err  error
}

func (e *brokenError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *brokenError) Unwrap() error { return e.err }

// broken returns the error for the present line: the failure of reading when there is one, else the message.
func (in *input) broken(format string, args ...any) error {
	if err := in.failure(); err != nil {
		return &brokenError{in.line, err}
	}
	return &brokenError{in.line, fmt.Errorf(format, args...)}
}

// ended returns what next returns when no text is left.
func (in *input) ended() error {
	if err := in.failure(); err != nil {
		return &brokenError{in.line, err}
	}
	return io.EOF
}

// Problems of the text of one row, rather than of its values.
var (
	errCutOff = errors.New("the record is cut off")
	errSyntax = errors.New("not valid JSON")
)

const problemLong = "the record is longer than 4 MiB"
