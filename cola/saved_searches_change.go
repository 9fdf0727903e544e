package cola

import (
	"slices"
	"strings"
	"time"
)

// SavedSearchChangeParams are the body of PATCH /saved-searches/{uuid}: a JSON merge patch (RFC
// 7396), except that filters are replaced as a whole.
type SavedSearchChangeParams struct {
	Decoded
	Nulled
	Name     string                `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"New name." example:"New Oak brands"`
	Filters  *SavedSearchFilters   `json:"filters,omitempty" doc:"Replaces all filters."`
	Schedule *ScheduleChangeParams `json:"schedule,omitempty" ornull:"true" doc:"Changes to the schedule; null removes it. A search without a schedule needs a complete one."`
}

// ScheduleChangeParams change a schedule. Absent fields are unchanged, except that a new cadence
// resets the day.
type ScheduleChangeParams struct {
	Cadence string    `json:"cadence,omitzero" enum:"daily,weekly,monthly" doc:"How often the search runs. A new cadence uses its default day unless day is given." example:"weekly"`
	Day     Opt[int]  `json:"day,omitzero" nullable:"true" minimum:"0" maximum:"28" doc:"weekly: day of the week, 0 to 6, 0 is Sunday. monthly: day of the month, 1 to 28. daily: ignored. null sets the default: 0 or 1." example:"1"`
	Active  Opt[bool] `json:"active,omitzero" doc:"false pauses the search, true resumes it." example:"false"`
}

// changeHint describes how to send a valid change.
const changeHint = "Send at least one of name, filters and schedule, such as {\"schedule\": {\"active\": false}}."

// Apply returns the changed search, or a validation Error that lists all problems under dotted
// names. The same rules apply as for creation. Apply returns CodeSearchTooBroad if the change would
// give a scheduled search broad filters, or if it would add, resume, or (while active) change the
// schedule of a broad search. A changed or resumed schedule next runs at its first run time after
// now. LastRunAt is kept for as long as there is a schedule. Apply doesn't modify s.
func (p SavedSearchChangeParams) Apply(s SavedSearch, now time.Time) (SavedSearch, error) {
	problems := p.Decoded.problems()
	p.checkNulls(problems)
	p.checkEmpty(problems)
	before := s.Schedule
	if p.Name != "" {
		s.Name = problems.title("name", p.Name)
	}
	if p.Filters != nil {
		s.Filters = p.Filters.normalize(problems)
	}
	s.Schedule = p.schedule(problems, before, now)
	if err := problems.Err(); err != nil {
		return SavedSearch{}, err
	}
	if p.mustNarrow(before, s.Schedule) && !s.Filters.Narrow() {
		return SavedSearch{}, tooBroad("set schedule to null")
	}
	return s, nil
}

// mustNarrow reports whether a change requires narrow filters. Renaming and pausing don't.
func (p SavedSearchChangeParams) mustNarrow(before, after *Schedule) bool {
	switch {
	case after == nil:
		return false
	case p.Filters != nil, before == nil:
		return true
	}
	return after.Active && !after.runsAs(before)
}

// checkNulls rejects null for fields that can't be removed.
func (p SavedSearchChangeParams) checkNulls(problems *Problems) {
	for _, name := range p.Nulls {
		switch name {
		case "name", "schedule.cadence", "schedule.active":
			problems.require(name, "Must not be null. Omit it to keep the current value.")
		case "filters":
			problems.require(name, "Must not be null. Omit filters to keep them, or send {} to remove all.")
		}
	}
}

// checkEmpty rejects an empty change, unless there are other problems.
func (p SavedSearchChangeParams) checkEmpty(problems *Problems) {
	if len(*problems) > 0 {
		return
	}
	if p.Name == "" && p.Filters == nil && p.Schedule == nil && !slices.Contains(p.Nulls, "schedule") {
		problems.require("body", "The change is empty. "+changeHint)
	}
	ofSchedule := func(name string) bool { return strings.HasPrefix(name, "schedule.") }
	if p.Schedule != nil && *p.Schedule == (ScheduleChangeParams{}) && !slices.ContainsFunc(p.Nulls, ofSchedule) {
		problems.require("schedule", "The change is empty. Send cadence, day or active, or null to remove the schedule.")
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
		return ScheduleParams(*p.Schedule).normalize(problems, now)
	}
	after := p.Schedule.onto(before, slices.Contains(p.Nulls, "schedule.day")).normalize(problems, now)
	after.LastRunAt = before.LastRunAt
	if after.runsAs(before) {
		after.NextRunAt = before.NextRunAt // an overdue schedule stays overdue
	}
	return after
}

// onto merges the change into a schedule. A new cadence drops the day, because its meaning depends
// on the cadence.
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

// runsAs reports whether two schedules run at the same times.
func (s *Schedule) runsAs(other *Schedule) bool {
	return s.Cadence == other.Cadence && s.Day == other.Day && s.Active == other.Active
}
