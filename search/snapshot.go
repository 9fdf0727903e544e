package search

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"unsafe"
)

// A snapshot is the magic with the format's version, a number that shows the machine's byte order, and then the view's
// slices as they lie in memory, each with its length before it, closed by a CRC-32C of it all.
const (
	snapshotMagic = "colaidx2"
	snapshotOrder = 0x0a0b0c0d
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrSnapshot is wrapped by what Restore returns for a file that is not a whole snapshot of the store, of this version.
var ErrSnapshot = errors.New("not a usable snapshot")

// Save writes the view to a file, from which Restore makes it again. The file takes the name only once it is whole and on
// disk. storeID is that of the store that the index was built from.
func (x *Index) Save(path, storeID string) (err error) {
	v := x.View()
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("save snapshot: %w", err)
		}
	}()
	w := &snapshotWriter{w: bufio.NewWriterSize(f, 1<<20)}
	h := header{snapshotMagic, snapshotOrder, storeID}
	h.carry(w)
	v.saved().carry(w)
	if err := w.close(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a renaming in a directory last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Restore makes the index what Save wrote, and returns the revisions that it was brought up to. When the file is damaged, of
// another store, or of another version of the format, it fails with ErrSnapshot; when it fails the index is as it was.
func (x *Index) Restore(path, storeID string) (Marks, error) {
	x.updating.Lock()
	defer x.updating.Unlock()
	f, err := os.Open(path)
	if err != nil {
		return Marks{}, fmt.Errorf("restore snapshot: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Marks{}, fmt.Errorf("restore snapshot: %w", err)
	}
	v, err := readView(bufio.NewReaderSize(f, 1<<20), info.Size(), storeID)
	if err != nil {
		return Marks{}, fmt.Errorf("restore snapshot %s: %w", path, err)
	}
	v.scratches = &x.scratches
	x.publishing.Lock()
	defer x.publishing.Unlock()
	x.view.Store(v)
	return v.marks, nil
}

// readView reads a snapshot of size bytes.
func readView(from io.Reader, size int64, storeID string) (*View, error) {
	r := &snapshotReader{r: from, left: size}
	var h header
	switch h.carry(r); {
	case !r.ok():
		return nil, r.err
	case h.magic != snapshotMagic || h.order != snapshotOrder:
		return nil, fmt.Errorf("%w: it is of another version or machine", ErrSnapshot)
	case h.store != storeID:
		return nil, fmt.Errorf("%w: it is of another database", ErrSnapshot)
	}
	var content saved
	content.carry(r)
	if err := r.close(); err != nil {
		return nil, err
	}
	return content.view(), nil
}

// snapshotWriter is a carrier to a file. The first error stays.
type snapshotWriter struct {
	w   *bufio.Writer
	sum uint32
	err error
}

func (w *snapshotWriter) length(n, _ int) int {
	size := uint64(n)
	w.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&size)), 8))
	return n
}

func (w *snapshotWriter) bytes(b []byte) {
	if w.err == nil {
		w.sum = crc32.Update(w.sum, castagnoli, b)
		_, w.err = w.w.Write(b)
	}
}

func (w *snapshotWriter) ok() bool { return w.err == nil }

func (w *snapshotWriter) close() error {
	sum := w.sum
	w.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&sum)), 4))
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// snapshotReader is a carrier from a file. After the first error everything is empty. What it reads is not to be trusted
// before close has found the sum right.
type snapshotReader struct {
	r    io.Reader
	left int64
	sum  uint32
	err  error
}

func (r *snapshotReader) length(_, size int) int {
	var n uint64
	r.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&n)), 8))
	if r.err == nil && n > uint64(max(0, r.left))/uint64(size) {
		r.err = fmt.Errorf("%w: a length is beyond the file's end", ErrSnapshot)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *snapshotReader) bytes(b []byte) {
	if r.err != nil {
		return
	}
	if _, err := io.ReadFull(r.r, b); err != nil {
		r.err = fmt.Errorf("%w: %w", ErrSnapshot, err)
		return
	}
	r.left -= int64(len(b))
	r.sum = crc32.Update(r.sum, castagnoli, b)
}

func (r *snapshotReader) ok() bool { return r.err == nil }

func (r *snapshotReader) close() error {
	want := r.sum
	var sum uint32
	r.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&sum)), 4))
	switch {
	case r.err != nil:
		return r.err
	case sum != want:
		return fmt.Errorf("%w: it is damaged", ErrSnapshot)
	case r.left != 0:
		return fmt.Errorf("%w: something follows its end", ErrSnapshot)
	}
	return nil
}
