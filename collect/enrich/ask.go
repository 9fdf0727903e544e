package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// unanswered counts consecutive requests about a label that got no answer.
type unanswered struct {
	requests int // requests that may have gone unanswered because of the label
	answered int // enricher.answered before these requests
}

// ask asks the model and records the result in r. A usable answer is saved at once.
func (e *enricher) ask(
	ctx context.Context, label, earlier *cola.Cola, in Input, r *store.Enrichment, until time.Time,
) (answer cola.Cola, err error) {
	var unusable *RejectedError
	for answers := 1; ; answers++ {
		raw, err := e.request(ctx, in, r, until)
		if err == nil {
			if answer, err = parse(raw, label, e.o.Now().Year()); err == nil {
				break
			}
			err = &RejectedError{Reason: err.Error()}
		}
		if unusable != nil && errors.Is(err, store.ErrLimit) {
			return answer, e.fail(ctx, r, unusable)
		}
		if !errors.As(err, &unusable) {
			return answer, err
		}
		if unusable.Final || answers == maxAnswers {
			return answer, e.fail(ctx, r, unusable)
		}
	}
	e.failed = nil
	saved := *r
	saved.Revision = 0 // not applied yet
	_, filled := fill(label, earlier, &answer)
	if saved.Answer, err = encode(&filled); err != nil {
		return answer, err
	}
	return answer, e.save(ctx, saved)
}

// fail records that a label got no usable answer. After too many failed labels in a row, it ends
// the run and forgets their failures, so that a later run asks about them again.
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
	return fmt.Errorf("the last %d labels got no usable answer; check the model and its API. Latest reason: %w", maxFailed, reason)
}

// forget resets a label as if the model had never been asked about it. It keeps filled values.
func (e *enricher) forget(ctx context.Context, id cola.TTBID) error {
	r, err := e.st.ClaimEnrichment(ctx, id, hold)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	blank := store.Enrichment{TTBID: id, Fields: r.Fields, Hold: r.Hold}
	return errors.Join(e.st.SaveEnrichment(ctx, blank), e.st.ReleaseEnrichment(ctx, blank))
}

// request sends a request when it is due, and again while the API is busy. It postpones the label
// if the next request is due after until.
func (e *enricher) request(ctx context.Context, in Input, r *store.Enrichment, until time.Time) ([]byte, error) {
	var busy *BusyError
	for {
		if busy != nil && e.next.After(until) {
			return nil, &postponedError{busy}
		}
		if err := e.o.Sleep(ctx, max(e.next.Sub(e.o.Now()), 0)); err != nil {
			return nil, err
		}
		if err := e.st.ReserveEnrichment(ctx, e.o.Limit); err != nil {
			return nil, err
		}
		if _, asked := e.unanswered[r.TTBID]; r.Attempts == 0 && !asked {
			e.report.Asked++
		}
		e.logProgress()
		e.next = e.o.Now().Add(e.o.Interval)
		answer, used, err := e.o.Enricher.Enrich(ctx, in)
		r.Attempts, r.At = r.Attempts+1, e.o.Now().UTC()
		if err := e.count(ctx, used, r); err != nil {
			return nil, err
		}
		if !errors.As(err, &busy) {
			e.busy = 0
			e.answered++
			delete(e.unanswered, r.TTBID)
			return answer, err
		}
		if e.busy++; e.busy >= maxBusy && !e.o.Follow {
			return nil, fmt.Errorf("the last %d requests failed: %w", maxBusy, err)
		}
		wait := max(min(firstWait<<min(e.busy-1, 10), longestWait), busy.After)
		if due := e.o.Now().Add(wait); due.After(e.next) {
			e.next = due
		}
		e.o.Logger.Warn("the model is unavailable", "error", err, "wait", wait)
		if err := e.noAnswer(r.TTBID, busy); err != nil {
			return nil, err
		}
	}
}

// noAnswer counts a request without an answer against its label if the label may be the cause. It
// returns an error if the model should not be asked about the label again for now.
func (e *enricher) noAnswer(id cola.TTBID, busy *BusyError) error {
	u, ok := e.unanswered[id]
	if !ok {
		u.answered = e.answered
	}
	if busy.Label {
		u.requests++
	}
	e.unanswered[id] = u
	switch {
	case !busy.Label:
		return nil
	case u.requests >= 2*maxUnanswered && e.answered > u.answered:
		delete(e.unanswered, id)
		return &RejectedError{Reason: fmt.Sprintf("no answer to %d requests: %v", u.requests, busy), Final: true}
	case u.requests%maxUnanswered == 0:
		return &postponedError{busy}
	}
	return nil
}

// count records the tokens of a request, even if the context has been canceled.
func (e *enricher) count(ctx context.Context, used Usage, r *store.Enrichment) error {
	if used == (Usage{}) {
		return nil
	}
	r.TokensIn, r.TokensOut = r.TokensIn+used.In, r.TokensOut+used.Out
	e.report.TokensIn, e.report.TokensOut = e.report.TokensIn+used.In, e.report.TokensOut+used.Out
	endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return e.st.CountEnrichmentTokens(endCtx, used.In+used.Out)
}
