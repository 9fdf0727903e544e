package registry

import (
	"context"
	"errors"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// PlanState is the state of a subscription as its holder sees it.
type PlanState string

// The states.
const (
	PlanActive PlanState = "active"
	PlanEnding PlanState = "ending" // active, but set to end
	// PlanPastDue means that a payment failed; the account keeps its plan until GraceUntil.
	PlanPastDue PlanState = "past_due"
	PlanUnpaid  PlanState = "unpaid" // the account has lost its plan
	PlanEnded   PlanState = "ended"
)

// PaidPlan is an account's subscription to a plan.
type PaidPlan struct {
	State      PlanState
	Tier       cola.Tier // the plan's tier
	Granted    cola.Tier // tier that the subscription gives the account
	RenewsAt   time.Time // zero unless active or past due
	EndsAt     time.Time // zero unless set to end, or ended
	GraceUntil time.Time // zero unless past due
}

// Open reports whether the subscription has not ended. An account can have only one open
// subscription.
func (s *PaidPlan) Open() bool { return s != nil && s.State != PlanEnded }

// Owed reports whether a payment has failed.
func (s *PaidPlan) Owed() bool {
	return s != nil && (s.State == PlanPastDue || s.State == PlanUnpaid)
}

const (
	noBilling          = "This server doesn’t offer paid plans."
	noCustomer         = "Your account has no subscription."
	billingUnavailable = "The payment service isn’t available, so nothing was changed. Try again in a minute."
)

// billingRetry is how long to wait before retrying a failed request to Stripe.
const billingRetry = time.Minute

// paidPlan returns an account's subscription, or nil if the account never had one or the server
// doesn't sell plans.
func (s *Service) paidPlan(ctx context.Context, account cola.AccountID) (*PaidPlan, error) {
	if s.billing == nil {
		return nil, nil
	}
	record, err := s.store.SubscriptionOf(ctx, account)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return s.newPaidPlan(record.SubscriptionState), err
}

func (s *Service) newPaidPlan(state store.SubscriptionState) *PaidPlan {
	if state.ID == "" {
		return nil
	}
	sub := &PaidPlan{
		State: PlanActive, Tier: state.Tier, Granted: state.Granted, RenewsAt: state.PeriodEnd, EndsAt: state.EndsAt,
	}
	switch {
	case !state.Live():
		sub.State = PlanEnded
	case state.Granted != state.Tier:
		sub.State = PlanUnpaid
	case !state.PastDueSince.IsZero():
		sub.State, sub.GraceUntil = PlanPastDue, s.billing.GraceEnd(state)
	case !state.EndsAt.IsZero():
		sub.State = PlanEnding
	}
	if sub.State != PlanActive && sub.State != PlanPastDue {
		sub.RenewsAt = time.Time{}
	}
	return sub
}

// ChangePlan returns the URL of the Stripe page where the caller switches to a tier. After
// CodeUnavailable, nothing was changed.
func (s *Service) ChangePlan(ctx context.Context, c cola.Caller, t cola.Tier) (address string, _ cola.QuotaState, _ error) {
	if t.Limits() == (cola.Limits{}) {
		return "", cola.QuotaState{}, cola.Errorf(cola.CodeValidation, "Unknown plan.")
	}
	state, err := s.withStripe(ctx, c, s.authorizeHolder, "change plan", func() (err error) {
		address, err = s.billing.ChangePlan(ctx, c.Account, t)
		return err
	})
	return address, state, err
}

// BillingPortal returns the URL of the Stripe page where the caller changes the payment method,
// views invoices or cancels. It accepts suspended accounts, because Stripe still bills them.
func (s *Service) BillingPortal(ctx context.Context, c cola.Caller) (address string, _ cola.QuotaState, _ error) {
	state, err := s.withStripe(ctx, c, s.authorizeSuspended, "open billing portal", func() (err error) {
		address, err = s.billing.Portal(ctx, c.Account)
		return err
	})
	return address, state, err
}

// RefreshPlan reads the caller's subscription from Stripe, at most once every two seconds, and
// returns it. A plan change applies from the next request.
func (s *Service) RefreshPlan(ctx context.Context, c cola.Caller) (sub *PaidPlan, _ cola.QuotaState, _ error) {
	state, err := s.withStripe(ctx, c, s.authorizeHolder, "read subscription", func() error {
		record, err := s.billing.Refresh(ctx, c.Account)
		sub = s.newPaidPlan(record.SubscriptionState)
		return err
	})
	return sub, state, err
}

// withStripe runs work if authorize accepts the caller and the server has a Stripe key.
func (s *Service) withStripe(
	ctx context.Context, c cola.Caller, authorize func(context.Context, cola.Caller) (cola.QuotaState, error),
	operation string, work func() error,
) (cola.QuotaState, error) {
	state, err := authorize(ctx, c)
	if err != nil {
		return state, err
	}
	if s.billing == nil {
		return state, cola.Errorf(cola.CodeNotFound, noBilling)
	}
	return state, s.billingError(c, operation, work())
}

// billingError returns the public error for a failed request to Stripe.
func (s *Service) billingError(c cola.Caller, operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return cola.Errorf(cola.CodeNotFound, noCustomer)
	case errors.Is(err, store.ErrUnavailable):
		return cola.Unavailable()
	default: // Stripe failed or is misconfigured
		s.log.Error("request to Stripe failed", "operation", operation, "account", int64(c.Account), "error", err)
		return &cola.Error{Code: cola.CodeUnavailable, Message: billingUnavailable, RetryAfter: billingRetry}
	}
}
