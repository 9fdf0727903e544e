package billing

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/stripetest"
)

// TestPrepareDeletion pays on an open Checkout page before and after a deletion is prepared. The
// record includes the earlier payment, although no event arrived. The later payment is rejected.
func TestPrepareDeletion(t *testing.T) {
	w := onSQLite(t)
	prepare := func() {
		t.Helper()
		if err := w.PrepareDeletion(t.Context(), w.account); err != nil {
			t.Fatal(err)
		}
	}
	prepare() // without a customer
	if n := len(w.stripe.Customers()); n != 0 {
		t.Errorf("%d customers, want 0", n)
	}
	unpaid := w.mustChange(cola.TierPro)
	prepare()
	if status, _, _ := w.browse(http.MethodPost, unpaid, url.Values{"action": {"pay"}}); status != http.StatusGone {
		t.Errorf("checkout after the deletion was prepared: status %d, want 410", status)
	}
	w.browse(http.MethodPost, w.mustChange(cola.TierPro), url.Values{"action": {"pay"}})
	prepare()
	if r := w.record(); !r.Renews() {
		t.Errorf("record = %+v, want a subscription that renews", r)
	}
	w.stripe.Fault = func(*http.Request) int { return http.StatusServiceUnavailable }
	if err := w.PrepareDeletion(t.Context(), w.account); err == nil {
		t.Error("no error although Stripe is unavailable")
	}
	w.stripe.Fault = nil
	w.stripe.DeleteCustomer(w.record().Customer)
	prepare()
	w.hasTier(cola.TierFree)
}

// TestEnd ends an account's billing, whatever the state of its subscription.
func TestEnd(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		end := func() {
			t.Helper()
			if err := w.End(t.Context(), w.account); err != nil {
				t.Fatal(err)
			}
		}
		end() // without a customer
		customer, _ := w.subscriber(cola.TierPro)
		unpaid := w.stripe.Subscribe(customer, "starter_monthly")
		w.stripe.Change(unpaid.ID, stripetest.Status("incomplete"))
		for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusInternalServerError} {
			w.stripe.Fault = func(*http.Request) int { return status }
			if err := w.End(t.Context(), w.account); err == nil {
				t.Errorf("no error although Stripe responded with status %d", status)
			}
		}
		w.stripe.Fault = nil
		for range 2 { // a process was killed in between
			end()
		}
		for _, s := range w.stripe.Subscriptions(customer) {
			if s.Status != "canceled" {
				t.Errorf("subscription %s is %s, want it canceled", s.ID, s.Status)
			}
		}
		w.sendAll(http.StatusOK)
		w.hasTier(cola.TierFree)
		end() // without a customer again
	})
}

// TestEndWrongAPIKey checks that End fails if the API key belongs to another Stripe account, where
// the customer doesn't exist: the subscription would still renew.
func TestEndWrongAPIKey(t *testing.T) {
	w := onSQLite(t)
	w.subscriber(cola.TierPro)
	w.stripe = stripetest.Start(t)
	if err := w.service(w.store).End(t.Context(), w.account); err == nil {
		t.Error("no error although the customer was not found")
	}
}
