package collect

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// QuietHours is a range of times of day, in UTC, during which no requests are sent. The zero value
// means no quiet hours.
type QuietHours struct {
	from, length time.Duration // from is the time since midnight
}

const day = 24 * time.Hour

// UnmarshalText parses a range such as 13:00-21:00, which may cross midnight. Empty text means no
// quiet hours.
func (q *QuietHours) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*q = QuietHours{}
		return nil
	}
	first, last, _ := strings.Cut(string(text), "-")
	from, err := time.Parse("15:04", first)
	to, err2 := time.Parse("15:04", last)
	switch {
	case err != nil || err2 != nil:
		return fmt.Errorf("%q must be two times in UTC, such as 13:00-21:00", text)
	case from.Equal(to):
		return errors.New("the start and the end must differ")
	}
	q.from = from.Sub(from.Truncate(day))
	q.length = (to.Sub(from) + day) % day
	return nil
}

// String returns the range in the format that UnmarshalText parses.
func (q QuietHours) String() string {
	if q.length == 0 {
		return ""
	}
	midnight := time.Time{}
	return midnight.Add(q.from).Format("15:04") + "-" + midnight.Add(q.from+q.length).Format("15:04")
}

// Until returns the end of the quiet hours that t is in, or the zero time.
func (q QuietHours) Until(t time.Time) time.Time {
	midnight := t.UTC().Truncate(day)
	for _, start := range []time.Time{midnight.Add(q.from - day), midnight.Add(q.from)} {
		if end := start.Add(q.length); !t.Before(start) && t.Before(end) {
			return end
		}
	}
	return time.Time{}
}

// next returns the first time after t at which quiet hours start. q must not be zero.
func (q QuietHours) next(t time.Time) time.Time {
	start := t.UTC().Truncate(day).Add(q.from)
	if !start.After(t) {
		start = start.Add(day)
	}
	return start
}

// Extend returns how long work takes if it starts at the given time and pauses during quiet hours.
func (q QuietHours) Extend(start time.Time, work time.Duration) time.Duration {
	if q.length == 0 || work <= 0 {
		return work
	}
	paused := time.Duration(0)
	if end := q.Until(start); !end.IsZero() {
		paused = end.Sub(start)
	}
	if later := work - q.next(start.Add(paused)).Sub(start.Add(paused)); later > 0 {
		paused += q.length * (1 + (later-1)/(day-q.length))
	}
	return paused + work
}
