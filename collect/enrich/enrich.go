package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
)

// Enricher asks a model about a label. It returns the answer, a JSON object that conforms to the
// schema, and the number of tokens used, even with an error. Its errors are a StopError, BusyError
// or RejectedError, or the context's.
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
	Err   error
}

// RejectedError means that the model has no usable answer about a label. With Final, it won't have
// one if it is asked again.
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

// Images reads files of label images; *images.Store implements it.
type Images interface {
	Read(ctx context.Context, c store.ImageContent, v images.Variant) ([]byte, error)
}

// Options configures Run.
type Options struct {
	Enricher Enricher
	Model    string                // name under which results are recorded
	Limit    store.EnrichmentLimit // of a day, for all processes
	Interval time.Duration         // between requests of this process
	Images   Images                // nil: the model gets only text
	Follow   bool                  // continue with new labels, and on the next day, until the context is canceled
	Logger   *slog.Logger          // nil discards
	Now      func() time.Time      // default: time.Now
	// Sleep waits or returns the context's error. Default: a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

const (
	// hold is how long the label of a killed process is left alone.
	hold = time.Hour
	// idle is how long Follow waits before it looks for labels again. limitWait bounds the wait at
	// the daily limit, because the limit follows the database's clock, which may differ from this
	// one.
	idle      = 5 * time.Minute
	limitWait = time.Hour
	// refresh is how long Follow works on a list of labels. A new list begins with the newest ones.
	refresh = 10 * time.Minute
	// maxAnswers is the number of unusable answers after which a label fails.
	maxAnswers = 2
	// maxBusy is how many requests in a row may fail before a run without Follow ends.
	maxBusy = 8
	// maxFailed is the number of failed labels in a row that ends a run: in that case, the model or
	// the API is at fault, not the labels.
	maxFailed   = 10
	firstWait   = 2 * time.Second
	longestWait = 5 * time.Minute
	endTimeout  = 10 * time.Second
)

// Report is the result of a run, of this process only.
type Report struct {
	Asked     int // labels
	Enriched  int // labels with at least one field filled
	Failed    int // labels without a usable answer
	TokensIn  int
	TokensOut int
	Limit     bool // the limit of the day ended the run
}

type enricher struct {
	st     Store
	o      Options
	report Report
	next   time.Time    // of the next request
	logged time.Time    // when progress was logged
	busy   int          // requests in a row that failed
	failed []cola.TTBID // labels in a row that failed
}

var errRefresh = errors.New("the list of labels is old")

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
	e := &enricher{st: st, o: o}
	for {
		listed, err := e.pass(ctx)
		limit := errors.Is(err, store.ErrLimit)
		switch {
		case ctx.Err() != nil:
			return e.report, nil
		case errors.Is(err, errRefresh):
			continue
		case err != nil && !limit:
			return e.report, err
		case !o.Follow:
			e.report.Limit = limit
			return e.report, nil
		case limit:
			err = e.waitForDay(ctx)
		default:
			err = e.waitForChange(ctx, listed)
		}
		if ctx.Err() != nil {
			return e.report, nil
		}
		if err != nil {
			return e.report, err
		}
	}
}

