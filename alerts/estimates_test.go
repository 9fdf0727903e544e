package alerts

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestExcludedEstimate checks that a search that excludes estimated dates reports a label once its
// approval date is known, even if a run has already covered the estimate.
func TestExcludedEstimate(t *testing.T) {
	for desc, tt := range map[string]struct {
		known   cola.Date
		history bool
		found   int
	}{
		"the estimated date":       {known: date(11, 9), found: 1},
		"a day after the estimate": {known: date(11, 10), found: 1},
		"before the late window":   {known: date(11, 9).AddDays(-2 * cola.LateDays)},
		"bulk-loaded estimate":     {known: date(11, 9), history: true},
		"still unknown":            {},
	} {
		f := withSearches(0)
		f.save("detail", cola.SavedSearchFilters{EstimatedDates: "exclude"}, daily)
		label := oak(2, 0)
		label.Summary.SetEstimate(date(11, 9))
		f.write(label, tt.history)
		r := New(Options{Store: f})
		f.clock = f.clock.Add(24 * time.Hour)
		mustTick(t, r, f.clock)
		if tt.known != 0 {
			label.Summary.ApprovalDate = tt.known
			label.Summary.SetEstimate(0)
		}
		f.write(label, false)
		found := 0
		for range 3 {
			f.clock = f.clock.Add(24 * time.Hour)
			mustTick(t, r, f.clock)
		}
		for _, run := range f.recorded {
			for _, m := range run.new {
				if m.TTBID == label.Summary.TTBID {
					found++
				}
			}
		}
		if found != tt.found {
			t.Errorf("%s: found %d times, want %d", desc, found, tt.found)
		}
	}
}

// TestKnownDateAfterEstimate checks that a label is reported once, at its estimated date, whatever
// approval date becomes known later.
func TestKnownDateAfterEstimate(t *testing.T) {
	for desc, known := range map[string]cola.Date{
		"years before":         date(11, 9).AddDays(-2000),
		"a month before":       date(10, 10),
		"the estimated date":   date(11, 9),
		"in the next window":   date(11, 11),
		"in the second window": date(11, 12),
	} {
		f := withSearches(2)
		label := oak(2, 0)
		label.Summary.SetEstimate(date(11, 9))
		f.write(label, false)
		r := New(Options{Store: f})
		found := func() (ids []cola.TTBID) {
			for _, run := range f.recorded {
				for _, m := range run.new {
					if m.TTBID == label.Summary.TTBID {
						ids = append(ids, m.TTBID)
					}
				}
			}
			return ids
		}
		mustTick(t, r, f.clock)
		if n := len(found()); n != 2 {
			t.Fatalf("%s: %d searches found the label with an estimate, want 2", desc, n)
		}
		label.Summary.ApprovalDate = known
		label.Summary.SetEstimate(0)
		f.write(label, false)
		for range 3 {
			f.clock = f.clock.Add(24 * time.Hour)
			mustTick(t, r, f.clock)
		}
		if n := len(found()); n != 2 {
			t.Errorf("%s: %d matches in 2 searches once the date is known, want 2", desc, n)
		}
		if runs := len(f.recorded); runs != 8 {
			t.Errorf("%s: %d runs, want 8", desc, runs)
		}
	}
}
