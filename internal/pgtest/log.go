package pgtest

import (
	"bytes"
	"io"
	"os"
	"sync"
)

const (
	maxLog     = 64 << 10 // log bytes returned by Log
	maxLogTail = 4 << 10  // log bytes included in errors
)

// serverLog is a server's log file.
type serverLog struct {
	path string

	mu   sync.Mutex
	kept []byte // end of a removed file
	gone bool
}

// open opens the file for the server to append to and returns its current length.
func (l *serverLog) open() (*os.File, int64, error) {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	length, err := f.Seek(0, io.SeekEnd)
	return f, length, err
}

// keep saves the end of the log before its file is removed.
func (l *serverLog) keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.gone = l.read(0, maxLog), true
}

// tail returns up to limit bytes from the end of the log, in whole lines.
func (l *serverLog) tail(limit int64) string { return l.since(0, limit) }

// since returns up to limit bytes from the end of the log, in whole lines. It ignores the first
// skip bytes.
func (l *serverLog) since(skip, limit int64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return string(l.kept)
	}
	return string(l.read(skip, limit))
}

// read reads the file. It treats an unreadable file as empty.
func (l *serverLog) read(skip, limit int64) []byte {
	f, err := os.Open(l.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	length, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	from := max(skip, length-limit)
	text, err := io.ReadAll(io.NewSectionReader(f, from, length-from))
	if err != nil {
		return nil
	}
	if from > skip {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}
