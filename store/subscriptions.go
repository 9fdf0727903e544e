package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// StripeEventRetention is how long the IDs of processed events are kept. Stripe retries an event
// for up to three days.
const StripeEventRetention = 30 * 24 * time.Hour

// Subscription is an account's Stripe customer with its subscription as last read from Stripe.
type Subscription struct {
	Account  cola.AccountID
	Customer string // Stripe's ID
	Version  int64  // number of times that the record was saved
	SubscriptionState
	ReadAt time.Time // when the record was last saved; zero if never
}

// SubscriptionState is the state of a subscription. It is zero if the customer never subscribed.
type SubscriptionState struct {
	ID     string // Stripe's ID
	Status string // Stripe's term, such as "active"
	Tier   cola.Tier
	// Granted is the tier that the subscription gives the account: Tier, or free if the subscription
	// has ended or is unpaid.
	Granted      cola.Tier
	PeriodEnd    time.Time // end of the paid period
	EndsAt       time.Time // zero unless the subscription is set to end or has ended
	PastDueSince time.Time // zero unless a payment has failed
}

// Live reports whether the subscription is being billed, that is, has not ended. It may be unpaid
// or set to end.
func (s SubscriptionState) Live() bool {
	switch s.Status {
	case "active", "trialing", "past_due", "unpaid", "paused":
		return true
	}
	return false
}

// Renews reports whether the subscription will be billed again, unless someone cancels it.
func (s SubscriptionState) Renews() bool { return s.Live() && s.EndsAt.IsZero() }

// Subscriptions stores the Stripe customers and subscriptions of accounts.
type Subscriptions interface {
	// AddCustomer records an account's customer, and returns the account's record. If the account
	// already has a customer, AddCustomer has no effect. It fails with ErrNotFound if the account
	// does not exist, and with ErrExists if another account has the customer.
	AddCustomer(ctx context.Context, account cola.AccountID, customer string) (Subscription, error)
	// RemoveCustomer removes a customer that was deleted in Stripe. If its subscription granted a
	// tier, the account returns to the free tier. RemoveCustomer fails with ErrStale like
	// SaveSubscription.
	RemoveCustomer(ctx context.Context, s Subscription) error
	// SubscriptionOf returns an account's record, or ErrNotFound.
	SubscriptionOf(ctx context.Context, account cola.AccountID) (Subscription, error)
	// SubscriptionByCustomer returns a customer's record, or ErrNotFound.
	SubscriptionByCustomer(ctx context.Context, customer string) (Subscription, error)
	// Subscriptions returns up to limit records for accounts with IDs above the given one, ordered
	// by account ID.
	Subscriptions(ctx context.Context, above cola.AccountID, limit int) ([]Subscription, error)
	// SaveSubscription replaces the state of a record and, if Granted differs from the stored value
	// and is not empty, sets the account's tier. It also records the ID of the event that caused
	// the change, unless the ID is empty. All this happens in one transaction.
	//
	// SaveSubscription fails with ErrStale if the record has been saved or removed since s was read.
	// The caller must then read the record and the subscription again, in that order, so that a
	// state never replaces one that was read from Stripe later.
	SaveSubscription(ctx context.Context, s Subscription, event string) error
	// EventProcessed reports whether SaveSubscription recorded an event.
	EventProcessed(ctx context.Context, event string) (bool, error)
}
