package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/internal/stripetest"
)

// TestBilling changes the plan twice on the fake Stripe's pages, misses a payment, pays, and
// cancels. The last steps run without scripts; the others check the plans page with axe, which
// needs scripts.
func TestBilling(t *testing.T) {
	axe := mustAxe(t)
	stripe, address := stripetest.Start(t), program.Address(t)
	stripe.Sink = stripetest.Address("http://" + address + "/stripe/webhook")
	p := startProgramAt(t, address, "--stripe-api-url", stripe.URL,
		"--stripe-secret-key", stripetest.SecretKey, "--stripe-webhook-secret", stripetest.WebhookSecret)
	const ann = "ann@example.com"
	p.Run("account", "create", "--email", ann, "--tier", "free")
	key := strings.TrimSpace(p.Run("key", "create", "--account", ann, "--name", "script"))
	b := newTab(t, newChromium(t, ""), false)
	b.open(printedLink.FindString(p.Run("account", "link", "--account", ann, "--public-url", p.base)))
	b.press("Sign in as " + ann)

	scripts := true
	// change presses a button that leads to Stripe, then one on Stripe's page that leads back.
	change := func(button, action, shown string) {
		t.Helper()
		b.press(button)
		b.do(until(fmt.Sprintf("location.origin === %q && document.readyState === 'complete'", stripe.URL)))
		b.press(action)
		b.do(until(`location.pathname === "/plans"`))
		b.shows(shown)
		for _, view := range views() {
			if !scripts {
				break
			}
			b.setSize(view.width, view.scheme)
			b.accessible(fmt.Sprintf("plans after %s, %d wide, %s", action, view.width, view.scheme), axe)
		}
	}
	b.open(p.base + "/plans")
	change("Upgrade to Starter", "Subscribe", "You’re on the Starter plan")
	change("Upgrade to Pro", "Change to Pro", "You’re on the Pro plan")
	if status, body := p.call("GET", "/usage", key); status != http.StatusOK || body["data"].(map[string]any)["tier"] != "pro" {
		t.Errorf("after the second upgrade: %d %v", status, body)
	}
	change("Manage billing", "Test: let a payment fail", "Your last payment failed")
	b.checkErrors("upgrades")

	scripts = false
	b.disableScripts()
	b.open(p.base + "/")
	b.shows("Your last payment failed")
	b.open(p.base + "/plans")
	change("Update payment method", "Pay open invoice", "renews")
	change("Cancel plan", "Cancel plan", "Your plan is canceled")
	b.open(p.base + "/account")
	b.shows("canceled. It stays active until")
	if text := ask(b, chromedp.Evaluate[string]("document.body.innerText")); strings.Contains(text, "payment failed") {
		t.Error("the banner about the failed payment is still shown after the payment")
	}
	b.checkErrors("billing without scripts")
	if _, err := p.Try("account", "set-tier", "--account", ann, "--tier", "free"); err == nil {
		t.Error("set-tier succeeded for an account with a subscription")
	}
}
