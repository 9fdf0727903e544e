package browser

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/internal/stripetest"
)

// TestDeleteAndKeepAccount deletes an account with a canceled plan, cancels the deletion, and
// suspends the account. It checks the pages at several sizes and in several color schemes.
func TestDeleteAndKeepAccount(t *testing.T) {
	s := newSite(t)
	holder := s.registry.Holder(t, ann, cola.TierFree)
	if _, err := s.registry.Billing.ChangePlan(t.Context(), holder.Account, cola.TierPro); err != nil {
		t.Fatal(err)
	}
	stripe := s.registry.Stripe
	sub := stripe.Subscribe(stripe.Customers()[0], "pro_monthly")
	stripe.Change(sub.ID, func(sub *stripetest.Subscription) { sub.CancelAtPeriodEnd = true })
	axe := mustAxe(t)
	b := s.signIn(ann)
	look := func(name string) {
		t.Helper()
		for _, v := range views() {
			b.setSize(v.width, v.scheme)
			b.accessible(name, axe)
			if dir := os.Getenv("COLAREGISTRY_SCREENSHOTS"); dir != "" {
				mustWrite(t, fmt.Sprintf("%s/%s-%s-%d.png", dir, name, v.scheme, v.width), ask(b, chromedp.CaptureScreenshot()))
			}
		}
	}
	b.open(registrytest.PublicURL + "/account")
	b.press("Delete account")
	look("account-delete")
	b.fill("[name=confirmation]", "bob@example.com")
	b.click("main form .button")
	b.shows("match")
	look("account-delete-wrong")
	b.errors.take() // the browser reports the status
	b.fill("[name=confirmation]", ann)
	b.click("main form .button")
	b.shows("will be deleted", "Keep my account")
	look("account-leaving")
	b.open(registrytest.PublicURL + "/keys")
	b.press("Keep my account")
	b.shows("was canceled", "Overview")
	if err := s.registry.Store.Suspend(t.Context(), holder.Account, "The October invoice is unpaid."); err != nil {
		t.Fatal(err)
	}
	b.open(registrytest.PublicURL + "/keys")
	b.shows("suspended", "Manage billing")
	look("account-suspended")
	b.errors.take() // the browser reports the status
	b.checkErrors("deleting and keeping an account")
}
