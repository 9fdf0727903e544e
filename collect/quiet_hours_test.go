package collect

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func mustQuiet(t *testing.T, s string) (q QuietHours) {
	t.Helper()
	if err := q.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return q
}

// at returns a time of day, such as 13:00, on November 23, 2026, or a number of days later.
func at(t *testing.T, clock string, days int) time.Time {
	t.Helper()
	c, err := time.Parse("2006-01-02 15:04", "2026-11-23 "+clock)
	if err != nil {
		t.Fatal(err)
	}
	return c.AddDate(0, 0, days)
}

func TestParseQuietHours(t *testing.T) {
	for text, want := range map[string]string{
		"13:00-21:00": "13:00-21:00", "22:30-06:15": "22:30-06:15", "0:00-23:59": "00:00-23:59", "": "",
	} {
		if q := mustQuiet(t, text); q.String() != want {
			t.Errorf("%q is read as %q, want %q", text, q, want)
		}
	}
	for _, text := range []string{
		"13:00", "13-21", "13:00-", "-21:00", "13:00-13:00", "24:00-06:00", "00:00-24:00", "13:60-14:00", "13:00–21:00",
		"13:00-21:00-22:00", "13:00 - 21:00", "1pm-9pm", "-1:00-04:00",
	} {
		if err := new(QuietHours).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestQuietUntil(t *testing.T) {
	for _, test := range []struct {
		hours, at string
		end       string // empty for active hours
		days      int
	}{
		{"13:00-21:00", "12:59", "", 0},
		{"13:00-21:00", "13:00", "21:00", 0},
		{"13:00-21:00", "20:59", "21:00", 0},
		{"13:00-21:00", "21:00", "", 0},
		{"22:00-06:00", "21:59", "", 0},
		{"22:00-06:00", "22:00", "06:00", 1},
		{"22:00-06:00", "05:59", "06:00", 0},
		{"22:00-06:00", "06:00", "", 0},
		{"00:00-01:00", "00:00", "01:00", 0},
		{"23:00-00:00", "23:59", "00:00", 1},
		{"23:00-00:00", "00:00", "", 0},
		{"", "12:00", "", 0},
	} {
		want := time.Time{}
		if test.end != "" {
			want = at(t, test.end, test.days)
		}
		zoned := at(t, test.at, 0).In(time.FixedZone("EST", -5*3600))
		if got := mustQuiet(t, test.hours).Until(zoned); !got.Equal(want) {
			t.Errorf("%s at %s: until %v, want %v", test.hours, test.at, got, want)
		}
	}
}

// TestExtend compares estimates with a minute-by-minute simulation.
func TestExtend(t *testing.T) {
	for _, hours := range []string{"", "13:00-21:00", "22:00-06:00", "00:00-23:59"} {
		q := mustQuiet(t, hours)
		for _, start := range []string{"00:00", "05:59", "12:30", "13:00", "21:00", "23:59"} {
			for _, work := range []time.Duration{0, time.Minute, 30 * time.Minute, 10 * time.Hour, 16 * time.Hour, 50 * time.Hour} {
				if hours == "00:00-23:59" && work > time.Hour {
					continue
				}
				now, left := at(t, start, 0), work
				for left > 0 {
					if q.Until(now).IsZero() {
						left -= time.Minute
					}
					now = now.Add(time.Minute)
				}
				if got, want := q.Extend(at(t, start, 0), work), now.Sub(at(t, start, 0)); got != want {
					t.Errorf("%q: %v of work from %s takes %v, want %v", hours, work, start, got, want)
				}
			}
		}
	}
}

// TestLeft checks estimates of 30 hours of work, for a status and for a plan.
func TestLeft(t *testing.T) {
	status := store.FetchStatus{Labels: map[string]int{store.FetchPending: 30}, Interval: time.Hour}
	now := at(t, "12:00", 0)
	for _, test := range []struct {
		quiet  string
		paused time.Duration
		want   time.Duration
	}{
		{"", 0, 30 * time.Hour},
		{"", -time.Hour, 30 * time.Hour},
		{"", 2 * time.Hour, 32 * time.Hour},
		{"13:00-21:00", 0, 46 * time.Hour},
		{"13:00-21:00", 9 * time.Hour, 47 * time.Hour}, // paused until 21:00
	} {
		s := status
		if s.PausedUntil = now.Add(test.paused); test.paused == 0 {
			s.PausedUntil = time.Time{}
		}
		if got := Left(s, now, mustQuiet(t, test.quiet)); got != test.want {
			t.Errorf("quiet hours %q, paused for %v: %v left, want %v", test.quiet, test.paused, got, test.want)
		}
	}
	if got := Left(store.FetchStatus{PausedUntil: now.Add(time.Hour)}, now, QuietHours{}); got != 0 {
		t.Errorf("%v left without work", got)
	}
	day := cola.NewDate(2026, time.November, 22)
	plan, err := PlanOf(t.Context(), nil, Options{
		First: day.AddDays(-14), Last: day, Details: None, Interval: time.Hour, QuietHours: mustQuiet(t, "13:00-21:00"),
		Now: func() time.Time { return now },
	})
	if err != nil || plan.Requests != 30 || plan.Duration != 46*time.Hour {
		t.Errorf("plan = %+v, %v, want 30 requests in 46 hours", plan, err)
	}
}
