package dashboard

import (
	"cmp"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// measure is a metered unit: detail views or list records.
type measure struct {
	id, title, unit string
	of              func(registry.Usage) int
}

func measures() []measure {
	return []measure{
		{"details", "Detail views", "detail views", func(u registry.Usage) int { return u.DetailViews }},
		{"lists", "List records", "list records", func(u registry.Usage) int { return u.ListRecords }},
	}
}

// usageSeries is the usage of a named source by step.
type usageSeries struct {
	name string
	rest bool // the combined remaining sources
	uses []registry.Usage
}

// total returns the sum over all steps.
func (s usageSeries) total() (sum registry.Usage) {
	for _, u := range s.uses {
		sum = sum.Plus(u)
	}
	return sum
}

// newCharts draws a chart for each measure, because their magnitudes differ. A series has the same
// style in both charts, and is omitted if all its values are zero.
func newCharts(id, by string, steps []chartStep, all []usageSeries) []chart {
	var plots []chart
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
		title, timeUnit := m.title+" per day, "+by, "Day"
		if by == "" {
			title, timeUnit = m.title+" per month", "Month"
		}
		plots = append(plots, newChart(id+"-"+m.id, title, timeUnit, m.unit, steps, drawn))
	}
	return plots
}

// daySteps returns all days of the month, including future ones.
func daySteps(r registry.UsageReport) []chartStep {
	var steps []chartStep
	for day := r.State.Period.Start(); day.Before(r.State.Period.End()); day = day.AddDate(0, 0, 1) {
		s := chartStep{Label: day.Format("Jan 2")}
		if (day.Day()-1)%7 == 0 {
			s.Below = s.Label
		}
		steps = append(steps, s)
	}
	return steps
}

// channelSeries returns the daily usage by channel.
func channelSeries(r registry.UsageReport) []usageSeries {
	return groupUsage(r, func(row registry.UsageRow) (string, bool) { return channelName(row.Channel), false })
}

// othersName is the name of the remaining keys and apps.
const othersName = "Other"

// sourceSeries returns the daily usage by key or app: the largest ones, then the sum of the others.
// A key and its replacement share a name, and so a series.
func sourceSeries(r registry.UsageReport) []usageSeries {
	all := groupUsage(r, func(row registry.UsageRow) (string, bool) {
		return sourceName(row), row.Credential == cola.Credential{}
	})
	all = slices.DeleteFunc(all, func(s usageSeries) bool {
		t := s.total()
		return t.DetailViews == 0 &&
			t.ListRecords == 0
	})
	sortByShare(all)
	maxSeries, named := len(seriesClasses()), len(all)
	if named > 0 && all[named-1].rest {
		named--
	}
	if len(all) > maxSeries {
		named = maxSeries - 1
	}
	if named == len(all) {
		return all
	}
	rest := usageSeries{name: othersName, rest: true, uses: make([]registry.Usage, len(r.Days))}
	for _, s := range all[named:] {
		for i, u := range s.uses {
			rest.uses[i] = rest.uses[i].Plus(u)
		}
	}
	return append(all[:named], rest)
}

// sortByShare sorts series by their share of the usage, with the sum of the others last.
func sortByShare(all []usageSeries) {
	whole := usageSeries{}
	for _, s := range all {
		whole.uses = append(whole.uses, s.total())
	}
	sum := whole.total()
	share := func(s usageSeries) float64 {
		if s.rest {
			return -1
		}
		t := s.total()
		return float64(t.DetailViews)/float64(max(1, sum.DetailViews)) +
			float64(t.ListRecords)/float64(max(1, sum.ListRecords))
	}
	slices.SortStableFunc(all, func(a, b usageSeries) int { return cmp.Compare(share(b), share(a)) })
}

// sourceName returns the display name of a usage row's source: a key, an app, browser sessions or
// the rest.
func sourceName(row registry.UsageRow) string {
	switch row.Credential.Kind {
	case cola.CredentialSignIn:
		return "Browser sessions"
	case "":
		return othersName
	}
	return stripHidden(row.Name)
}

// groupUsage adds up the rows of a report by name, in order of first appearance. A key may have the
// same name as the rest, but stays separate.
func groupUsage(r registry.UsageReport, name func(registry.UsageRow) (_ string, rest bool)) []usageSeries {
	var all []usageSeries
	for n, row := range r.Rows {
		name, rest := name(row)
		i := slices.IndexFunc(all, func(s usageSeries) bool { return s.name == name && s.rest == rest })
		if i < 0 {
			i = len(all)
			all = append(all, usageSeries{name: name, rest: rest, uses: make([]registry.Usage, len(r.Days))})
		}
		for d, day := range r.Days {
			all[i].uses[d] = all[i].uses[d].Plus(day.By[n])
		}
	}
	return all
}

// monthCharts draws the usage of the last 12 months.
func monthCharts(r registry.UsageReport) []chart {
	var steps []chartStep
	whole := usageSeries{}
	for i, m := range r.Months {
		s := chartStep{Label: m.Period.Start().Format("January 2006")}
		if i%3 == 1 { // more labels would overlap on a phone
			s.Below = m.Period.Start().Format("Jan 2006")
		}
		steps = append(steps, s)
		whole.uses = append(whole.uses, registry.Usage{
			DetailViews: m.Used.DetailViews,
			ListRecords: m.Used.ListRecords,
		})
	}
	return newCharts("months", "", steps, []usageSeries{whole})
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
