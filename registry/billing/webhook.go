package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
)

// WebhookPath is the path to which Stripe sends events.
const WebhookPath = "/stripe/webhook"

// maxEvent is the maximum size of an event's body, in bytes. Events are usually smaller than 20 KB.
const maxEvent = 512 << 10

// Outcomes of requests to the webhook.
const (
	outcomeApplied   = "applied"
	outcomeDuplicate = "duplicate" // processed before
	outcomeIgnored   = "ignored"   // irrelevant event type, or no customer
	outcomeUnknown   = "unknown_customer"
	outcomeUnsigned  = "unsigned"
	outcomeForged    = "wrong_signature"
	outcomeTooOld    = "too_old"
	outcomeMalformed = "malformed"
	outcomeFailed    = "failed" // Stripe sends the event again
)

// Webhook returns the handler of WebhookPath. It responds with 200 to events that need no further
// attempt, with 400 to requests that Stripe didn't sign, and with 500 to events that Stripe must
// send again.
func (b *Billing) Webhook() http.Handler {
	recorder := web.NewRecorder(b.log, b.opts.Metrics, []string{WebhookPath}, func(*http.Request) string { return WebhookPath })
	return web.RequestID(recorder.Record(web.Recover(http.HandlerFunc(b.serveEvent))))
}

func (b *Billing) serveEvent(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		web.Fail(w, r, cola.Errorf(cola.CodeMethodNotAllowed, "Stripe sends events with POST."))
		return
	}
	web.ShortenBodyTimeout(w, r)
	body, err := web.ReadBody(r, maxEvent, "The event is too large (limit: %d bytes).")
	if err != nil {
		b.reject(w, r, outcomeMalformed, err)
		return
	}
	if err := webhook.ValidatePayload(body, r.Header.Get("Stripe-Signature"), b.opts.WebhookSecret); err != nil {
		outcome := outcomeForged
		switch {
		case errors.Is(err, webhook.ErrNotSigned), errors.Is(err, webhook.ErrInvalidHeader):
			outcome = outcomeUnsigned
		case errors.Is(err, webhook.ErrTooOld):
			outcome = outcomeTooOld
		}
		b.reject(w, r, outcome, cola.Errorf(cola.CodeValidation, "The Stripe-Signature header is missing or invalid."))
		return
	}
	var event event
	if err := json.Unmarshal(body, &event); err != nil || event.ID == "" {
		b.reject(w, r, outcomeMalformed, cola.Errorf(cola.CodeValidation, "The body is not an event."))
		return
	}
	outcome, err := b.process(r.Context(), event)
	b.count(r, outcome)
	level := slog.LevelInfo
	if outcome == outcomeUnknown {
		level = slog.LevelWarn
	}
	b.log.Log(r.Context(), level, "stripe event", "event", event.ID, "type", event.Type, "customer", event.customer(),
		"outcome", outcome)
	if err != nil {
		web.Fail(w, r, fmt.Errorf("process event %s: %w", event.ID, err))
		return
	}
	web.Write(w, http.StatusOK, "application/json", []byte(`{"outcome":"`+outcome+`"}`))
}

// reject rejects a request that is not a valid, signed event.
func (b *Billing) reject(w http.ResponseWriter, r *http.Request, outcome string, err error) {
	b.count(r, outcome)
	web.Fail(w, r, err)
}

func (b *Billing) count(r *http.Request, outcome string) {
	b.events.WithLabelValues(outcome).Inc()
	e := web.EventOf(r.Context())
	e.Attrs = append(e.Attrs, slog.String("outcome", outcome))
}

// event is a Stripe event of any API version.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object struct {
			ID       string          `json:"id"`
			Object   string          `json:"object"`
			Customer json.RawMessage `json:"customer"` // an ID, an object, or null
		} `json:"object"`
	} `json:"data"`
}

// customer returns the ID of the customer that the event is about, or "".
func (e event) customer() string {
	if e.Data.Object.Object == "customer" {
		return e.Data.Object.ID
	}
	if id, ok := stripe.ParseID(e.Data.Object.Customer); ok {
		return id
	}
	return ""
}

// relevant reports whether an event may change a subscription.
func (e event) relevant() bool {
	for _, prefix := range []string{"customer.subscription.", "checkout.session.", "invoice.", "customer.deleted"} {
		if strings.HasPrefix(e.Type, prefix) {
			return true
		}
	}
	return false
}

// process syncs an event's customer, unless the event was processed before.
func (b *Billing) process(ctx context.Context, e event) (outcome string, err error) {
	customer := e.customer()
	if !e.relevant() || customer == "" {
		return outcomeIgnored, nil
	}
	processed, err := b.store.EventProcessed(ctx, e.ID)
	switch {
	case err != nil:
		return outcomeFailed, err
	case processed:
		return outcomeDuplicate, nil
	}
	record, err := b.store.SubscriptionByCustomer(ctx, customer)
	if errors.Is(err, store.ErrNotFound) {
		return outcomeUnknown, nil
	}
	if err == nil {
		_, _, err = b.sync(ctx, record.Account, e.ID)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) { // not found: the sync removed the customer
		return outcomeFailed, err
	}
	return outcomeApplied, nil
}
