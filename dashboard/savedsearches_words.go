package dashboard

import (
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// sought is a filter of a saved search.
type sought struct{ Label, Text string }

// looksFor returns the filters of a saved search.
func looksFor(f cola.SavedSearchFilters) (all []sought) {
	for _, a := range f.Conditions() {
		all = append(all, sought{a.Label, legible(a.Value)})
	}
	return all
}

// looksForLine says in one line what filters look for.
func looksForLine(f cola.SavedSearchFilters) string {
	var phrases []string
	for _, a := range f.Conditions() {
		phrases = append(phrases, legible(a.String()))
	}
	if len(phrases) == 0 {
		return "all labels"
	}
	return strings.Join(phrases, " · ")
}

// rhythm says when a schedule runs; it is empty for none.
func rhythm(s *cola.Schedule) string {
	if s == nil {
		return ""
	}
	switch s.Cadence {
	case cola.CadenceDaily:
		return "every day"
	case cola.CadenceWeekly:
		return "every " + time.Weekday(s.Day).String()
	}
	return "on the " + ordinal(s.Day) + " of every month"
}

// ordinal writes a day of a month: 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// searchState tells whether a saved search runs by itself.
type searchState struct {
	Word, Class string
	Why         string // a sentence or two; empty where there is nothing to say
}

// stateOf tells how the schedule of a search stands.
func stateOf(s *cola.Schedule) searchState {
	switch {
	case s == nil:
		return searchState{Word: "no schedule", Class: "soft", Why: "It has no schedule, so it does not run by itself. You can have it run now."}
	case s.PausedBecause.V == cola.PausedDowngraded:
		return searchState{Word: "held back", Class: "bad", Why: "It does not run: your account has more active searches than it may, and the oldest of them run. " +
			"Pause or delete another one, and it goes on. What it misses meanwhile its next run finds."}
	case s.PausedBecause.OK:
		return searchState{Word: "held back", Class: "bad", Why: "It does not run: the account is suspended. Ask the operator of this service. What it misses meanwhile its next run finds."}
	case !s.Active:
		return searchState{Word: "paused", Class: "soft", Why: "It is paused. Once you resume it, one run looks at all the time since."}
	}
	return searchState{Word: "active", Class: "good"}
}

// met names the filters that a label matched.
func met(s cola.FilterSet) string { return strings.Join(s.Words(), ", ") }

// labelName names a label by its brand and product.
func labelName(c *cola.ColaSummary) string {
	brand, product := legible(c.BrandName), legible(string(c.ProductName))
	if product == "" || product == brand {
		return brand
	}
	return brand + " – " + product
}
