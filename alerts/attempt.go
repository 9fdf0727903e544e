package alerts

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

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
