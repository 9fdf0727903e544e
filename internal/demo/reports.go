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

// figure is one line of a monthly report: its place in the report and its usual size.
type figure struct {
	group, category, detail string
	unit                    string
	amount                  float64 // in the first period
	growth                  float64 // a year, as a factor
	seasons                 *[12]float64
}

var (
	beerSeasons    = [12]float64{0.96, 0.92, 1.06, 1.05, 1.10, 1.10, 1.08, 1.05, 0.96, 0.95, 0.88, 0.89}
	harvestSeasons = [12]float64{0.25, 0.22, 0.25, 0.22, 0.22, 0.22, 0.24, 0.70, 3.20, 4.40, 1.50, 0.58}
	holidaySeasons = [12]float64{0.90, 0.90, 1.02, 0.97, 1.00, 1.00, 0.96, 0.98, 1.00, 1.08, 1.12, 1.07}
	levelSeasons   = [12]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
)

// monthlyFigures are the lines of each commodity's monthly report, in the order of the report.
var monthlyFigures = map[string][]figure{
	"Beer": {
		{"Barrels Produced", "Totals", "Production", "barrels", 15_600_000, 0.993, &beerSeasons},
		{"Barrels Produced", "Taxable", "In bottles and cans", "barrels", 12_600_000, 0.994, &beerSeasons},
		{"Barrels Produced", "Taxable", "In barrels and kegs", "barrels", 1_480_000, 0.985, &beerSeasons},
		{"Barrels Produced", "Taxable", "Tax Determined, Premises Use", "barrels", 420_000, 1.06, &beerSeasons},
		{"Barrels Produced", "Tax Free", "For export", "barrels", 480_000, 1.01, &levelSeasons},
		{"Barrels Produced", "Tax Free", "For vessels and aircraft", "barrels", 160, 0.95, &levelSeasons},
		{"Barrels Produced", "Tax Free", "Consumed on brewery premises", "barrels", 21_000, 1.03, &beerSeasons},
		{"Barrels Produced", "Totals", "Stocks On Hand end-of-month:", "barrels", 9_900_000, 1.01, &levelSeasons},
		{"Pounds of Materials Used", "Grain Products", "Malt and malt products", "pounds", 330_000_000, 0.985, &beerSeasons},
		{"Pounds of Materials Used", "Grain Products", "Corn and corn products", "pounds", 48_000_000, 0.98, &beerSeasons},
		{"Pounds of Materials Used", "Grain Products", "Rice and rice products", "pounds", 41_000_000, 0.98, &beerSeasons},
		{"Pounds of Materials Used", "Grain Products", "Wheat and wheat products", "pounds", 2_900_000, 1.02, &beerSeasons},
		{"Pounds of Materials Used", "Non-Grain Products", "Hops (dry)", "pounds", 6_800_000, 1.03, &beerSeasons},
		{"Pounds of Materials Used", "Non-Grain Products", "Sugar and syrups", "pounds", 62_000_000, 1.01, &beerSeasons},
	},
	"Wine": {
		{"Production", "Wine", "Total", "wine gallons", 65_000_000, 1.005, &harvestSeasons},
		{"Production", "Still Wine", "16 percent and under", "wine gallons", 54_000_000, 1.004, &harvestSeasons},
		{"Production", "Still Wine", "Over 16 to 21 percent", "wine gallons", 2_400_000, 0.98, &harvestSeasons},
		{"Production", "Hard Cider", "Total", "wine gallons", 2_700_000, 1.03, &levelSeasons},
		{"Production", "Sparkling Wine", "Total", "wine gallons", 2_300_000, 1.02, &holidaySeasons},
		{"Withdrawals", "Taxable", "Total", "wine gallons", 62_000_000, 1.004, &holidaySeasons},
		{"Withdrawals", "Tax Free", "For export", "wine gallons", 9_800_000, 0.99, &levelSeasons},
		{"Stocks on Hand End-of-Period", "Wine", "Total", "wine gallons", 840_000_000, 1.01, &levelSeasons},
	},
	"Distilled Spirits": {
		{"Production", "Whisky", "160 proof and under", "proof gallons", 19_000_000, 1.06, &levelSeasons},
		{"Production", "Brandy", "170 proof and under", "proof gallons", 640_000, 0.98, &harvestSeasons},
		{"Production", "Rum", "Total", "proof gallons", 1_900_000, 1.01, &levelSeasons},
		{"Production", "Gin", "Total", "proof gallons", 780_000, 1.02, &levelSeasons},
		{"Production", "Vodka", "Total", "proof gallons", 4_100_000, 1.01, &levelSeasons},
		{"Production", "Alcohol and Spirits", "190 proof and over", "proof gallons", 480_000_000, 1.01, &levelSeasons},
		{"Bottled", "Whisky", "For domestic use", "wine gallons", 11_500_000, 1.03, &holidaySeasons},
		{"Bottled", "Vodka", "For domestic use", "wine gallons", 14_200_000, 1.01, &holidaySeasons},
		{"Bottled", "Cordials, liqueurs and specialties", "For domestic use", "wine gallons", 7_600_000, 1.04, &holidaySeasons},
		{"Stocks on Hand End-of-Period", "Whisky", "Total", "proof gallons", 1_050_000_000, 1.06, &levelSeasons},
	},
}

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
	for i, f := range monthlyFigures[commodity] {
		d := throw(o.Seed, streamReports, uint64(month)<<16|uint64(commodity[0])<<8|uint64(i))
		value := f.amount * math.Pow(f.growth, years) * f.seasons[t.Month()-1] * (0.96 + 0.08*d.unit())
		row := cola.ProductionReport{
			Commodity:           commodity,
			ReportType:          "monthly",
			Year:                t.Year(),
			MonthNumber:         cola.Some(int(t.Month())),
			ReportDate:          monthEnd(month),
			StatisticalGroup:    cola.Text(f.group),
			StatisticalCategory: cola.Text(f.category),
			StatisticalDetail:   cola.Text(f.detail),
			ValueUnit:           cola.Text(f.unit),
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
