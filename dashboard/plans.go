package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// planService contains the operations on plans. They fail with CodeNotFound if the server doesn't
// sell plans.
type planService interface {
	ChangePlan(context.Context, cola.Caller, cola.Tier) (address string, _ cola.QuotaState, _ error)
	BillingPortal(context.Context, cola.Caller) (address string, _ cola.QuotaState, _ error)
	RefreshPlan(context.Context, cola.Caller) (*registry.PaidPlan, cola.QuotaState, error)
}

const (
	billingPath    = plansPath + "/billing"
	planReturnPath = plansPath + "/return"
)

func planRoutes() []route {
	portal := post(billingPath, (*request).openBilling)
	portal.leaving, portal.suspended = true, true
	return append(publicRoutes(get(plansPath, (*request).plans)),
		post(plansPath, (*request).changePlan),
		portal,
		get(planReturnPath, (*request).planReturn),
	)
}

// plan is a tier in the comparison of plans.
type plan struct {
	Tier        cola.Tier
	Limits      cola.Limits
	Price       int  // US dollars per month
	Own         bool // the plan of the signed-in account
	Recommended bool
	Action      string // label of the button that changes to the plan; may be empty
	Quiet       bool   // the button doesn't stand out

	Link web.PlanLink // link for visitors who can create an account
}

// plansPage compares the tiers.
type plansPage struct {
	Plans   []plan
	Sold    bool   // account holders change their plan in Stripe
	Billing string // page to change the plan without Stripe; if empty, only the operator can change it
	SignUp  bool   // the visitor can create an account; each plan has its own link
	Closed  bool   // the visitor needs an account, which only the operator can create
}

func (req *request) plans() error {
	p := plansPage{
		Sold: req.opts.SellsPlans, Billing: req.opts.BillingURL, SignUp: req.opts.SignUp && !req.signedIn,
		Closed: req.opts.Closed && !req.signedIn,
	}
	for _, t := range cola.Tiers() {
		own := req.signedIn && req.quota.Tier == t
		one := plan{Tier: t, Limits: t.Limits(), Price: t.MonthlyPrice(), Own: own}
		one.Recommended = t.Recommended() && (!req.signedIn || req.quota.Tier == cola.TierFree)
		if req.signedIn && p.Sold {
			one.Action, one.Quiet = planAction(req.quota.Tier, t, req.account.Paid)
		}
		if p.SignUp {
			one.Link = web.NewPlanLink(t, p.Sold || p.Billing != "", req.opts.Operator)
		}
		p.Plans = append(p.Plans, one)
	}
	view := page{Title: "Plans", Data: p, Indexable: true, Description: "Plans for the label approval registry: prices, monthly quotas and rate limits."}
	if req.signedIn {
		view.Call = req.call("GET", "/usage", "Free. Returns your plan and its limits.").forTool("get_usage", nil)
	}
	return req.show(http.StatusOK, "plans", view)
}

// planAction returns the label of the button that changes an account from one plan to another. An
// account that owes a payment, or whose plan is set to end, must resolve that first.
func planAction(from, to cola.Tier, paid *registry.PaidPlan) (label string, quiet bool) {
	larger := to.MonthlyPrice() > from.MonthlyPrice()
	switch {
	case from == to, paid.Owed(), paid.Open() && paid.State == registry.PlanEnding:
		return "", false
	case larger:
		return "Upgrade to " + to.Name(), !to.Recommended() && from == cola.TierFree
	case !paid.Open():
		return "", false // an operator set the plan
	case to == cola.TierFree:
		return "Cancel plan", true
	}
	return "Downgrade to " + to.Name(), true
}

// billingLine describes an account's subscription.
type billingLine struct {
	registry.PaidPlan
	Price             int
	Renews, Ends, Due cola.Date // 0 if unknown
}

// newBillingLine describes a subscription. It returns nil if the account has none.
func newBillingLine(p *registry.PaidPlan) *billingLine {
	if p == nil {
		return nil
	}
	line := &billingLine{PaidPlan: *p, Price: p.Tier.MonthlyPrice()}
	if !p.RenewsAt.IsZero() {
		line.Renews = cola.DateOf(p.RenewsAt)
	}
	if !p.EndsAt.IsZero() {
		line.Ends = cola.DateOf(p.EndsAt)
	}
	if !p.GraceUntil.IsZero() {
		line.Due = cola.DateOf(p.GraceUntil)
	}
	return line
}

// changePlan sends the browser to the Stripe page that changes the account's plan.
func (req *request) changePlan() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	address, state, err := req.svc.ChangePlan(req.ctx(), req.caller, cola.Tier(form.Get("plan")))
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirectExternal(address, "Opening secure checkout")
}

func (req *request) openBilling() error {
	if _, err := req.form(); err != nil {
		return err
	}
	address, state, err := req.svc.BillingPortal(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirectExternal(address, "Opening billing")
}

const (
	// maxPlanChecks is the maximum number of times that the return page reloads itself.
	maxPlanChecks = 10
	// planCheckSeconds is the time between reloads; the subscription is read at most once every two
	// seconds.
	planCheckSeconds = 3
)

// planReturn is the page that Stripe redirects the browser to. It reloads itself until the account
// has the plan in the query. If the query has none, it only reads the subscription, which may have
// changed.
func (req *request) planReturn() error {
	wanted := cola.Tier(req.query().Get("plan"))
	if wanted.Limits() == (cola.Limits{}) {
		wanted = ""
	}
	paid, state, err := req.svc.RefreshPlan(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil && cola.CodeOf(err) != cola.CodeUnavailable {
		return err
	}
	if err == nil && (wanted == "" || planReached(paid, wanted)) {
		return req.redirect(plansPath, planNotice(paid, wanted))
	}
	check, _ := strconv.Atoi(req.query().Get("check"))
	waiting, title := check >= 0 && check < maxPlanChecks, "Not confirmed yet"
	if waiting {
		title = "Confirming your plan"
		req.w.Header().Set("Refresh", fmt.Sprintf("%d;url=%s?plan=%s&check=%d", planCheckSeconds, planReturnPath, wanted, check+1))
	}
	return req.show(http.StatusOK, "plan_return", page{Title: title, Data: planReturnPage{Waiting: waiting, Plan: wanted}})
}

// planReturnPage waits for a plan.
type planReturnPage struct {
	Waiting bool // the page reloads itself
	Plan    cola.Tier
}

// planReached reports whether an account has the plan that it is changing to. A canceled plan
// remains active until the end of the paid period.
func planReached(paid *registry.PaidPlan, wanted cola.Tier) bool {
	if wanted == cola.TierFree {
		return !paid.Open() || paid.State == registry.PlanEnding
	}
	return paid.Open() && paid.Granted == wanted
}

func planNotice(paid *registry.PaidPlan, wanted cola.Tier) string {
	switch {
	case wanted.MonthlyPrice() > 0:
		return "You’re on the " + wanted.Name() + " plan. Its limits apply from your next request."
	case wanted == cola.TierFree && paid.Open():
		return "Your plan is canceled. It stays active until " + paid.EndsAt.Format(dayFormat) + "."
	}
	return ""
}
