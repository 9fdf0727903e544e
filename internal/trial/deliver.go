package trial

import (
	"context"
	"log/slog"
	"testing"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
)

// receiver is every destination: it takes what it is sent, or says what is wrong.
type receiver struct{ sent alerts.Sent }

func (r receiver) Send(context.Context, alerts.Message) alerts.Sent { return r.sent }

// Deliver sends the messages that are due, each once. An empty fault has their receivers take them; another one is what every attempt fails with, for good.
func (r *Registry) Deliver(t testing.TB, fault string) {
	t.Helper()
	answer := receiver{alerts.Sent{Status: 204, Fault: fault}}
	if fault != "" {
		answer.sent.Status, answer.sent.Final = 404, true
	}
	courier := alerts.NewCourier(alerts.CourierOptions{
		Store: r.Store, Now: r.Now, Logger: slog.New(slog.DiscardHandler),
		Senders: map[string]alerts.Sender{cola.KindEmail: answer, cola.KindWebhook: answer},
	})
	if _, err := courier.Deliver(t.Context(), r.Now()); err != nil {
		t.Fatal(err)
	}
}
