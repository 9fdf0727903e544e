// Package billing sells plans through Stripe. A plan's price has the lookup key TIER_monthly, such
// as starter_monthly. Customers subscribe on Stripe's Checkout pages, and change or cancel their
// subscription in Stripe's customer portal.
//
// # How a tier is set
//
// An event from Stripe only says that something about a customer changed. Events can arrive late,
// twice or out of order, so their content is never used. Instead, a sync
//
//  1. reads the customer's record from the database, with its version,
//  2. reads the customer's subscriptions from Stripe,
//  3. writes the subscription, the account's tier and the event's ID in one transaction, which
//     fails if the version has changed; the sync then starts over.
//
// So the latest read always wins, without a lock shared by the processes. If a step fails, nothing
// is written, the response is an error, and Stripe sends the event again.
//
// A sync also runs when a customer returns from Stripe's pages, and periodically for all customers
// (see Run), which repairs the effects of missed events and ends grace periods.
package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/stripe/stripe-go/v85"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// callTimeout is the time limit for a request to Stripe. Stripe waits 20 seconds for the
	// response to an event, and a sync takes one or two requests.
	callTimeout = 6 * time.Second
	// catalogAge is how long prices are cached.
	catalogAge = 5 * time.Minute
)

// Store contains the database operations that billing uses.
type Store interface {
	store.Subscriptions
	ID() string
	Account(ctx context.Context, id cola.AccountID) (store.Account, error)
}

// Options configures Billing. APIURL and Metrics are optional.
type Options struct {
	Store         Store
	SecretKey     string // Stripe API key
	WebhookSecret string // signs events
	APIURL        string // default: Stripe's
	PublicURL     string // scheme and host of the service, without a trailing slash
	Grace         time.Duration
	Now           cola.Clock
	Logger        *slog.Logger
	Metrics       prometheus.Registerer
}

// Billing sells plans. It is safe for concurrent use.
type Billing struct {
	opts   Options
	store  Store
	stripe *stripe.Client
	now    cola.Clock
	log    *slog.Logger
	events *prometheus.CounterVec // by outcome
	locks  [syncLocks]chan struct{}

	mu     sync.Mutex
	prices catalog
}

// New returns a Billing. It makes no requests.
func New(o Options) *Billing {
	b := &Billing{opts: o, store: o.Store, now: o.Now, log: o.Logger}
	for i := range b.locks {
		b.locks[i] = make(chan struct{}, 1)
	}
	config := &stripe.BackendConfig{
		HTTPClient:        &http.Client{Timeout: callTimeout},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull}, // errors are returned
		MaxNetworkRetries: stripe.Int64(0),                                // Stripe and Run retry
		EnableTelemetry:   stripe.Bool(false),
	}
	if o.APIURL != "" {
		config.URL = stripe.String(strings.TrimRight(o.APIURL, "/"))
	}
	b.stripe = stripe.NewClient(o.SecretKey, stripe.WithBackends(stripe.NewBackendsWithConfig(config)))
	b.events = promauto.With(o.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_stripe_events_total",
		Help: "Requests to the webhook for Stripe events, by outcome.",
	}, []string{"outcome"})
	return b
}

// TestMode reports whether the API key belongs to Stripe's test mode or a sandbox, where payments
// aren't real.
func (b *Billing) TestMode() bool { return strings.Contains(b.opts.SecretKey, "_test_") }

// GraceEnd returns the time at which an account loses the tier of a subscription because of failed
// payments. It returns zero if no payment has failed.
func (b *Billing) GraceEnd(s store.SubscriptionState) time.Time {
	if s.PastDueSince.IsZero() {
		return time.Time{}
	}
	return s.PastDueSince.Add(b.opts.Grace)
}

// catalog contains the prices of tiers.
type catalog struct {
	prices   map[cola.Tier]string // price IDs
	products map[string]cola.Tier // tiers by product ID
	at       time.Time
}

// LookupKey returns the lookup key of a tier's price.
func LookupKey(t cola.Tier) string { return string(t) + "_monthly" }

