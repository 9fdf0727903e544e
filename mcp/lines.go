package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// lineWriter writes whole lines of several goroutines.
type lineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first
}

func (l *lineWriter) write(line []byte) {
	if len(line) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.w.Write(append(line, '\n')); err != nil && l.err == nil {
		l.err = fmt.Errorf("write an answer: %w", err)
	}
}

func (l *lineWriter) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// inputLine is a line of input, or why there is none.
type inputLine struct {
	text    []byte
	tooLong bool
	err     error
}

// readLines reads lines in the background: a read of standard input cannot be interrupted. It ends with the input, or at the
// line after the context has ended.
func readLines(ctx context.Context, in io.Reader) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			line := readLine(r)
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
			if line.err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads one line. The rest of one that is too long is skipped.
func readLine(r *bufio.Reader) (line inputLine) {
	for {
		part, err := r.ReadSlice('\n')
		if line.tooLong = line.tooLong || len(line.text)+len(part) > maxMessageBytes+1; !line.tooLong {
			line.text = append(line.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line.text) > 0 || line.tooLong):
		case err != nil:
			return inputLine{err: err}
		}
		line.text = bytes.TrimSpace(line.text)
		return line
	}
}
