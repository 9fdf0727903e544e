package demo

import (
	"math"

	"github.com/colaregistry/colaregistry/cola"
)

// yearlyFigures are the columns of each commodity's yearly report by state: what they are called, their unit, and the
// nation's total in the first year.
var yearlyFigures = map[string][]figure{
	"Beer": {
		{group: "Taxable removals by state", detail: "Bottles and Cans", unit: "barrels", amount: 151_000_000, growth: 0.994},
		{group: "Taxable removals by state", detail: "Kegs and Barrels", unit: "barrels", amount: 17_800_000, growth: 0.985},
		{group: "Taxable removals by state", detail: "On Premises", unit: "barrels", amount: 5_000_000, growth: 1.06},
	},
	"Wine": {
		{group: "Production", detail: "State total", unit: "wine gallons", amount: 780_000_000, growth: 1.005},
		{group: "Taxable Withdrawals", detail: "State total", unit: "wine gallons", amount: 744_000_000, growth: 1.004},
		{group: "Stocks on Hand End-of-Period", detail: "State total", unit: "wine gallons", amount: 840_000_000, growth: 1.01},
	},
	"Distilled Spirits": {
		{group: "Production by state", detail: "Whisky", unit: "proof gallons", amount: 228_000_000, growth: 1.06},
		{group: "Production by state", detail: "Other than whisky", unit: "proof gallons", amount: 90_000_000, growth: 1.01},
	},
}

// fewestMembers is the number of industry members behind a figure below which it is withheld.
const fewestMembers = 3

// appendYearly appends a year's report of a commodity by state. A state's share goes with its number of permittees.
func appendYearly(rows []cola.ProductionReport, o Options, commodity string, year int) []cola.ProductionReport {
	total := 0.0
	for i := range states {
		total += math.Pow(states[i].members(commodity), 1.4)
	}
	for i, f := range yearlyFigures[commodity] {
		for j := range states {
			d := throw(o.Seed, streamReports, uint64(year)<<24|uint64(commodity[0])<<16|uint64(i)<<8|uint64(j))
			members := states[j].members(commodity)
			share := math.Pow(members, 1.4) / total
			value := f.amount * math.Pow(f.growth, float64(year-2014)) * share * (0.9 + 0.2*d.unit())
			count := max(1, int(members*(0.8+0.4*d.unit())))
			row := cola.ProductionReport{
				Commodity:           commodity,
				ReportType:          "yearly",
				Year:                year,
				ReportDate:          monthEnd(firstOfMonth(year, 12)),
				StatisticalGroup:    cola.Text(f.group),
				StatisticalCategory: cola.Text(states[j].code),
				StatisticalDetail:   cola.Text(f.detail),
				CountIMs:            cola.Some(count),
				ValueUnit:           cola.Text(f.unit),
				IsRedacted:          count < fewestMembers,
			}
			if !row.IsRedacted {
				row.Value = cola.Some(math.Round(value))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// members is about how many producers of a commodity a state has.
func (s *state) members(commodity string) float64 {
	switch commodity {
	case "Beer":
		return s.beer
	case "Wine":
		return s.wine
	}
	return s.spirits
}
