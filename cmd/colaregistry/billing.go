package main

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/registry/billing"
)

// billingFlags configure the sale of plans through Stripe.
type billingFlags struct {
	StripeSecretKey         string     `group:"Billing flags:" name:"stripe-secret-key" placeholder:"KEY" help:"Secret or restricted Stripe API key, to sell plans. Prefer --stripe-secret-key-file, because other users of the machine can see command lines."`
	StripeSecretKeyFile     secretFile `group:"Billing flags:" name:"stripe-secret-key-file" placeholder:"PATH" help:"File with the Stripe API key."`
	StripeWebhookSecret     string     `group:"Billing flags:" name:"stripe-webhook-secret" placeholder:"SECRET" help:"Signing secret of the Stripe webhook endpoint PUBLIC_URL/stripe/webhook; required with a key. Prefer --stripe-webhook-secret-file."`
	StripeWebhookSecretFile secretFile `group:"Billing flags:" name:"stripe-webhook-secret-file" placeholder:"PATH" help:"File with the signing secret of the webhook endpoint."`
	StripeGraceDays         int        `group:"Billing flags:" name:"stripe-grace-days" default:"7" placeholder:"DAYS" help:"Days for which an account keeps its plan after a failed payment (default: ${default}). After that, it moves to the free plan until the payment succeeds."`
	StripeAPIURL            string     `group:"Billing flags:" name:"stripe-api-url" placeholder:"URL" help:"Base URL of Stripe's API, for tests against a mock server (default: Stripe)."`
}

// maxGraceDays is the maximum value of --stripe-grace-days.
const maxGraceDays = 90

// checkBilling validates the flags without connecting to Stripe. billingURL is the value of
// --billing-url.
func (f *billingFlags) checkBilling(billingURL string) error {
	_, err := checkedURL("--stripe-api-url", f.StripeAPIURL)
	key := strings.HasPrefix(f.StripeSecretKey, "sk_") || strings.HasPrefix(f.StripeSecretKey, "rk_")
	switch {
	case err != nil:
		return err
	case f.StripeGraceDays < 0 || f.StripeGraceDays > maxGraceDays:
		return usageErrorf("--stripe-grace-days must be from 0 to %d", maxGraceDays)
	case (f.StripeSecretKey == "") != (f.StripeWebhookSecret == ""):
		return usageErrorf("--stripe-secret-key-file and --stripe-webhook-secret-file must be set together")
	case f.StripeSecretKey == "":
		return nil
	case !key:
		return usageErrorf("--stripe-secret-key: a secret key starts with sk_ or rk_")
	case !strings.HasPrefix(f.StripeWebhookSecret, "whsec_"):
		return usageErrorf("--stripe-webhook-secret: a signing secret starts with whsec_")
	case billingURL != "":
		return usageErrorf("--billing-url: account holders change their plan in Stripe; omit the flag")
	}
	return nil
}

// billing returns the Billing that sells plans, or nil without a key.
func (f *billingFlags) billing(env *environment, st billing.Store, publicURL string, metrics prometheus.Registerer) *billing.Billing {
	if f.StripeSecretKey == "" {
		return nil
	}
	return billing.New(billing.Options{
		Store: st, SecretKey: f.StripeSecretKey, WebhookSecret: f.StripeWebhookSecret, APIURL: f.StripeAPIURL,
		PublicURL: publicURL, Grace: time.Duration(f.StripeGraceDays) * 24 * time.Hour, Now: time.Now,
		Logger: env.log, Metrics: metrics,
	})
}

// runBilling logs whether the configuration in Stripe is usable, and keeps subscriptions current. A
// wrong configuration must not keep the server from starting: the registry works without Stripe.
func runBilling(ctx context.Context, env *environment, b *billing.Billing) {
	switch err := b.Check(ctx); {
	case ctx.Err() != nil:
		return
	case err != nil:
		env.log.Error("plans can't be sold; see \"Selling plans\" (docs/PLANS.md)", "error", err)
	default:
		env.log.Info("selling plans through Stripe", "test_mode", b.TestMode())
	}
	b.Run(ctx)
}