// paidTiers returns the tiers that have a price.
func paidTiers() (tiers []cola.Tier) {
	for _, t := range cola.Tiers() {
		if t.MonthlyPrice() > 0 {
			tiers = append(tiers, t)
		}
	}
	return tiers
}

// Check checks that Stripe accepts the API key and has a price for every paid tier.
func (b *Billing) Check(ctx context.Context) error {
	_, err := b.catalog(ctx)
	return err
}

// catalog returns the prices of the tiers.
func (b *Billing) catalog(ctx context.Context) (catalog, error) {
	b.mu.Lock() // held during the request, because all other callers need its result
	defer b.mu.Unlock()
	if age := b.now().Sub(b.prices.at); b.prices.prices != nil && age >= 0 && age < catalogAge {
		return b.prices, nil
	}
	params := &stripe.PriceListParams{Active: stripe.Bool(true)}
	for _, t := range paidTiers() {
		params.LookupKeys = append(params.LookupKeys, stripe.String(LookupKey(t)))
	}
	c := catalog{prices: map[cola.Tier]string{}, products: map[string]cola.Tier{}, at: b.now()}
	for price, err := range b.stripe.V1Prices.List(ctx, params).All(ctx) {
		if err != nil {
			return catalog{}, stripeError("read prices", err)
		}
		if err := c.add(price); err != nil {
			return catalog{}, err
		}
	}
	for _, t := range paidTiers() {
		if c.prices[t] == "" {
			return catalog{}, fmt.Errorf("stripe has no active price with the lookup key %s", LookupKey(t))
		}
	}
	b.prices = c
	return c, nil
}

// add adds a price. Pages show the prices of cola.Tier, so Stripe's must match them. The product
// determines the tier of a subscription: if a lookup key moves to a new price, subscriptions to the
// old one keep their tier.
func (c *catalog) add(p *stripe.Price) error {
	tier := cola.Tier(strings.TrimSuffix(p.LookupKey, "_monthly"))
	monthly := p.Recurring != nil && p.Recurring.Interval == stripe.PriceRecurringIntervalMonth && p.Recurring.IntervalCount == 1
	switch {
	case p.LookupKey != LookupKey(tier) || tier.MonthlyPrice() == 0:
		return nil
	case p.Currency != stripe.CurrencyUSD || p.UnitAmount != int64(tier.MonthlyPrice())*100 || !monthly:
		return fmt.Errorf("the Stripe price with the lookup key %s must be $%d.00 per month, as on the plans page",
			p.LookupKey, tier.MonthlyPrice())
	case p.Product == nil:
		return fmt.Errorf("the Stripe price with the lookup key %s has no product", p.LookupKey)
	}
	if other, ok := c.products[p.Product.ID]; ok {
		return fmt.Errorf("the Stripe prices with the lookup keys %s and %s must belong to different products",
			LookupKey(other), p.LookupKey)
	}
	c.prices[tier], c.products[p.Product.ID] = p.ID, tier
	return nil
}

// stripeError wraps the error from a request to Stripe. The SDK's error text is a JSON object,
// which is hard to read in a log.
func stripeError(operation string, err error) error {
	if e, ok := errors.AsType[*stripe.Error](err); ok {
		return &apiError{operation, e}
	}
	return fmt.Errorf("stripe: %s: %w", operation, err)
}

// apiError is an error response from Stripe.
type apiError struct {
	operation string
	response  *stripe.Error
}

// Error implements error.
func (e *apiError) Error() string {
	r := e.response
	return fmt.Sprintf("stripe: %s: status %d, %s: %s (request %s)",
		e.operation, r.HTTPStatusCode, cmp.Or(string(r.Code), string(r.Type)), r.Msg, cmp.Or(r.RequestID, "unknown"))
}

// Unwrap returns the response.
func (e *apiError) Unwrap() error { return e.response }

// isRejected reports whether Stripe rejected a request because of its parameters, rather than being
// unavailable or rejecting the API key.
func isRejected(err error) bool {
	e, ok := errors.AsType[*stripe.Error](err)
	return ok && (e.HTTPStatusCode == http.StatusBadRequest || e.HTTPStatusCode == http.StatusNotFound)
}
