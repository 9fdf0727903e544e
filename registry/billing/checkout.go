package billing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Paths of the pages to which Stripe returns customers.
const (
	plansPath  = "/plans"
	returnPath = "/plans/return"
)

// refreshInterval is the minimum time between two syncs for the return page.
const refreshInterval = 2 * time.Second

// returnURL returns the URL of the page that waits until an account has a tier.
func (b *Billing) returnURL(t cola.Tier) string {
	if t == "" {
		return b.opts.PublicURL + returnPath
	}
	return b.opts.PublicURL + returnPath + "?plan=" + string(t)
}

// ChangePlan returns the URL of the Stripe page where an account switches to a tier: the customer
// portal if the account has a subscription, Checkout otherwise. If an account without a
// subscription switches to the free tier, ChangePlan returns the URL of the plans page.
func (b *Billing) ChangePlan(ctx context.Context, account cola.AccountID, t cola.Tier) (address string, err error) {
	prices, err := b.catalog(ctx)
	if err != nil {
		return "", err
	}
	record, sub, err := b.sync(ctx, account, "")
	missing := errors.Is(err, store.ErrNotFound)
	switch {
	case err != nil && !missing:
		return "", err
	case err == nil && record.Live():
		return b.openPortal(ctx, record, b.changeFlow(record, sub.item, t, prices.prices[t]), b.opts.PublicURL+plansPath)
	case t.MonthlyPrice() == 0:
		return b.opts.PublicURL + plansPath, nil
	case missing:
		if record, err = b.addCustomer(ctx, account); err != nil {
			return "", err
		}
	}
	return b.checkOut(ctx, record, t, prices.prices[t])
}

// maxReplacements limits how many deleted customers of an account are replaced while Stripe
// remembers idempotency keys.
const maxReplacements = 10

// addCustomer creates an account's customer. Stripe repeats its response if the process ended
// before the customer was stored, but also if the customer has been deleted since. A deleted
// customer's ID becomes part of the next idempotency key, so that processes agree on the
// replacement.
func (b *Billing) addCustomer(ctx context.Context, id cola.AccountID) (store.Subscription, error) {
	account, err := b.store.Account(ctx, id)
	if err != nil {
		return store.Subscription{}, err
	}
	params := &stripe.CustomerCreateParams{Metadata: b.metadata(id)}
	if !store.IsIdentityName(account.Email) {
		params.Email = stripe.String(account.Email)
	}
	deleted := ""
	for range maxReplacements {
		params.SetIdempotencyKey(b.idempotencyKey("customer", id, account.Email, deleted))
		created, err := b.stripe.V1Customers.Create(ctx, params)
		if err != nil {
			return store.Subscription{}, stripeError("create customer", err)
		}
		current, err := b.stripe.V1Customers.Retrieve(ctx, created.ID, nil)
		if err != nil {
			return store.Subscription{}, stripeError("read customer", err)
		}
		if !current.Deleted {
			return b.store.AddCustomer(ctx, id, created.ID)
		}
		deleted = created.ID
	}
	return store.Subscription{}, fmt.Errorf("create customer: %d were deleted in Stripe today", maxReplacements)
}

// metadata returns the metadata that lets an operator find an account in Stripe's dashboard.
func (b *Billing) metadata(account cola.AccountID) map[string]string {
	return map[string]string{"account": accountText(account), "database": b.store.ID()}
}

func accountText(id cola.AccountID) string { return strconv.FormatInt(int64(id), 10) }

// idempotencyKey returns a key that is the same for the same values. Databases may share a Stripe
// account, so it depends on the database.
func (b *Billing) idempotencyKey(operation string, account cola.AccountID, values ...string) string {
	parts := append([]string{b.store.ID(), b.opts.PublicURL, accountText(account)}, values...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return operation + "-" + hex.EncodeToString(sum[:16])
}

// checkOut returns the address of a Checkout session for a price. It reuses an open session for the
// price and expires others, so that a customer with several tabs can't subscribe twice.
func (b *Billing) checkOut(ctx context.Context, record store.Subscription, t cola.Tier, price string) (string, error) {
	latest, reused, err := b.expireSessions(ctx, record.Customer, price)
	if err != nil || reused != "" {
		return reused, err
	}
	metadata := b.metadata(record.Account)
	metadata["price"] = price
	params := &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String(string(stripe.CheckoutSessionModeSubscription)), Customer: stripe.String(record.Customer),
		ClientReferenceID: stripe.String(accountText(record.Account)), Metadata: metadata,
		LineItems:           []*stripe.CheckoutSessionCreateLineItemParams{{Price: stripe.String(price), Quantity: stripe.Int64(1)}},
		SubscriptionData:    &stripe.CheckoutSessionCreateSubscriptionDataParams{Metadata: b.metadata(record.Account)},
		AllowPromotionCodes: stripe.Bool(true),
		SuccessURL:          stripe.String(b.returnURL(t)), CancelURL: stripe.String(b.opts.PublicURL + plansPath),
	}
	params.SetIdempotencyKey(b.idempotencyKey("checkout", record.Account, record.Customer, price, latest))
	session, err := b.stripe.V1CheckoutSessions.Create(ctx, params)
	if err != nil {
		return "", stripeError("create checkout session", err)
	}
	return session.URL, nil
}

