package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/colaregistry/colaregistry/ingest/ttbpage"
)

// folderReader reads the files of a folder or archive. Consecutive pages are decoded and stored
// in batches; folderReader is their rowReader. All other files are read individually.
type folderReader struct {
	source  Source
	files   files
	current *openedFile // opened, but not imported yet
	pages   bool        // the import reads pages
	ctx     context.Context

	imported        int      // pages and other files
	images, results int      // skipped files
	others          int      // skipped files of other formats
	otherNames      []string // names of the first skipped files of other formats
	failures        fileFailures
	err             error // why the list of files ended early; nil if it didn't
}

// openedFile is a file that has been sniffed.
type openedFile struct {
	name    string // path, starting with the source's name
	content content
	text    *bufio.Reader
	close   func()
}

// advance opens the next file that can be imported, unless one is already open. ok is false at the
// end, after an error and when ctx is canceled.
func (r *folderReader) advance() (ok bool) {
	for r.current == nil && r.err == nil && r.ctx.Err() == nil {
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
			r.failures.add(&SourceError{Source: opened.name, Err: withoutPath(err)})
			continue
		}
		switch {
		case opened.content == contentImage:
			r.images++
		case opened.content == contentZIP, opened.content == contentTar:
			r.skip(opened.name)
		default:
			r.current = &opened
			return true
		}
		opened.close()
	}
	return r.current != nil
}

// skip counts a file of an unsupported format.
func (r *folderReader) skip(name string) {
	if r.others++; r.others <= maxExamples {
		r.otherNames = append(r.otherNames, name)
	}
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

// printableName returns a file name for messages, with unprintable characters replaced.
func printableName(name string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
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
		row := rawRow{line: 1, file: page.name}
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

// maxPage is the maximum length of a page in bytes. Real pages are about 50 KB.
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

// warnings returns one warning for each kind of skipped file.
func (r *folderReader) warnings() (warnings []string) {
	if r.images > 0 {
		warnings = append(warnings, counted(r.images, "image file")+" skipped")
	}
	if r.results > 0 {
		warnings = append(warnings, counted(r.results, string(ttbpage.Results))+" skipped; "+adviceResults)
	}
	if r.others > 0 {
		names := ": "
		if r.others > len(r.otherNames) {
			names = ", such as "
		}
		warnings = append(warnings, counted(r.others, "file")+" with an unsupported format skipped"+names+strings.Join(r.otherNames, ", "))
	}
	return warnings
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// fileFailures holds the files of a folder or archive that could not be read. It lists only the
// first files for each reason, so that a failed download of many files does not fill the report.
type fileFailures struct {
	list     []error
	byReason map[string]int
	more     int // not in list
}

func (f *fileFailures) add(failure *SourceError) {
	_, reason := splitReason(failure.Err.Error())
	if f.byReason == nil {
		f.byReason = map[string]int{}
	}
	if len(f.byReason) >= maxReasons && f.byReason[reason] == 0 {
		reason = ""
	}
	if f.byReason[reason]++; f.byReason[reason] > maxExamples {
		f.more++
		return
	}
	f.list = append(f.list, failure)
}

// folder imports the files of a folder or archive. A failed file doesn't affect the others; the
// failures are joined into the returned error.
func (p *pipeline[T]) folder(ctx context.Context, s Source, list files) error {
	defer list.Close()
	r := &folderReader{source: s, files: list, pages: p.pages.decoder != nil, ctx: ctx}
	p.run.folder = r
	defer func() { p.run.folder = nil }()
	for r.advance() {
		err := p.nextFile(ctx, r)
		failure := (*SourceError)(nil)
		switch {
		case err == nil:
		case !errors.As(err, &failure):
			return errors.Join(append(r.failures.list, err)...)
		case errors.Is(err, errUnknownFormat):
			r.skip(failure.Source)
		default:
			r.failures.add(failure)
		}
	}
	if ctx.Err() != nil {
		return errors.Join(append(r.failures.list, stoppedError(ctx))...)
	}
	for _, warning := range r.warnings() {
		p.run.report.warn(Warning{Source: s.Name, Message: warning})
	}
	failures := r.failures.list
	if r.failures.more > 0 {
		err := fmt.Errorf("%s failed for similar reasons", counted(r.failures.more, "more file"))
		failures = append(failures, &SourceError{Source: s.Name, Err: err})
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

// nextFile imports the next file, or the consecutive pages that start with it.
func (p *pipeline[T]) nextFile(ctx context.Context, r *folderReader) error {
	if r.atPage() {
		pages := p.pages
		pages.rows = r
		return p.decode(ctx, r.source, new(atomic.Int64), func(f *decodePool[T]) { f.readPages(pages) })
	}
	f := r.current
	r.current = nil
	defer f.close()
	p.run.source = f.name
	defer func() { p.run.source = r.source.Name }()
	open := func() (io.ReadCloser, error) { return io.NopCloser(f.text), nil }
	err := p.file(ctx, Source{Name: f.name, Size: -1, Open: open})
	if !errors.Is(err, errUnknownFormat) {
		r.imported++
	}
	return err
}