// pass visits the labels to enrich. It returns the revision of the registry before it listed them.
func (e *enricher) pass(ctx context.Context) (cola.Revision, error) {
	started := e.o.Now()
	listed, err := e.st.Revision(ctx)
	if err != nil {
		return 0, err
	}
	return listed, e.st.LabelsToEnrich(ctx, e.o.Model, func(id cola.TTBID) error {
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
	e.o.Logger.Info("the limit of the day is reached", "wait", wait.Round(time.Minute))
	return e.o.Sleep(ctx, wait)
}

// waitForChange waits until the registry has a later revision. Listing labels reads all of them.
func (e *enricher) waitForChange(ctx context.Context, listed cola.Revision) error {
	for {
		if err := e.o.Sleep(ctx, idle); err != nil {
			return err
		}
		if latest, err := e.st.Revision(ctx); err != nil || latest != listed {
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

// visit enriches a label. If that changes the label, a second look records that the result covers
// the change.
func (e *enricher) visit(ctx context.Context, id cola.TTBID) error {
	for range 2 {
		changed, err := e.enrich(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil // another process has it
		}
		if err != nil || !changed {
			return err
		}
	}
	return nil
}

// enrich claims a label, asks the model if it has no result for the input, and applies the result.
func (e *enricher) enrich(ctx context.Context, id cola.TTBID) (changed bool, err error) {
	r, err := e.st.ClaimEnrichment(ctx, id, hold)
	if err != nil {
		return false, err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		err = errors.Join(err, e.st.ReleaseEnrichment(ending, r))
	}()
	label, err := e.st.Cola(ctx, id)
	if err != nil {
		return false, err
	}
	in, file, hash, err := e.input(ctx, &label)
	if err != nil {
		return false, err
	}
	earlier, err := decode(r.Fields)
	if err != nil {
		return false, fmt.Errorf("recorded answer about label %s: %w", id, err)
	}
	answer := earlier
	if r.Model != e.o.Model || !bytes.Equal(r.InputHash, hash) {
		if file != nil {
			if err := e.addImage(ctx, &in, file); err != nil {
				return false, err
			}
		}
		asked := store.Enrichment{
			TTBID: id, Model: e.o.Model, InputHash: hash, Fields: r.Fields, Hold: r.Hold, Revision: r.Revision,
		}
		if answer, err = e.ask(ctx, &label, in, &asked); err != nil {
			return false, err
		}
		r = asked
	}
	if r.Failure != "" {
		return false, e.st.SaveEnrichment(ctx, r)
	}
	return e.apply(ctx, &label, &earlier, &answer, r)
}

// apply fills the label from an answer and records what was filled.
func (e *enricher) apply(
	ctx context.Context, label, earlier, answer *cola.Cola, r store.Enrichment,
) (changed bool, err error) {
	patch, filled := fill(label, earlier, answer)
	if r.Fields, err = encode(&filled); err != nil {
		return false, err
	}
	if patch.Fields == 0 {
		return false, e.st.SaveEnrichment(ctx, r)
	}
	// This doesn't count as an arrival, because the patch changes no date.
	if _, err := e.st.UpsertColas(ctx, []cola.Patch[cola.Cola]{patch}, store.Commit); err != nil {
		return false, fmt.Errorf("enrich label %s: %w", label.TTBID, err)
	}
	e.report.Enriched++
	r.Revision = 0
	return true, e.st.SaveEnrichment(ctx, r)
}

// ask asks the model and records the result in r. A usable answer is saved at once.
func (e *enricher) ask(
	ctx context.Context, label *cola.Cola, in Input, r *store.Enrichment,
) (answer cola.Cola, err error) {
	if err := e.st.ReserveEnrichment(ctx, e.o.Limit); err != nil {
		return answer, err
	}
	e.report.Asked++
	e.logProgress()
	for answers := 1; ; answers++ {
		raw, err := e.request(ctx, in, r)
		if err == nil {
			if answer, err = parse(raw, label.ProductType, e.o.Now().Year()); err == nil {
				break
			}
			err = &RejectedError{Reason: err.Error()}
		}
		rejected, ok := errors.AsType[*RejectedError](err)
		if !ok {
			return answer, err
		}
		if rejected.Final || answers == maxAnswers {
			return answer, e.fail(ctx, r, rejected)
		}
	}
	e.failed = nil
	saved := *r
	saved.Revision = 0 // not applied yet
	if saved.Fields, err = encode(&answer); err != nil {
		return answer, err
	}
	return answer, e.st.SaveEnrichment(ctx, saved)
}

// logEvery is the time between two reports of progress.
const logEvery = time.Minute

func (e *enricher) logProgress() {
	if now := e.o.Now(); now.Sub(e.logged) >= logEvery {
		e.logged = now
		r := e.report
		e.o.Logger.Info("progress", "asked", r.Asked, "enriched", r.Enriched, "failed", r.Failed,
			"tokens", r.TokensIn+r.TokensOut)
	}
}

// fail sets the failure of a label without a usable answer. After too many in a row, it ends the
// run and forgets their failures, so that the labels are asked about again once the cause is gone.
func (e *enricher) fail(ctx context.Context, r *store.Enrichment, reason *RejectedError) error {
	r.Failure = cola.Text(reason.Reason)
	e.report.Failed++
	e.o.Logger.Warn("no usable answer", "label", r.TTBID.String(), "reason", reason.Reason)
	if e.failed = append(e.failed, r.TTBID); len(e.failed) < maxFailed {
		return nil
	}
	for _, id := range e.failed[:maxFailed-1] {
		if err := e.forget(ctx, id); err != nil {
			return err
		}
	}
	return fmt.Errorf("the last %d labels have no usable answer; the latest reason: %w", maxFailed, reason)
}

// forget resets a label as if the model had never been asked about it. Values that were filled
// remain.
func (e *enricher) forget(ctx context.Context, id cola.TTBID) error {
	r, err := e.st.ClaimEnrichment(ctx, id, hold)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	unasked := store.Enrichment{TTBID: id, Fields: r.Fields, Hold: r.Hold}
	return errors.Join(e.st.SaveEnrichment(ctx, unasked), e.st.ReleaseEnrichment(ctx, unasked))
}

// request sends a request when it is due, and again while the API is busy.
func (e *enricher) request(ctx context.Context, in Input, r *store.Enrichment) ([]byte, error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		if err := e.o.Sleep(ctx, max(e.next.Sub(e.o.Now()), 0)); err != nil {
			return nil, err
		}
		e.next = e.o.Now().Add(e.o.Interval)
		answer, used, err := e.o.Enricher.Enrich(ctx, in)
		r.Attempts, r.At = r.Attempts+1, e.o.Now().UTC()
		if err := e.count(ctx, used, r); err != nil {
			return nil, err
		}
		busy, ok := errors.AsType[*BusyError](err)
		if !ok {
			e.busy = 0
			return answer, err
		}
		if e.busy++; e.busy >= maxBusy && !e.o.Follow {
			return nil, fmt.Errorf("the last %d requests failed: %w", maxBusy, err)
		}
		wait := max(wait, busy.After)
		e.o.Logger.Warn("the model is unavailable", "error", err, "wait", wait)
		if err := e.o.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// count records the tokens of a request, even if the context was canceled meanwhile.
func (e *enricher) count(ctx context.Context, used Usage, r *store.Enrichment) error {
	if used == (Usage{}) {
		return nil
	}
	r.TokensIn, r.TokensOut = r.TokensIn+used.In, r.TokensOut+used.Out
	e.report.TokensIn, e.report.TokensOut = e.report.TokensIn+used.In, e.report.TokensOut+used.Out
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return e.st.CountEnrichmentTokens(ending, used.In+used.Out)
}
