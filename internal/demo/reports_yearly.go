package demo

import (
	"math"

	"github.com/colaregistry/colaregistry/cola"
)

// fewestMembers is the number of industry members behind a figure below which it is withheld.
const fewestMembers = 3

// appendYearly appends a year's report of a commodity by state. A state's share goes with its number of permittees.
func appendYearly(rows []cola.ProductionReport, o Options, commodity string, year int) []cola.ProductionReport {
	states, total := table().States, 0.0
	for i := range states {
		total += math.Pow(states[i].members(commodity), 1.4)
	}
	for i, f := range table().Yearly[commodity] {
		for j := range states {
			d := throw(o.Seed, streamReports, uint64(year)<<24|uint64(commodity[0])<<16|uint64(i)<<8|uint64(j))
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
		return s.Beer
	case "Wine":
		return s.Wine
	}
	return s.Spirits
}
