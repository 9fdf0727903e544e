package ingest

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// sniffBytes is the number of bytes at the start of a source that identify its format.
const sniffBytes = 512

// zstdMemory is the memory limit of a zstd decoder, in bytes.
const zstdMemory = 128 << 20

// plainText returns the decompressed UTF-8 text of a source. It detects compression from the
// first bytes. For data that is certainly not text, it returns an error that says what to do. The
// caller must call done.
func plainText(r io.Reader) (text io.Reader, done func(), err error) {
	r, done, err = decompress(r)
	if err != nil {
		return nil, nil, err
	}
	if text, err = decode(r); err != nil {
		done()
		return nil, nil, err
	}
	return text, done, nil
}

func decompress(r io.Reader) (io.Reader, func(), error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, nil, fmt.Errorf("damaged gzip data: %w", err)
		}
		return decompressor{"gzip", zr}, func() { zr.Close() }, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(zstdMemory))
		if err != nil {
			return nil, nil, fmt.Errorf("damaged zstd data: %w", err)
		}
		return decompressor{"zstd", zr}, zr.Close, nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return decompressor{"bzip2", bzip2.NewReader(br)}, func() {}, nil
	}
	return br, func() {}, nil
}

// decompressor names the compression in errors about damaged or truncated data.
type decompressor struct {
	name string
	r    io.Reader
}

func (d decompressor) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("truncated %s data: %w", d.name, err)
	}
	return n, fmt.Errorf("damaged %s data: %w", d.name, err)
}

// otherFormats lists the first bytes of formats that cannot be imported, with advice.
var otherFormats = []struct{ start, is string }{
	{"PK\x05\x06", "an empty ZIP archive"},
	{"PK\x03\x04", "a ZIP archive or an Excel workbook; extract it, or save the sheet as CSV"},
	{"\xd0\xcf\x11\xe0", "an old Excel workbook; save the sheet as CSV"},
	{"\xfd7zXZ\x00", "xz-compressed data; decompress it first, or use gzip or zstd"},
	{"7z\xbc\xaf", "a 7-Zip archive; extract it"},
	{"%PDF-", "a PDF document; export the data as JSON lines or CSV"},
	{"PAR1", "a Parquet file; convert it to JSON lines or CSV"},
	{"SQLite format 3\x00", "an SQLite database; convert its rows to JSON lines or CSV"},
	{"<!DOCTYPE", "an HTML or XML page, perhaps a saved error page"},
	{"<!doctype", "an HTML page, perhaps a saved error page"},
	{"<html", "an HTML page, perhaps a saved error page"},
	{"<HTML", "an HTML page, perhaps a saved error page"},
}

// notTextError is the error for data in a format other than text.
type notTextError struct{ found string }

func (e notTextError) Error() string { return "expected JSON or CSV, found " + e.found }
func (e notTextError) Unwrap() error { return errUnknownFormat }

// decode returns r as UTF-8. It detects UTF-16 by its byte order mark or by the zero byte in its
// first character. The row formats decode single-byte encodings.
func decode(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		return nil, err
	}
	for _, f := range otherFormats {
		if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte(f.start)) {
			return nil, notTextError{f.is}
		}
	}
	order, bom := unicode.LittleEndian, unicode.UseBOM
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		br.Discard(3)
		return br, nil
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
	case len(head) >= 2 && head[0] != 0 && head[1] == 0:
		bom = unicode.IgnoreBOM
	case len(head) >= 2 && head[0] == 0 && head[1] != 0:
		order, bom = unicode.BigEndian, unicode.IgnoreBOM
	case bytes.IndexByte(head, 0) >= 0:
		return nil, notTextError{"binary data"}
	default:
		return br, nil
	}
	return transform.NewReader(br, unicode.UTF16(order, bom).NewDecoder()), nil
}

// undefinedInWindows1252 contains the bytes that Windows-1252 does not define.
const undefinedInWindows1252 = "\x81\x8d\x8f\x90\x9d"

// windows1252 decodes a row that is not UTF-8 as Windows-1252, which spreadsheets on Windows write.
// It returns false if the row contains undefined bytes.
func windows1252(row []byte) (text []byte, ok bool) {
	for i := range len(undefinedInWindows1252) {
		if bytes.IndexByte(row, undefinedInWindows1252[i]) >= 0 {
			return nil, false
		}
	}
	text, err := charmap.Windows1252.NewDecoder().Bytes(row)
	return text, err == nil && utf8.Valid(text)
}
