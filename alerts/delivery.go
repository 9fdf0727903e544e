package alerts

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Deliver sends the messages that are due at now, several at a time, until no unclaimed ones
// remain. A failing message doesn't delay others. If the context ends, Deliver returns within
// seconds; if the database is unavailable, within a minute. It waits for messages in flight, tries
// to record their results, and releases the other claims. The report covers the work done before an
// error. Calling Deliver again is always safe.
func (d *Dispatcher) Deliver(ctx context.Context, now time.Time) (DeliveryReport, error) {
	due, err := d.due(ctx, now)
	if err != nil || !due {
		return DeliveryReport{}, err
	}
	started := d.now()
	r := &round{Dispatcher: d, now: now.UTC(), started: started}
	err = r.deliver(ctx)
	r.release(ctx)
	if err == nil {
		_, err = d.due(ctx, r.currentTime()) // updates the metric
	}
	if r.report.any() {
		d.log.Info("delivery round finished",
			"delivered", r.report.Delivered, "retried", r.report.Retried, "failed", r.report.Failed, "skipped", r.report.Skipped,
			"missed", r.report.Missed, "unrecorded", r.report.Unrecorded, "postponed", r.report.Postponed,
			"released", r.report.Released, "took", d.now().Sub(started).Round(time.Millisecond))
	}
	return r.report, err
}

// due reports whether any message is due, and updates the metric for overdue messages. The query is
// cheap.
func (d *Dispatcher) due(ctx context.Context, now time.Time) (bool, error) {
	oldest, err := d.store.OldestPending(ctx, d.kinds)
	if err != nil {
		return false, fmt.Errorf("find the oldest due delivery: %w", err)
	}
	d.metrics.oldest(oldest)
	return !oldest.IsZero() && !oldest.After(now), nil
}

// round is one call to Deliver.
type round struct {
	*Dispatcher
	now, started time.Time // argument to Deliver; the dispatcher's time at the start of the round

	mu        sync.Mutex
	report    DeliveryReport
	abandoned []store.DueDelivery // claimed, to be released without a recorded attempt
}

// currentTime returns the time passed to Deliver plus the time since the start of the round.
func (r *round) currentTime() time.Time { return r.now.Add(r.Dispatcher.now().Sub(r.started)) }

// count updates the report. It is safe for concurrent use.
func (r *round) count(add func(*DeliveryReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.report)
}

// abandon marks claimed deliveries for release.
func (r *round) abandon(claimed ...store.DueDelivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = append(r.abandoned, claimed...)
}

// deliver processes due deliveries until there are no more. It returns after all attempts have
// ended.
func (r *round) deliver(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan store.DueDelivery)
	var senders sync.WaitGroup
	for range maxInFlight {
		senders.Go(func() {
			for d := range work {
				if err := r.process(ctx, d); err != nil {
					stop(err)
				}
			}
		})
	}
	err := r.dispatch(ctx, work)
	close(work)
	senders.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// dispatch claims due deliveries and passes them to workers until there are no more or the context
// ends.
func (r *round) dispatch(ctx context.Context, work chan<- store.DueDelivery) error {
	for {
		kinds := r.fairness.responsive(r.kinds)
		if len(kinds) == 0 {
			return nil
		}
		claimed, err := r.store.ClaimDeliveries(ctx, r.now, kinds, maxInFlight, r.hold)
		if err != nil {
			return fmt.Errorf("claim deliveries: %w", err)
		}
		for i := range claimed {
			select {
			case work <- claimed[i]:
			case <-ctx.Done():
				r.abandon(claimed[i:]...)
				return context.Cause(ctx)
			}
		}
		if len(claimed) < maxInFlight {
			return nil
		}
	}
}

// release releases abandoned deliveries, even if the context is canceled. If that fails, their
// claims will expire.
func (r *round) release(ctx context.Context) {
	if len(r.abandoned) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := r.store.ReleaseDeliveries(ctx, r.abandoned); err != nil {
		r.log.Warn("releasing claimed deliveries failed; the claims will expire",
			"deliveries", len(r.abandoned), "after", r.hold, "error", err)
		return
	}
	r.report.Released += len(r.abandoned)
}

// withGrace returns a context that ends gracePeriod after its parent ends, or after the timeout,
// whichever comes first, so that work in flight can finish. The caller must call the returned
// function.
func withGrace(ctx context.Context, timeout time.Duration) (context.Context, func()) {
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		if sleep(graceful, gracePeriod) {
			cancel()
		}
	})
	return graceful, func() {
		stop()
		cancel()
	}
}

// isFatal reports whether other deliveries would fail as well: the database is unavailable or the
// context is canceled.
func isFatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, store.ErrUnavailable)
}

const (
	// faultCompose is displayed if the service could not create a message.
	faultCompose = "The service could not create the message. Contact the operator; the server log has the error."
	// faultExpired is displayed if a message expired.
	faultExpired = "The message expired after three days, because the account was suspended or the service could not send messages."
)

