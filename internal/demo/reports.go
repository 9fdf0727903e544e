package demo

import (
	"math"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// firstReports is the month from which production reports are published.
var firstReports = firstOfMonth(2014, time.January)

// reportLag is how long after a period its report is published.
const reportLag = 60

// reportCommodities are the commodities of the production reports, in the order of their rows.
var reportCommodities = []string{"Beer", "Wine", "Distilled Spirits"}

// ProductionReports returns monthly and yearly production reports over the years up to the day of the options, oldest
// first: some months of figures, and yearly figures by state with those of few producers withheld. It returns nothing for
// options that fail Check.
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
		d := throw(o.Seed, streamReports, uint64(month)<<16|uint64(commodity[0])<<8|uint64(i))
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
