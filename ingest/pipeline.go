package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Limits on a batch of rows that are decoded and stored together. batchBytes is approximate.
const (
	batchRows  = 500
	batchBytes = 1 << 20
)

// decodeFunc decodes one row into a zero patch. problem is the reason why the row is rejected, or
// empty. The patch of a rejected row has the fields that could be read. Warnings go to notes. A
// decodeFunc is not safe for concurrent use, and may modify raw.
type decodeFunc[T any] func(raw []byte, patch *cola.Patch[T], notes notes) (problem string)

// format describes how to split a source into rows and decode them.
type format[T any] struct {
	rows    rowReader
	decoder func() decodeFunc[T] // returns a new decodeFunc; each goroutine needs its own
	header  []byte               // line of column names that the rows need; nil if they need none
	// done returns warnings about the source as a whole, after its end. May be nil.
	done func() []string
	// complete adjusts patches to the stored records. May be nil.
	complete func(ctx context.Context, patches []cola.Patch[T]) error
}

// pipeline reads sources of records of one type. One goroutine splits rows, several decode them,
// and the caller's goroutine stores batches in the order of the source. The number of batches in
// flight is fixed, which bounds memory.
type pipeline[T any] struct {
	run    *run
	detect func(*input) (format[T], error)
	// write stores a batch and counts its outcomes.
	write func(ctx context.Context, patches []cola.Patch[T]) ([]rejectedRow, error)
	// rejected gets the rows of a batch that could not be decoded, before the others are written.
	// May be nil.
	rejected func(rows []partialRow[T])
	// truncated gets the name of a source that ended early after rows were read. May be nil.
	truncated func(source string)
	// pages decodes pages of TTB's registry; its decoder is nil if this type of record has no such
	// pages.
	pages format[T]

	batch  *batch[T]  // batch being stored
	name   string     // name of the batch's source
	format *format[T] // format of the batch's source
}

type rejectedRow struct {
	reason string
	index  int // index in the batch's rows or, in the result of write, in its patches
}

// partialRow is a rejected row with the fields that could be read.
type partialRow[T any] struct {
	line   int
	record T
}

// batch is a sequence of rows in the pipeline.
type batch[T any] struct {
	text    []byte
	rows    []rowSpan
	bytes   int64 // bytes read from the source by the time the batch was full
	err     error // ends the source after this batch; io.EOF at its normal end
	decoded chan struct{}

	original []byte // text before decoding, if the pool keeps it
	patches  []cola.Patch[T]
	accepted []int // index of each patch's row in rows
	rejected []rejectedRow
	partial  []partialRow[T] // rejected rows, if the pool keeps them
	notes    notes
}

type rowSpan struct {
	start, end int // offsets in text
	rawRow
}

// withoutPath removes the file name from an error, for messages that already have it.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err)
	}
	return err
}

// source reads one source. If the source is invalid, the error is a SourceError, or several joined
// SourceErrors. Otherwise it comes from the store or from ctx.
func (p *pipeline[T]) source(ctx context.Context, s Source) error {
	p.run.opts.Logger.Info("import started", "kind", p.run.report.Kind, "source", s.Name, "bytes", s.Size)
	err := p.read(ctx, s)
	p.run.opts.Logger.Info("import finished", "kind", p.run.report.Kind, "source", s.Name,
		"read", p.run.report.Read, "rejected", p.run.report.Rejected, "error", err)
	return err
}

// read reads the files of a source, which may be a folder or an archive.
func (p *pipeline[T]) read(ctx context.Context, s Source) error {
	list, err := s.files()
	switch {
	case err != nil:
		return &SourceError{Source: s.Name, Err: withoutPath(err)}
	case list == nil:
		return p.file(ctx, s)
	}
	defer p.progress(s, max(0, s.Size), true)
	return p.folder(ctx, s, list)
}

// file reads one file and detects its format.
func (p *pipeline[T]) file(ctx context.Context, s Source) error {
	p.run.source = s.Name
	r, err := s.Open()
	if err != nil {
		return &SourceError{Source: s.Name, Err: withoutPath(err)}
	}
	counted := newCountingReader(r)
	defer counted.Close()
	defer context.AfterFunc(ctx, func() { counted.Close() })()
	return p.decode(ctx, s, &counted.n, func(f *decodePool[T]) {
		f.keepText = p.run.rejects != nil
		f.readFile(counted, p.detect)
	})
}

// decode runs the pipeline on one file: read splits it into rows, a pool decodes them, and decode
// stores the batches. bytes is the number of bytes read so far.
func (p *pipeline[T]) decode(ctx context.Context, s Source, bytes *atomic.Int64, read func(*decodePool[T])) error {
	stop := make(chan struct{})
	f := newDecodePool[T](p.run.opts.Workers, stop)
	defer func() {
		close(stop)
		if p.run.folder != nil { // the caller closes the folder or archive after decode returns
			<-f.ended
		}
	}()
	f.keepPartial = p.rejected != nil
	f.name, f.bytes = s.Name, bytes
	go read(f)
	err := p.consume(ctx, s, f)
	p.run.reportDuplicates(s.Name)
	p.progress(s, bytes.Load(), true)
	return err
}

