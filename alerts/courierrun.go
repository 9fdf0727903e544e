package alerts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// deliverEvery is how often a courier looks for what is due: a retry may be due after some seconds.
	deliverEvery = 5 * time.Second
	// deliveriesKept is for how long deliveries are kept.
	deliveriesKept = 90 * 24 * time.Hour
	// forgetEvery is how often older ones are forgotten.
	forgetEvery = time.Hour
)

// Run delivers every few seconds until the context ends, which ends the round under way too, and forgets deliveries that are older than
// 90 days. A round that fails is logged, once until they succeed again, and followed by the next one.
func (c *Courier) Run(ctx context.Context) {
	failing := false
	var forgot time.Time
	for wait := rand.N(deliverEvery); rest(ctx, wait); wait = deliverEvery {
		now := c.now()
		_, err := c.Deliver(ctx, now)
		if err == nil && now.Sub(forgot) >= forgetEvery {
			forgot, err = now, c.forget(ctx, now)
		}
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			c.log.Error("messages cannot be delivered; they are tried again all the time, and none is left out", "error", err)
		case err == nil && failing:
			c.log.Info("messages are delivered again")
		}
		failing = err != nil
	}
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
