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

// receiver stands for every destination. It accepts messages and confirms challenges, or fails with
// a fixed fault.
type receiver struct{ sent alerts.Result }

// Send implements alerts.Sender.
func (r receiver) Send(_ context.Context, m alerts.Message) alerts.Result {
	sent := r.sent
	sent.Verified = m.Event == cola.EventConfirm && sent.Fault == ""
	return sent
}

// Endpoint creates a confirmed webhook for all searches of an account and returns its UUID.
func (r *Registry) Endpoint(t testing.TB, account cola.AccountID, address string) string {
	t.Helper()
	made, err := r.Store.CreateDestination(t.Context(), store.NewDestination{
		Account: account, Kind: cola.KindWebhook, Address: address,
		State: cola.DestinationActive, MaxDestinations: cola.MaxDestinations,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.UUID
}

// Code returns the code of an endpoint's latest challenge.
func (r *Registry) Code(t testing.TB, account cola.AccountID, destination string) string {
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
	answer := receiver{alerts.Result{Status: 204, Fault: fault}}
	if fault != "" {
		answer.sent.Status, answer.sent.Final = 404, true
	}
	dispatcher := alerts.NewDispatcher(alerts.DispatcherOptions{
		Store: r.Store, Now: r.Now, Logger: slog.New(slog.DiscardHandler),
		Senders: map[string]alerts.Sender{cola.KindEmail: answer, cola.KindWebhook: answer},
	})
	if _, err := dispatcher.Deliver(t.Context(), r.Now()); err != nil {
		t.Fatal(err)
	}
}
