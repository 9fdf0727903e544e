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

// Deliver sends every message that is due at an instant, some at the same time, and returns when none is left that nobody else has
// claimed. A message that cannot be sent keeps none of the others from it. On an error, as that the database cannot be reached or the
// context has ended, it returns within seconds: messages on their way are waited for as long, what came of them is noted, and the
// others that are claimed are let go; the report tells what was done before. To deliver again is always right.
func (c *Courier) Deliver(ctx context.Context, now time.Time) (DeliveryReport, error) {
	some, err := c.due(ctx, now)
	if err != nil || !some {
		return DeliveryReport{}, err
	}
	begun := c.now()
	r := &round{Courier: c, now: now.UTC(), begun: begun}
	err = r.deliver(ctx)
	r.release(ctx)
	if err == nil {
		_, err = c.due(ctx, r.instant()) // what is left, to be measured
	}
	if r.report.any() {
		c.log.Info("messages sent", "delivered", r.report.Delivered, "retried", r.report.Retried, "failed", r.report.Failed, "missed", r.report.Missed,
			"unnoted", r.report.Unnoted, "put_off", r.report.PutOff, "released", r.report.Released, "took", c.now().Sub(begun).Round(time.Millisecond))
	}
	return r.report, err
}

// due reports whether anything is due at an instant, which costs the database next to nothing.
func (c *Courier) due(ctx context.Context, now time.Time) (bool, error) {
	oldest, err := c.store.OldestPending(ctx, c.kinds)
	if err != nil {
		return false, fmt.Errorf("ask what is due to be sent: %w", err)
	}
	c.metrics.oldest(oldest)
	return !oldest.IsZero() && !oldest.After(now), nil
}

// round is a courier at work on what is due at one instant.
type round struct {
	*Courier
	now, begun time.Time // as of which it delivers; when it began on the courier's clock

	mu     sync.Mutex
	report DeliveryReport
	left   []store.DueDelivery // claimed and not tried
}

// instant returns the instant that it is: the one that the round was begun as of, and the time since.
func (r *round) instant() time.Time { return r.now.Add(r.Courier.now().Sub(r.begun)) }

// count notes something in the report.
func (r *round) count(add func(*DeliveryReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add(&r.report)
}

// leave notes that a claimed delivery will not be tried.
func (r *round) leave(claimed ...store.DueDelivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, claimed...)
}

// deliver has what is due tried until nothing is left. It returns when all that it has begun is settled.
func (r *round) deliver(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan store.DueDelivery)
	var senders sync.WaitGroup
	for range sendersAtOnce {
		senders.Go(func() {
			for d := range work {
				if err := r.settle(ctx, d); err != nil {
					stop(err)
				}
			}
		})
	}
	err := r.handOut(ctx, work)
	close(work)
	senders.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// handOut claims what is due and gives it to whoever is free, until no more is due or the context ends.
func (r *round) handOut(ctx context.Context, work chan<- store.DueDelivery) error {
	for {
		kinds := r.crowd.quick(r.kinds)
		if len(kinds) == 0 {
			return nil
		}
		claimed, err := r.store.ClaimDeliveries(ctx, r.now, kinds, sendersAtOnce, r.hold)
		if err != nil {
			return fmt.Errorf("claim deliveries: %w", err)
		}
		for i := range claimed {
			select {
			case work <- claimed[i]:
			case <-ctx.Done():
				r.leave(claimed[i:]...)
				return context.Cause(ctx)
			}
		}
		if len(claimed) < sendersAtOnce {
			return nil
		}
	}
}

// release lets go of what was claimed and not tried, also when the context has ended. What cannot be let go is free when its hold has
// passed.
func (r *round) release(ctx context.Context) {
	if len(r.left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	if err := r.store.ReleaseDeliveries(ctx, r.left); err != nil {
		r.log.Warn("claimed deliveries not let go; they are free when their hold has passed", "deliveries", len(r.left), "after", r.hold, "error", err)
		return
	}
	r.report.Released += len(r.left)
}

// lasting returns a context that ends after a time, and when its parent ends a moment later than that: what is on its way is not cut off at
// once. It must be ended.
func lasting(ctx context.Context, within time.Duration) (context.Context, func()) {
	lasts, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	stop := context.AfterFunc(ctx, func() {
		if rest(lasts, graceWithin) {
			cancel()
		}
	})
	return lasts, func() {
		stop()
		cancel()
	}
}

// stops reports whether an error is one of the database as a whole, or of time: the others would fail as well.
func stops(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, store.ErrUnavailable)
}

const (
	// faultUnmade is what the account holder reads of a message that the program cannot make.
	faultUnmade = "The message could not be made. This is a fault of the service, which its operator has been told of."
	// faultTooOld is what the account holder reads of a message that nobody got to.
	faultTooOld = "It could not be sent within three days of its time: nothing of its kind was, or the account was suspended."
)

