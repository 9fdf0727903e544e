package collect

import (
	"log/slog"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

// staleness warns once a day while a registry is stale.
type staleness struct{ warned time.Time }

func (s *staleness) check(status store.FetchStatus, now time.Time, log *slog.Logger) {
	since := status.StaleSince(now)
	if since.IsZero() || !s.warned.IsZero() && now.Sub(s.warned) < day {
		return
	}
	s.warned = now
	log.Warn("labels are out of date: the newest completion date is more than three business days old",
		"newest", status.NewestDay.String(), "since", since.Format(time.DateOnly))
}
