// Package ingest reads files of labels, permittees and reference data and merges their rows into a store: streaming, in
// batches, in bounded memory, and again as often as one likes, since what is stored already is left alone.
//
// The format of a source is told by its content, never by its name. Text may be compressed with gzip, zstd or bzip2 and is
// UTF-8, with or without a byte order mark, or UTF-16.
//
//   - JSON, for every kind, in the names of the API: lines of one record each, objects one after the other, an array, or
//     what the API answers, which has them under "data". A key that is absent leaves the field, null clears it. Text where a
//     list is due is split on commas; a number in quotes is a number.
//   - CSV, for every kind, with the same names as columns (letter case and spacing do not matter). A cell that is empty
//     leaves the field, \N clears it. Lists are separated by vertical bars or commas, or are JSON arrays. A row that is not
//     UTF-8 is read as Windows-1252, and the report says so.
//   - Colas: the CSV export of TTB's public registry, whose rows may be broken in ways that are mended where there is only
//     one way to do it.
//   - Permittees: TTB's lists, with a title above the header and a total below the rows.
//   - AVAs: the GeoJSON of the UC Davis data set, features or collections of them.
//
// A row that is wrong is refused with the line it begins at, and the import goes on; a text that cannot be split into rows any
// further ends its source. An import never clears a field that its source does not carry. Keys that no field has are told
// once each, with the nearest that has one.
//
// White space around texts goes, and runs of it within become one space, except in llm_product_description. What follows from
// other fields (has_barcode, the counts of a permittee) is not read.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Kind is what the rows of an import are.
type Kind string

// The kinds.
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

// Target is what an import needs of a store.
type Target interface {
	store.Colas
	store.Permittees
	store.References
}

// Options says how to import. The zero value writes, reports to nobody and logs nothing.
type Options struct {
	// DryRun works out every outcome and writes nothing. Each batch is compared with what is stored, so a new record that
	// the input holds twice may count as added twice.
	DryRun bool
	// History makes the labels no news: saved searches that run by themselves are not told of them. An import of labels into a store
	// that holds none is always one of history.
	History bool
	// SkipInvalid makes refused rows no error: Import returns nil although some were refused.
	SkipInvalid bool
	// Progress is called after every batch and at the end of each source, never by two goroutines at once. Production
	// reports are written when all sources are read, so it is called once more after that.
	Progress func(Progress)
	// Logger is told when a source begins and ends; nil is silent.
	Logger *slog.Logger
	// Workers is how many goroutines decode rows; zero is one a processor, eight at most.
	Workers int
}

// Progress is how far an import is.
type Progress struct {
	Source     string // the source being read
	Index      int    // its position among the sources, from 0
	Sources    int    // how many sources there are
	BytesRead  int64  // bytes of the source taken so far, before decompression; ahead of what is stored
	BytesTotal int64  // size of the source, -1 when it is not known
	Counts            // of all sources so far
	Done       bool   // the source is finished
}

// ErrRefused is wrapped by the error of an import that did everything it could but refused rows.
var ErrRefused = errors.New("rows were refused")

// Import reads every source and merges its rows into the store. The report is complete whatever the error: it counts what
// was done up to there.
//
// A bad row is refused and told in the report, and the import goes on; unless opts.SkipInvalid, the error then wraps
// ErrRefused. A source that cannot be opened, is of no known format or breaks off ends there with a SourceError; the rows
// before the break are kept and the other sources are still read. An error of the store ends the import. When ctx is
// cancelled, the batch being written is finished, the import ends and the error wraps ctx.Err().
//
// Running an import again is safe: what is stored already counts as unchanged.
func Import(ctx context.Context, st Target, kind Kind, sources []Source, opts Options) (Report, error) {
	if opts.Workers <= 0 {
		opts.Workers = min(8, runtime.GOMAXPROCS(0))
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	run := &run{opts: opts, sources: len(sources), report: newReport(kind, opts.DryRun, len(sources))}
	work, err := workFor(run, st, kind)
	if err != nil {
		return run.report, err
	}
	if err := run.settleHistory(ctx, st); err != nil {
		return run.report, err
	}
	var failures []error
	for i, source := range sources {
		run.index, run.source = i, source.Name
		err := work.source(ctx, source)
		if failure := (*SourceError)(nil); errors.As(err, &failure) {
			run.report.Failures = append(run.report.Failures, *failure)
			failures = append(failures, err)
			continue
		}
		if err != nil {
			return run.report, errors.Join(append(failures, err)...)
		}
	}
	if err := work.finish(ctx); err != nil {
		return run.report, errors.Join(append(failures, err)...)
	}
	if run.report.Refused > 0 && !opts.SkipInvalid {
		failures = append(failures, fmt.Errorf("%d of %d %w", run.report.Refused, run.report.Read, ErrRefused))
	}
	return run.report, errors.Join(failures...)
}

// run is the state of one call of Import. Only the goroutine of the call touches it.
type run struct {
	opts    Options
	index   int    // of the source being read
	source  string // its name
	sources int
	report  Report
	told    Progress // last
}

// tell reports progress, with the counts as they are now.
func (r *run) tell(p Progress) {
	p.Counts = r.report.Counts
	r.told = p
	if r.opts.Progress != nil {
		r.opts.Progress(p)
	}
}

// settleHistory decides whether what is imported is news.
func (r *run) settleHistory(ctx context.Context, st store.Colas) error {
	if r.report.Kind != Colas {
		return nil
	}
	had, err := st.HasColas(ctx)
	if err != nil {
		return fmt.Errorf("looking for labels: %w", err)
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

// work is an import of one kind: a source at a time, then what can only be done when all are read.
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
	if nearest, ok := cola.Nearest(string(kind), names); ok {
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	}
	return nil, fmt.Errorf("%q is not a kind of import; the kinds are %s%s", kind, strings.Join(names, ", "), hint)
}
