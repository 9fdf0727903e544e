package search

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"unsafe"
)

// Codec moves the slices of a structure somewhere: to a snapshot, out of one, or onto scales. A structure names its
// slices once, in its carry method, so that what is written, what is read and what is weighed cannot differ.
type Codec interface {
	// Length takes the number of elements of a slice and returns the number it is to have, each size bytes wide.
	Length(n, size int) int
	// Bytes takes the content of a slice, or fills it.
	Bytes(b []byte)
	// OK reports whether all has gone well so far. When it has not, what follows is empty.
	OK() bool
}

// Number is what columns and postings are made of. Slices of numbers hold no pointers.
type Number interface {
	~uint8 | ~uint16 | ~int32 | ~uint32 | ~uint64 | ~float64
}

// Slice moves one slice.
func Slice[T Number](c Codec, p *[]T) {
	size := int(unsafe.Sizeof(*new(T)))
	if n := c.Length(len(*p), size); n != len(*p) {
		*p = make([]T, n)
	}
	if len(*p) > 0 {
		c.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&(*p)[0])), len(*p)*size))
	}
}

// String moves one string.
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

// Int moves one number.
func Int[T ~int | ~int64 | ~uint32](c Codec, p *T) {
	b := []uint64{uint64(*p)}
	Slice(c, &b)
	if len(b) == 1 && T(b[0]) != *p { // what is being written out has other readers
		*p = T(b[0])
	}
}

// UnsafeString returns the bytes as a string without copying them. The bytes must not change any more.
func UnsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Sizer is a carrier that adds up bytes.
type Sizer int64

func (s *Sizer) Length(n, _ int) int { return n }
func (s *Sizer) Bytes(b []byte)      { *s += Sizer(len(b)) }
func (s *Sizer) OK() bool            { return true }

// Shrink returns s with no more capacity than it needs, so that a column built by appending does not hold its slack.
func Shrink[T any](s []T) []T {
	if cap(s)-len(s) <= len(s)/64 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer is a carrier to a file. The first error stays.
type Writer struct {
	w   *bufio.Writer
	sum uint32
	err error
}

func (w *Writer) Length(n, _ int) int {
	size := uint64(n)
	w.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&size)), 8))
	return n
}

func (w *Writer) Bytes(b []byte) {
	if w.err == nil {
		w.sum = crc32.Update(w.sum, castagnoli, b)
		_, w.err = w.w.Write(b)
	}
}

func (w *Writer) OK() bool { return w.err == nil }

func (w *Writer) Close() error {
	sum := w.sum
	w.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&sum)), 4))
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// Reader is a carrier from a file. After the first error everything is empty. What it reads is not to be trusted
// before close has found the sum right.
type Reader struct {
	r    io.Reader
	left int64
	sum  uint32
	err  error
}

func (r *Reader) Length(_, size int) int {
	var n uint64
	r.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&n)), 8))
	if r.err == nil && n > uint64(max(0, r.left))/uint64(size) {
		r.err = fmt.Errorf("%w: a length is beyond the file's end", ErrSnapshot)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *Reader) Bytes(b []byte) {
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

func (r *Reader) OK() bool { return r.err == nil }

func (r *Reader) Close() error {
	want := r.sum
	var sum uint32
	r.Bytes(unsafe.Slice((*byte)(unsafe.Pointer(&sum)), 4))
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
