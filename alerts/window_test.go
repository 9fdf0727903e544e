package alerts

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func day(month time.Month, of int) cola.Date { return cola.NewDate(2026, month, of) }

func at(month time.Month, day, hour int) time.Time {
	return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
}

func TestWindow(t *testing.T) {
	monday := store.Mark{At: at(11, 9, 6), Revision: 700}
	kingston := time.FixedZone("UTC-5", -5*3600)
	for _, tt := range []struct {
		name     string
		mark     store.Mark
		now      time.Time
		approved cola.Date
		arrived  cola.Revision
		held     bool
		late     bool
	}{
		{"within", monday, at(11, 16, 6), day(11, 12), 800, true, false},
		{"first day", monday, at(11, 16, 6), day(11, 9), 800, true, false},
		{"first day, there at the last run", monday, at(11, 16, 6), day(11, 9), 600, true, false},
		{"last day", monday, at(11, 16, 6), day(11, 16), 800, true, false},
		{"still to come", monday, at(11, 16, 6), day(11, 17), 800, false, false},
		{"late", monday, at(11, 16, 6), day(11, 8), 701, true, true},
		{"seen by the last run", monday, at(11, 16, 6), day(11, 8), 700, false, true},
		{"latest of all", monday, at(11, 16, 6), day(8, 11), 701, true, true},
		{"too late", monday, at(11, 16, 6), day(8, 10), 701, false, true},
		{"in the evening elsewhere", monday, time.Date(2026, 11, 15, 22, 0, 0, 0, kingston), day(11, 16), 800, true, false},
		{"after an outage", monday, at(12, 24, 6), day(12, 1), 800, true, false},
		{"twice on a day", store.Mark{At: at(11, 16, 6), Revision: 800}, at(11, 16, 9), day(11, 16), 900, true, false},
		{"clock set back", store.Mark{At: at(11, 17, 6), Revision: 800}, at(11, 16, 6), day(11, 17), 900, true, false},
	} {
		w := windowOf(tt.mark, tt.now)
		if got := w.holds(tt.approved, tt.arrived); got != tt.held {
			t.Errorf("%s: approved %v, arrived at %d: looked at is %v in %+v", tt.name, tt.approved, tt.arrived, got, w)
		}
		if got := w.isLate(tt.approved); got != tt.late {
			t.Errorf("%s: approved %v: late is %v", tt.name, tt.approved, got)
		}
	}
}

func TestMarkAfter(t *testing.T) {
	m := store.Mark{At: at(11, 9, 6), Revision: 700}
	for _, tt := range []struct {
		now  time.Time
		upto cola.Revision
		want store.Mark
	}{
		{at(11, 16, 6), 900, store.Mark{At: at(11, 16, 6), Revision: 900}},
		{at(11, 8, 6), 900, store.Mark{At: at(11, 9, 6), Revision: 900}},
		{at(11, 16, 6), 600, store.Mark{At: at(11, 16, 6), Revision: 700}},
	} {
		if got := markAfter(m, tt.now, tt.upto); got != tt.want {
			t.Errorf("after a run at %v up to %d: %+v, want %+v", tt.now, tt.upto, got, tt.want)
		}
	}
}

// TestWindowsAdjoin: whatever the instants of runs, no day lies between two windows, and a label that a window leaves out because it is
// still to come is in the next one.
func TestWindowsAdjoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := store.Mark{At: at(1, 1, 0), Revision: 1}
		last := windowOf(m, m.At)
		for range rapid.IntRange(1, 30).Draw(t, "runs") {
			now := m.At.Add(time.Duration(rapid.Int64Range(-int64(48*time.Hour), int64(900*time.Hour)).Draw(t, "later")))
			w := windowOf(m, now)
			if w.From != last.To || w.To < w.From || w.From-w.Late != cola.LateDays {
				t.Fatalf("%+v follows %+v", w, last)
			}
			last, m = w, markAfter(m, now, m.Revision+1)
		}
	})
}

func TestHorizon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		today := day(11, 20)
		need := today.AddDays(-rapid.IntRange(0, 9000).Draw(t, "days"))
		got := horizon(today, need)
		switch behind := today - need; {
		case got > need:
			t.Fatalf("needed from %v on, read from %v on", need, got)
		case behind <= usualDays && got != today-usualDays:
			t.Fatalf("needed from %v on, read from %v on: another search would have it read anew", need, got)
		case behind > usualDays && (got > need-behind/3 || got < need-behind):
			t.Fatalf("needed from %v on, read from %v on", need, got)
		}
	})
}