// settle tries one delivery and has noted what came of it. An error means that the round has to end.
func (r *round) settle(ctx context.Context, d store.DueDelivery) error {
	if ctx.Err() != nil {
		r.leave(d)
		return nil
	}
	if !r.crowd.enter(ctx, d) {
		r.putOff(ctx, d)
		return nil
	}
	defer r.crowd.leave(d)
	at := r.instant()
	if tooOld(d, at) {
		return r.note(ctx, store.Attempt{Due: d, At: at, State: cola.DeliveryFailed, Error: faultTooOld})
	}
	sent, err := r.try(ctx, d)
	switch {
	case errors.Is(err, store.ErrNotFound):
		r.leave(d)
		return nil
	case err != nil, sent.Fault != "" && sent.Status == 0 && ctx.Err() != nil:
		// The receiver is not to blame for what was cut off. It may have the message, and gets it again with the same id.
		r.leave(d)
		return err
	}
	a := judge(d, at, r.instant().Sub(at), sent, r.jitter())
	r.metrics.tried(a)
	r.crowd.noteAttempt(a, sent)
	return r.note(ctx, a)
}

// putOff leaves a claimed delivery for later: it keeps its hold, unless the round is to end.
func (r *round) putOff(ctx context.Context, d store.DueDelivery) {
	if ctx.Err() != nil {
		r.leave(d)
		return
	}
	r.count(func(to *DeliveryReport) { to.PutOff++ })
}

// try makes a message and sends it.
func (r *round) try(ctx context.Context, d store.DueDelivery) (Sent, error) {
	ctx, end := lasting(ctx, tryWithin)
	defer end()
	m := Message{DueDelivery: d}
	if d.Event == cola.EventRan {
		content, err := r.store.RunContent(ctx, d.Run)
		switch {
		case err == nil:
			m.Content = &content
		case errors.Is(err, store.ErrNotFound) || stops(ctx, err):
			return Sent{}, fmt.Errorf("read what a run found: %w", err)
		default:
			return r.unmade(d, err), nil
		}
	}
	return r.send(ctx, m), nil
}

// send sends a message. One that makes the program panic must not keep the others from being sent.
func (r *round) send(ctx context.Context, m Message) (sent Sent) {
	defer func() {
		if p := recover(); p != nil {
			sent = r.unmade(m.DueDelivery, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return r.senders[m.Kind].Send(ctx, m)
}

// unmade logs why a message cannot be made.
func (r *round) unmade(d store.DueDelivery, err error) Sent {
	r.log.Error("message cannot be made; it is tried again", "account", d.Destination.Account, "delivery", d.ID, "event", d.Event, "kind", d.Kind, "error", err)
	return Sent{Fault: faultUnmade, Ours: true}
}

// note has an attempt noted, also when the context has ended, and goes on trying while the database is away for a moment: what is not
// noted is sent again. An attempt is noted once, however often that is asked for.
func (r *round) note(ctx context.Context, a store.Attempt) error {
	ctx, end := lasting(ctx, recordWithin)
	defer end()
	recorded, err := r.store.RecordAttempt(ctx, a)
	for errors.Is(err, store.ErrUnavailable) && rest(ctx, recordEvery) {
		if again, failed := r.store.RecordAttempt(ctx, a); ctx.Err() == nil || failed == nil {
			recorded, err = again, failed
		}
	}
	switch {
	case err == nil && recorded:
		r.noted(a)
		return nil
	case err == nil:
		r.count(func(to *DeliveryReport) { to.Missed++ })
		return nil
	}
	r.count(func(to *DeliveryReport) { to.Unnoted++ })
	r.log.Error("what came of a message could not be noted; it is sent again, with the same id", "account", a.Due.Destination.Account, "delivery", a.Due.ID, "state", a.State,
		"after", r.hold, "error", err)
	if stops(ctx, err) {
		return fmt.Errorf("note an attempt: %w", err)
	}
	return nil
}

// noted counts an attempt.
func (r *round) noted(a store.Attempt) {
	if a.State == cola.DeliveryFailed {
		r.log.Warn("message given up", "account", a.Due.Destination.Account, "delivery", a.Due.ID, "event", a.Due.Event, "kind", a.Due.Kind,
			"destination", a.Due.Destination.UUID, "attempts", a.Due.Attempts+1, "status", a.Status, "pause", a.Pause, "error", a.Error)
	}
	r.count(func(to *DeliveryReport) {
		switch a.State {
		case cola.DeliveryDelivered:
			to.Delivered++
		case cola.DeliveryPending:
			to.Retried++
		default:
			to.Failed++
		}
	})
}
