package ingest

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// file is one file in a folder or archive.
type file struct {
	name string // path within the folder or archive, with slashes; empty for a single page
	open func() (io.ReadCloser, error)
}

// files lists the files of a folder or archive.
type files interface {
	// next returns the next file, or io.EOF. A file in an archive is readable only until the next
	// call.
	next() (file, error)
	Close() error
}

// maxFiles is the maximum number of files in a folder or archive.
const maxFiles = 5_000_000

// files lists the files of a source, or returns nil if it must be read as a whole.
func (s Source) files() (files, error) {
	switch {
	case s.page != nil:
		return &fileList{list: []file{{open: s.Open}}}, nil
	case s.path != "":
		return filesAt(s.path)
	}
	return nil, nil
}

// filesAt lists the files of a folder or archive, or a single page. It returns nil for anything
// else. It inspects only regular files, because other files, such as pipes, can be read only once.
func filesAt(path string) (files, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return folder(path)
	case !info.Mode().IsRegular():
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, done, head, err := sniff(f)
	if err != nil { // the import reports the error when it opens the file
		return nil, f.Close()
	}
	switch contentOf(head) {
	case contentZIP:
		done()
		start := make([]byte, 2)
		if _, err := f.ReadAt(start, 0); err != nil || string(start) != "PK" {
			return nil, errors.Join(errPackedZIP, err, f.Close())
		}
		return archiveZIP(f, info.Size())
	case contentTar:
		return &tarFiles{r: tar.NewReader(text), done: done, f: f}, nil
	case contentPage:
		done()
		page := file{open: func() (io.ReadCloser, error) { return os.Open(path) }}
		return &fileList{list: []file{page}}, f.Close()
	}
	done()
	return nil, f.Close()
}

// content is the type of a file, detected from its first bytes.
type content int

const (
	contentOther content = iota
	contentPage
	contentImage
	contentZIP
	contentTar
)

// imageStarts are the first bytes of image files. TTB accepts PDF files as label images.
var imageStarts = []string{
	"\xff\xd8\xff", "\x89PNG\r\n", "GIF8", "BM", "II*\x00", "MM\x00*", "%PDF-", "\x00\x00\x00\x0cjP  ",
}

func contentOf(head []byte) content {
	switch {
	case ttbpage.IsHTML(head):
		return contentPage
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return contentZIP
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return contentTar
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return contentImage
	}
	isStart := func(start string) bool { return bytes.HasPrefix(head, []byte(start)) }
	if slices.ContainsFunc(imageStarts, isStart) {
		return contentImage
	}
	return contentOther
}

// sniff returns the decompressed text of a file and its first bytes. The caller must call done.
func sniff(r io.Reader) (text *bufio.Reader, done func(), head []byte, err error) {
	plain, done, err := decompress(r)
	if err != nil {
		return nil, nil, nil, err
	}
	text = bufio.NewReaderSize(plain, 64<<10)
	head, err = text.Peek(sniffBytes)
	if err != nil && err != io.EOF {
		done()
		return nil, nil, nil, err
	}
	return text, done, head, nil
}

// fileList is a list of files that are known in advance.
type fileList struct {
	list  []file
	close func() error
}

func (l *fileList) next() (file, error) {
	if len(l.list) == 0 {
		return file{}, io.EOF
	}
	f := l.list[0]
	l.list = l.list[1:]
	return f, nil
}

func (l *fileList) Close() error {
	if l.close == nil {
		return nil
	}
	return l.close()
}

var errManyFiles = fmt.Errorf("has more than %d files; split it", maxFiles)

// folder lists the files in a folder and its subfolders, sorted by name. It doesn't follow symbolic
// links below root, and skips hidden files and folders.
func folder(root string) (files, error) {
	root, err := filepath.EvalSymlinks(root) // WalkDir doesn't follow the root either
	if err != nil {
		return nil, err
	}
	var list []file
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && isHidden(entry.Name()) && entry.IsDir():
			return filepath.SkipDir
		case !entry.Type().IsRegular() || isHidden(entry.Name()):
			return nil
		case len(list) == maxFiles:
			return errManyFiles
		}
		rel, err := filepath.Rel(root, name)
		list = append(list, file{filepath.ToSlash(rel), func() (io.ReadCloser, error) { return os.Open(name) }})
		return err
	})
	return &fileList{list: list}, err
}

// isHidden reports whether a file, or a folder in its path, is hidden or is macOS metadata.
func isHidden(name string) bool {
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		if part != ".." && strings.HasPrefix(part, ".") && part != "." || part == "__MACOSX" {
			return true
		}
	}
	return false
}

// errWorkbook is the error for an Excel workbook, which is also a ZIP archive.
var errWorkbook = errors.New("an Excel workbook; save the sheet as CSV")

var errPackedZIP = errors.New("a ZIP archive inside another compressed file; decompress the outer file first")

// archiveZIP lists the files of a ZIP archive.
func archiveZIP(f *os.File, size int64) (files, error) {
	r, err := zip.NewReader(f, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("damaged ZIP archive: %w", err), f.Close())
	}
	if len(r.File) > maxFiles {
		return nil, errors.Join(errManyFiles, f.Close())
	}
	l := &fileList{close: f.Close}
	for _, entry := range r.File {
		switch {
		case entry.Name == "[Content_Types].xml":
			return nil, errors.Join(errWorkbook, f.Close())
		case entry.Mode().IsRegular() && !isHidden(entry.Name):
			l.list = append(l.list, file{entry.Name, entry.Open})
		}
	}
	return l, nil
}

// tarFiles lists the files of a tar archive.
type tarFiles struct {
	r    *tar.Reader
	n    int
	done func() // ends decompression
	f    *os.File
}

func (t *tarFiles) next() (file, error) {
	for {
		header, err := t.r.Next()
		if err == io.EOF {
			return file{}, err
		}
		if err != nil {
			return file{}, fmt.Errorf("damaged tar archive: %w", err)
		}
		if t.n++; t.n > maxFiles {
			return file{}, errManyFiles
		}
		if header.Typeflag == tar.TypeReg && !isHidden(header.Name) {
			return file{header.Name, func() (io.ReadCloser, error) { return io.NopCloser(t.r), nil }}, nil
		}
	}
}

func (t *tarFiles) Close() error {
	t.done()
	return t.f.Close()
}
