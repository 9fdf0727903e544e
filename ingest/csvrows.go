package ingest

import (
	"bytes"
	"errors"
)

// maxCSVLines is over how many lines a quoted field may go on before its quote is taken for one that was never closed.
const maxCSVLines = 200

// csvRows splits CSV text into records: a line each, or more where a quoted field holds line ends. A record whose quotes are
// broken is refused as its first line alone, and reading goes on with the line after that.
type csvRows struct {
	in   *input
	skip func(line []byte) bool // lines that are not rows, such as a header that comes again; may be nil
}

func (r *csvRows) next(dst []byte) ([]byte, rawRow, error) {
	for {
		text, row, err := r.record(dst)
		record := text[len(dst):]
		if err == nil && row.problem == "" && (blank(record) || r.skip != nil && r.skip(record)) {
			continue
		}
		return text, row, err
	}
}

// record reads one record, blank or not.
func (r *csvRows) record(dst []byte) ([]byte, rawRow, error) {
	text, line, long, ok := r.in.readLine(dst)
	if !ok {
		return dst, rawRow{}, r.in.ended()
	}
	row := rawRow{line: line}
	if long {
		row.problem = problemLong
		return dst, row, nil
	}
	firstEnd := len(text)
	open, err := scanQuotes(text[len(dst):], false)
	for n := 1; open && err == nil; n++ {
		text = append(text, '\n')
		at := len(text)
		if text, _, long, ok = r.in.readLine(text); !ok && r.in.failure() != nil {
			return dst, rawRow{}, r.in.ended()
		}
		if !ok || long || n >= maxCSVLines || len(text)-len(dst) > maxRow {
			err = errOpenQuote
			break
		}
		open, err = scanQuotes(text[at:], true)
	}
	if err != nil {
		if rest := text[firstEnd:]; len(rest) > 0 {
			r.in.unread(endLine(rest[1:], ok), line+1)
		}
		row.problem = err.Error()
		return dst, row, nil
	}
	return text, row, nil
}

// endLine returns the text with the line end that reading its last line took.
func endLine(text []byte, ended bool) []byte {
	if !ended {
		return text
	}
	return append(text, '\n')
}

var (
	errOpenQuote = errors.New("a quoted field is not closed")
	errBareQuote = errors.New(`text follows a closing quote; write a quote within a quoted field twice ("")`)
)

// scanQuotes follows the quotes of a line, which begins within a quoted field when open is true, and reports whether one is
// open at its end.
func scanQuotes(line []byte, open bool) (stillOpen bool, err error) {
	for {
		if !open {
			start, ok := nextQuoted(line)
			if !ok {
				return false, nil
			}
			line, open = line[start:], true
		}
		end := closingQuote(line)
		if end < 0 {
			return true, nil
		}
		line = bytes.TrimLeft(line[end+1:], " \t")
		if len(line) == 0 {
			return false, nil
		}
		if line[0] != ',' {
			return false, errBareQuote
		}
		line, open = line[1:], false
	}
}

// nextQuoted finds the next field that is quoted in text that begins with a field, and returns where its text begins, after
// the quote.
func nextQuoted(text []byte) (start int, ok bool) {
	for i := 0; ; {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		if i < len(text) && text[i] == '"' {
			return i + 1, true
		}
		n := bytes.IndexByte(text[i:], ',')
		if n < 0 {
			return 0, false
		}
		i += n + 1
	}
}

// closingQuote finds the quote that ends a quoted field in the text after its opening quote, or returns -1.
func closingQuote(text []byte) int {
	for i := 0; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		if i += n; i+1 == len(text) || text[i+1] != '"' {
			return i
		}
		i++
	}
	return -1
}

func blank(line []byte) bool { return len(bytes.TrimLeft(line, " \t\r,")) == 0 }

func trimSpace(b []byte) []byte { return bytes.TrimSpace(b) }
