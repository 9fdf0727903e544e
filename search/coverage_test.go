package search

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// coverage counts labels one by one.
func (r *registry) coverage(today cola.Date) *cola.Coverage {
	want := &cola.Coverage{Years: []cola.YearCoverage{}}
	var updated, latest cola.Date
	var errors []int
	for _, l := range r.labels {
		date := effective(&l.Summary)
		one := cola.CoverageCounts{Labels: 1}
		if l.Summary.ApplicationStatus != "" {
			one.WithDetail = 1
		}
		if l.Summary.ImageCount > 0 {
			one.WithImages = 1
		}
		if l.MainBarcode != "" {
			one.WithBarcodes = 1
		}
		switch {
		case date == 0:
			want.Undated++
		case l.Summary.ApprovalDate == 0:
			one.EstimatedDates = 1
		default:
			one.KnownDates = 1
		}
		want.Add(one)
		if date != 0 {
			year := date.Time().Year()
			at := slices.IndexFunc(want.Years, func(y cola.YearCoverage) bool { return y.Year == year })
			if at < 0 {
				at = len(want.Years)
				want.Years = append(want.Years, cola.YearCoverage{Year: year})
			}
			want.Years[at].Add(one)
		}
		if l.DateEstimate != 0 && l.Summary.ApprovalDate != 0 {
			errors = append(errors, max(int(l.DateEstimate-l.Summary.ApprovalDate), int(l.Summary.ApprovalDate-l.DateEstimate)))
		}
		if l.LatestUpdateDate <= today {
			updated = max(updated, l.LatestUpdateDate)
		}
		if date <= today {
			latest = max(latest, date)
		}
	}
	want.DataAsOf = cmp.Or(updated, latest)
	slices.SortFunc(want.Years, func(a, b cola.YearCoverage) int { return b.Year - a.Year })
	if len(errors) > 0 {
		slices.Sort(errors)
		good := 0
		for _, days := range errors {
			if days <= 25 {
				good++
			}
		}
		want.EstimateError = &cola.EstimateError{
			Labels: len(errors), MedianDays: errors[(len(errors)-1)/2], WorstDays: errors[len(errors)-1],
			Within25: float64(good) / float64(len(errors)),
		}
	}
	return want
}

// checkCoverage compares the coverage on a random day.
func (h *harness) checkCoverage() {
	h.t.Helper()
	today := h.date()
	want, v := h.registry.coverage(today), h.index.View()
	if got := v.DataAsOf(today); got != want.DataAsOf {
		h.t.Fatalf("DataAsOf(%s) = %s, want %s", today, got, want.DataAsOf)
	}
	if diff := gocmp.Diff(want, v.Coverage(today)); diff != "" {
		h.t.Fatalf("Coverage(%s) (-want +got):\n%s", today, diff)
	}
}

// TestCoverage checks the coverage of a few labels before and after changes.
func TestCoverage(t *testing.T) {
	index := New(Options{ManualCompaction: true})
	today := cola.NewDate(2026, 11, 22)
	commit := func(labels ...cola.Cola) {
		t.Helper()
		u := index.Begin()
		for _, c := range labels {
			c.Derive()
			r := c.IndexRecord()
			u.Label(&r)
		}
		if err := u.Commit(Marks{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(desc string, want cola.Coverage) {
		t.Helper()
		if diff := gocmp.Diff(&want, index.View().Coverage(today)); diff != "" {
			t.Errorf("%s: Coverage (-want +got):\n%s", desc, diff)
		}
	}
	check("empty", cola.Coverage{Years: []cola.YearCoverage{}})

	known, estimated, undated := cola.Cola{}, cola.Cola{}, cola.Cola{}
	known.TTBID, known.ApprovalDate, known.ApplicationStatus = 1, cola.NewDate(2026, 1, 1), "approved"
	known.DateEstimate = cola.NewDate(2025, 12, 1)
	estimated.TTBID, estimated.DateEstimate = 2, cola.NewDate(2025, 12, 31)
	estimated.BarcodeValue, estimated.ImageCount = "036000291452", 2
	undated.TTBID = 3
	commit(known, estimated, undated)
	one := cola.CoverageCounts{Labels: 1, WithDetail: 1, KnownDates: 1}
	other := cola.CoverageCounts{Labels: 1, WithImages: 1, WithBarcodes: 1, EstimatedDates: 1}
	all := cola.CoverageCounts{Labels: 3, WithDetail: 1, WithImages: 1, WithBarcodes: 1, KnownDates: 1, EstimatedDates: 1}
	want := cola.Coverage{
		DataAsOf: known.ApprovalDate, Undated: 1, CoverageCounts: all,
		Years:         []cola.YearCoverage{{Year: 2026, CoverageCounts: one}, {Year: 2025, CoverageCounts: other}},
		EstimateError: &cola.EstimateError{Labels: 1, MedianDays: 31, WorstDays: 31},
	}
	check("without update dates", want)

	undated.LatestUpdateDate = cola.NewDate(2024, 5, 6)
	commit(undated)
	want.DataAsOf = undated.LatestUpdateDate
	check("with an update date", want)

	known.LatestUpdateDate = today.AddDays(1) // data entry error
	commit(known)
	check("with an update date in the future", want)

	undated.LatestUpdateDate = 0 // the only other update date
	commit(undated)
	want.DataAsOf = known.ApprovalDate
	check("with a removed update date", want)
}
