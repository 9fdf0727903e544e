package dashboard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// moment is an entry in a label's timeline: what happened on a day.
type moment struct {
	Name          string
	Day, Estimate cola.Date // exactly one is set
	After         string    // time since the previous entry; empty for the first one
}

func (m *moment) date() cola.Date { return cmp.Or(m.Day, m.Estimate) }

// timeline returns the known dates of a label, oldest first. Events on the same day share an entry,
// except an estimated approval.
func timeline(c *cola.Cola, today cola.Date) []moment {
	expires := "Expires"
	if c.ExpirationDate < today {
		expires = "Expired"
	}
	var known []moment
	for _, m := range []moment{
		{Name: "Applied", Day: c.ApplicationDate}, {Name: "Received", Day: c.TTBID.Received(today)},
		{Name: "Approved", Day: c.ApprovalDate, Estimate: c.ApprovalDateEstimate},
		{Name: "Last changed", Day: c.LatestUpdateDate}, {Name: expires, Day: c.ExpirationDate},
	} {
		if m.date() != 0 {
			known = append(known, m)
		}
	}
	slices.SortStableFunc(known, func(a, b moment) int { return cmp.Compare(a.date(), b.date()) })
	var merged []moment
	for _, m := range known {
		if n := len(merged); n > 0 {
			last := &merged[n-1]
			if m.Day != 0 && m.Day == last.Day {
				last.Name = strings.ReplaceAll(last.Name, " and ", ", ") + " and " + strings.ToLower(m.Name)
				continue
			}
			m.After = daysAfter(int(m.date()-last.date()), m.Estimate != 0 || last.Estimate != 0)
		}
		merged = append(merged, m)
	}
	return merged
}

// daysAfter describes the time between two entries of a timeline.
func daysAfter(days int, estimated bool) string {
	after := plural(days, "day", "days") + " later"
	switch {
	case days == 0:
		return "same day"
	case estimated:
		return "about " + after
	}
	return after
}
