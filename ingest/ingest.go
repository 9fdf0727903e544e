// Package ingest reads files of labels, permittees and reference data and merges their rows into a
// store. It streams in batches with bounded memory. Imports can be repeated: importing the same
// rows again changes nothing.
//
// # Formats
//
// The format of a source is detected from its content, never from its name. Text may be compressed
// with gzip, zstd or bzip2. It is UTF-8, with or without a byte order mark, or UTF-16. A source may
// also be a folder, a ZIP archive or a tar archive of such files.
//
//   - JSON, for every kind, with API field names: one record per line, consecutive objects, an
//     array, or an API response, which has an array in "data". A missing key leaves the field
//     unchanged; null clears it. Text for a list is split on commas. Numbers may be in quotes.
//   - CSV, for every kind, with the same names in its header; case and spacing are ignored. Fields are
//     separated by commas, tabs, semicolons or vertical bars. An empty cell leaves the field
//     unchanged; \N clears it. Lists are separated by vertical bars or commas, or are JSON arrays. A
//     row that is not UTF-8 is read as Windows-1252, with a warning.
//   - Colas: the CSV export of TTB's public registry. A malformed row is repaired if the repair is
//     unambiguous.
//   - Colas: saved pages of TTB's public registry: detail pages and printable forms. Each page is a
//     row. All pages in a folder or archive are rows of the same source.
//   - Permittees: TTB's lists, with a title above the header and a total below the rows, and its
//     file of all permits, whose rows are arrays of cells.
//   - Production reports: TTB's monthly and yearly statistics, and its reports with tables.
//   - Processing times of labels and formulas: TTB's daily files.
//   - AVAs: the GeoJSON of the UC Davis data set, as features or feature collections.
//
// # Rows
//
// An invalid row is rejected and reported with its line, and the import continues. If text
// cannot be split into rows, the rest of its source is not read. An import never clears a field that
// its source does not have. Each unknown key is reported once, with the most similar known one.
//
// Leading and trailing white space is removed, and runs of white space become one space, except in
// llm_product_description. Derived fields (has_barcode, the counts of a permittee) are not read.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Kind is the kind of records in an import.
type Kind string

// The kinds of imports.
const (
	Colas                       Kind = "colas"
	Permittees                  Kind = "permittees"
	AVAs                        Kind = "avas"
	ProductionReports           Kind = "production-reports"
	ProcessingTimes             Kind = "processing-times"
	FormulaProcessingTimes      Kind = "formula-processing-times"
	RegistrationProcessingTimes Kind = "registration-processing-times"
	CategoryAliases             Kind = "category-aliases"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{
		Colas, Permittees, AVAs, ProductionReports,
		ProcessingTimes, FormulaProcessingTimes, RegistrationProcessingTimes, CategoryAliases,
	}
}

// Target is the part of a store that an import uses.
type Target interface {
	store.Colas
	store.Permittees
	store.References
	store.Imports
}

// Options configures an import. The zero value writes to the store, without progress reports or a
// log.
type Options struct {
	// DryRun computes the outcomes without writing. Each batch is compared with the stored records,
	// so a new record that occurs twice in the input may count as added twice.
	DryRun bool
	// History marks the labels as bulk-loaded history, which triggers no alerts. The first import
	// of labels into an empty store is always treated as history.
	History bool
	// AllowEmpty lets Import succeed even if a source is empty. Otherwise that is a SourceError,
	// because an empty file is often a failed download.
	AllowEmpty bool
	// SkipInvalid lets Import succeed even if rows are rejected.
	SkipInvalid bool
	// Rejects gets every rejected row as a JSON line: source, line, reason, header (for CSV) and
	// row. A write error ends the import.
	Rejects io.Writer
	// Progress is called after every batch and at the end of each source, never concurrently. For
	// production reports, which are written after all sources are read, it is called once more.
	Progress func(Progress)
	// Logger logs the start and end of each source; nil disables logging.
	Logger *slog.Logger
	// Workers is the number of decoding goroutines. Default: one per processor, at most eight.
	Workers int
	// Now is the clock, which also determines which receipt dates are plausible. Default: time.Now.
	Now func() time.Time
}

// Progress is the progress of an import.
type Progress struct {
	Source     string // the source being read
	Index      int    // its position among the sources, from 0
	Sources    int    // number of sources
	BytesRead  int64  // compressed bytes read from the source so far; ahead of the stored rows
	BytesTotal int64  // size of the source; -1 if unknown
	Counts            // over all sources so far
	Done       bool   // the source is finished
}

// errEmpty is the error for a source without content.
var errEmpty = errors.New("empty; the download or export may have failed (use --allow-empty to accept empty files)")

// ErrRejected is wrapped by the error from an import that completed but rejected rows.
var ErrRejected = errors.New("rows were rejected")

