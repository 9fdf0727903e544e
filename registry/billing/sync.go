package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// maxAttempts limits how many times a sync is tried if concurrent syncs in other processes
// interfere. Within a process, syncs of a customer wait for each other.
const maxAttempts = 20

// syncLocks is the number of locks for syncs; each customer uses one of them.
const syncLocks = 64

// lock waits until no other sync of the account is running in this process. Stripe sends about ten
// events at once for a new subscription.
func (b *Billing) lock(ctx context.Context, account cola.AccountID) (unlock func(), err error) {
	slot := b.locks[uint64(account)%syncLocks]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// found is a Stripe subscription with the ID of its item.
type found struct {
	store.SubscriptionState
	item string
}

// errCustomerDeleted means that a customer was deleted in Stripe.
var errCustomerDeleted = errors.New("customer was deleted in Stripe")

// sync reads the subscription of an account's customer from Stripe and saves it. event is the ID of
// the event that caused it, or empty. sync fails with store.ErrNotFound if the account has no
// customer, or if the customer was deleted.
func (b *Billing) sync(ctx context.Context, account cola.AccountID, event string) (store.Subscription, found, error) {
	unlock, err := b.lock(ctx, account)
	if err != nil {
		return store.Subscription{}, found{}, err
	}
	defer unlock()
	for range maxAttempts {
		record, err := b.store.SubscriptionOf(ctx, account)
		if err != nil {
			return record, found{}, err
		}
		before := record
		state, err := b.read(ctx, record)
		switch {
		case errors.Is(err, errCustomerDeleted):
			if err = b.store.RemoveCustomer(ctx, record); err == nil {
				b.log.Warn("customer was deleted in Stripe", "account", int64(record.Account), "customer", record.Customer)
				return record, found{}, store.ErrNotFound
			}
		case err == nil:
			record.SubscriptionState = state.SubscriptionState
			if err = b.store.SaveSubscription(ctx, record, event); err == nil {
				b.logChange(before, record)
				record.Version++
				return record, state, nil
			}
		}
		if !errors.Is(err, store.ErrStale) {
			return record, found{}, err
		}
	}
	return store.Subscription{}, found{}, fmt.Errorf("sync subscription: %d concurrent changes", maxAttempts)
}

func (b *Billing) logChange(before, after store.Subscription) {
	if before.SubscriptionState == after.SubscriptionState {
		return
	}
	b.log.Info("subscription changed", "account", int64(after.Account), "customer", after.Customer, "subscription", after.ID,
		"status", after.Status, "plan", string(after.Tier), "tier", string(after.Granted), "previous_tier", string(before.Granted))
}

// read reads a customer's subscription from Stripe.
func (b *Billing) read(ctx context.Context, record store.Subscription) (found, error) {
	prices, err := b.catalog(ctx)
	if err != nil {
		return found{}, err
	}
	params := &stripe.SubscriptionListParams{Customer: stripe.String(record.Customer), Status: stripe.String("all")}
	params.Limit = stripe.Int64(100)
	var all []found
	var created []int64
	for sub, err := range b.stripe.V1Subscriptions.List(ctx, params).All(ctx) {
		if err != nil {
			return found{}, b.explainMissing(ctx, record.Customer, stripeError("list subscriptions", err))
		}
		if s, ok := prices.stateOf(sub); ok {
			all, created = append(all, s), append(created, sub.Created)
		}
	}
	if len(all) == 0 {
		if record.ID != "" { // keep what the customer pays for
			b.log.Error("subscription not found in Stripe, or its product has no price with a lookup key",
				"account", int64(record.Account), "customer", record.Customer, "subscription", record.ID)
		}
		return found{SubscriptionState: record.SubscriptionState}, nil
	}
	best := b.choose(record, all, created)
	if best.Status == string(stripe.SubscriptionStatusPastDue) || best.Status == string(stripe.SubscriptionStatusUnpaid) {
		best.PastDueSince = b.now().UTC().Truncate(time.Microsecond)
		if record.ID == best.ID && !record.PastDueSince.IsZero() {
			best.PastDueSince = record.PastDueSince
		}
	}
	best.Granted = b.grant(best.SubscriptionState, record.Granted)
	return best, nil
}

// choose returns the subscription that counts: preferably an active, trialing or past-due one, then
// any other that hasn't ended. Among several, it prefers the largest tier, then the newest. If all
// have ended, it returns the newest.
func (b *Billing) choose(record store.Subscription, all []found, created []int64) found {
	rank := func(s found) int {
		switch stripe.SubscriptionStatus(s.Status) {
		case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusTrialing, stripe.SubscriptionStatusPastDue:
			return 2
		case stripe.SubscriptionStatusCanceled:
			return 0
		}
		return 1
	}
	order := make([]int, len(all))
	live := 0
	for i, s := range all {
		order[i] = i
		if s.Live() {
			live++
		}
	}
	best := all[slices.MaxFunc(order, func(x, y int) int {
		byRank := cmp.Compare(rank(all[x]), rank(all[y]))
		if rank(all[x]) == 0 {
			return cmp.Or(byRank, cmp.Compare(created[x], created[y])) // an ended subscription's tier doesn't matter
		}
		return cmp.Or(byRank, cmp.Compare(all[x].Tier.MonthlyPrice(), all[y].Tier.MonthlyPrice()), cmp.Compare(created[x], created[y]))
	})]
	if live > 1 {
		b.log.Warn("customer has several open subscriptions; cancel all but one in Stripe",
			"account", int64(record.Account), "customer", record.Customer, "subscriptions", live)
	}
	return best
}

// stateOf returns the state of a subscription. ok is false if it doesn't count: its first payment
// is missing, or none of its products belongs to a tier.
func (c catalog) stateOf(sub *stripe.Subscription) (s found, ok bool) {
	switch sub.Status {
	case stripe.SubscriptionStatusIncomplete, stripe.SubscriptionStatusIncompleteExpired:
		return s, false
	}
	s.ID, s.Status = sub.ID, string(sub.Status)
	if sub.Items != nil {
		for _, item := range sub.Items.Data {
			if item.Price == nil || item.Price.Product == nil {
				continue
			}
			if t := c.products[item.Price.Product.ID]; t.MonthlyPrice() > s.Tier.MonthlyPrice() {
				s.Tier, s.item, s.PeriodEnd = t, item.ID, unixTime(item.CurrentPeriodEnd)
			}
		}
	}
	switch {
	case sub.EndedAt != 0:
		s.EndsAt = unixTime(sub.EndedAt)
	case sub.CancelAt != 0:
		s.EndsAt = unixTime(sub.CancelAt)
	case sub.CancelAtPeriodEnd:
		s.EndsAt = s.PeriodEnd
	}
	return s, s.Tier != ""
}

func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// grant returns the tier that a subscription gives its account. previous is the tier that it has
// given so far; a subscription with an unknown status keeps giving it.
func (b *Billing) grant(s store.SubscriptionState, previous cola.Tier) cola.Tier {
	switch stripe.SubscriptionStatus(s.Status) {
	case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusTrialing:
		return s.Tier
	case stripe.SubscriptionStatusPastDue:
		if b.now().Before(b.GraceEnd(s)) {
			return s.Tier
		}
		return cola.TierFree
	case stripe.SubscriptionStatusUnpaid, stripe.SubscriptionStatusCanceled, stripe.SubscriptionStatusPaused:
		return cola.TierFree
	}
	return previous
}

// explainMissing returns errCustomerDeleted if a request failed because its customer was deleted.
// It asks Stripe, because all customers seem to be missing if the API key is for the wrong mode.
func (b *Billing) explainMissing(ctx context.Context, customer string, err error) error {
	if e, ok := errors.AsType[*stripe.Error](err); !ok || e.Code != stripe.ErrorCodeResourceMissing {
		return err
	}
	if c, retrieveErr := b.stripe.V1Customers.Retrieve(ctx, customer, nil); retrieveErr == nil && c.Deleted {
		return errCustomerDeleted
	}
	return err
}
