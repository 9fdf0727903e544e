package alerts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// deliverEvery is how often a courier looks for what is due: a retry may be due after some seconds.
	deliverEvery = 5 * time.Second
	// roundsAtOnce is how many rounds may be under way at once.
	roundsAtOnce = 4
	// deliveriesKept is for how long deliveries are kept.
	deliveriesKept = 90 * 24 * time.Hour
	// forgetEvery is how often older ones are forgotten.
	forgetEvery = time.Hour
)

// Run delivers every few seconds until the context ends, which ends the rounds under way too, and forgets deliveries that are older than
// 90 days. A round does not wait for the one before it, which may have slow receivers to wait for. A round that fails is logged, once until they succeed
// again, and followed by the next one.
func (c *Courier) Run(ctx context.Context) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	places := make(chan struct{}, roundsAtOnce)
	for wait := rand.N(deliverEvery); rest(ctx, wait); wait = deliverEvery {
		select {
		case places <- struct{}{}:
		default:
			continue
		}
		now := c.now()
		rounds.Go(func() {
			defer func() { <-places }()
			_, err := c.Deliver(ctx, now)
			if err == nil && c.toForget(now) {
				err = c.forget(ctx, now)
			}
			if ctx.Err() == nil {
				c.tell(err)
			}
		})
	}
}

// tell logs that rounds fail, or that they do no more.
func (c *Courier) tell(err error) {
	switch {
	case err != nil && c.failing.CompareAndSwap(false, true):
		c.log.Error("messages cannot be delivered; they are tried again all the time, and none is left out", "error", err)
	case err == nil && c.failing.CompareAndSwap(true, false):
		c.log.Info("messages are delivered again")
	}
}

// toForget reports whether it is time to forget, to one round.
func (c *Courier) toForget(now time.Time) bool {
	last := c.forgot.Load()
	return now.UnixNano()-last >= int64(forgetEvery) && c.forgot.CompareAndSwap(last, now.UnixNano())
}

// forget forgets deliveries that are too old.
func (c *Courier) forget(ctx context.Context, now time.Time) error {
	for all := 0; ; {
		n, err := c.store.ForgetDeliveries(ctx, now.Add(-deliveriesKept))
		if err != nil {
			return fmt.Errorf("forget old deliveries: %w", err)
		}
		if all += n; n > 0 {
			continue
		}
		if all > 0 {
			c.log.Info("old deliveries forgotten", "deliveries", all)
		}
		return nil
	}
}