// expireSessions expires the open Checkout sessions of a customer, except the newest one for the
// price keep. If keep is empty, it expires all of them. It returns the ID of the customer's latest
// session, and the URL of the session that it kept.
func (b *Billing) expireSessions(ctx context.Context, customer, keep string) (latest, kept string, err error) {
	list := &stripe.CheckoutSessionListParams{Customer: stripe.String(customer)}
	list.Limit = stripe.Int64(20)
	sessions := b.stripe.V1CheckoutSessions.List(ctx, list)
	if err := sessions.Err(); err != nil {
		return "", "", stripeError("list checkout sessions", err)
	}
	for _, s := range sessions.Data() { // newest first
		latest = cmp.Or(latest, s.ID)
		switch {
		case s.Status != stripe.CheckoutSessionStatusOpen:
		case keep != "" && kept == "" && s.Metadata["price"] == keep && s.URL != "":
			kept = s.URL
		default:
			if _, err := b.stripe.V1CheckoutSessions.Expire(ctx, s.ID, nil); err != nil && !isRejected(err) { // it may have ended
				return "", "", stripeError("expire checkout session", err)
			}
		}
	}
	return latest, kept, nil
}

// changeFlow returns the page of the customer portal that changes a subscription to a tier, or nil
// for the portal's first page. The customer must pay open invoices there before changing the plan.
func (b *Billing) changeFlow(
	record store.Subscription, item string, t cola.Tier, price string,
) *stripe.BillingPortalSessionCreateFlowDataParams {
	flow := &stripe.BillingPortalSessionCreateFlowDataParams{
		AfterCompletion: &stripe.BillingPortalSessionCreateFlowDataAfterCompletionParams{
			Type:     stripe.String("redirect"),
			Redirect: &stripe.BillingPortalSessionCreateFlowDataAfterCompletionRedirectParams{ReturnURL: stripe.String(b.returnURL(t))},
		},
	}
	switch {
	case !record.EndsAt.IsZero() || !record.PastDueSince.IsZero() || t == record.Tier || item == "":
		return nil
	case t == cola.TierFree:
		flow.Type = stripe.String("subscription_cancel")
		flow.SubscriptionCancel = &stripe.BillingPortalSessionCreateFlowDataSubscriptionCancelParams{
			Subscription: stripe.String(record.ID),
		}
	default:
		flow.Type = stripe.String("subscription_update_confirm")
		flow.SubscriptionUpdateConfirm = &stripe.BillingPortalSessionCreateFlowDataSubscriptionUpdateConfirmParams{
			Subscription: stripe.String(record.ID),
			Items: []*stripe.BillingPortalSessionCreateFlowDataSubscriptionUpdateConfirmItemParams{
				{ID: stripe.String(item), Price: stripe.String(price), Quantity: stripe.Int64(1)},
			},
		}
	}
	return flow
}

// openPortal returns the address of a customer portal session. If the portal's settings don't allow
// the flow, it opens the portal's first page.
func (b *Billing) openPortal(ctx context.Context, record store.Subscription,
	flow *stripe.BillingPortalSessionCreateFlowDataParams, backURL string,
) (string, error) {
	params := &stripe.BillingPortalSessionCreateParams{
		Customer: stripe.String(record.Customer), ReturnURL: stripe.String(backURL), FlowData: flow,
	}
	session, err := b.stripe.V1BillingPortalSessions.Create(ctx, params)
	if err != nil && flow != nil && isRejected(err) {
		b.log.Warn("the customer portal doesn't offer this change; check its settings in Stripe", "flow", *flow.Type,
			"error", stripeError("create portal session", err))
		params.FlowData, params.ReturnURL = nil, stripe.String(b.returnURL(""))
		session, err = b.stripe.V1BillingPortalSessions.Create(ctx, params)
	}
	if err != nil {
		return "", stripeError("create portal session", err)
	}
	return session.URL, nil
}

// Portal returns the address of the customer portal for an account, where its holder changes the
// payment method, downloads invoices, or cancels. It fails with store.ErrNotFound if the account
// has no customer.
func (b *Billing) Portal(ctx context.Context, account cola.AccountID) (string, error) {
	record, err := b.store.SubscriptionOf(ctx, account)
	if err != nil {
		return "", err
	}
	return b.openPortal(ctx, record, nil, b.returnURL(""))
}

// Refresh syncs an account, unless it was synced within the last two seconds, and returns its
// record.
func (b *Billing) Refresh(ctx context.Context, account cola.AccountID) (store.Subscription, error) {
	record, err := b.store.SubscriptionOf(ctx, account)
	if err != nil {
		return record, err
	}
	if age := b.now().Sub(record.ReadAt); age >= 0 && age < refreshInterval {
		return record, nil
	}
	record, _, err = b.sync(ctx, account, "")
	return record, err
}
