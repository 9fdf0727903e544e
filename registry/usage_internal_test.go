package registry

import (
	"math"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestProjected checks the linear projection of usage. It is never below current usage, and equals
// it during the first day.
func TestProjected(t *testing.T) {
	november := cola.PeriodOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) // 30 days
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	used := cola.Used{DetailViews: 100, ListRecords: 7}
	for _, tt := range []struct {
		name string
		used cola.Used
		now  time.Time
		want cola.Used
	}{
		{"no usage", cola.Used{}, at(20, 0), cola.Used{}},
		{"the first moment", used, at(1, 0), used},
		{"the first day", used, at(2, 0).Add(-1), used},
		{"a day", used, at(2, 0), cola.Used{DetailViews: 3000, ListRecords: 210}},
		{"a day and a half", used, at(2, 12), cola.Used{DetailViews: 2000, ListRecords: 140}},
		{"half the month", used, at(16, 0), cola.Used{DetailViews: 200, ListRecords: 14}},
		{"two thirds of the month", used, at(21, 0), cola.Used{DetailViews: 150, ListRecords: 11}}, // 10.5 rounds up to 11
		{"in another zone", used, at(16, 0).In(time.FixedZone("", 9*3600)), cola.Used{DetailViews: 200, ListRecords: 14}},
		{"the last moment", used, at(30, 24).Add(-1), used},
		{"the month is over", used, at(30, 24), used},
		{"months later", used, at(90, 0), used},
		{"clock behind", used, at(-40, 0), used},
		{"maximum", cola.Used{DetailViews: math.MaxInt32}, at(16, 0), cola.Used{DetailViews: 2 * math.MaxInt32}},
	} {
		if got := projectUsage(tt.used, november, tt.now); got != tt.want {
			t.Errorf("%s: projectUsage = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
