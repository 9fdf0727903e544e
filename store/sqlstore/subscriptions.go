package sqlstore

import (
	"context"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	subscriptionNames = `account_id, customer_id, version, subscription_id, status, tier, granted, period_end, ends_at, ` +
		`past_due_since, read_at`
	// selectSubscriptions skips accounts that are being deleted.
	selectSubscriptions = `SELECT ` + subscriptionNames + ` FROM subscriptions
		WHERE EXISTS (SELECT 1 FROM accounts a WHERE a.id = account_id AND a.deleted_at IS NULL)`
	subscriptionOf         = selectSubscriptions + ` AND account_id = $1`
	subscriptionByCustomer = selectSubscriptions + ` AND customer_id = $1`
	subscriptionsAbove     = selectSubscriptions + ` AND account_id > $1 ORDER BY account_id LIMIT $2`
	insertCustomer         = `INSERT INTO subscriptions (account_id, customer_id) VALUES ($1, $2) ON CONFLICT (account_id) DO NOTHING`
	deleteCustomer         = `DELETE FROM subscriptions WHERE account_id = $1 AND customer_id = $2 AND version = $3`
	lockSubscription       = `SELECT coalesce(granted, '') FROM subscriptions WHERE account_id = $1 AND customer_id = $2 AND version = $3 FOR UPDATE`
	saveSubscription       = `UPDATE subscriptions SET version = version + 1, subscription_id = $2, status = $3, tier = $4,
		granted = $5, period_end = $6, ends_at = $7, past_due_since = $8, read_at = $9 WHERE account_id = $1`
	insertEvent    = `INSERT INTO stripe_events (id, processed_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`
	eventProcessed = `SELECT EXISTS (SELECT 1 FROM stripe_events WHERE id = $1)`
)

// subscriptionFields returns the fields for subscriptionNames.
func subscriptionFields(s *store.Subscription) []any {
	return append([]any{&s.Account, &s.Customer, &s.Version}, append(stateFields(&s.SubscriptionState), &s.ReadAt)...)
}

func stateFields(s *store.SubscriptionState) []any {
	return []any{
		orNull(&s.ID), orNull(&s.Status), orNull(&s.Tier), orNull(&s.Granted), &s.PeriodEnd, &s.EndsAt, &s.PastDueSince,
	}
}

// subscriptionColumns returns the scan targets for subscriptionNames.
func subscriptionColumns(s *store.Subscription) []any { return into(subscriptionFields(s)) }

// AddCustomer implements store.Subscriptions.
func (s *Store) AddCustomer(
	ctx context.Context, account cola.AccountID, customer string,
) (record store.Subscription, err error) {
	err = s.db.Transact(ctx, "add Stripe customer", func(ctx context.Context, tx Tx) error {
		if err := lockAccountRow(ctx, tx, account); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, insertCustomer, int64(account), customer)
		if s.db.IsDuplicate(err) {
			return store.ErrExists
		}
		if err != nil {
			return err
		}
		record, err = one(ctx, tx, subscriptionColumns, subscriptionOf, int64(account))
		return err
	})
	return record, err
}

// RemoveCustomer implements store.Subscriptions.
func (s *Store) RemoveCustomer(ctx context.Context, r store.Subscription) error {
	return s.changeSubscription(ctx, "remove Stripe customer", r, func(ctx context.Context, tx Tx, granted cola.Tier) error {
		_, err := tx.Exec(ctx, deleteCustomer, int64(r.Account), r.Customer, r.Version)
		if err != nil || granted == "" || granted == cola.TierFree {
			return err
		}
		return execOne(ctx, tx, setTier, int64(r.Account), string(cola.TierFree))
	})
}

// SubscriptionOf implements store.Subscriptions.
func (s *Store) SubscriptionOf(ctx context.Context, account cola.AccountID) (store.Subscription, error) {
	return readOne(ctx, s, "find subscription", subscriptionColumns, subscriptionOf, int64(account))
}

// SubscriptionByCustomer implements store.Subscriptions.
func (s *Store) SubscriptionByCustomer(ctx context.Context, customer string) (store.Subscription, error) {
	return readOne(ctx, s, "find subscription", subscriptionColumns, subscriptionByCustomer, customer)
}

// Subscriptions implements store.Subscriptions.
func (s *Store) Subscriptions(ctx context.Context, above cola.AccountID, limit int) ([]store.Subscription, error) {
	return readList(ctx, s, "list subscriptions", subscriptionColumns, subscriptionsAbove, int64(above), limit)
}

// SaveSubscription implements store.Subscriptions.
func (s *Store) SaveSubscription(ctx context.Context, r store.Subscription, event string) error {
	return s.changeSubscription(ctx, "save subscription", r, func(ctx context.Context, tx Tx, granted cola.Tier) error {
		now, err := s.currentTime(ctx, tx)
		if err != nil {
			return err
		}
		args := append([]any{int64(r.Account)}, append(stateFields(&r.SubscriptionState), now)...)
		if err := execOne(ctx, tx, saveSubscription, arguments(args)...); err != nil {
			return err
		}
		if r.Granted != granted && r.Granted != "" {
			if err := execOne(ctx, tx, setTier, int64(r.Account), string(r.Granted)); err != nil {
				return err
			}
		}
		if event == "" {
			return nil
		}
		if err := s.deleteSomeExpired(ctx, tx, oldStripeEvents); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, insertEvent, event, now)
		return err
	})
}

// changeSubscription changes a record and its account in one transaction, or fails with ErrStale if
// the record has changed since it was read. granted is the stored tier that the record grants.
func (s *Store) changeSubscription(ctx context.Context, operation string, r store.Subscription,
	change func(ctx context.Context, tx Tx, granted cola.Tier) error,
) error {
	return s.db.Transact(ctx, operation, func(ctx context.Context, tx Tx) error {
		err := lockAccountRow(ctx, tx, r.Account) // before the record, as in AddCustomer
		if err == nil {
			var granted cola.Tier
			granted, err = value[cola.Tier](ctx, tx, lockSubscription, int64(r.Account), r.Customer, r.Version)
			if err == nil {
				return change(ctx, tx, granted)
			}
		}
		if errors.Is(err, store.ErrNotFound) {
			return store.ErrStale
		}
		return err
	})
}

// EventProcessed implements store.Subscriptions.
func (s *Store) EventProcessed(ctx context.Context, event string) (bool, error) {
	return readOne(ctx, s, "find Stripe event", column[bool], eventProcessed, event)
}
