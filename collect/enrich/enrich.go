package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// Enricher asks a model about a label. It returns the answer, a JSON object that conforms to the
// schema, and the number of tokens used, even with an error. An error is a StopError, BusyError,
// RejectedError or the context's error.
type Enricher interface {
	Enrich(ctx context.Context, in Input) (answer []byte, used Usage, err error)
}

// Usage is the number of tokens that a request used.
type Usage struct{ In, Out int }

// StopError means that no request can succeed, for example because the key is wrong, the model is
// unknown or the quota is used up.
type StopError struct{ Err error }

// BusyError means that the same request may succeed later, after the given wait if it isn't zero.
type BusyError struct {
	After time.Duration
	Label bool // the label may be the cause, for example because the model takes too long
	Err   error
}

// RejectedError means that there is no usable answer about a label. If Final is set, asking again
// won't help.
type RejectedError struct {
	Reason string
	Final  bool
}

// Error returns the reason.
func (e *StopError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StopError) Unwrap() error { return e.Err }

// Error returns the reason.
func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BusyError) Unwrap() error { return e.Err }

// Error returns the reason.
func (e *RejectedError) Error() string { return e.Reason }

// Store is the part of a store that Run uses.
type Store interface {
	store.Enrichments
	store.ImageFiles
	Revision(ctx context.Context) (cola.Revision, error)
	Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error)
	UpsertColas(ctx context.Context, patches []cola.Patch[cola.Cola], mode store.Mode) ([]store.Outcome, error)
}

// Images reads label image files; *images.Store implements it.
type Images interface {
	Read(ctx context.Context, c store.ImageContent, v images.Variant) ([]byte, error)
}

