package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// Source is one input of an import.
type Source struct {
	Name string // for messages; a file's path, or "-" for standard input
	Size int64  // in bytes, compressed; -1 if unknown
	// Open starts reading. Import closes the reader, even during a Read if the import is canceled.
	Open func() (io.ReadCloser, error)
	path string // path of a file or folder; empty if there is none
	page []byte // a page in memory; nil if there is none
}

// FileSource returns a source that reads a file, or the files in a folder or archive. A missing file
// is an error only when the source is opened.
func FileSource(path string) Source {
	size := int64(-1)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return Source{Name: path, Size: size, Open: func() (io.ReadCloser, error) { return os.Open(path) }, path: path}
}

// ReaderSource returns a source that reads r, such as standard input under the name "-". The
// source can be read only once. Import closes r if r is an io.Closer.
func ReaderSource(name string, r io.Reader) Source {
	return Source{Name: name, Size: -1, Open: func() (io.ReadCloser, error) {
		if rc, ok := r.(io.ReadCloser); ok {
			return rc, nil
		}
		return io.NopCloser(r), nil
	}}
}

// PageSource returns a source that is one page of TTB's registry.
func PageSource(name string, page []byte) Source {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(page)), nil }
	return Source{Name: name, Size: int64(len(page)), Open: open, page: page}
}

// countingReader counts the bytes read. Closing it twice is safe.
type countingReader struct {
	r     io.ReadCloser
	n     atomic.Int64
	close func() error
}

func newCountingReader(r io.ReadCloser) *countingReader {
	return &countingReader{r: r, close: sync.OnceValue(r.Close)}
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func (c *countingReader) Close() error { return c.close() }

// maxRow is the maximum length of a row in bytes. A label with all its images and barcodes is a
// few thousand bytes.
const maxRow = 4 << 20

// window is the size of the read buffer.
const window = 128 << 10

// input reads text byte by byte or line by line, and tracks line numbers.
type input struct {
	name string // name of the source
	r    io.Reader
	buf  []byte // the window
	pos  int    // index of the next byte in buf
	end  int    // end of the data in buf
	line int    // line of the next byte, from 1
	bol  bool   // the next byte begins a line
	err  error  // read error; io.EOF at the end
}

func newInput(r io.Reader) *input { return &input{r: r, buf: make([]byte, window), line: 1, bol: true} }

// fill reads more text if the buffer is used up. It returns false at the end or after an error.
func (in *input) fill() bool {
	if in.pos < in.end {
		return true
	}
	if in.err != nil {
		return false
	}
	in.pos, in.end = 0, 0
	for range 100 {
		n, err := in.r.Read(in.buf)
		in.end, in.err = n, err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	in.err = io.ErrNoProgress
	return false
}

// failure returns the error that ended the text early, if any.
func (in *input) failure() error {
	if in.err == nil || errors.Is(in.err, io.EOF) {
		return nil
	}
	return in.err
}

// peek returns the next byte without consuming it.
func (in *input) peek() (c byte, ok bool) {
	if !in.fill() {
		return 0, false
	}
	return in.buf[in.pos], true
}

// Read implements io.Reader. It does not count lines.
func (in *input) Read(p []byte) (int, error) {
	if !in.fill() {
		return 0, in.err
	}
	n := copy(p, in.buf[in.pos:in.end])
	in.pos += n
	return n, nil
}

// atEnd reports whether the text has ended without an error.
func (in *input) atEnd() bool { return !in.fill() && in.failure() == nil }

// take consumes the byte that peek returned.
func (in *input) take() {
	in.bol = in.buf[in.pos] == '\n'
	if in.bol {
		in.line++
	}
	in.pos++
}

// skipSpace consumes JSON white space and the record separators of JSON text sequences.
func (in *input) skipSpace() {
	for in.fill() {
		switch in.buf[in.pos] {
		case ' ', '\t', '\r', '\n', 0x1e:
			in.take()
		default:
			return
		}
	}
}

// readLine appends the next line, without its line ending, to dst and returns its number. ok is
// false at the end of the text and after a read error; the line being read is then dropped. If a
// line exceeds maxRow, long is true and the rest of it is dropped.
func (in *input) readLine(dst []byte) (text []byte, line int, long, ok bool) {
	line = in.line
	start := len(dst)
	for in.fill() {
		ok = true
		chunk := in.buf[in.pos:in.end]
		n := bytes.IndexByte(chunk, '\n')
		if n >= 0 {
			chunk = chunk[:n]
			in.pos++ // the newline
			in.line++
		}
		in.pos += len(chunk)
		if len(dst)-start+len(chunk) > maxRow {
			chunk, long = chunk[:max(0, maxRow-(len(dst)-start))], true
		}
		dst = append(dst, chunk...)
		if n >= 0 {
			in.bol = true
			return trimCR(dst, start), line, long, true
		}
	}
	if in.failure() != nil {
		return dst[:start], line, false, false
	}
	return trimCR(dst, start), line, long, ok
}

func trimCR(b []byte, start int) []byte {
	if len(b) > start && b[len(b)-1] == '\r' {
		return b[:len(b)-1]
	}
	return b
}

// unread puts back text from readLine, to be read again. line is the number of its first line.
func (in *input) unread(text []byte, line int) {
	in.line, in.bol = line, true
	if n := in.pos - len(text); n >= 0 && bytes.Equal(in.buf[n:in.pos], text) {
		in.pos = n
		return
	}
	rest := in.buf[in.pos:in.end]
	buf := make([]byte, 0, max(window, len(text)+len(rest)))
	buf = append(append(buf, text...), rest...)
	in.buf, in.pos, in.end = buf[:cap(buf)], 0, len(buf)
}

// rowReader splits the text of a source into rows without parsing them. It is not safe for
// concurrent use.
type rowReader interface {
	// next appends the text of the next row to dst, even if the row has a problem, unless the
	// text is too long. It returns io.EOF at the end, or a brokenError if the rest cannot be split.
	next(dst []byte) (text []byte, row rawRow, err error)
}

// rawRow is the position of a row, and the problem if it can't be decoded.
type rawRow struct {
	line    int    // first line, from 1
	file    string // file of the row, if each row is a file
	problem string // reason why it cannot be decoded, if any
}

// brokenError ends a source whose text cannot be split further.
type brokenError struct {
	line int
	err  error
}

func (e *brokenError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *brokenError) Unwrap() error { return e.err }

// broken returns an error at the current line: the read error, if any, otherwise the message.
func (in *input) broken(format string, args ...any) error {
	if err := in.failure(); err != nil {
		return &brokenError{in.line, err}
	}
	return &brokenError{in.line, fmt.Errorf(format, args...)}
}

// ended returns the error that next returns at the end of the text.
func (in *input) ended() error {
	if err := in.failure(); err != nil {
		return &brokenError{in.line, err}
	}
	return io.EOF
}

// errUnknownFormat is wrapped by errors about files that are clearly not meant to be imported.
var errUnknownFormat = errors.New("unknown format")

// Problems with the text of a row, as opposed to its values.
var (
	errCutOff = errors.New("the record is truncated")
	errSyntax = errors.New("not valid JSON")
)

const problemLong = "the record is longer than 4 MiB"
