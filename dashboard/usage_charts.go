package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// usageView is what the usage chart shows: a unit, grouped by channel or source, over a span.
type usageView struct {
	unit measure
	by   string
	span registry.UsageSpan
}

// measure is a unit of usage. Its ID is its name in URLs.
type measure struct {
	id, unit string // unit is a plural noun
	count    func(registry.Usage) int
	quota    func(cola.Limits) int // nil if unlimited
}

func measures() []measure {
	return []measure{
		{
			"list_records", "list records", func(u registry.Usage) int { return u.ListRecords },
			func(l cola.Limits) int { return l.ListRecords },
		},
		{
			"detail_views", "detail views", func(u registry.Usage) int { return u.DetailViews },
			func(l cola.Limits) int { return l.DetailViews },
		},
		{"requests", "requests", func(u registry.Usage) int { return u.Requests }, nil},
	}
}

const (
	byChannel = "channel"
	bySource  = "source"
)

// spanName returns the display name of a span, to follow "last".
func spanName(s registry.UsageSpan) string {
	switch s {
	case registry.Last7Days:
		return "7 days"
	case registry.Last90Days:
		return "90 days"
	case registry.Last12Months:
		return "12 months"
	}
	return "30 days"
}

// newUsageView reads a view from query parameters. Unknown values select the default.
func newUsageView(q url.Values) usageView {
	v := usageView{unit: measures()[0], by: byChannel, span: registry.Last30Days}
	for _, m := range measures() {
		if m.id == q.Get("unit") {
			v.unit = m
		}
	}
	if q.Get("group_by") == bySource {
		v.by = bySource
	}
	if span := registry.UsageSpan(q.Get("range")); slices.Contains(registry.UsageSpans(), span) {
		v.span = span
	}
	return v
}

// href returns the URL of the view, with the chart as the fragment so that the page doesn't seem to
// jump.
func (v usageView) href() string {
	return usagePath + "?unit=" + v.unit.id + "&group_by=" + v.by + "&range=" + string(v.span) + "#chart"
}

// switches returns the links to this view and to the views that differ from it in one setting.
func (v usageView) switches() []linkGroup {
	unit, by, span := linkGroup{Label: "Unit"}, linkGroup{Label: "Group by"}, linkGroup{Label: "Range"}
	add := func(g *linkGroup, text string, other usageView) {
		g.Links = append(g.Links, facetLink{Label: text, Href: other.href(), Chosen: other.href() == v.href()})
	}
	for _, m := range measures() {
		add(&unit, capitalize(m.unit), usageView{m, v.by, v.span})
	}
	add(&by, "Channel", usageView{v.unit, byChannel, v.span})
	add(&by, "Key or app", usageView{v.unit, bySource, v.span})
	for _, s := range registry.UsageSpans() {
		add(&span, spanName(s), usageView{v.unit, v.by, s})
	}
	return []linkGroup{unit, by, span}
}

// chart draws a report for the view's span. A series that has no usage in the unit is omitted, but
// a source keeps its style in all units.
func (v usageView) chart(r registry.UsageReport) chart {
	all, by := sourceSeries(r), "key and app"
	if v.by == byChannel {
		all, by = channelSeries(r), "channel"
	}
	var drawn []series
	for i, s := range all {
		if v.unit.count(s.total()) == 0 {
			continue
		}
		visible := series{Name: s.name, Class: seriesClasses()[i%len(seriesClasses())]}
		for _, u := range s.uses {
			visible.Values = append(visible.Values, v.unit.count(u))
		}
		drawn = append(drawn, visible)
	}
	timeUnit := "Day"
	if v.span == registry.Last12Months {
		timeUnit = "Month"
	}
	title := capitalize(v.unit.unit) + " per " + strings.ToLower(timeUnit) + ", by " + by
	return newChart("usage", title, timeUnit, v.unit.unit, usageSteps(r), drawn)
}

// usageSteps returns the days or months of a report.
func usageSteps(r registry.UsageReport) []chartStep {
	steps := make([]chartStep, len(r.Steps))
	for i, s := range r.Steps {
		steps[i] = chartStep{Label: s.First.Time().Format("Jan 2"), Exact: s.First.String()}
		if s.First != s.Last {
			steps[i] = chartStep{Label: s.First.Time().Format("Jan 2006"), Exact: cola.PeriodOf(s.First.Time()).String()}
		}
	}
	labelSteps(steps)
	return steps
}

