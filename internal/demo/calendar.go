package demo

import (
	"iter"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// receipts is the number of applications received on one day.
type receipts struct {
	day   cola.Date
	count int
}

// calendar distributes n applications over the days from firstReceipt to last. Counts are derived
// from cumulative shares, so they add up to exactly n, and for any n > 0 the last application
// arrives on the last day.
func calendar(n int, last cola.Date) iter.Seq[receipts] {
	return func(yield func(receipts) bool) {
		total := 0
		for day := firstReceipt; day <= last; day++ {
			total += dayWeight(day)
		}
		running, assigned := 0, 0
		for day := firstReceipt; day <= last; day++ {
			running += dayWeight(day)
			due := int(int64(n) * int64(running) / int64(total))
			if due > assigned && !yield(receipts{day, due - assigned}) {
				return
			}
			assigned = due
		}
	}
}

// yearlyReceipts is the number of applications per year, in thousands: a slow rise from 2005, then
// a plateau.
var yearlyReceipts = [...]int{
	100, 104, 108, 109, 106, 110, 114, 120, 126, 132, // 2005 to 2014
	138, 144, 150, 156, 160, 158, 172, 176, 172, 168, // 2015 to 2024
}

// monthlyReceipts is the seasonal variation, in percent.
var monthlyReceipts = [12]int{104, 102, 110, 105, 103, 102, 99, 104, 101, 100, 91, 79}

// dayWeight returns the relative number of applications on the given day. Weekends have few.
func dayWeight(day cola.Date) int {
	t := day.Time()
	year := yearlyReceipts[min(t.Year()-2005, len(yearlyReceipts)-1)]
	w := year * monthlyReceipts[t.Month()-1]
	switch t.Weekday() {
	case time.Saturday:
		return w / 25
	case time.Sunday:
		return w / 40
	case time.Monday:
		return w * 11 / 10
	}
	return w
}

// processingDays is the median number of days from receipt to approval for each year from 2005. The
// processing time reports show the same numbers.
var processingDays = [...]int{
	9, 11, 13, 14, 12, 11, 14, 22, 28, 24, 19, 16, 12, 21, 14, 7, 6, 8, 6, 5,
}

// medianDays returns the median processing time for a commodity's applications received on the
// given day.
func medianDays(kind vocabulary.ProductType, day cola.Date) int {
	median := processingDays[min(max(day.Time().Year()-2005, 0), len(processingDays)-1)]
	switch kind {
	case vocabulary.DistilledSpirits:
		return median + 2
	case vocabulary.MaltBeverage:
		return max(1, median-1)
	}
	return median
}

// approvalDay returns the approval date of an application: near the median of its commodity and
// year, sometimes much later, and never after the last day.
func approvalDay(d *rng, kind vocabulary.ProductType, received, last cola.Date) cola.Date {
	median := medianDays(kind, received)
	wait := d.between(median/2, median+median/2)
	if d.chance(0.06) {
		wait += d.between(10, 90) // returned for correction
	}
	return min(received.AddDays(wait), last)
}
