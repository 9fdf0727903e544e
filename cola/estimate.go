package cola

import (
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// TTB's registry export has neither the approval date nor the status of a label. It has the
// completion date, which is the date of the latest status change: usually the approval date, but a
// date years later if the label was surrendered or has expired. So labels without an approval date
// get an estimate, and the effective date of a label is the approval date or, if there is none, the
// estimate.

// DefaultProcessingDays is the assumed time from receipt to approval if no processing times are
// known.
const DefaultProcessingDays = 20

// maxProcessingDays is the maximum time from receipt to approval: a completion date more than this
// many days after receipt is not taken as the approval date.
const maxProcessingDays = 120

// maxSnapshotAge is the number of days after publication for which a processing time is used.
const maxSnapshotAge = 365

// EstimateApproval estimates a label's approval date from its ID and its completion date, which is
// zero if unknown. It returns zero if the ID has no plausible receipt date as of today.
// processingDays returns the median time from receipt to approval; it is called only if the
// estimate depends on it.
//
// The estimate is the completion date if that is within 120 days of receipt. Otherwise it is the
// receipt date plus the median processing time, but never after the completion date. The stores'
// migrations implement the same rule in SQL.
func EstimateApproval(id TTBID, completed, today Date, processingDays func(received Date) int) Date {
	received := id.Received(today)
	if received == 0 {
		return 0
	}
	if completed >= received && completed <= received.AddDays(maxProcessingDays) {
		return completed
	}
	estimate := received.AddDays(max(0, processingDays(received)))
	if completed != 0 {
		estimate = min(estimate, completed)
	}
	return estimate
}

// Received returns the receipt date encoded in the first five digits, YYDDD, or zero if they
// don't encode a date between 1980 and today.
func (id TTBID) Received(today Date) Date {
	const yearUnit, dayUnit = 1_000_000_000_000, 1_000_000_000
	year, day := 2000+int(id/yearUnit), int(id/dayUnit%1000)
	if year >= 2080 {
		year -= 100
	}
	received := NewDate(year, time.January, day)
	if day < 1 || received.Time().Year() != year || received > today {
		return 0
	}
	return received
}

// MedianProcessingDays returns the median processing time of a product type in the latest snapshot
// on or before a day, or DefaultProcessingDays if that is unknown or more than a year old.
func MedianProcessingDays(times []ProcessingTime, product vocabulary.ProductType, on Date) int {
	days, latest := DefaultProcessingDays, on.AddDays(-maxSnapshotAge-1)
	for i := range times {
		t := &times[i]
		if t.TurnaroundDaysMedian.OK && t.SnapshotDate > latest && t.SnapshotDate <= on &&
			strings.EqualFold(t.Commodity, string(product)) {
			days, latest = t.TurnaroundDaysMedian.V, t.SnapshotDate
		}
	}
	return days
}
