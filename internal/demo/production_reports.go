package demo

import (
	"math"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// firstReports is the first month with production reports.
var firstReports = firstOfMonth(2014, time.January)

// reportLag is the number of days from the end of a period to the publication of its report.
const reportLag = 60

// reportCommodities are the commodities of the production reports, in row order.
var reportCommodities = []string{"Beer", "Wine", "Distilled Spirits"}

// ProductionReports returns monthly and yearly production reports over several years up to the date
// in the options, oldest first. The yearly reports are by state and withhold figures that come from
// too few producers. If the options fail Check, it returns nil.
func ProductionReports(o Options) []cola.ProductionReport {
	if o.Check() != nil {
		return nil
	}
	var rows []cola.ProductionReport
	published := o.AsOf.AddDays(-reportLag)
	for _, month := range monthsBetween(firstReports, published) {
		for _, commodity := range reportCommodities {
			rows = appendMonthly(rows, o, commodity, month)
		}
		if month.Time().Month() == time.December {
			for _, commodity := range reportCommodities {
				rows = appendYearly(rows, o, commodity, yearOf(month))
			}
		}
	}
	return rows
}

func appendMonthly(rows []cola.ProductionReport, o Options, commodity string, month cola.Date) []cola.ProductionReport {
	t := month.Time()
	years := float64(t.Year()-2014) + float64(t.Month()-1)/12
	for i, f := range table().Monthly[commodity] {
		d := newRNG(o.Seed, streamReports, uint64(month)<<16|uint64(commodity[0])<<8|uint64(i))
		value := f.Amount * math.Pow(f.Growth, years) * table().Seasons[f.Seasons][t.Month()-1] * (0.96 + 0.08*d.unit())
		row := cola.ProductionReport{
			Commodity:           commodity,
			ReportType:          "monthly",
			Year:                t.Year(),
			MonthNumber:         cola.Some(int(t.Month())),
			ReportDate:          monthEnd(month),
			StatisticalGroup:    cola.Text(f.Group),
			StatisticalCategory: cola.Text(f.Category),
			StatisticalDetail:   cola.Text(f.Detail),
			ValueUnit:           cola.Text(f.Unit),
		}
		if commodity == "Distilled Spirits" && d.chance(0.02) {
			row.IsRedacted = true
		} else {
			row.Value = cola.Some(math.Round(value))
		}
		rows = append(rows, row)
	}
	return rows
}

// minMembers is the minimum number of industry members for a figure to be published.
const minMembers = 3

// appendYearly appends a commodity's yearly report by state. A state's share is proportional to its
// number of producers to the power of 1.4.
func appendYearly(rows []cola.ProductionReport, o Options, commodity string, year int) []cola.ProductionReport {
	states, total := table().States, 0.0
	for i := range states {
		total += math.Pow(states[i].members(commodity), 1.4)
	}
	for i, f := range table().Yearly[commodity] {
		for j := range states {
			d := newRNG(o.Seed, streamReports, uint64(year)<<24|uint64(commodity[0])<<16|uint64(i)<<8|uint64(j))
			members := states[j].members(commodity)
			share := math.Pow(members, 1.4) / total
			value := f.Amount * math.Pow(f.Growth, float64(year-2014)) * share * (0.9 + 0.2*d.unit())
			count := max(1, int(members*(0.8+0.4*d.unit())))
			row := cola.ProductionReport{
				Commodity:           commodity,
				ReportType:          "yearly",
				Year:                year,
				ReportDate:          monthEnd(firstOfMonth(year, 12)),
				StatisticalGroup:    cola.Text(f.Group),
				StatisticalCategory: cola.Text(states[j].Code),
				StatisticalDetail:   cola.Text(f.Detail),
				CountIMs:            cola.Some(count),
				ValueUnit:           cola.Text(f.Unit),
				IsRedacted:          count < minMembers,
			}
			if !row.IsRedacted {
				row.Value = cola.Some(math.Round(value))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// members returns the approximate number of producers of a commodity in the state.
func (s *state) members(commodity string) float64 {
	switch commodity {
	case "Beer":
		return s.Beer
	case "Wine":
		return s.Wine
	}
	return s.Spirits
}
