package web

import "github.com/colaregistry/colaregistry/cola"

// PlanLink is a plan's button for visitors who can create an account. New accounts are on the free
// plan.
type PlanLink struct {
	Text, URL string // empty if the plan has no button
	Quiet     bool   // the button doesn't stand out
}

// NewPlanLink returns a plan's button. If account holders can change their own plan (billing), a
// paid plan's button leads back to the plans page after sign-in. Otherwise, only the operator can
// assign paid plans, and the button links to the operator's contact URL.
func NewPlanLink(t cola.Tier, billing bool, o Operator) PlanLink {
	switch {
	case t == cola.TierFree:
		return PlanLink{"Create account", "/sign-in", billing}
	case billing:
		return PlanLink{"Create account", "/sign-in?return=%2Fplans", !t.Recommended()}
	case o.Contact != "":
		return PlanLink{"Contact us", o.ContactURL(), true}
	}
	return PlanLink{}
}
