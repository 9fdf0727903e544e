package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
)

// plan is a tier as it is compared with others.
type plan struct {
	Tier   cola.Tier
	Limits cola.Limits
	Price  string
	Own    bool // the account of who looks has it
}

// plansPage compares the tiers.
type plansPage struct {
	Plans   []plan
	Billing string // where the plan is changed; empty: the operator is to be asked
	Largest bool   // the own plan is
}

func (v *visit) plans() error {
	p := plansPage{Billing: v.opts.BillingURL}
	for _, t := range cola.Tiers() {
		own := v.signedIn && v.quota.Tier == t
		p.Plans = append(p.Plans, plan{Tier: t, Limits: t.Limits(), Price: priceOf(t), Own: own})
		p.Largest = p.Largest || own && t.Largest()
	}
	shown := page{Title: "Plans", Data: p}
	if v.signedIn {
		shown.Call = v.call("GET", "/usage", "It is free, and tells your plan with its limits.").forTool("get_usage", nil)
	}
	return v.show(http.StatusOK, "plans", shown)
}

// priceOf returns what a tier costs as it stands in a table.
func priceOf(t cola.Tier) string {
	if price := t.Price(); price != "none" {
		return price
	}
	return "free of charge"
}
