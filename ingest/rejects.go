package ingest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// reject is a line of the file of rejected rows. Row is the original text, so that it can be
// corrected and imported again; CSV rows need the header above them.
type reject struct {
	Source string  `json:"source"`
	Line   int     `json:"line"`
	Reason string  `json:"reason"`
	Header string  `json:"header,omitempty"`
	Row    *string `json:"row"` // null if the row is longer than maxRow or is a page, which contains personal data
	// Bytes replaces Row if the text has no known encoding.
	Bytes []byte `json:"row_base64,omitempty"`
}

// rejectWriter writes rejected rows as JSON lines. All methods are no-ops on a nil rejectWriter.
type rejectWriter struct {
	w   *bufio.Writer
	enc *json.Encoder
	err error
}

func newRejectWriter(w io.Writer) *rejectWriter {
	if w == nil {
		return nil
	}
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	return &rejectWriter{w: buffered, enc: enc}
}

// write adds a row. flush returns the error, if any.
func (w *rejectWriter) write(at rowPosition, reason string) {
	if w == nil || w.err != nil {
		return
	}
	line := reject{Source: at.source, Line: at.line, Reason: reason, Header: readable(at.header)}
	switch text := readable(at.text); {
	case text != "":
		line.Row = &text
	case at.text != "":
		line.Bytes = []byte(at.text)
	}
	w.err = w.enc.Encode(line)
}

// readable returns text as UTF-8, decoded as in an import, or "" if its encoding is unknown.
func readable(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	decoded, _ := windows1252([]byte(text))
	return string(decoded)
}

// flush writes buffered rows and returns the first write error.
func (w *rejectWriter) flush() error {
	if w == nil {
		return nil
	}
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write rejected rows: %w", w.err)
	}
	return nil
}
