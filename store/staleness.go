package store

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// staleDays is the number of business days without labels after which a registry is stale. TTB
// completes labels on every business day; three days avoid a false warning after a federal holiday.
const staleDays = 3

// StaleSince returns when the newest completion date became older than three business days, or the
// zero time if it isn't. Monday through Friday are business days, including federal holidays. A
// registry without labels is as old as its first request; without requests, it is not stale.
func (s FetchStatus) StaleSince(now time.Time) time.Time {
	newest := s.NewestDay
	if newest == 0 {
		if s.FirstRequest.IsZero() {
			return time.Time{}
		}
		newest = cola.DateOf(s.FirstRequest)
	}
	last := newest // the last business day that may pass without labels
	for range staleDays {
		for last++; isWeekend(last); last++ {
		}
	}
	if since := last.AddDays(1).Time(); !now.Before(since) {
		return since
	}
	return time.Time{}
}

func isWeekend(d cola.Date) bool {
	day := d.Time().Weekday()
	return day == time.Saturday || day == time.Sunday
}
