package ingest

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// Source is one input of an import.
type Source struct {
	Name string // for messages; a file's path, or "-" for standard input
	Size int64  // in bytes, before decompression; -1 when it is not known
	// Open begins reading. Import closes what it returns, also in the midst of a Read when the import is cancelled.
	Open func() (io.ReadCloser, error)
}

// FileSource returns the source that is a file. A missing file fails when it is opened, not here.
func FileSource(path string) Source {
	size := int64(-1)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return Source{Name: path, Size: size, Open: func() (io.ReadCloser, error) { return openFile(path) }}
}

func openFile(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("it is a folder; name the files in it")
	}
	return f, nil
}

// ReaderSource returns the source that is a reader of unknown length, such as standard input under the name "-". It can be
// read once. It is closed when it is an io.Closer.
func ReaderSource(name string, r io.Reader) Source {
	return Source{Name: name, Size: -1, Open: func() (io.ReadCloser, error) {
		if rc, ok := r.(io.ReadCloser); ok {
			return rc, nil
		}
		return io.NopCloser(r), nil
	}}
}

// countingReader counts the bytes that pass and is closed once, however often it is told to.
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