// consume stores the decoded batches in order.
func (p *pipeline[T]) consume(ctx context.Context, s Source, f *decodePool[T]) error {
	rows := 0
	for {
		b := f.nextDecoded(ctx)
		if b == nil {
			return stoppedError(ctx)
		}
		if err := p.store(ctx, s, b, f); err != nil {
			return err
		}
		rows += len(b.rows)
		switch {
		case b.err == io.EOF:
			if p.sourceWarnings(s, f); rows == 0 {
				p.run.report.warn(Warning{Source: s.Name, Message: "no rows"})
			}
			return nil
		case b.err != nil && ctx.Err() != nil: // canceling closed the source
			return stoppedError(ctx)
		case b.err == errEmpty && p.run.opts.AllowEmpty:
			p.run.report.warn(Warning{Source: s.Name, Message: "empty"})
			return nil
		case b.err != nil:
			if p.truncated != nil && rows > 0 {
				p.truncated(s.Name)
			}
			return sourceError(s, b.err)
		}
		p.progress(s, b.bytes, false)
		f.free <- b
	}
}

func stoppedError(ctx context.Context) error {
	return fmt.Errorf("import stopped: %w", context.Cause(ctx))
}

// sourceError returns the error that ends a source, with its line if known.
func sourceError(s Source, err error) error {
	if broken := (*brokenError)(nil); errors.As(err, &broken) {
		return &SourceError{Source: s.Name, Line: broken.line, Err: broken.err}
	}
	return &SourceError{Source: s.Name, Err: err}
}

// store writes one whole batch, even if ctx is canceled, and adds it to the report.
func (p *pipeline[T]) store(ctx context.Context, s Source, b *batch[T], f *decodePool[T]) error {
	p.batch, p.name, p.format = b, s.Name, &f.format
	rejected := b.rejected
	if p.rejected != nil {
		p.rejected(b.partial)
	}
	var err error
	if len(b.patches) > 0 && p.format.complete != nil {
		err = p.format.complete(context.WithoutCancel(ctx), b.patches)
	}
	if len(b.patches) > 0 && err == nil {
		var more []rejectedRow
		more, err = p.write(context.WithoutCancel(ctx), b.patches)
		for _, r := range more {
			r.index = b.accepted[r.index]
			rejected = append(rejected, r)
		}
		slices.SortFunc(rejected, func(a, b rejectedRow) int { return cmp.Compare(a.index, b.index) })
	}
	for _, r := range rejected {
		p.run.reject(p.position(r.index), r.reason)
	}
	p.run.report.warnRows(s.Name, b.notes)
	if err != nil {
		err = fmt.Errorf("store rows of %s: %w", s.Name, err)
	}
	return errors.Join(err, p.run.rejects.flush())
}

// position locates a row of the current batch. It includes the text if rejected rows are written.
func (p *pipeline[T]) position(row int) rowPosition {
	span := p.batch.rows[row]
	if span.file != "" {
		return rowPosition{source: span.file, line: 1}
	}
	at := rowPosition{source: p.name, line: span.line}
	if p.run.rejects != nil {
		at.header, at.text = string(p.format.header), string(p.batch.original[span.start:span.end])
	}
	return at
}

// rowPosition locates a row of the input.
type rowPosition struct {
	source       string
	line         int
	header, text string // set only if rejected rows are written
}

// sourceWarnings adds the warnings about a source as a whole to the report.
func (p *pipeline[T]) sourceWarnings(s Source, f *decodePool[T]) {
	if f.format.done == nil {
		return
	}
	for _, message := range f.format.done() {
		p.run.report.warn(Warning{Source: s.Name, Message: message})
	}
}

// progress reports progress. The bytes read from a folder's or archive's files can't be compared
// with the size of the source.
func (p *pipeline[T]) progress(s Source, bytes int64, done bool) {
	if p.run.folder != nil {
		s, bytes, done = p.run.folder.source, 0, false
	}
	p.run.reportProgress(Progress{
		Source: s.Name, Index: p.run.index, Sources: p.run.sources, BytesRead: bytes, BytesTotal: s.Size, Done: done,
	})
}

// upsert adapts a write function of the store to a pipeline. It counts outcomes, and calls reason
// for rejected patches.
func upsert[T any](
	r *run,
	write func(context.Context, []cola.Patch[T], store.Mode) ([]store.Outcome, error),
	reason func(*cola.Patch[T]) string,
) func(context.Context, []cola.Patch[T]) ([]rejectedRow, error) {
	return func(ctx context.Context, patches []cola.Patch[T]) ([]rejectedRow, error) {
		outcomes, err := write(ctx, patches, r.mode())
		if err == nil && len(outcomes) != len(patches) {
			err = fmt.Errorf("the store returned %d outcomes for %d records", len(outcomes), len(patches))
		}
		var rejected []rejectedRow
		for i, outcome := range outcomes[:min(len(outcomes), len(patches))] {
			if outcome == store.Rejected {
				rejected = append(rejected, rejectedRow{reason(&patches[i]), i})
				continue
			}
			r.report.count(outcome)
		}
		return rejected, err
	}
}