// process tries one delivery and records the attempt. An error ends the round.
func (r *round) process(ctx context.Context, d store.DueDelivery) error {
	if ctx.Err() != nil {
		r.abandon(d)
		return nil
	}
	if why := r.unserved(d); why != "" {
		return r.record(ctx, store.Attempt{Due: d, At: r.currentTime(), State: cola.DeliverySkipped, Error: why})
	}
	if !r.fairness.acquire(ctx, d) {
		r.postpone(ctx, d)
		return nil
	}
	defer r.fairness.release(d)
	at := r.currentTime()
	if isExpired(d, at) {
		return r.record(ctx, store.Attempt{Due: d, At: at, State: cola.DeliveryFailed, Error: faultExpired})
	}
	res, err := r.attempt(ctx, d)
	switch {
	case errors.Is(err, store.ErrNotFound):
		r.abandon(d)
		return nil
	case err != nil, res.Fault != "" && res.Status == 0 && ctx.Err() != nil:
		// The attempt was interrupted, which doesn't count against the receiver. The receiver may
		// get the message again with the same ID.
		r.abandon(d)
		return err
	}
	a := attemptFor(d, at, r.currentTime().Sub(at), res, r.jitter())
	r.metrics.attempted(a)
	r.fairness.observe(a, res)
	return r.record(ctx, a)
}

// unserved returns why the server doesn't send a message, or "" if it does.
func (r *round) unserved(d store.DueDelivery) string {
	if r.rules == nil {
		return ""
	}
	return r.rules.Unserved(d.Kind, d.Destination.Address.V)
}

// postpone leaves a delivery claimed until its claim expires, or abandons it if the round is
// ending.
func (r *round) postpone(ctx context.Context, d store.DueDelivery) {
	if ctx.Err() != nil {
		r.abandon(d)
		return
	}
	r.count(func(report *DeliveryReport) { report.Postponed++ })
}

// attempt creates a message and sends it.
func (r *round) attempt(ctx context.Context, d store.DueDelivery) (Result, error) {
	ctx, end := withGrace(ctx, attemptTimeout)
	defer end()
	m := Message{DueDelivery: d}
	if d.Event == cola.EventRan {
		content, err := r.store.RunContent(ctx, d.Run)
		switch {
		case err == nil:
			m.Content = &content
		case errors.Is(err, store.ErrNotFound) || isFatal(ctx, err):
			return Result{}, fmt.Errorf("read the content of a run: %w", err)
		default:
			return r.composeFailed(d, err), nil
		}
	}
	return r.send(ctx, m), nil
}

// send sends a message. A panic fails only this message.
func (r *round) send(ctx context.Context, m Message) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = r.composeFailed(m.DueDelivery, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return r.senders[m.Kind].Send(ctx, m)
}

// composeFailed logs why a message could not be created, and returns the result.
func (r *round) composeFailed(d store.DueDelivery, err error) Result {
	r.log.Error("creating a message failed; retrying later",
		"account", d.Destination.Account, "delivery", d.ID, "event", d.Event, "kind", d.Kind, "error", err)
	return Result{Fault: faultCompose, OurFault: true}
}

// record records an attempt, even if the context is canceled. It retries while the database is
// unavailable, because an unrecorded message will be sent again. Recording is idempotent.
func (r *round) record(ctx context.Context, a store.Attempt) error {
	ctx, end := withGrace(ctx, recordTimeout)
	defer end()
	recorded, err := r.store.RecordAttempt(ctx, a)
	for errors.Is(err, store.ErrUnavailable) && sleep(ctx, recordInterval) {
		if retried, failed := r.store.RecordAttempt(ctx, a); ctx.Err() == nil || failed == nil {
			recorded, err = retried, failed
		}
	}
	switch {
	case err == nil && recorded:
		r.countRecorded(a)
		return nil
	case err == nil:
		r.count(func(report *DeliveryReport) { report.Missed++ })
		return nil
	}
	r.count(func(report *DeliveryReport) { report.Unrecorded++ })
	r.log.Error("recording a delivery failed; the message will be sent again with the same ID",
		"account", a.Due.Destination.Account, "delivery", a.Due.ID, "state", a.State, "after", r.hold, "error", err)
	if isFatal(ctx, err) {
		return fmt.Errorf("record an attempt: %w", err)
	}
	return nil
}

// countRecorded adds a recorded attempt to the report, and logs it if the delivery has failed.
func (r *round) countRecorded(a store.Attempt) {
	if a.State == cola.DeliveryFailed {
		r.log.Warn("delivery failed", "account", a.Due.Destination.Account, "delivery", a.Due.ID, "event", a.Due.Event,
			"kind", a.Due.Kind, "destination", a.Due.Destination.UUID, "attempts", a.Due.Attempts+1, "status", a.Status,
			"pause", a.Pause, "error", a.Error)
	}
	r.count(func(report *DeliveryReport) {
		switch a.State {
		case cola.DeliveryDelivered:
			report.Delivered++
		case cola.DeliveryPending:
			report.Retried++
		case cola.DeliverySkipped:
			report.Skipped++
		default:
			report.Failed++
		}
	})
}