// usageSeries is the usage of a named source by step.
type usageSeries struct {
	name  string
	other bool // all other sources combined
	uses  []registry.Usage
}

// total returns the sum over all steps.
func (s usageSeries) total() (sum registry.Usage) {
	for _, u := range s.uses {
		sum = sum.Plus(u)
	}
	return sum
}

// channelSeries returns the usage by channel. A channel has the same style in every chart.
func channelSeries(r registry.UsageReport) []usageSeries {
	all := groupUsage(r, func(row registry.UsageRow) (string, bool) { return channelName(row.Channel), false })
	var ordered []usageSeries
	for _, c := range []cola.Channel{cola.ChannelREST, cola.ChannelMCP, cola.ChannelDashboard} {
		s := usageSeries{name: channelName(c), uses: make([]registry.Usage, len(r.Steps))}
		if i := slices.IndexFunc(all, func(s usageSeries) bool { return s.name == channelName(c) }); i >= 0 {
			s = all[i]
			all = slices.Delete(all, i, i+1)
		}
		ordered = append(ordered, s)
	}
	return append(ordered, all...)
}

// othersName is the display name of the remaining keys and apps combined.
const othersName = "Other"

// sourceSeries returns the usage by key or app: the largest ones, then the sum of the rest. A key
// and its replacement share a name, and so a series.
func sourceSeries(r registry.UsageReport) []usageSeries {
	all := groupUsage(r, func(row registry.UsageRow) (string, bool) {
		return sourceName(row), row.Credential == cola.Credential{}
	})
	all = slices.DeleteFunc(all, func(s usageSeries) bool {
		return s.total() == registry.Usage{}
	})
	sortByShare(all)
	maxSeries, named := len(seriesClasses()), len(all)
	if named > 0 && all[named-1].other {
		named--
	}
	if len(all) > maxSeries {
		named = maxSeries - 1
	}
	if named == len(all) {
		return all
	}
	other := usageSeries{name: othersName, other: true, uses: make([]registry.Usage, len(r.Steps))}
	for _, s := range all[named:] {
		for i, u := range s.uses {
			other.uses[i] = other.uses[i].Plus(u)
		}
	}
	return append(all[:named], other)
}

// sortByShare sorts series by their share of the usage, with the sum of the rest last.
func sortByShare(all []usageSeries) {
	whole := usageSeries{}
	for _, s := range all {
		whole.uses = append(whole.uses, s.total())
	}
	sum := whole.total()
	share := func(s usageSeries) float64 {
		if s.other {
			return -1
		}
		t := s.total()
		return float64(t.DetailViews)/float64(max(1, sum.DetailViews)) +
			float64(t.ListRecords)/float64(max(1, sum.ListRecords)) +
			float64(t.Requests)/float64(max(1, sum.Requests))
	}
	slices.SortStableFunc(all, func(a, b usageSeries) int { return cmp.Compare(share(b), share(a)) })
}

// sourceName returns the display name of a usage row's source: a key, an app, browser sessions or
// other sources.
func sourceName(row registry.UsageRow) string {
	switch row.Credential.Kind {
	case cola.CredentialSignIn:
		return "Browser sessions"
	case "":
		return othersName
	}
	return stripHidden(row.Name)
}

// groupUsage adds up the rows of a report by name, in order of first appearance. A key named
// "Other" stays separate from the combined other sources.
func groupUsage(r registry.UsageReport, name func(registry.UsageRow) (_ string, other bool)) []usageSeries {
	var all []usageSeries
	for n, row := range r.Rows {
		name, other := name(row)
		i := slices.IndexFunc(all, func(s usageSeries) bool { return s.name == name && s.other == other })
		if i < 0 {
			i = len(all)
			all = append(all, usageSeries{name: name, other: other, uses: make([]registry.Usage, len(r.Steps))})
		}
		for d, step := range r.Steps {
			all[i].uses[d] = all[i].uses[d].Plus(step.By[n])
		}
	}
	return all
}

// channelName returns the display name of a channel.
func channelName(c cola.Channel) string {
	switch c {
	case cola.ChannelREST:
		return "REST API"
	case cola.ChannelMCP:
		return "Assistants"
	case cola.ChannelDashboard:
		return "Dashboard"
	}
	return stripHidden(string(c))
}
