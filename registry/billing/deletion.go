package billing

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// PrepareDeletion expires an account's open Checkout pages, and then syncs its subscription, so
// that the record includes any payments made on them.
func (b *Billing) PrepareDeletion(ctx context.Context, account cola.AccountID) error {
	record, err := b.store.SubscriptionOf(ctx, account)
	if err == nil {
		_, _, err = b.expireSessions(ctx, record.Customer, "")
		err = b.explainMissing(ctx, record.Customer, err)
	}
	if err == nil || errors.Is(err, errCustomerDeleted) {
		_, _, err = b.sync(ctx, account, "")
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// End deletes the customer of an account that is being deleted. Stripe then ends all subscriptions
// immediately, including those that were started or resumed after the deletion was requested, and
// removes the email address. End has no effect if the account has no customer, or if the customer
// has already been deleted.
func (b *Billing) End(ctx context.Context, account cola.AccountID) error {
	record, err := b.store.SubscriptionOf(ctx, account)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = b.stripe.V1Customers.Delete(ctx, record.Customer, nil); err == nil {
		b.log.Info("Stripe customer deleted along with the account", "account", int64(account), "customer", record.Customer)
		return nil
	}
	err = b.explainMissing(ctx, record.Customer, stripeError("delete customer", err))
	if errors.Is(err, errCustomerDeleted) {
		return nil
	}
	return err
}
