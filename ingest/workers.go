package ingest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/colaregistry/colaregistry/cola"
)

// decodePool splits one source into batches and decodes them with several goroutines.
type decodePool[T any] struct {
	free    chan *batch[T] // empty batches; their number bounds memory use
	ordered chan *batch[T] // filled batches in source order, decoded or not
	work    chan *batch[T] // batches to decode
	stop    <-chan struct{}
	ended   chan struct{} // closed when the source is no longer being read

	name        string        // name of the source
	bytes       *atomic.Int64 // bytes read so far
	workers     int
	keepPartial bool      // keep the readable fields of rejected rows
	keepText    bool      // keep the text of rows, which decoding modifies
	format      format[T] // set before the first batch is sent to ordered
}

func newDecodePool[T any](workers int, stop <-chan struct{}) *decodePool[T] {
	batches := 2*workers + 1
	f := &decodePool[T]{
		free:    make(chan *batch[T], batches),
		ordered: make(chan *batch[T], batches),
		work:    make(chan *batch[T], batches),
		stop:    stop,
		ended:   make(chan struct{}),
		workers: workers,
	}
	for range batches {
		f.free <- &batch[T]{}
	}
	return f
}

// readFile detects the format of a file and splits it. It does not close the file.
func (f *decodePool[T]) readFile(r *countingReader, detect func(*input) (format[T], error)) {
	defer close(f.ended)
	text, done, err := plainText(r)
	if err == nil {
		defer done()
		in := newInput(text)
		in.name = f.name
		if in.skipSpace(); in.atEnd() {
			err = errEmpty
		} else {
			f.format, err = detect(in)
		}
	}
	f.split(err)
}

// readPages splits consecutive pages of a folder or archive.
func (f *decodePool[T]) readPages(pages format[T]) {
	defer close(f.ended)
	f.format = pages
	f.split(nil)
}

// split splits a source into batches until it ends or the pool is stopped. The last batch carries
// the error that ended the source. If err is not nil, the source is empty, damaged or of an unknown
// format, and split sends a single batch with err.
func (f *decodePool[T]) split(err error) {
	defer close(f.work)
	if err == nil {
		for range f.workers {
			go f.decode(f.format.decoder())
		}
	}
	for {
		b := f.nextFree()
		if b == nil {
			return
		}
		b.err = err
		if err == nil {
			b.err = f.fillBatch(b)
		}
		b.bytes = f.bytes.Load()
		ended := b.err != nil // b may be reused once it has been sent
		f.ordered <- b
		if err != nil {
			close(b.decoded) // no format to decode with
			return
		}
		f.work <- b
		if ended {
			return
		}
	}
}

// nextFree returns an empty batch, or nil if the pool is stopped.
func (f *decodePool[T]) nextFree() *batch[T] {
	select {
	case <-f.stop:
		return nil
	default:
	}
	select {
	case <-f.stop:
		return nil
	case b := <-f.free:
		b.text, b.rows, b.rejected = b.text[:0], b.rows[:0], b.rejected[:0]
		b.accepted = b.accepted[:0]
		clear(b.patches)
		b.patches, b.partial = b.patches[:0], b.partial[:0]
		b.notes, b.decoded = notes{}, make(chan struct{})
		return b
	}
}

// nextDecoded returns the next batch in order once it is decoded, or nil if ctx is canceled first.
func (f *decodePool[T]) nextDecoded(ctx context.Context) (b *batch[T]) {
	select {
	case <-ctx.Done():
		return nil
	case b = <-f.ordered:
	}
	select {
	case <-ctx.Done():
		return nil
	case <-b.decoded:
	}
	if ctx.Err() != nil { // select picks randomly if both channels are ready
		return nil
	}
	return b
}

// fillBatch adds rows until the batch is full or the source ends.
func (f *decodePool[T]) fillBatch(b *batch[T]) error {
	for len(b.rows) < batchRows && len(b.text) < batchBytes {
		start := len(b.text)
		text, row, err := f.format.rows.next(b.text)
		if err != nil {
			return err
		}
		b.text = text
		b.rows = append(b.rows, rowSpan{start: start, end: len(text), rawRow: row})
	}
	return nil
}

// decode decodes batches until there are no more.
func (f *decodePool[T]) decode(decode decodeFunc[T]) {
	for b := range f.work {
		if f.keepText {
			b.original = append(b.original[:0], b.text...)
		}
		for i := range b.rows {
			b.decodeRow(i, decode, f.keepPartial)
		}
		close(b.decoded)
	}
}

// decodeRow adds a row to the patches or to the rejected rows of a batch. For a rejected row, it
// also adds the readable fields to partial if the pool keeps them.
func (b *batch[T]) decodeRow(n int, decode decodeFunc[T], keep bool) {
	row := &b.rows[n]
	b.patches = append(b.patches, cola.Patch[T]{})
	patch := &b.patches[len(b.patches)-1]
	problem := row.problem
	if problem == "" {
		problem = decode.safely(b.text[row.start:row.end:row.end], patch, b.notes)
	}
	if problem == "" {
		b.accepted = append(b.accepted, n)
		return
	}
	b.rejected = append(b.rejected, rejectedRow{problem, n})
	if keep {
		b.partial = append(b.partial, partialRow[T]{row.line, patch.Record})
	}
	*patch = cola.Patch[T]{}
	b.patches = b.patches[:len(b.patches)-1]
}

// safely decodes a row. A row that makes decode panic is rejected, so that one row can't end the
// import without a report.
func (decode decodeFunc[T]) safely(raw []byte, patch *cola.Patch[T], notes notes) (problem string) {
	defer func() {
		if cause := recover(); cause != nil {
			problem = fmt.Sprintf("can't be decoded: %v", cause)
		}
	}()
	return decode(raw, patch, notes)
}
