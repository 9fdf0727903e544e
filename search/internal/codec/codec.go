// Package codec writes, reads and measures the data of an index segment.
//
// A structure lists its slices once, in a Serialize method that transfers them to or from a Codec.
// The same method therefore writes a snapshot (Writer), reads one (Reader) and measures memory
// (Sizer), and the three can't disagree about the format.
//
// A slice is written as its length in 64 bits followed by the in-memory representation of its
// elements, so a file is only readable on machines with the same byte order. The file ends with a
// CRC-32C of everything before it.
package codec

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unsafe"
)

// Codec is the destination or source of a structure's slices.
type Codec interface {
	// Length writes the length of a slice and returns it, or reads the length. size is the width of
	// an element in bytes.
	Length(n, size int) int
	// Bytes writes the content of a slice, or reads it into b.
	Bytes(b []byte)
	// OK reports whether no error has occurred. After an error, every length read is zero.
	OK() bool
}

// Number constrains the elements of slices to numbers and pairs of numbers, so slices contain no
// pointers.
type Number interface {
	~uint8 | ~uint16 | ~int32 | ~uint32 | ~uint64 | ~float64 | ~[2]uint32
}

// Slice transfers a slice.
func Slice[T Number](c Codec, p *[]T) {
	size := int(unsafe.Sizeof(*new(T)))
	if n := c.Length(len(*p), size); n != len(*p) {
		*p = make([]T, n)
	}
	if len(*p) > 0 {
		c.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&(*p)[0])), len(*p)*size))
	}
}

// String transfers a string.
func String(c Codec, p *string) {
	n := c.Length(len(*p), 1)
	if n == len(*p) {
		if n > 0 {
			c.Bytes(unsafe.Slice(unsafe.StringData(*p), n))
		}
		return
	}
	b := make([]byte, n)
	if n > 0 {
		c.Bytes(b)
	}
	*p = UnsafeString(b)
}

// Int transfers one integer.
func Int[T ~int | ~int64 | ~uint32](c Codec, p *T) {
	b := []uint64{uint64(*p)}
	Slice(c, &b)
	if len(b) == 1 && T(b[0]) != *p { // don't write while saving: other goroutines read it
		*p = T(b[0])
	}
}

// Sizer is a Codec that adds up the bytes of slices.
type Sizer int64

// Length returns n.
func (s *Sizer) Length(n, _ int) int { return n }

// Bytes adds the length of b.
func (s *Sizer) Bytes(b []byte) { *s += Sizer(len(b)) }

// OK returns true.
func (s *Sizer) OK() bool { return true }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer is a Codec that writes a file. It keeps the first error for Close.
type Writer struct {
	w   *bufio.Writer
	sum uint32
	err error
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 1<<20)} }

// Length writes n and returns it.
func (w *Writer) Length(n, _ int) int {
	size := uint64(n)
	w.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&size)), 8))
	return n
}

// Bytes writes b.
func (w *Writer) Bytes(b []byte) {
	if w.err == nil {
		w.sum = crc32.Update(w.sum, castagnoli, b)
		_, w.err = w.w.Write(b)
	}
}

// OK reports whether every write succeeded.
func (w *Writer) OK() bool { return w.err == nil }

// Close writes the checksum and flushes the buffer. It doesn't close the underlying writer.
func (w *Writer) Close() error {
	sum := w.sum
	w.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&sum)), 4))
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// ErrInvalid is wrapped by a Reader's errors for a file that is damaged or was not written by a
// Writer.
var ErrInvalid = errors.New("invalid snapshot")

// Reader is a Codec that reads the output of a Writer. Don't use the data until Close has verified
// the checksum.
type Reader struct {
	r    io.Reader
	left int64
	sum  uint32
	err  error
}

// NewReader returns a Reader that reads size bytes from r.
func NewReader(r io.Reader, size int64) *Reader { return &Reader{r: r, left: size} }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Length reads the length of a slice. It fails if the rest of the file is shorter, so a damaged
// length can't exhaust memory.
func (r *Reader) Length(_, size int) int {
	var n uint64
	r.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&n)), 8))
	if r.err == nil && n > uint64(max(0, r.left))/uint64(size) {
		r.err = fmt.Errorf("%w: truncated", ErrInvalid)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// Bytes fills b.
func (r *Reader) Bytes(b []byte) {
	if r.err != nil {
		return
	}
	if _, err := io.ReadFull(r.r, b); err != nil {
		r.err = fmt.Errorf("%w: %w", ErrInvalid, err)
		return
	}
	r.left -= int64(len(b))
	r.sum = crc32.Update(r.sum, castagnoli, b)
}

// OK reports whether every read succeeded.
func (r *Reader) OK() bool { return r.err == nil }

// Close verifies the checksum, and that no data follows the checksum.
func (r *Reader) Close() error {
	want := r.sum
	var sum uint32
	r.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&sum)), 4))
	switch {
	case r.err != nil:
		return r.err
	case sum != want:
		return fmt.Errorf("%w: wrong checksum", ErrInvalid)
	case r.left != 0:
		return fmt.Errorf("%w: trailing data", ErrInvalid)
	}
	return nil
}

// UnsafeString returns b as a string without copying it. b must not change afterward.
func UnsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Shrink returns s without much unused capacity, copying it if necessary.
func Shrink[T any](s []T) []T {
	if cap(s)-len(s) <= len(s)/64 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}
