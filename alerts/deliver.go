package alerts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
