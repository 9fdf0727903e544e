package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// A batch is what is decoded and stored at once: at most so many rows, and about so many bytes of text.
const (
	batchRows  = 500
	batchBytes = 1 << 20
)

// decodeFunc reads one row into patch, which is zero, and returns why it is refused, empty when it is not. The patch of a row
// that is refused holds what could be read of it, which may be nothing. What is odd goes to notes. It is used by one goroutine at a time; raw may be changed.
type decodeFunc[T any] func(raw []byte, patch *cola.Patch[T], notes notes) (problem string)

// format is how a source is read: where rows end, and what they say.
type format[T any] struct {
	rows    rowReader
	decoder func() decodeFunc[T] // makes one for each goroutine
	// done is called when the source has been read to its end, and returns what was odd about it as a whole. May be nil.
	done func() []string
}

// pipeline reads sources of records of one type: one goroutine splits rows, some decode them, and the caller's own stores
// batches in the order of the source. The number of batches in flight is fixed, so memory is bounded whatever is slow.
type pipeline[T any] struct {
	run    *run
	detect func(*input) (format[T], error)
	// write stores a batch and counts its outcomes; lines has the line of each patch.
	write func(ctx context.Context, patches []cola.Patch[T], lines []int) ([]refusedRow, error)
	// refused is told of the rows of a batch that could not be decoded, before the others are written. May be nil.
	refused func(rows []remains[T])
}

type refusedRow struct {
	line   int
	reason string
}

// remains is what could be read of a row that was refused, the zero value when nothing could.
type remains[T any] struct {
	line   int
	record T
}

// batch is a run of rows on their way through the pipeline.
type batch[T any] struct {
	text    []byte
	rows    []rowSpan
	bytes   int64 // taken of the source when the batch was full
	err     error // ends the source after this batch; io.EOF for its true end
	decoded chan struct{}

	patches []cola.Patch[T]
	lines   []int // of the patches
	refused []refusedRow
	remains []remains[T] // of the refused rows, if they are asked for
	notes   notes
}

type rowSpan struct {
	start, end int // in text
	rawRow
}

// withoutPath returns the cause of an error that names a file, for messages that name it themselves.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err)
	}
	return err
}

// source reads one source. The error is a SourceError when the source is at fault, else the store's or the context's.
func (p *pipeline[T]) source(ctx context.Context, s Source) error {
	p.run.opts.Logger.Info("import begins", "kind", p.run.report.Kind, "source", s.Name, "bytes", s.Size)
	r, err := s.Open()
	if err != nil {
		return &SourceError{Source: s.Name, Err: withoutPath(err)}
	}
	counted := newCountingReader(r)
	defer counted.Close()
	defer context.AfterFunc(ctx, func() { counted.Close() })()

	stop := make(chan struct{})
	defer close(stop)
	f := newFlow[T](p.run.opts.Workers, stop)
	f.keep = p.refused != nil
	go f.read(counted, p.detect)
	err = p.consume(ctx, s, f)
	p.progress(s, counted.n.Load(), true)
	p.run.opts.Logger.Info("import ends", "kind", p.run.report.Kind, "source", s.Name,
		"read", p.run.report.Read, "refused", p.run.report.Refused, "error", err)
	return err
}

// consume stores the batches of a flow in order.
func (p *pipeline[T]) consume(ctx context.Context, s Source, f *flow[T]) error {
	rows := 0
	for {
		b := f.await(ctx)
		if b == nil {
			return stopped(ctx)
		}
		if err := p.store(ctx, s, b); err != nil {
			return err
		}
		rows += len(b.rows)
		switch {
		case b.err == io.EOF:
			if p.oddities(s, f); rows == 0 {
				p.run.report.warn(Warning{Source: s.Name, Message: "it holds no rows"})
			}
			return nil
		case b.err != nil && ctx.Err() != nil: // the source was closed because of that
			return stopped(ctx)
		case b.err != nil:
			return sourceError(s, b.err)
		}
		p.progress(s, b.bytes, false)
		f.free <- b
	}
}

func stopped(ctx context.Context) error {
	return fmt.Errorf("import stopped: %w", context.Cause(ctx))
}

// sourceError returns the error that ends a source, with its line where that is known.
func sourceError(s Source, err error) error {
	if broken := (*brokenError)(nil); errors.As(err, &broken) {
		return &SourceError{Source: s.Name, Line: broken.line, Err: broken.err}
	}
	return &SourceError{Source: s.Name, Err: err}
}

// store writes one batch, whole even when ctx is cancelled meanwhile, and adds it to the report.
func (p *pipeline[T]) store(ctx context.Context, s Source, b *batch[T]) error {
	refused := b.refused
	if p.refused != nil {
		p.refused(b.remains)
	}
	var err error
	if len(b.patches) > 0 {
		var more []refusedRow
		more, err = p.write(context.WithoutCancel(ctx), b.patches, b.lines)
		refused = append(refused, more...)
		slices.SortStableFunc(refused, func(a, b refusedRow) int { return cmp.Compare(a.line, b.line) })
	}
	for _, r := range refused {
		p.run.report.refuse(Refusal{Source: s.Name, Line: r.line, Reason: r.reason})
	}
	p.run.report.warnRows(s.Name, b.notes)
	if err != nil {
		return fmt.Errorf("storing rows of %s: %w", s.Name, err)
	}
	return nil
}

// oddities adds what was odd about a source as a whole to the report.
func (p *pipeline[T]) oddities(s Source, f *flow[T]) {
	if f.format.done == nil {
		return
	}
	for _, message := range f.format.done() {
		p.run.report.warn(Warning{Source: s.Name, Message: message})
	}
}

func (p *pipeline[T]) progress(s Source, bytes int64, done bool) {
	p.run.tell(Progress{
		Source: s.Name, Index: p.run.index, Sources: p.run.sources, BytesRead: bytes, BytesTotal: s.Size, Done: done,
	})
}

// upsert returns a write function over a role of the store: it counts outcomes, and says by reason why a patch was refused.
func upsert[T any](
	r *run,
	write func(context.Context, []cola.Patch[T], store.Mode) ([]store.Outcome, error),
	reason func(*cola.Patch[T]) string,
) func(context.Context, []cola.Patch[T], []int) ([]refusedRow, error) {
	return func(ctx context.Context, patches []cola.Patch[T], lines []int) ([]refusedRow, error) {
		outcomes, err := write(ctx, patches, r.mode())
		if err == nil && len(outcomes) != len(patches) {
			err = fmt.Errorf("the store told %d outcomes of %d records", len(outcomes), len(patches))
		}
		var refused []refusedRow
		for i, outcome := range outcomes[:min(len(outcomes), len(patches))] {
			if outcome == store.Refused {
				refused = append(refused, refusedRow{lines[i], reason(&patches[i])})
				continue
			}
			r.report.count(outcome)
		}
		return refused, err
	}
}
