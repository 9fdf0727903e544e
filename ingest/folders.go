package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// folderReader reads the files of a folder or archive. Consecutive pages are the rows of one text, so
// that they are decoded and stored in batches; it is the rowReader of that text. Every other file is
// a text of its own.
type folderReader struct {
	source  Source
	files   files
	current *openedFile // opened, but not imported yet
	pages   bool        // the import reads pages
	names   pageNames

	imported        int // pages and other files
	images, results int // skipped files
	others          []string
	unreadable      []*SourceError
	err             error // ended the list of files early
}

// openedFile is a file whose first bytes have been read.
type openedFile struct {
	name    string // with the source's
	content content
	text    *bufio.Reader
	close   func()
}

// advance opens the next file that can be imported. ok is false at the end.
func (r *folderReader) advance() (ok bool) {
	for r.current == nil && r.err == nil {
		f, err := r.files.next()
		if err == io.EOF {
			return false
		}
		if err != nil {
			r.err = err
			return false
		}
		opened, err := r.open(f)
		if err != nil {
			r.unreadable = append(r.unreadable, &SourceError{Source: opened.name, Err: withoutPath(err)})
			continue
		}
		switch {
		case opened.content == contentImage:
			r.images++
		case opened.content == contentZIP, opened.content == contentTar:
			r.others = append(r.others, opened.name)
		default:
			r.current = &opened
			return true
		}
		opened.close()
	}
	return r.current != nil
}

// open opens a file and reads its first bytes.
func (r *folderReader) open(f file) (opened openedFile, err error) {
	opened.name = r.source.Name
	if f.name != "" {
		opened.name = strings.TrimSuffix(r.source.Name, "/") + "/" + printableName(f.name)
	}
	content, err := f.open()
	if err != nil {
		return opened, err
	}
	text, done, head, err := sniff(content)
	if err != nil {
		content.Close()
		return opened, err
	}
	opened.content, opened.text = contentOf(head), text
	opened.close = func() { done(); content.Close() }
	return opened, nil
}

// printableName returns a file name without control characters, for messages.
func printableName(name string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, name)
}

// atPage reports whether the next file is a page that the import reads.
func (r *folderReader) atPage() bool { return r.pages && r.current.content == contentPage }

// next implements rowReader for consecutive pages.
func (r *folderReader) next(dst []byte) ([]byte, rawRow, error) {
	for r.advance() && r.atPage() {
		page := r.current
		r.current = nil
		text, err := io.ReadAll(io.LimitReader(page.text, maxPage+1))
		page.close()
		row := rawRow{line: r.names.add(page.name)}
		switch {
		case err != nil:
			row.problem = withoutPath(err).Error()
		case len(text) > maxPage:
			row.problem, text = problemLongPage, nil
		case page.name != r.source.Name && isResultPage(text):
			r.results++
			continue
		}
		r.imported++
		return append(dst, text...), row, nil
	}
	return dst, rawRow{}, io.EOF
}

// maxPage is the maximum length of a page in bytes. Real ones have about 50 KB.
const maxPage = 1 << 20

const problemLongPage = "the page is longer than 1 MiB"

// isResultPage reports whether a page is a list of search results.
func isResultPage(text []byte) bool {
	if !bytes.Contains(text, []byte("Search Results")) {
		return false
	}
	page, err := ttbpage.Parse(text)
	return err == nil && page.Kind == ttbpage.Results
}

// warnings returns one warning for each kind of skipped files.
func (r *folderReader) warnings() (warnings []string) {
	if r.images > 0 {
		warnings = append(warnings, counted(r.images, "image file")+" skipped")
	}
	if r.results > 0 {
		warnings = append(warnings, counted(r.results, string(ttbpage.Results))+" skipped; "+adviceResults)
	}
	if n := len(r.others); n > 0 {
		warnings = append(warnings, fmt.Sprintf("%s of other formats skipped, such as %s",
			counted(n, "file"), strings.Join(r.others[:min(n, 3)], ", ")))
	}
	return warnings
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// pageNames are the file names of the pages in the pipeline, by row. The goroutine that splits rows
// adds them, and the one that stores batches looks them up.
type pageNames struct {
	mu    sync.Mutex
	first int // row of names[0], from 0
	names []string
}

// add returns the row of a page, from 1.
func (n *pageNames) add(name string) (row int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names = append(n.names, name)
	return n.first + len(n.names)
}

// of returns the name of a row, and forgets the names of earlier rows.
func (n *pageNames) of(row int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names = n.names[row-1-n.first:]
	n.first = row - 1
	return n.names[0]
}

// folder imports the files of a folder or archive. Problems of a file don't affect the others; they
// are joined into the error.
func (p *pipeline[T]) folder(ctx context.Context, s Source, list files) error {
	defer list.Close()
	r := &folderReader{source: s, files: list, pages: p.pages.decoder != nil}
	p.run.folder = r
	defer func() { p.run.folder = nil }()
	var failures []error
	for r.advance() {
		err := p.nextText(ctx, r)
		failure := (*SourceError)(nil)
		switch {
		case err == nil:
		case !errors.As(err, &failure):
			return errors.Join(append(failures, err)...)
		case errors.Is(err, errUnknownFormat):
			r.others = append(r.others, failure.Source)
		default:
			failures = append(failures, err)
		}
	}
	for _, warning := range r.warnings() {
		p.run.report.warn(Warning{Source: s.Name, Message: warning})
	}
	for _, failure := range r.unreadable {
		failures = append(failures, failure)
	}
	switch {
	case r.err != nil:
		if p.truncated != nil {
			p.truncated(s.Name)
		}
		failures = append(failures, &SourceError{Source: s.Name, Err: r.err})
	case r.imported == 0 && len(failures) == 0 && p.run.opts.AllowEmpty:
		p.run.report.warn(Warning{Source: s.Name, Message: "no files to import"})
	case r.imported == 0 && len(failures) == 0:
		failures = append(failures, &SourceError{Source: s.Name, Err: errors.New("has no files to import")})
	}
	return errors.Join(failures...)
}

// nextText imports the next file, or the consecutive pages that start with it.
func (p *pipeline[T]) nextText(ctx context.Context, r *folderReader) error {
	if r.atPage() {
		pages := p.pages
		pages.rows, pages.nameOf = r, r.names.of
		return p.text(ctx, Source{Name: r.source.Name, Size: -1, Open: noText}, &pages)
	}
	f := r.current
	r.current = nil
	defer f.close()
	p.run.source = f.name
	defer func() { p.run.source = r.source.Name }()
	open := func() (io.ReadCloser, error) { return io.NopCloser(f.text), nil }
	err := p.text(ctx, Source{Name: f.name, Size: -1, Open: open}, nil)
	if !errors.Is(err, errUnknownFormat) {
		r.imported++
	}
	return err
}

// noText opens a text that is never read.
func noText() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("pages")), nil }
