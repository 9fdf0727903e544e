package registry

import (
	"math"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestProjected checks the linear projection of usage, from the first of the month or a later first
// day of use. The projection is never below current usage, and equals it during the first day.
func TestProjected(t *testing.T) {
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	used := cola.Used{DetailViews: 100, ListRecords: 7}
	for _, tt := range []struct {
		name  string
		used  cola.Used
		since int // November
		now   time.Time
		want  cola.Used
	}{
		{"no usage", cola.Used{}, 0, at(20, 0), cola.Used{}},
		{"the first moment", used, 1, at(1, 0), used},
		{"the first day", used, 1, at(2, 0).Add(-1), used},
		{"a day", used, 1, at(2, 0), cola.Used{DetailViews: 3000, ListRecords: 210}},
		{"a day and a half", used, 1, at(2, 12), cola.Used{DetailViews: 2000, ListRecords: 140}},
		{"half the month", used, 1, at(16, 0), cola.Used{DetailViews: 200, ListRecords: 14}},
		{"two thirds of the month", used, 1, at(21, 0), cola.Used{DetailViews: 150, ListRecords: 11}}, // 10.5 rounds up to 11
		{"in another time zone", used, 1, at(16, 0).In(time.FixedZone("", 9*3600)), cola.Used{DetailViews: 200, ListRecords: 14}},
		{"first use on the 19th", used, 19, at(20, 12), cola.Used{DetailViews: 800, ListRecords: 56}},
		{"first use yesterday", used, 20, at(21, 0), cola.Used{DetailViews: 1100, ListRecords: 77}},
		{"first use today", used, 20, at(20, 23), used},
		{"first use on the last day", used, 30, at(30, 24).Add(-1), used},
		{"the last moment", used, 1, at(30, 24).Add(-1), used},
		{"the month is over", used, 1, at(30, 24), used},
		{"months later", used, 1, at(90, 0), used},
		{"clock behind", used, 1, at(-40, 0), used},
		{"maximum", cola.Used{DetailViews: math.MaxInt32}, 1, at(16, 0), cola.Used{DetailViews: 2 * math.MaxInt32}},
	} {
		since := cola.Date(0)
		if tt.since > 0 {
			since = cola.NewDate(2026, 11, tt.since)
		}
		if got := projectUsage(tt.used, since, end, tt.now); got != tt.want {
			t.Errorf("%s: projectUsage = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestSpans checks that the steps of a span are consecutive and end today or with the current
// month.
func TestSpans(t *testing.T) {
	for span, want := range map[UsageSpan]struct {
		steps       int
		first, last string
	}{
		Last7Days: {7, "2026-02-23", "2026-03-01"}, Last30Days: {30, "2026-01-31", "2026-03-01"},
		Last90Days: {90, "2025-12-02", "2026-03-01"}, Last12Months: {12, "2025-04-01", "2026-03-31"},
		"unknown": {30, "2026-01-31", "2026-03-01"},
	} {
		steps := span.steps(cola.NewDate(2026, 3, 1))
		for i := 1; i < len(steps); i++ {
			if steps[i].First != steps[i-1].Last+1 {
				t.Errorf("%s: step %d starts on %s, after %s", span, i, steps[i].First, steps[i-1].Last)
			}
		}
		if n := len(steps); n != want.steps || steps[0].First.String() != want.first || steps[n-1].Last.String() != want.last {
			t.Errorf("%s: %d steps from %s to %s, want %+v", span, n, steps[0].First, steps[n-1].Last, want)
		}
	}
}
