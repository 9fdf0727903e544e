package cola

import (
	"slices"
	"strings"
	"time"
)

// SavedSearchChangeParams are the body of PATCH /saved-searches/{uuid}, as sent: a JSON merge patch (RFC 7396), but for the filters,
// which are replaced as a whole. What is absent stays as it is.
type SavedSearchChangeParams struct {
	Decoded
	Nulled
	Name     string                `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"New name." example:"New Oak brands"`
	Filters  *SavedSearchFilters   `json:"filters,omitempty" doc:"What to look for from now on. Replaces all filters."`
	Schedule *ScheduleChangeParams `json:"schedule,omitempty" ornull:"true" doc:"What to change of the schedule; null removes it. A search without one needs all of it."`
}

// ScheduleChangeParams are what to change of a schedule, as sent. What is absent stays as it is, but the day of another cadence.
type ScheduleChangeParams struct {
	Cadence string    `json:"cadence,omitzero" enum:"daily,weekly,monthly" doc:"How often the search runs. Another cadence starts on its default day unless day is given." example:"weekly"`
	Day     Opt[int]  `json:"day,omitzero" nullable:"true" minimum:"0" maximum:"28" doc:"weekly: day of the week, 0 to 6, 0 is Sunday. monthly: day of the month, 1 to 28. daily: ignored. null sets the default: 0 or 1." example:"1"`
	Active  Opt[bool] `json:"active,omitzero" doc:"false pauses the search, true resumes it." example:"false"`
}

// changeable says what a change may be of.
const changeable = "Send at least one of name, filters and schedule, such as {\"schedule\": {\"active\": false}}."

// Apply returns a search with the change made, settled by the rules that creations are held to, or a validation Error that tells all
// problems at once under dotted names. It fails with CodeSearchTooBroad when the search would come to run by itself, or had a
// schedule all along and gets filters, that narrow too little. A schedule that changes or is resumed is due at its first time after
// now; when it ran last stays known for as long as there is a schedule. What s points to is not changed.
func (p SavedSearchChangeParams) Apply(s SavedSearch, now time.Time) (SavedSearch, error) {
	problems := p.Decoded.problems()
	p.checkNulls(problems)
	p.checkEmpty(problems)
	before := s.Schedule
	if p.Name != "" {
		s.Name = problems.title("name", p.Name)
	}
	if p.Filters != nil {
		s.Filters = p.Filters.settle(problems)
	}
	s.Schedule = p.schedule(problems, before, now)
	if err := problems.Err(); err != nil {
		return SavedSearch{}, err
	}
	if p.mustNarrow(before, s.Schedule) && !s.Filters.Narrow() {
		return SavedSearch{}, tooBroad("remove the schedule with null")
	}
	return s, nil
}

// mustNarrow reports whether a change is held to the rule of searches that run by themselves. Renaming one is not, nor pausing it.
func (p SavedSearchChangeParams) mustNarrow(before, after *Schedule) bool {
	switch {
	case after == nil:
		return false
	case p.Filters != nil, before == nil:
		return true
	}
	return after.Active && !after.runsAs(before)
}

// checkNulls notes what cannot be removed.
func (p SavedSearchChangeParams) checkNulls(problems *Problems) {
	for _, name := range p.Nulls {
		switch name {
		case "name", "schedule.cadence", "schedule.active":
			problems.require(name, "It cannot be removed. Leave it out to keep it as it is.")
		case "filters":
			problems.require(name, "They cannot be removed. Leave them out to keep them as they are, or send {} for none.")
		}
	}
}

// checkEmpty notes a change of nothing, unless something else is wrong.
func (p SavedSearchChangeParams) checkEmpty(problems *Problems) {
	if len(*problems) > 0 {
		return
	}
	if p.Name == "" && p.Filters == nil && p.Schedule == nil && !slices.Contains(p.Nulls, "schedule") {
		problems.require("body", "It changes nothing. "+changeable)
	}
	ofSchedule := func(name string) bool { return strings.HasPrefix(name, "schedule.") }
	if p.Schedule != nil && *p.Schedule == (ScheduleChangeParams{}) && !slices.ContainsFunc(p.Nulls, ofSchedule) {
		problems.require("schedule", "It changes nothing. Send cadence, day or active, or null to remove the schedule.")
	}
}

// schedule returns the schedule after the change.
func (p SavedSearchChangeParams) schedule(problems *Problems, before *Schedule, now time.Time) *Schedule {
	switch {
	case slices.Contains(p.Nulls, "schedule"):
		return nil
	case p.Schedule == nil:
		return before
	case before == nil:
		return ScheduleParams(*p.Schedule).settle(problems, now)
	}
	after := p.Schedule.onto(before, slices.Contains(p.Nulls, "schedule.day")).settle(problems, now)
	after.LastRunAt = before.LastRunAt
	if after.runsAs(before) {
		after.NextRunAt = before.NextRunAt // one that is overdue stays so
	}
	return after
}

// onto merges the change into a schedule. A day means something else in another cadence, so it does not come along.
func (p ScheduleChangeParams) onto(s *Schedule, withoutDay bool) ScheduleParams {
	merged := ScheduleParams(p)
	if strings.TrimSpace(merged.Cadence) == "" {
		merged.Cadence = s.Cadence
	}
	if cadence, _ := oneOf(merged.Cadence, Cadences()); cadence == s.Cadence && !merged.Day.OK && !withoutDay {
		merged.Day = Some(s.Day)
	}
	if !merged.Active.OK {
		merged.Active = Some(s.Active)
	}
	return merged
}

// runsAs reports whether a schedule runs at the times that another one runs at.
func (s *Schedule) runsAs(other *Schedule) bool {
	return s.Cadence == other.Cadence && s.Day == other.Day && s.Active == other.Active
}
