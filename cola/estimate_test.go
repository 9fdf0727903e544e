package cola

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

func TestEstimateApproval(t *testing.T) {
	for _, tt := range []struct {
		desc            string
		id              TTBID
		completed, want string
		days            int
	}{
		{"completed soon after receipt", 15032001000123, "2015-02-20", "2015-02-20", 20},
		{"completed on the day of receipt", 15032001000123, "2015-02-01", "2015-02-01", 20},
		{"completed 120 days after receipt", 15032001000123, "2015-06-01", "2015-06-01", 20},
		{"completed 121 days after receipt", 15032001000123, "2015-06-02", "2015-02-21", 20},
		{"completed years later", 15032001000123, "2025-07-16", "2015-02-21", 20},
		{"completed before receipt", 15032001000123, "2015-01-31", "2015-01-31", 20},
		{"not completed", 15032001000123, "", "2015-02-21", 20},
		{"known processing time", 15032001000123, "", "2015-02-06", 5},
		{"processing time beyond the completion date", 15032001000123, "2015-06-02", "2015-06-02", 400},
		{"negative processing time", 15032001000123, "", "2015-02-01", -5},
		{"leap day", 16366001000123, "", "2017-01-20", 20},
		{"day 366 of a common year", 15366001000123, "2015-12-31", "", 20},
		{"day 367", 16367001000123, "2016-12-31", "", 20},
		{"day 000", 15000001000123, "2015-01-20", "", 20},
		{"no date at all", 99999999999999, "2015-01-20", "", 20},
		{"received today", 26325001000123, "", "2026-12-11", 20},
		{"received tomorrow", 26326001000123, "2026-11-21", "", 20},
		{"received in the future", 27001001000123, "2026-11-20", "", 20},
		{"year 2000", 1001000123, "", "2000-01-21", 20},
		{"previous century", 99365001000123, "", "2000-01-20", 20},
		{"earliest year", 80001001000123, "", "1980-01-21", 20},
		{"after the latest year", 79001001000123, "", "", 20},
	} {
		today := NewDate(2026, time.November, 21)
		var completed Date
		if tt.completed != "" {
			completed = mustParseDate(t, tt.completed)
		}
		got := EstimateApproval(tt.id, completed, today, func(Date) int { return tt.days })
		if got.String() != tt.want {
			t.Errorf("%s: EstimateApproval(%s, %q) = %q, want %q", tt.desc, tt.id, tt.completed, got, tt.want)
		}
	}
}

func mustParseDate(t *testing.T, s string) Date {
	t.Helper()
	d, err := ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEstimateApprovalBounds checks that an estimate is never after the completion date, and never
// before receipt unless the completion date is. There must be an estimate unless the receipt date
// is impossible.
func TestEstimateApprovalBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		today := NewDate(2026, time.November, 21)
		id := TTBID(rapid.Uint64Range(1, maxTTBID).Draw(t, "id"))
		if rapid.Bool().Draw(t, "plausible") {
			day := NewDate(2005, time.January, 1).AddDays(rapid.IntRange(0, 22*365).Draw(t, "received"))
			id = TTBID(day.Time().Year()%100*1000+day.Time().YearDay()) * 1_000_000_000
		}
		received := id.Received(today)
		completed := Date(0)
		if rapid.Bool().Draw(t, "completed") {
			completed = max(1, received+Date(rapid.IntRange(-400, 8000).Draw(t, "after")))
		}
		days := rapid.IntRange(0, 300).Draw(t, "days")
		got := EstimateApproval(id, completed, today, func(on Date) int {
			if on != received {
				t.Errorf("processing days requested for %s, want the receipt date %s", on, received)
			}
			return days
		})
		switch {
		case (got == 0) != (received == 0):
			t.Errorf("estimate = %s for the receipt date %s", got, received)
		case got == 0:
		case completed != 0 && got > completed:
			t.Errorf("estimate = %s is after the completion date %s", got, completed)
		case got < min(received, max(completed, 1)) || completed == 0 && got < received:
			t.Errorf("estimate = %s is before the receipt date %s; completed %s", got, received, completed)
		}
	})
}

func TestMedianProcessingDays(t *testing.T) {
	on := NewDate(2025, time.June, 30)
	times := []ProcessingTime{
		{Commodity: "Wine", SnapshotDate: on.AddDays(1), TurnaroundDaysMedian: Some(1)},
		{Commodity: "Wine", SnapshotDate: on.AddDays(-2)}, // without a median
		{Commodity: "Wine", SnapshotDate: on.AddDays(-3), TurnaroundDaysMedian: Some(3)},
		{Commodity: "Wine", SnapshotDate: on.AddDays(-30), TurnaroundDaysMedian: Some(30)},
		{Commodity: "Malt Beverage", SnapshotDate: on, TurnaroundDaysMedian: Some(7)},
	}
	for _, tt := range []struct {
		product vocabulary.ProductType
		on      Date
		want    int
	}{
		{vocabulary.Wine, on, 3},
		{vocabulary.Wine, on.AddDays(-2), 3},
		{vocabulary.Wine, on.AddDays(-3), 3},
		{vocabulary.Wine, on.AddDays(-4), 30},
		{vocabulary.Wine, on.AddDays(1), 1},
		{vocabulary.Wine, on.AddDays(366), 1},
		{vocabulary.Wine, on.AddDays(367), DefaultProcessingDays},
		{vocabulary.Wine, on.AddDays(-31), DefaultProcessingDays},
		{vocabulary.MaltBeverage, on, 7},
		{vocabulary.DistilledSpirits, on, DefaultProcessingDays},
	} {
		if got := MedianProcessingDays(times, tt.product, tt.on); got != tt.want {
			t.Errorf("MedianProcessingDays(%s, %s) = %d, want %d", tt.product, tt.on, got, tt.want)
		}
	}
	if got := MedianProcessingDays(nil, vocabulary.Wine, on); got != DefaultProcessingDays {
		t.Errorf("MedianProcessingDays without snapshots = %d, want %d", got, DefaultProcessingDays)
	}
}

// TestSetEstimate checks that an estimate is used and encoded only if the approval date is unknown.
func TestSetEstimate(t *testing.T) {
	day := NewDate(2026, time.November, 21)
	for _, tt := range []struct {
		approved, estimate, effective Date
		estimated                     bool
	}{
		{0, 0, 0, false}, {0, day, day, true}, {day - 9, day, day - 9, false}, {day, 0, day, false},
	} {
		c := Cola{DateEstimate: tt.estimate}
		c.ApprovalDate = tt.approved
		c.Derive()
		var members map[string]any
		if err := json.Unmarshal(c.AppendJSON(nil), &members); err != nil {
			t.Fatal(err)
		}
		_, hasEstimate := members["approval_date_estimate"]
		_, hasFlag := members["date_is_estimated"]
		if c.EffectiveDate() != tt.effective || c.DateIsEstimated != tt.estimated || hasEstimate != tt.estimated ||
			hasFlag != tt.estimated || c.DateEstimate != tt.estimate {
			t.Errorf("approved %q, estimate %q: effective date %q, %v", tt.approved, tt.estimate, c.EffectiveDate(), members)
		}
	}
}