// Import reads every source and merges its rows into the store. The report is valid even with an
// error: it counts the work done before the error.
//
// An invalid row is rejected and listed in the report, and the import continues; unless
// opts.SkipInvalid is set, the error then wraps ErrRejected. A source that cannot be opened, is
// empty, has an unknown format or is truncated fails with a SourceError; its earlier rows are kept
// and the other sources are read. An error from the store ends the import. If ctx is canceled, the
// import finishes the current batch and returns an error that wraps ctx.Err().
//
// Running an import again is safe: records that are already stored count as unchanged.
//
// Except in a dry run, Import records its outcome in the store, even if it fails.
func Import(ctx context.Context, st Target, kind Kind, sources []Source, opts Options) (_ Report, err error) {
	if opts.Workers <= 0 {
		opts.Workers = min(8, runtime.GOMAXPROCS(0))
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	run := &run{
		opts: opts, sources: len(sources), rejects: newRejectWriter(opts.Rejects),
		report: Report{Kind: kind, DryRun: opts.DryRun, Sources: len(sources), rejects: opts.Rejects != nil},
	}
	work, err := workFor(run, st, kind)
	if err != nil {
		return run.report, err
	}
	if !opts.DryRun {
		defer run.record(ctx, st, &err)()
	}
	if err := run.decideHistory(ctx, st); err != nil {
		return run.report, err
	}
	var failures []error
	for i, source := range sources {
		run.index, run.source = i, source.Name
		err := work.source(ctx, source)
		sourceFailures, err := sourceErrors(err)
		for _, failure := range sourceFailures {
			run.report.Failures = append(run.report.Failures, *failure)
			failures = append(failures, failure)
		}
		if err != nil {
			return run.report, errors.Join(append(failures, err)...)
		}
	}
	if err := errors.Join(work.finish(ctx), run.rejects.flush()); err != nil {
		return run.report, errors.Join(append(failures, err)...)
	}
	if run.report.Rejected > 0 && !opts.SkipInvalid {
		failures = append(failures, fmt.Errorf("%d of %d %w", run.report.Rejected, run.report.Read, ErrRejected))
	}
	return run.report, errors.Join(failures...)
}

// recordTimeout is the time limit for recording the outcome of a canceled import.
const recordTimeout = 10 * time.Second

// record notes the start time of an import. It returns a function to call at the end, which stores
// the outcome of an import that ended with *err. If storing it fails, the function joins that error
// to *err. Rejected rows alone don't make an import count as failed.
func (r *run) record(ctx context.Context, st store.Imports, err *error) func() {
	started := r.opts.Now()
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		c := r.report.Counts
		failure := st.RecordImport(ctx, cola.Import{
			Kind: string(r.report.Kind), StartedAt: cola.TimestampOf(started), FinishedAt: cola.TimestampOf(r.opts.Now()),
			Read: c.Read, Added: c.Added, Changed: c.Changed, Unchanged: c.Unchanged, Rejected: c.Rejected,
			Failed: *err != nil && (len(r.report.Failures) > 0 || !errors.Is(*err, ErrRejected)),
		})
		if failure != nil { // otherwise keep *err as it is: callers unwrap it
			*err = errors.Join(*err, failure)
		}
	}
}

// run is the state of one call to Import. Only the goroutine of that call uses it.
type run struct {
	opts         Options
	index        int    // position of the current source
	source       string // name of the current source, or of the current file of a folder or archive
	sources      int
	report       Report
	rejects      *rejectWriter // nil if rejected rows are not written
	seen         idSet         // TTB IDs in the current file
	repeated     repeatedIDs   // repeated IDs in the current file
	lastProgress Progress
	folder       *folderReader // folder or archive being read, if any
}

// sourceErrors returns the SourceErrors in the error from a source, and the error that ends the
// import.
func sourceErrors(err error) (failures []*SourceError, fatal error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if failure := (*SourceError)(nil); errors.As(err, &failure) {
			failures = append(failures, failure)
			continue
		}
		fatal = errors.Join(fatal, err)
	}
	return failures, fatal
}

// reject counts and writes a rejected row.
func (r *run) reject(at rowPosition, reason string) {
	r.report.reject(Rejection{Source: at.source, Line: at.line, Reason: reason})
	r.rejects.write(at, reason)
}

// reportProgress reports progress with the current counts.
func (r *run) reportProgress(p Progress) {
	p.Counts = r.report.Counts
	r.lastProgress = p
	if r.opts.Progress != nil {
		r.opts.Progress(p)
	}
}

// decideHistory determines whether the labels count as history.
func (r *run) decideHistory(ctx context.Context, st store.Colas) error {
	if r.report.Kind != Colas {
		return nil
	}
	had, err := st.HasColas(ctx)
	if err != nil {
		return fmt.Errorf("check for stored labels: %w", err)
	}
	r.report.Initial = !had
	r.report.History = r.opts.History || !had
	return nil
}

func (r *run) mode() store.Mode {
	switch {
	case r.opts.DryRun:
		return store.DryRun
	case r.report.History:
		return store.History
	}
	return store.Commit
}

// work imports one kind: each source in turn, then the records that depend on all sources.
type work interface {
	source(ctx context.Context, s Source) error
	finish(ctx context.Context) error
}

func workFor(r *run, st Target, kind Kind) (work, error) {
	switch kind {
	case Colas:
		return newColaWork(r, st), nil
	case Permittees:
		return newPermitteeWork(r, st), nil
	case AVAs:
		return newAVAWork(r, st), nil
	case ProductionReports:
		return newProductionWork(r, st), nil
	case ProcessingTimes:
		return newTimesWork(r, processingTimes, st.UpsertProcessingTimes), nil
	case FormulaProcessingTimes:
		return newTimesWork(r, formulaTimes, st.UpsertFormulaProcessingTimes), nil
	case RegistrationProcessingTimes:
		return newTimesWork(r, registrationTimes, st.UpsertRegistrationProcessingTimes), nil
	case CategoryAliases:
		return newAliasWork(r, st), nil
	}
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	hint := ""
	if nearest, ok := vocabulary.Nearest(string(kind), names); ok {
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	}
	return nil, fmt.Errorf("unknown import kind %q; use one of %s%s", kind, strings.Join(names, ", "), hint)
}
