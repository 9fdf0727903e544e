package registrytest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// MaxSent is the maximum number of bytes recorded per sent message.
const MaxSent = store.MaxSent

// fakeSender is an alerts.Sender for every kind of destination. It accepts messages and confirms
// challenges, or fails with a fixed fault.
type fakeSender struct{ result alerts.Result }

// Send implements alerts.Sender.
func (r fakeSender) Send(_ context.Context, m alerts.Message) alerts.Result {
	result := r.result
	result.Verified = m.Event == cola.EventConfirm && result.Fault == ""
	return result
}

// Endpoint creates a confirmed webhook for all searches of an account and returns its UUID.
func (r *Registry) Endpoint(t testing.TB, account cola.AccountID, address string) string {
	t.Helper()
	return r.Destination(t, account, cola.KindWebhook, address, "")
}

// Destination creates a confirmed destination for a saved search, or for all saved searches if
// savedSearch is empty, and returns its UUID.
func (r *Registry) Destination(t testing.TB, account cola.AccountID, kind, address, savedSearch string) string {
	t.Helper()
	destination, err := r.Store.CreateDestination(t.Context(), store.NewDestination{
		Account: account, Kind: kind, Address: address, SavedSearch: savedSearch,
		State: cola.DestinationActive, MaxDestinations: cola.MaxDestinations,
	})
	if err != nil {
		t.Fatal(err)
	}
	return destination.UUID
}

// ConfirmationCode returns the code of an endpoint's latest challenge.
func (r *Registry) ConfirmationCode(t testing.TB, account cola.AccountID, destination string) string {
	t.Helper()
	d, err := r.Store.Destination(t.Context(), account, destination)
	if err != nil {
		t.Fatal(err)
	}
	challenge, err := r.Vault.Open(vault.Challenge, destination, d.Challenge.Sealed)
	if err != nil {
		t.Fatal(err)
	}
	return cola.Challenge(challenge).Code()
}

// Deliver sends each due message once. If fault is empty, every receiver accepts it. Otherwise
// every attempt fails permanently with that fault.
func (r *Registry) Deliver(t testing.TB, fault string) {
	t.Helper()
	sender := fakeSender{alerts.Result{Status: 204, Fault: fault, Exchange: r.Exchange}}
	if fault != "" {
		sender.result.Status, sender.result.Final = 404, true
	}
	dispatcher := alerts.NewDispatcher(alerts.DispatcherOptions{
		Store: r.Store, Now: r.Now, Logger: slog.New(slog.DiscardHandler),
		Senders: map[string]alerts.Sender{cola.KindEmail: sender, cola.KindWebhook: sender},
	})
	if _, err := dispatcher.Deliver(t.Context(), r.Now()); err != nil {
		t.Fatal(err)
	}
}
