package main

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/stripetest"
	"github.com/colaregistry/colaregistry/store"
)

// stripeFlags returns the flags of a server that uses a fake Stripe API.
func stripeFlags(s *stripetest.Server) []string {
	return []string{
		"--stripe-api-url", s.URL, "--stripe-secret-key", stripetest.SecretKey,
		"--stripe-webhook-secret", stripetest.WebhookSecret,
	}
}

// TestStripeEvents kills a server while it reads a subscription from Stripe, and resends the events
// in reverse order to two other servers. The plan's limits apply to the next request. After that,
// commands can't change the tier or delete the account.
func TestStripeEvents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		st := mustOpen(t, h)
		ann, secret, _ := mustAccount(t, st, "payer@example.com", cola.TierFree)
		if _, err := st.AddCustomer(t.Context(), ann.ID, "cus_ann"); err != nil {
			t.Fatal(err)
		}
		stripe := stripetest.Start(t)
		stripe.AddCustomer("cus_ann")
		stripe.Subscribe("cus_ann", "pro_monthly")
		send := func(s *serverProcess, e stripetest.Event) int {
			r := e.Request(stripetest.WebhookSecret, time.Now())
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.root()+r.URL.Path, r.Body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = r.Header
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return 0
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		dying := startServer(t, h, stripeFlags(stripe)...)
		stripe.SetFault(func(*http.Request) int { dying.kill(); return 0 })
		if status := send(dying, stripe.Events()[0]); status != 0 {
			t.Errorf("killed server: status %d", status)
		}
		stripe.SetFault(nil)
		one, two := startServer(t, h, stripeFlags(stripe)...), startServer(t, h, stripeFlags(stripe)...)
		events := stripe.Events()
		for i := range events {
			for _, s := range []*serverProcess{one, two} {
				if status := send(s, events[len(events)-1-i]); status != http.StatusOK {
					t.Errorf("%s: status %d, want 200", events[len(events)-1-i].Type, status)
				}
			}
		}
		if a := one.get(t, "/usage", secret.Reveal()); a.at("data", "tier") != "pro" {
			t.Errorf("usage after the events: %s", a.body)
		}
		for _, s := range []*serverProcess{one, two} {
			if log := s.err.String(); !strings.Contains(log, "stripe event") || strings.Contains(log, stripetest.SecretKey) ||
				strings.Contains(log, stripetest.WebhookSecret) {
				t.Errorf("log lacks the events or contains a secret:\n%s", log)
			}
		}
		set := command(append([]string{"account", "set-tier", "--account", ann.Email, "--tier", "free"}, h.flags()...)...)
		if out, err := set.CombinedOutput(); err == nil || !strings.Contains(string(out), "sub_") {
			t.Errorf("set-tier: %v, want an error that names the subscription:\n%s", err, out)
		}
		remove := command(append([]string{"account", "delete", "--account", ann.Email}, h.flags()...)...)
		if out, err := remove.CombinedOutput(); err == nil || !strings.Contains(string(out), "subscription") {
			t.Errorf("delete: %v, want an error about the subscription:\n%s", err, out)
		}
		suspend := command(append([]string{"account", "suspend", "--account", ann.Email, "--reason", "Test"}, h.flags()...)...)
		if out, err := suspend.CombinedOutput(); err != nil || !strings.Contains(string(out), "sub_") {
			t.Errorf("suspend: %v, want a note that names the subscription:\n%s", err, out)
		}
	})
}

// TestDeletionEndsBilling runs a server's deletion task on an account that subscribed after the
// deletion was requested. A server without a Stripe key leaves the account to other servers, even
// though the stored subscription no longer renews.
func TestDeletionEndsBilling(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		st := mustOpen(t, h)
		ann, _, _ := mustAccount(t, st, "payer@example.com", cola.TierFree)
		record, err := st.AddCustomer(t.Context(), ann.ID, "cus_ann")
		if err != nil {
			t.Fatal(err)
		}
		fake := stripetest.Start(t)
		fake.AddCustomer("cus_ann")
		if err := st.RequestDeletion(t.Context(), ann.ID, 0); err != nil {
			t.Fatal(err)
		}
		fake.Subscribe("cus_ann", "pro_monthly")
		record.ID, record.Status, record.Tier, record.Granted = "sub_earlier", "canceled", cola.TierPro, cola.TierFree
		if err := st.SaveSubscription(t.Context(), record, ""); err != nil {
			t.Fatal(err)
		}
		env := &environment{Context: t.Context(), log: slog.New(slog.DiscardHandler)}
		if err := (&server{env: env}).deleter(st).DeleteDue(t.Context()); err == nil {
			t.Error("a server without a Stripe key deleted the account")
		}
		if a, err := st.Account(t.Context(), ann.ID); err != nil || !a.DeletedAt.IsZero() {
			t.Errorf("account on a server without a Stripe key: %+v, %v, want it kept", a, err)
		}
		flags := billingFlags{StripeSecretKey: stripetest.SecretKey, StripeWebhookSecret: stripetest.WebhookSecret, StripeAPIURL: fake.URL}
		selling := &server{env: env, billing: flags.billing(env, st, "https://registry.example", nil)}
		fake.SetFault(func(*http.Request) int { return http.StatusServiceUnavailable })
		if err := selling.deleter(st).DeleteDue(t.Context()); err == nil {
			t.Error("the account was deleted while Stripe was unavailable")
		}
		fake.SetFault(nil)
		if err := selling.deleter(st).DeleteDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sub := fake.Subscriptions("cus_ann")[0]; sub.Status != "canceled" {
			t.Errorf("subscription is %s, want it canceled", sub.Status)
		}
		if _, err := st.Account(t.Context(), ann.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("account: %v, want ErrNotFound", err)
		}
	})
}

func TestStripeFlags(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"--stripe-webhook-secret-file": {"--stripe-secret-key", "sk_test_1"},
		"--stripe-secret-key-file":     {"--stripe-webhook-secret", "whsec_1"},
		"--stripe-secret-key":          {"--stripe-secret-key", "pk_test_1", "--stripe-webhook-secret", "whsec_1"},
		"--stripe-webhook-secret":      {"--stripe-secret-key", "rk_test_1", "--stripe-webhook-secret", "we_1"},
		"--stripe-api-url":             {"--stripe-api-url", "stripe"},
		"--stripe-grace-days":          {"--stripe-grace-days", "91"},
		"--billing-url": {
			"--stripe-secret-key", "sk_test_1", "--stripe-webhook-secret", "whsec_1", "--billing-url", "https://a.example",
		},
	} {
		c := command(append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--demo", "never"}, flags...)...)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), name) {
			t.Errorf("%v: error %v, want one about %s:\n%s", flags, err, name, out)
		}
	}
}
