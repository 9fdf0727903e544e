package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
)

// Store is the part of a store that Run uses.
type Store interface {
	ingest.Target
	store.ReferenceFetches
}

// Options configures Run.
type Options struct {
	Sources   []Source // those without a URL are skipped
	UserAgent string   // required: names the program and the operator's contact
	// MinAge excludes sources that any process is fetching or has fetched more recently than this.
	MinAge time.Duration
	// Force imports files even if they haven't changed.
	Force bool
	// Done is called after each source. May be nil.
	Done   func(Result)
	Logger *slog.Logger // logs retries and, in Follow, results; nil discards
	// Pause is the time between sources. Default: one second.
	Pause time.Duration
	// Backoff is the upper bound on the first wait after a failed request. It doubles with each
	// attempt. Default: two seconds.
	Backoff time.Duration
	// MaxBytes limits the size of a file. Default: 512 MiB.
	MaxBytes int64
}

func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Done == nil {
		o.Done = func(Result) {}
	}
	if o.Pause <= 0 {
		o.Pause = time.Second
	}
	if o.Backoff <= 0 {
		o.Backoff = 2 * time.Second
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 512 << 20
	}
}

// Result is the outcome of one source.
type Result struct {
	Source Source
	// NotModified reports whether the server responded that the file hasn't changed (status 304).
	NotModified bool
	// Imported reports whether the file was imported. If it is false and Err is nil, the file
	// hasn't changed since it was imported.
	Imported bool
	Report   ingest.Report // report of the import; empty if there was none
	Err      error
}

// Report adds up the results of a run.
type Report struct {
	Sources   int // fetched by this run
	Imported  int
	Unchanged int
	Failed    int
	Requests  int
	Rows      ingest.Counts // total over all imports
}

func (r *Report) add(result Result) {
	switch {
	case result.Err != nil:
		r.Failed++
	case result.Imported:
		r.Imported++
	default:
		r.Unchanged++
	}
	c := result.Report.Counts
	r.Rows.Read += c.Read
	r.Rows.Added += c.Added
	r.Rows.Changed += c.Changed
	r.Rows.Unchanged += c.Unchanged
	r.Rows.Rejected += c.Rejected
}

// Run fetches and imports the sources, one after another. A failed source is in the report and
// doesn't stop the others. The error comes from the store, such as store.ErrUnavailable, or from
// ctx. The report is valid even with an error. If ctx is canceled during an import, the batches it
// has completed remain stored, and the next run imports the source again.
func Run(ctx context.Context, st Store, o Options) (report Report, err error) {
	o.setDefaults()
	client := newClient(&o)
	defer client.http.CloseIdleConnections()
	for _, source := range o.Sources {
		if source.URL == "" {
			continue
		}
		f := fetch{Options: &o, st: st, client: client, source: source}
		if err = f.run(ctx, &report); err != nil {
			break
		}
	}
	report.Requests = client.requests
	return report, err
}

// fetch fetches one source.
type fetch struct {
	*Options
	st     Store
	client *client
	source Source
}

// run claims and fetches the source and records the outcome.
func (f *fetch) run(ctx context.Context, report *Report) error {
	known, err := f.st.ClaimReferenceFetch(ctx, f.source.Name, f.MinAge)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if report.Sources++; report.Sources > 1 {
		if err := sleep(ctx, f.Pause); err != nil {
			return err
		}
	}
	result, err := f.update(ctx, known.ReferenceContent)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failure := (*sourceError)(nil); errors.As(err, &failure) {
		result.Err, err = failure, f.st.FailReferenceFetch(ctx, f.source.Name, failure.Error())
	}
	if err != nil {
		return err
	}
	report.add(result)
	f.Done(result)
	return nil
}

// sourceError is an error from a source, as opposed to one from the store.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

func failed(format string, args ...any) error {
	return &sourceError{fmt.Errorf(format, args...)}
}

// update downloads the file and imports it if it has changed since the known content was imported.
// The error is a sourceError, or comes from the store or ctx.
func (f *fetch) update(ctx context.Context, known store.ReferenceContent) (result Result, err error) {
	result.Source = f.source
	condition := known
	if f.Force || known.URL != f.source.URL {
		condition = store.ReferenceContent{}
	}
	folder, err := os.MkdirTemp("", "colaregistry-reference-")
	if err != nil {
		return result, failed("create a folder for the download: %w", err)
	}
	defer os.RemoveAll(folder)
	file, err := f.client.download(ctx, f.source, condition, folder)
	switch {
	case err != nil:
		return result, err
	case file == nil:
		result.NotModified = true
		return result, f.st.SaveReferenceFetch(ctx, f.source.Name, known, false)
	}
	if f.Force || !bytes.Equal(file.content.Hash, known.Hash) {
		if result.Report, err = f.load(ctx, file); err != nil {
			return result, err
		}
		result.Imported = true
	}
	return result, f.st.SaveReferenceFetch(ctx, f.source.Name, file.content, result.Imported)
}

// load checks a file and imports it.
func (f *fetch) load(ctx context.Context, file *download) (ingest.Report, error) {
	if err := file.check(); err != nil {
		return ingest.Report{}, f.unusable(err)
	}
	source := ingest.FileSource(file.path)
	source.Name = f.source.fileName()
	// One worker is fast enough, and leaves processors free for a server.
	options := ingest.Options{DryRun: true, SkipInvalid: true, AllowEmpty: true, Workers: 1}
	trial, err := ingest.Import(ctx, f.st, f.source.Kind, []ingest.Source{source}, options)
	switch {
	case len(trial.Failures) > 0:
		return ingest.Report{}, f.unusable(trial.Failures[0].Err)
	case err != nil:
		return ingest.Report{}, f.importError(err)
	case trial.Read == 0:
		return ingest.Report{}, f.unusable(errors.New("the file has no rows"))
	case trial.Rejected*2 > trial.Read:
		return ingest.Report{}, f.unusable(fmt.Errorf("%d of %d rows would be rejected; first reason: %s",
			trial.Rejected, trial.Read, trial.Rejections[0].Reason))
	}
	options.DryRun = false
	report, err := ingest.Import(ctx, f.st, f.source.Kind, []ingest.Source{source}, options)
	return report, f.importError(err)
}

// importError returns the error for a failed import. An unavailable database ends the run, because
// the other sources would also fail.
func (f *fetch) importError(err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return failed("%s: import: %w", f.source.URL, err)
}

// unusable returns the error for a file that was downloaded but can't be imported.
func (f *fetch) unusable(err error) error {
	return failed("%s: %w; nothing was imported. Check the file. If its publisher has moved it (see %s), set its new address (%s)",
		f.source.URL, err, f.source.Page, f.source.option())
}
