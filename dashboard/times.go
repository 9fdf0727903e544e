package dashboard

import (
	"fmt"
	"html/template"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	dayFormat   = "Jan 2, 2006"
	exactFormat = "Jan 2, 2006, 15:04 UTC"
	// maxRelativeDays is the largest distance in days that is shown as a relative time.
	maxRelativeDays = 30
)

// timeOf converts any time type of the API or the registry to a time.Time. A missing time is zero.
func timeOf(t any) time.Time {
	switch t := t.(type) {
	case time.Time:
		return t.UTC()
	case cola.Timestamp:
		if t != 0 {
			return t.Time().UTC()
		}
	case cola.Opt[cola.Timestamp]:
		if t.OK {
			return t.V.Time().UTC()
		}
	}
	return time.Time{}
}

// neverHTML stands for a missing time.
const neverHTML template.HTML = `<span class="soft">Never</span>`

// relativeTimeHTML shows how far a time is from now, such as "3 min ago". The style sheet shows the
// exact time on hover, focus and tap; a script adds the reader's local time to it. After "until" or
// "since", use exactTimeHTML.
func relativeTimeHTML(t any, now time.Time) template.HTML {
	at := timeOf(t)
	if at.IsZero() {
		return neverHTML
	}
	return template.HTML(fmt.Sprintf(
		`<span class="when" tabindex="0"><time datetime="%s">%s</time> <span class="exact">%s</span></span>`,
		at.Format(time.RFC3339), relativeTime(at, now), at.Format(exactFormat))) // #nosec: contains no user input
}

// exactTimeHTML shows a time in UTC to the minute.
func exactTimeHTML(t any) template.HTML {
	at := timeOf(t)
	if at.IsZero() {
		return neverHTML
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, at.Format(time.RFC3339),
		at.Format(exactFormat))) // #nosec: contains no user input
}

// relativeTime describes a time relative to now: in minutes and hours up to a day away, then in UTC
// calendar days, and as a date beyond maxRelativeDays. Numbers are rounded toward now for the past and
// away from it for the future, so that a countdown never ends early.
func relativeTime(at, now time.Time) string {
	distance, form := now.Sub(at), "%s ago"
	if distance < 0 {
		distance, form = -distance+time.Minute-1, "in %s"
	}
	days := int(cola.DateOf(now) - cola.DateOf(at))
	switch {
	case distance < time.Minute:
		return "just now"
	case distance < time.Hour:
		return fmt.Sprintf(form, fmt.Sprintf("%d min", int(distance.Minutes())))
	case distance < 24*time.Hour:
		return fmt.Sprintf(form, plural(int(distance.Hours()), "hour", "hours"))
	case days == 1:
		return "yesterday"
	case days == -1:
		return "tomorrow"
	case max(days, -days) <= maxRelativeDays:
		return fmt.Sprintf(form, plural(max(days, -days), "day", "days"))
	}
	return at.Format(dayFormat)
}

// dateHTML shows a calendar day.
func dateHTML(d cola.Date) template.HTML {
	if d == 0 {
		return `<span class="soft">Unknown</span>`
	}
	t := d.Time()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(time.DateOnly),
		t.Format(dayFormat))) // #nosec: contains no user input
}

// approvedHTML shows a label's approval date or, if unknown, its estimate, marked as such.
func approvedHTML(approved, estimate cola.Date) template.HTML {
	if approved != 0 || estimate == 0 {
		return dateHTML(approved)
	}
	return `<span title="Estimated approval date"><span aria-hidden="true">≈&nbsp;</span>` + dateHTML(estimate) +
		`<span class="unseen"> (estimated)</span></span>`
}
