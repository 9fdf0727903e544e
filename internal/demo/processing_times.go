package demo

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// commodities maps the commodity names in processing times to product types.
var commodities = []struct {
	name string
	kind vocabulary.ProductType
}{
	{"Wine", vocabulary.Wine},
	{"Malt Beverage", vocabulary.MaltBeverage},
	{"Distilled Spirits", vocabulary.DistilledSpirits},
}

// firstTimes is the first day with published processing times.
var firstTimes = cola.NewDate(2012, time.January, 1)

// snapshots returns the days on which processing times were published, oldest first: the last day
// of every month until two years before last, and every Friday from then on.
func snapshots(last cola.Date) []cola.Date {
	var days []cola.Date
	weeklyFrom := last.AddDays(-2 * 365)
	for day := max(firstTimes, firstReceipt); day <= last; day++ {
		t := day.Time()
		monthEnd := t.AddDate(0, 0, 1).Day() == 1
		if day < weeklyFrom && monthEnd || day >= weeklyFrom && t.Weekday() == time.Friday {
			days = append(days, day)
		}
	}
	return days
}

// ProcessingTimes returns the processing times of COLA applications by commodity, over several
// years up to the date in the options. They match the dates of the labels. If the options fail
// Check, it returns nil.
func ProcessingTimes(o Options) []cola.ProcessingTime {
	if o.Check() != nil {
		return nil
	}
	var rows []cola.ProcessingTime
	for _, day := range snapshots(o.AsOf) {
		for i, commodity := range commodities {
			d := newRNG(o.Seed, streamTimes, uint64(day)<<8|uint64(i))
			median := max(1, medianDays(commodity.kind, day)+d.between(-2, 2))
			depth := max(1, median+d.between(-1, 2))
			row := cola.ProcessingTime{
				Commodity:         commodity.name,
				SnapshotDate:      day,
				QueueFrontierDate: day.AddDays(-depth),
				QueueDepthDays:    cola.Some(depth),
			}
			if !d.chance(0.01) {
				row.TurnaroundDaysMedian = cola.Some(median)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// formulaTypes lists the types of formula applications and how many days longer than a label
// application each takes.
var formulaTypes = []struct {
	name  string
	extra int
}{
	{"Formula Approval", 3},
	{"Pre-Import Approval", 6},
	{"Laboratory Analysis", 15},
}

// FormulaProcessingTimes returns the monthly processing times of formula applications by commodity
// and type. If the options fail Check, it returns nil.
func FormulaProcessingTimes(o Options) []cola.FormulaProcessingTime {
	if o.Check() != nil {
		return nil
	}
	var rows []cola.FormulaProcessingTime
	for _, month := range monthsBetween(firstTimes, o.AsOf) {
		day := monthEnd(month)
		for i, commodity := range commodities {
			for j, formula := range formulaTypes {
				d := newRNG(o.Seed, streamTimes, uint64(day)<<8|uint64(16+4*i+j))
				median := max(2, medianDays(commodity.kind, day)+formula.extra+d.between(-2, 4))
				depth := max(1, median+d.between(-2, 2))
				rows = append(rows, cola.FormulaProcessingTime{
					Commodity:            commodity.name,
					FormulaType:          formula.name,
					SnapshotDate:         day,
					TurnaroundDaysMedian: cola.Some(median),
					QueueFrontierDate:    day.AddDays(-depth),
					QueueDepthDays:       cola.Some(depth),
				})
			}
		}
	}
	return rows
}

// RegistrationProcessingTimes returns the monthly processing times of original permit applications
// by type, starting in 2019. If the options fail Check, it returns nil.
func RegistrationProcessingTimes(o Options) []cola.RegistrationProcessingTime {
	if o.Check() != nil {
		return nil
	}
	var rows []cola.RegistrationProcessingTime
	for _, month := range monthsBetween(firstOfMonth(2019, time.January), o.AsOf) {
		for i, kind := range table().Registrations {
			d := newRNG(o.Seed, streamTimes, uint64(month)<<8|uint64(64+i))
			row := cola.RegistrationProcessingTime{
				Category:        kind.Category,
				ApplicationType: kind.Application,
				ReportMonth:     month,
				SnapshotDate:    monthEnd(month),
			}
			if !d.chance(kind.None) {
				row.TurnaroundDaysMedian = cola.Some(d.between(kind.Days*6/10, kind.Days*15/10))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// monthsBetween returns the first day of each month, from the month of first to the last month that
// ends by last.
func monthsBetween(first, last cola.Date) []cola.Date {
	var months []cola.Date
	t := first.Time()
	for month := firstOfMonth(t.Year(), t.Month()); monthEnd(month) <= last; month = monthEnd(month) + 1 {
		months = append(months, month)
	}
	return months
}

// monthEnd returns the last day of the month that starts on the given day.
func monthEnd(month cola.Date) cola.Date {
	t := month.Time()
	return firstOfMonth(t.Year(), t.Month()+1) - 1
}
