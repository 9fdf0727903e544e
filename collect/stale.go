package collect

import (
	"log/slog"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// staleDays is the number of working days without labels after which a registry is stale. TTB
// completes labels on every working day; with three, a federal holiday is no reason for a warning.
const staleDays = 3

// StaleSince returns when the newest completed date became older than three working days, or the
// zero time if it isn't. Monday to Friday are working days, including federal holidays. A registry
// without labels is as old as its first request; without requests, it is not stale.
func StaleSince(s store.FetchStatus, now time.Time) time.Time {
	newest := s.NewestDay
	if newest == 0 {
		if s.FirstRequest.IsZero() {
			return time.Time{}
		}
		newest = cola.DateOf(s.FirstRequest)
	}
	last := newest.Time() // the last working day that may pass without labels
	for range staleDays {
		for last = last.Add(day); isWeekend(last); last = last.Add(day) {
		}
	}
	if since := last.Add(day); !now.Before(since) {
		return since
	}
	return time.Time{}
}

func isWeekend(t time.Time) bool { return t.Weekday() == time.Saturday || t.Weekday() == time.Sunday }

// staleness warns once a day while a registry is stale.
type staleness struct{ warned time.Time }

func (s *staleness) check(status store.FetchStatus, now time.Time, log *slog.Logger) {
	since := StaleSince(status, now)
	if since.IsZero() || !s.warned.IsZero() && now.Sub(s.warned) < day {
		return
	}
	s.warned = now
	log.Warn("labels are out of date: the newest completed date is more than three working days old",
		"newest", status.NewestDay.String(), "since", since.Format(time.DateOnly))
}
