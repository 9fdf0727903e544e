package dashboard

import (
	"cmp"
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

// measure is one of the two things that are metered.
type measure struct {
	id, title, unit string
	of              func(registry.Use) int
}

func measures() []measure {
	return []measure{
		{"details", "Detail views", "detail views", func(u registry.Use) int { return u.DetailViews }},
		{"lists", "List records", "list records", func(u registry.Use) int { return u.ListRecords }},
	}
}

// useSeries is usage of one name, by step.
type useSeries struct {
	name string
	rest bool // it is what is not told apart
	uses []registry.Use
}

// total returns the sum over all steps.
func (s useSeries) total() (sum registry.Use) {
	for _, u := range s.uses {
		sum = sumOf(sum, u)
	}
	return sum
}

func sumOf(a, b registry.Use) registry.Use {
	return registry.Use{DetailViews: a.DetailViews + b.DetailViews, ListRecords: a.ListRecords + b.ListRecords, Requests: a.Requests + b.Requests}
}

// plotsOf draws each measure in a plot of its own: they are of different magnitudes. A series looks the same in both, and is left out where it
// has nothing.
func plotsOf(id, by string, steps []step, all []useSeries) []plot {
	var plots []plot
	for _, m := range measures() {
		var drawn []series
		for i, s := range all {
			if by != "" && m.of(s.total()) == 0 {
				continue
			}
			one := series{Name: s.name, Class: seriesClasses()[i%len(seriesClasses())]}
			for _, u := range s.uses {
				one.Values = append(one.Values, m.of(u))
			}
			drawn = append(drawn, one)
		}
		title := m.title + " each day, " + by
		if by == "" {
			title = m.title + " each month"
		}
		plots = append(plots, newPlot(id+"-"+m.id, title, "Day", m.unit, steps, drawn))
	}
	return plots
}

// daySteps returns the days of the month, those to come included.
func daySteps(r registry.UsageReport) []step {
	var steps []step
	for day := r.State.Period.Start(); day.Before(r.State.Period.End()); day = day.AddDate(0, 0, 1) {
		s := step{Label: day.Format("2 Jan")}
		if (day.Day()-1)%7 == 0 {
			s.Below = s.Label
		}
		steps = append(steps, s)
	}
	return steps
}

// channelWords names a channel.
func channelWords(c cola.Channel) string {
	switch c {
	case cola.ChannelREST:
		return "REST API"
	case cola.ChannelMCP:
		return "Assistants"
	case cola.ChannelDashboard:
		return "Dashboard"
	}
	return legible(string(c))
}

// channelSeries tells the days apart by channel.
func channelSeries(r registry.UsageReport) []useSeries {
	return grouped(r, func(row registry.UseRow) (string, bool) { return channelWords(row.Channel), false })
}

// othersName names what is not told apart by key and app.
const othersName = "The others"

// sourceSeries tells the days apart by who used them: those that used most, and the rest together, last. A key and the one that it was replaced
// by have one name, and are one series.
func sourceSeries(r registry.UsageReport) []useSeries {
	all := grouped(r, func(row registry.UseRow) (string, bool) {
		return sourceWords(row), row.Credential == cola.Credential{}
	})
	all = slices.DeleteFunc(all, func(s useSeries) bool { t := s.total(); return t.DetailViews == 0 && t.ListRecords == 0 })
	mostFirst(all)
	most, named := len(seriesClasses()), len(all)
	if named > 0 && all[named-1].rest {
		named--
	}
	if len(all) > most {
		named = most - 1
	}
	if named == len(all) {
		return all
	}
	rest := useSeries{name: othersName, rest: true, uses: make([]registry.Use, len(r.Days))}
	for _, s := range all[named:] {
		for i, u := range s.uses {
			rest.uses[i] = sumOf(rest.uses[i], u)
		}
	}
	return append(all[:named], rest)
}

// mostFirst puts the series that used the largest shares first, and the rest last.
func mostFirst(all []useSeries) {
	whole := useSeries{}
	for _, s := range all {
		whole.uses = append(whole.uses, s.total())
	}
	sum := whole.total()
	share := func(s useSeries) float64 {
		if s.rest {
			return -1
		}
		t := s.total()
		return float64(t.DetailViews)/float64(max(1, sum.DetailViews)) + float64(t.ListRecords)/float64(max(1, sum.ListRecords))
	}
	slices.SortStableFunc(all, func(a, b useSeries) int { return cmp.Compare(share(b), share(a)) })
}

// sourceWords names who used something.
func sourceWords(row registry.UseRow) string {
	switch row.Credential.Kind {
	case cola.CredentialSignIn:
		return "Browsers"
	case "":
		return othersName
	}
	return legible(row.Name)
}

// grouped adds up the rows of a report that have one name, in the order in which the names come. A key may be named like the rest and is not
// part of it.
func grouped(r registry.UsageReport, name func(registry.UseRow) (_ string, rest bool)) []useSeries {
	var all []useSeries
	for n, row := range r.Rows {
		name, rest := name(row)
		i := slices.IndexFunc(all, func(s useSeries) bool { return s.name == name && s.rest == rest })
		if i < 0 {
			i = len(all)
			all = append(all, useSeries{name: name, rest: rest, uses: make([]registry.Use, len(r.Days))})
		}
		for d, day := range r.Days {
			all[i].uses[d] = sumOf(all[i].uses[d], day.By[n])
		}
	}
	return all
}

// monthPlots draws the last months.
func monthPlots(r registry.UsageReport) []plot {
	var steps []step
	whole := useSeries{}
	for i, m := range r.Months {
		s := step{Label: m.Period.Start().Format("January 2006")}
		if i%2 == 1 {
			s.Below = m.Period.Start().Format("Jan 06")
		}
		steps = append(steps, s)
		whole.uses = append(whole.uses, registry.Use{DetailViews: m.Used.DetailViews, ListRecords: m.Used.ListRecords})
	}
	plots := plotsOf("months", "", steps, []useSeries{whole})
	for i := range plots {
		plots[i].Of = "Month"
	}
	return plots
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
