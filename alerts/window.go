package alerts

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// window is what one run looks at: labels approved from From to To, whenever they arrived, and labels approved from Late on and
// before From that arrived after a revision. All days are in UTC and inclusive.
//
// A search that ran on Monday the 9th, when the registry had revision 700, and runs again on Monday the 16th looks at labels
// approved from the 9th to the 16th; and at labels approved from 11 August to the 8th, 90 days, that have a revision of arrival above 700. The
// next run begins at the 16th: the day is looked at twice, since a label approved in the afternoon of the 16th comes after the first of
// them, and what the search has had is not told again.
type window struct {
	From, To cola.Date
	Late     cola.Date
	After    cola.Revision
}

// windowOf returns what a run at an instant looks at, for a search that has looked up to a mark. A mark that lies after the instant,
// as of a process whose clock is ahead, counts as one of it: no window is empty.
func windowOf(m store.Mark, now time.Time) window {
	from := cola.DateOf(m.At)
	return window{From: from, To: max(from, cola.DateOf(now)), Late: from.AddDays(-cola.LateDays), After: m.Revision}
}

// holds reports whether a label that was approved on a day and arrived at a revision is looked at.
func (w window) holds(approved cola.Date, arrived cola.Revision) bool {
	if w.isLate(approved) {
		return approved >= w.Late && arrived > w.After
	}
	return approved <= w.To
}

// isLate reports whether a label that was approved on a day is told of as a late one.
func (w window) isLate(approved cola.Date) bool { return approved < w.From }

// markAfter returns up to where a search has looked after a run at an instant that read arrivals up to a revision. A mark never goes
// back.
func markAfter(m store.Mark, now time.Time, upto cola.Revision) store.Mark {
	if now.After(m.At) {
		m.At = now
	}
	m.Revision = max(m.Revision, upto)
	return m
}

// usualDays is how far before a day the windows of nearly all searches that are due on it reach: those of searches that ran a month ago.
const usualDays = 31 + cola.LateDays

// horizon returns from which approval date on labels are read for runs on a day that need them from another one on. Reading further back
// than is needed keeps searches that have waited for ever longer from having everything read anew for each.
func horizon(today, need cola.Date) cola.Date {
	if usual := today.AddDays(-usualDays); need >= usual {
		return usual
	}
	return need.AddDays(-int(today-need) / 2)
}
