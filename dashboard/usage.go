package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// usageService is what the usage page asks.
type usageService interface {
	UsageReport(context.Context, cola.Caller) (registry.UsageReport, cola.QuotaState, error)
}

func usageRoutes() []route {
	routes := forAll(get(plansPath, (*visit).plans))
	return append(routes, get(usagePath, (*visit).usage), get(usagePath+"/refusals", (*visit).refusals))
}

// refusalsFirst is how many refusals the usage page shows.
const refusalsFirst = 8

// usagePage tells what an account has used.
type usagePage struct {
	Outlooks []outlook
	Reset    time.Time
	Since    time.Time // when the month began
	Largest  bool      // no plan has more
	Channels []plot    // each day of the month by channel, a plot each meter
	Sources  []plot    // each day by key and app
	Months   []plot
	Rows     []useRow
	Refusals []refusalRow
	Refused  int // rows of refusals in all
}

func (v *visit) usage() error {
	report, state, err := v.svc.UsageReport(v.ctx(), v.caller)
	v.asked(state)
	if err != nil {
		return err
	}
	keys, _, err := v.svc.Keys(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	p := usagePage{
		Outlooks: outlooksOf(report), Reset: report.State.Period.End(), Since: report.State.Period.Start(), Largest: report.State.Tier.Largest(),
		Channels: plotsOf("channel", "by channel", daySteps(report), channelSeries(report)),
		Sources:  plotsOf("source", "by key and app", daySteps(report), sourceSeries(report)),
		Months:   monthPlots(report),
		Rows:     useRows(report, keys),
		Refusals: refusalRows(report, refusalsFirst), Refused: len(report.Refusals),
	}
	return v.show(http.StatusOK, "usage", page{Title: "Usage", Data: p, Call: v.call("GET", "/usage", "It is free.").forTool("get_usage", nil)})
}

func (v *visit) refusals() error {
	report, state, err := v.svc.UsageReport(v.ctx(), v.caller)
	v.asked(state)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "refusals", page{Title: "Refused requests", Data: refusalRows(report, len(report.Refusals))})
}

// outlook is a meter and what it comes to by the end of the month.
type outlook struct {
	Meter     meter
	Projected int
	Over      bool      // the projection is
	Full      bool      // nothing is left
	Last      cola.Date // of the month
	FullOn    cola.Date // about when nothing is left, if it goes on so; zero: not this month
}

func outlooksOf(r registry.UsageReport) []outlook {
	meters := metersOf(r.State)
	return []outlook{
		outlookOf(meters[0], r.Projected.DetailViews, r.State.Period),
		outlookOf(meters[1], r.Projected.ListRecords, r.State.Period),
	}
}

func outlookOf(m meter, projected int, month cola.Period) outlook {
	first, last := cola.DateOf(month.Start()), cola.DateOf(month.End())-1
	o := outlook{Meter: m, Projected: projected, Over: projected > m.Limit, Full: m.Used >= m.Limit, Last: last}
	if o.Over && !o.Full {
		o.FullOn = first.AddDays(int(last-first+1) * m.Limit / projected)
	}
	return o
}

// useRow is what was used through one channel with one credential.
type useRow struct {
	Channel, Source, Kind string
	registry.Use
}

func useRows(r registry.UsageReport, keys []registry.Key) []useRow {
	rows := make([]useRow, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = useRow{Channel: channelWords(row.Channel), Source: sourceWords(row), Kind: kindWords(row.Credential, keys), Use: row.Total}
	}
	return rows
}

// kindWords tells what a credential is; of a key also its last characters, since several may have one name.
func kindWords(c cola.Credential, keys []registry.Key) string {
	switch c.Kind {
	case cola.CredentialKey:
		if i := slices.IndexFunc(keys, func(k registry.Key) bool { return k.ID == c.ID }); i >= 0 {
			return "key …" + keys[i].LastFour
		}
		return "key"
	case cola.CredentialLink:
		return "app"
	}
	return ""
}

// refusalRow is requests that were refused alike.
type refusalRow struct {
	registry.Refusal
	Channel, Source, Why, Do string
	Link, LinkText           string // where to do it; empty: nowhere
}

// refusalRows returns the latest refusals, so many at most.
func refusalRows(r registry.UsageReport, most int) []refusalRow {
	rows := make([]refusalRow, min(most, len(r.Refusals)))
	for i := range rows {
		refused := r.Refusals[i]
		rows[i] = refusalWords(refused.Reason, r.State)
		if refused.Reason == registry.RefusedBurst && refused.Channel == cola.ChannelDashboard {
			rows[i].Do = "Ask for less at once, and wait a minute." // people in a browser see no Retry-After
		}
		rows[i].Refusal, rows[i].Channel = refused, channelWords(refused.Channel)
		rows[i].Source = sourceWords(registry.UseRow{Credential: refused.Credential, Name: refused.Name})
	}
	return rows
}

// refusalWords tells why requests were refused, and what to do.
func refusalWords(reason string, q cola.QuotaState) refusalRow {
	plans := refusalRow{Link: plansPath, LinkText: "Compare plans"}
	switch reason {
	case registry.RefusedBurst:
		plans.Why = "More than " + strconv.Itoa(q.Limits.PerMinute) + " requests within 60 seconds"
		plans.Do = "Send fewer at once, and wait as long as Retry-After says."
	case registry.RefusedDetailViews:
		plans.Why, plans.Do = "The month's detail views were used up", "They begin anew with the month."
	case registry.RefusedListRecords:
		plans.Why, plans.Do = "The month's list records were used up", "They begin anew with the month."
	case registry.RefusedScope:
		return refusalRow{Why: "The app lacked a permission", Do: "Connect it again and allow what it asks for.", Link: appsPath, LinkText: "Connected apps"}
	case registry.RefusedCredential:
		return refusalRow{Why: "The key, app or sign-in has ended", Do: "Something still uses it: give it one that holds.", Link: keysPath, LinkText: "API keys"}
	case registry.RefusedSuspended:
		return refusalRow{Why: "The account was suspended", Do: "Ask the operator of this service."}
	default:
		return refusalRow{Why: legible(reason)}
	}
	if q.Tier.Largest() {
		plans.Link = ""
	}
	return plans
}

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
