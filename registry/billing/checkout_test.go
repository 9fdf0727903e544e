package billing

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/stripetest"
	"github.com/colaregistry/colaregistry/store"
)

// browse opens a Stripe page, without following redirects.
func (w *world) browse(method, address string, form url.Values) (status int, body, location string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(content), resp.Header.Get("Location")
}

func TestCheckout(t *testing.T) {
	onBackends(t, func(t *testing.T, w *world) {
		address := w.mustChange(cola.TierPro)
		if second := w.mustChange(cola.TierPro); second != address {
			t.Errorf("second checkout at %s, want the open one at %s", second, address)
		}
		_, _, back := w.browse(http.MethodPost, address, url.Values{"action": {"pay"}})
		if back != publicURL+"/plans/return?plan=pro" {
			t.Errorf("checkout returns to %s", back)
		}
		w.advance(refreshInterval)
		r, err := w.Refresh(t.Context(), w.account) // no event has arrived
		if err != nil || r.Granted != cola.TierPro {
			t.Errorf("Refresh = %+v, %v; want pro", r, err)
		}
		w.hasTier(cola.TierPro)
		w.sendAll(http.StatusOK)
		w.hasTier(cola.TierPro)
	})
}

// TestCheckoutTabs starts checkouts in several tabs. Only the latest can be paid, and double clicks
// lead to the same page.
func TestCheckoutTabs(t *testing.T) {
	w := onSQLite(t)
	starter, pro := w.mustChange(cola.TierStarter), w.mustChange(cola.TierPro)
	if status, _, _ := w.browse(http.MethodPost, starter, nil); status != http.StatusGone {
		t.Errorf("first checkout: status %d, want 410", status)
	}
	w.mustChange(cola.TierStarter)
	if status, _, _ := w.browse(http.MethodPost, pro, nil); status != http.StatusGone {
		t.Errorf("second checkout: status %d, want 410", status)
	}
	var wg sync.WaitGroup
	addresses := make([]string, 4)
	for i := range addresses {
		wg.Go(func() { addresses[i], _ = w.ChangePlan(t.Context(), w.account, cola.TierPro) })
	}
	wg.Wait()
	open := w.stripe.OpenSession(w.record().Customer)
	for _, a := range addresses {
		if !strings.HasSuffix(a, open) {
			t.Errorf("a click leads to %s, want %s", a, open)
		}
	}
	if n := len(w.stripe.Customers()); n != 1 {
		t.Errorf("%d customers, want 1", n)
	}
}

// TestChangePlanInPortal changes and cancels a subscription in the customer portal.
func TestChangePlanInPortal(t *testing.T) {
	w := onSQLite(t)
	customer, _ := w.subscriber(cola.TierStarter)
	for _, tt := range []struct {
		to           cola.Tier
		action, back string
		granted      cola.Tier
		ends         bool
	}{
		{cola.TierPro, "confirm", "/plans/return?plan=pro", cola.TierPro, false},
		{cola.TierStarter, "confirm", "/plans/return?plan=starter", cola.TierStarter, false},
		{cola.TierFree, "cancel", "/plans/return?plan=free", cola.TierStarter, true},
		{cola.TierPro, "keep", "/plans", cola.TierStarter, false}, // a canceled plan is resumed first
	} {
		_, _, back := w.browse(http.MethodPost, w.mustChange(tt.to), url.Values{"action": {tt.action}})
		if back != publicURL+tt.back {
			t.Errorf("change to %s returns to %s, want %s", tt.to, back, tt.back)
		}
		w.sendAll(http.StatusOK)
		r := w.record()
		if r.Granted != tt.granted || r.EndsAt.IsZero() == tt.ends {
			t.Errorf("change to %s: record %+v", tt.to, r)
		}
		w.hasTier(tt.granted)
	}
	if n := len(w.stripe.Subscriptions(customer)); n != 1 {
		t.Errorf("%d subscriptions, want 1", n)
	}
}

// TestPortalSettings checks that the portal opens even if its settings don't allow a change.
func TestPortalSettings(t *testing.T) {
	w := onSQLite(t)
	w.subscriber(cola.TierStarter)
	w.stripe.Fault = func(r *http.Request) int {
		if strings.HasPrefix(r.URL.Path, "/v1/billing_portal") && r.FormValue("flow_data[type]") != "" {
			return http.StatusBadRequest
		}
		return 0
	}
	if status, body, _ := w.browse(http.MethodGet, w.mustChange(cola.TierPro), nil); status != 200 || !strings.Contains(body, "Cancel plan") {
		t.Errorf("portal: status %d\n%s", status, body)
	}
}

func TestPortal(t *testing.T) {
	w := onSQLite(t)
	if _, err := w.Portal(t.Context(), w.account); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Portal without a customer: error = %v, want ErrNotFound", err)
	}
	if _, err := w.Refresh(t.Context(), w.account); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Refresh without a customer: error = %v, want ErrNotFound", err)
	}
	w.subscriber(cola.TierStarter)
	address, err := w.Portal(t.Context(), w.account)
	if err != nil {
		t.Fatal(err)
	}
	_, _, back := w.browse(http.MethodPost, address, url.Values{"action": {"end"}})
	if back != publicURL+"/plans/return" {
		t.Errorf("portal returns to %s", back)
	}
	w.advance(refreshInterval)
	r, err := w.Refresh(t.Context(), w.account)
	if err != nil || r.Live() || r.EndsAt.IsZero() {
		t.Errorf("Refresh = %+v, %v; want an ended subscription", r, err)
	}
	w.hasTier(cola.TierFree)
}

// TestRefreshLimit reloads the return page, which must not send a request to Stripe each time.
func TestRefreshLimit(t *testing.T) {
	w := onSQLite(t)
	w.subscriber(cola.TierStarter)
	w.advance(time.Hour)
	requests := 0
	w.stripe.Fault = func(*http.Request) int { requests++; return 0 }
	for range 20 {
		if _, err := w.Refresh(t.Context(), w.account); err != nil {
			t.Fatal(err)
		}
	}
	if requests > 2 { // prices and subscriptions
		t.Errorf("%d requests to Stripe, want at most 2", requests)
	}
}

// TestUnpaidSubscription requests another plan while payments fail: the portal opens, where the
// customer can pay.
func TestUnpaidSubscription(t *testing.T) {
	w := onSQLite(t)
	_, sub := w.subscriber(cola.TierStarter)
	for _, status := range []string{"past_due", "unpaid"} {
		w.stripe.Change(sub.ID, stripetest.Status(status))
		if _, body, _ := w.browse(http.MethodGet, w.mustChange(cola.TierPro), nil); !strings.Contains(body, "Pay open invoice") {
			t.Errorf("%s: portal shows\n%s", status, body)
		}
	}
}