// Options configures Run.
type Options struct {
	Enricher Enricher
	Model    string                // name under which results are recorded
	Limit    store.EnrichmentLimit // per day, for all processes
	Interval time.Duration         // between requests of this process
	Images   Images                // nil: the model gets only text
	Follow   bool                  // continue with new labels, and on the next day, until the context is canceled
	Logger   *slog.Logger          // nil discards
	Now      func() time.Time      // default: time.Now
	// Sleep waits or returns the context's error. Default: a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

const (
	// hold is how long a claim lasts. longestClaim is how long a claimed label may wait for its
	// request. The rest of hold is for the request, because its answer can't be saved after the
	// claim has expired.
	hold         = time.Hour
	longestClaim = hold - 10*time.Minute
	// idle is how long Follow waits before it looks for labels again. limitWait caps the wait after
	// the daily limit is reached, because the limit follows the database's clock, which may differ
	// from this process's.
	idle      = 5 * time.Minute
	limitWait = time.Hour
	// refresh is how long Follow works on a list of labels. A new list starts with the newest
	// labels.
	refresh = 10 * time.Minute
	// maxAnswers is the number of unusable answers after which a label fails.
	maxAnswers = 2
	// maxBusy is the number of failed requests in a row that ends a run without Follow, and the
	// number of failed image reads in a row that ends any run.
	maxBusy = 8
	// maxUnanswered is the number of unanswered requests after which a label is postponed to the
	// next pass. If the model answers requests about other labels in the meantime, the label fails
	// after twice as many.
	maxUnanswered = 3
	// maxFailed is the number of failed labels in a row that ends a run: in that case, the model or
	// the API is at fault, not the labels.
	maxFailed   = 10
	firstWait   = 2 * time.Second
	longestWait = 5 * time.Minute
	endTimeout  = 10 * time.Second
)

// Report is the result of a run. It covers only this process.
type Report struct {
	Asked     int // labels that the model was asked about
	Enriched  int // labels with at least one field changed
	Failed    int // labels without a usable answer
	TokensIn  int
	TokensOut int
	Limit     bool // the daily limit ended the run
}

type enricher struct {
	st     Store
	o      Options
	report Report
	next   time.Time    // time of the next request
	logged time.Time    // when progress was last logged
	busy   int          // requests in a row that failed
	unread int          // images in a row that could not be read
	failed []cola.TTBID // labels in a row that failed

	answered   int // requests with an answer
	unanswered map[cola.TTBID]unanswered
	postponed  error // why the latest pass postponed a label; nil if it postponed none
}

var errRefresh = errors.New("the list of labels is old")

// postponedError means that a label is postponed to the next pass.
type postponedError struct{ cause error }

// Error returns the cause.
func (e *postponedError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *postponedError) Unwrap() error { return e.cause }

// Run enriches labels until none is left or the daily limit is reached or, with Follow, until the
// context is canceled, which is not an error.
func Run(ctx context.Context, st Store, o Options) (Report, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	e := &enricher{st: st, o: o, unanswered: map[cola.TTBID]unanswered{}}
	for {
		answered := e.answered
		e.postponed = nil
		revision, err := e.pass(ctx)
		limit := errors.Is(err, store.ErrLimit)
		switch {
		case ctx.Err() != nil:
			return e.report, nil
		case errors.Is(err, errRefresh):
			continue
		case err != nil && !limit:
			return e.report, err
		case !limit && e.postponed != nil && (e.answered > answered || errors.As(e.postponed, new(*BusyError))):
			continue
		case !limit && e.postponed != nil && !o.Follow:
			return e.report, e.postponed
		case !limit && e.postponed != nil:
			err = o.Sleep(ctx, idle)
		case !o.Follow:
			e.report.Limit = limit
			return e.report, nil
		case limit:
			err = e.waitForDay(ctx)
		default:
			err = e.waitForChange(ctx, revision)
		}
		if ctx.Err() != nil {
			return e.report, nil
		}
		if err != nil {
			return e.report, err
		}
	}
}

// pass visits the labels to enrich. It returns the registry's revision from before it listed them.
func (e *enricher) pass(ctx context.Context) (cola.Revision, error) {
	started := e.o.Now()
	revision, err := e.st.Revision(ctx)
	if err != nil {
		return 0, err
	}
	return revision, e.st.LabelsToEnrich(ctx, e.o.Model, func(id cola.TTBID) error {
		if e.o.Follow && e.o.Now().Sub(started) >= refresh {
			return errRefresh
		}
		return e.visit(ctx, id)
	})
}

// waitForDay waits until the next day, or for limitWait.
func (e *enricher) waitForDay(ctx context.Context) error {
	now := e.o.Now()
	wait := min((cola.DateOf(now) + 1).Time().Sub(now), limitWait)
	e.o.Logger.Info("daily limit reached", "wait", wait.Round(time.Minute))
	return e.o.Sleep(ctx, wait)
}

// waitForChange waits until the registry has a later revision. Listing the labels is expensive,
// because it reads all of them.
func (e *enricher) waitForChange(ctx context.Context, revision cola.Revision) error {
	for {
		if err := e.o.Sleep(ctx, idle); err != nil {
			return err
		}
		if latest, err := e.st.Revision(ctx); err != nil || latest != revision {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// visit enriches a label. If that changes the label, a second call to enrich records that the
// result covers the change.
func (e *enricher) visit(ctx context.Context, id cola.TTBID) error {
	for range 2 {
		changed, err := e.enrich(ctx, id)
		if errors.As(err, new(*postponedError)) {
			e.o.Logger.Warn("label postponed", "label", id.String(), "error", err)
			e.postponed = err
			return nil
		}
		if err != nil || !changed {
			return err
		}
	}
	return nil
}

// enrich claims a label, asks the model if it has no result for the input, and applies the result.
// It does nothing if another process has claimed the label.
func (e *enricher) enrich(ctx context.Context, id cola.TTBID) (changed bool, err error) {
	r, err := e.st.ClaimEnrichment(ctx, id, hold)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	until := e.o.Now().Add(longestClaim)
	asked := r
	asked.Model, asked.InputHash, asked.Answer, asked.Failure = e.o.Model, nil, "", ""
	asked.Attempts, asked.TokensIn, asked.TokensOut, asked.At = 0, 0, 0, time.Time{}
	defer func() {
		if p := recover(); p != nil {
			e.o.Logger.Error("enriching a label panicked", "label", id.String(), "panic", p, "stack", string(debug.Stack()))
			if err = e.fail(ctx, &asked, &RejectedError{Reason: fmt.Sprintf("panic: %v", p)}); err == nil {
				err = e.save(ctx, asked)
			}
		}
		endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		err = errors.Join(err, e.st.ReleaseEnrichment(endCtx, r))
	}()
	label, err := e.st.Cola(ctx, id)
	if err != nil {
		return false, err
	}
	earlier, answer, err := recorded(&label, r)
	if err != nil {
		return false, err
	}
	known := func(hash []byte) bool { return r.Model == e.o.Model && bytes.Equal(r.InputHash, hash) }
	in, hash, err := e.input(ctx, &label, known)
	if err != nil {
		return false, err
	}
	if !known(hash) {
		asked.InputHash = hash
		if asked.Fields, err = encode(&earlier); err != nil {
			return false, err
		}
		if answer, err = e.ask(ctx, &label, &earlier, in, &asked, until); err != nil {
			return false, err
		}
		r = asked
	}
	if r.Failure != "" {
		return false, e.save(ctx, r)
	}
	return e.apply(ctx, &label, &earlier, &answer, r)
}

// recorded returns the values of a label that earlier answers filled, and the answer to apply.
func recorded(label *cola.Cola, r store.Enrichment) (earlier, answer cola.Cola, err error) {
	if earlier, err = decode(r.Fields); err == nil {
		answer, err = earlier, nil
		if r.Answer != "" {
			answer, err = decode(r.Answer)
			adopt(label, &earlier, &answer)
		}
	}
	if err != nil {
		err = fmt.Errorf("recorded answer about label %s: %w", label.TTBID, err)
	}
	return earlier, answer, err
}

// apply fills the label from an answer and records the filled values.
func (e *enricher) apply(
	ctx context.Context, label, earlier, answer *cola.Cola, r store.Enrichment,
) (changed bool, err error) {
	patch, filled := fill(label, earlier, answer)
	if r.Fields, err = encode(&filled); err != nil {
		return false, err
	}
	r.Answer = ""
	if patch.Fields == 0 {
		return false, e.save(ctx, r)
	}
	// This doesn't count as an arrival, because the patch changes no date.
	if _, err := e.st.UpsertColas(ctx, []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		return false, fmt.Errorf("enrich label %s: %w", label.TTBID, err)
	}
	e.report.Enriched++
	r.Revision = 0
	return true, e.save(ctx, r)
}

// save records a result even if the context has been canceled, because the request has been paid
// for.
func (e *enricher) save(ctx context.Context, r store.Enrichment) error {
	endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := e.st.SaveEnrichment(endCtx, r)
	if errors.Is(err, store.ErrNotFound) {
		return &postponedError{fmt.Errorf("the claim on label %s ended before its result was saved", r.TTBID)}
	}
	return err
}

// logEvery is the time between progress reports.
const logEvery = time.Minute

func (e *enricher) logProgress() {
	if now := e.o.Now(); now.Sub(e.logged) >= logEvery {
		e.logged = now
		r := e.report
		e.o.Logger.Info("progress", "asked", r.Asked, "enriched", r.Enriched, "failed", r.Failed,
			"tokens", r.TokensIn+r.TokensOut)
	}
}
