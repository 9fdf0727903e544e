package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	passInterval  = 5 * time.Minute
	maxStartDelay = 30 * time.Second
	// liveAge and endedAge are the ages at which a record is synced without an event.
	liveAge  = time.Hour
	endedAge = 24 * time.Hour
	// pace is the pause between syncs. Stripe allows 25 requests a second in test mode, and 100 in
	// live mode, for all of the operator's programs.
	pace = 200 * time.Millisecond
	// recordsPerRead is how many records a pass reads at once.
	recordsPerRead = 500
)

// Run syncs due records until the context ends. Processes share the work: a record that another
// process has synced is not due. Run logs only the first of consecutive failures.
func (b *Billing) Run(ctx context.Context) {
	failing := false
	for wait := rand.N(maxStartDelay); sleep(ctx, wait); wait = passInterval {
		err := b.Reconcile(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			b.log.Error("reading subscriptions from Stripe failed; retrying every five minutes", "error", err)
		case err == nil && failing:
			b.log.Info("reading subscriptions from Stripe is working again")
		}
		failing = err != nil
	}
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Reconcile syncs the records that are due: those of open subscriptions once an hour, others once a
// day, and those whose grace period has ended. It stops at the first failure, unless Stripe rejects
// the request for a single customer.
func (b *Billing) Reconcile(ctx context.Context) error {
	var rejected int
	var first error
	for above := cola.AccountID(0); ; {
		records, err := b.store.Subscriptions(ctx, above, recordsPerRead)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			above = r.Account
			if !b.isDue(r) {
				continue
			}
			_, _, err := b.sync(ctx, r.Account, "")
			switch {
			case isRejected(err):
				rejected++
				first = cmp.Or(first, fmt.Errorf("customer %s: %w", r.Customer, err))
			case err != nil && !errors.Is(err, store.ErrNotFound):
				return err
			}
			if !sleep(ctx, pace) {
				return ctx.Err()
			}
		}
	}
	if rejected > 0 {
		return fmt.Errorf("%d customers rejected, the first: %w", rejected, first)
	}
	return nil
}

// isDue reports whether Reconcile syncs a record.
func (b *Billing) isDue(r store.Subscription) bool {
	now := b.now()
	if end := b.GraceEnd(r.SubscriptionState); !end.IsZero() && !now.Before(end) && r.Granted == r.Tier {
		return true
	}
	age := endedAge
	if r.Live() {
		age = liveAge
	}
	return now.Sub(r.ReadAt) >= age
}
