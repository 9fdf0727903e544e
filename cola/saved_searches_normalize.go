package cola

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// maxKeyLength is the maximum length of an idempotency key, in characters.
const maxKeyLength = 255

// Normalize returns the search, or a validation Error that lists all problems under dotted names
// such as filters.abv_min. A schedule, even inactive, requires narrow filters (CodeSearchTooBroad),
// so that resuming can't bypass the rule. now determines the first run. The registry sets the UUID
// and URLs, and the store sets the creation time.
func (p SavedSearchParams) Normalize(now time.Time) (SavedSearch, error) {
	problems := p.Decoded.problems()
	s := SavedSearch{Name: problems.title("name", p.Name)}
	if p.Filters == nil {
		problems.requireFilters()
	} else {
		s.Filters = p.Filters.normalize(problems)
	}
	if p.Schedule != nil {
		s.Schedule = p.Schedule.normalize(problems, now)
	}
	problems.key("Idempotency-Key", p.IdempotencyKey)
	if err := problems.Err(); err != nil {
		return SavedSearch{}, err
	}
	if s.Schedule != nil && !s.Filters.Narrow() {
		return SavedSearch{}, tooBroad("omit schedule")
	}
	return s, nil
}

// tooBroad returns the error for a scheduled search that is too broad. remedy says how to save it
// without a schedule.
func tooBroad(remedy string) error {
	return Errorf(CodeSearchTooBroad, "A search with a schedule needs a filter that narrows it. "+
		"Add one of query, brand_name, barcode_value, permit_number_text, country, us_state, applicant_us_state, "+
		"derived_category, class, grape, appellation, a volume, abv_min above 0, abv_max below 100, or some (not all) of the product types, "+
		"categories, origins or containers. A status or estimated_dates alone is not enough. Or %s to save the search without a schedule.", remedy)
}

// require reports a missing value unless the parameter already has a problem.
func (p *Problems) require(name, message string) {
	if len((*p)[name]) == 0 {
		p.Add(name, "%s", message)
	}
}

// requireFilters reports missing filters.
func (p *Problems) requireFilters() {
	p.require("filters", "An object with filters is required, such as {\"brand_name\": \"oak\"}.")
}

// title normalizes the name of a search.
func (p *Problems) title(name, value string) string {
	return p.Legible(name, value, maxTextLength, "Enter a name of 1 to 200 characters.")
}

// key checks an idempotency key, which may be empty.
func (p *Problems) key(name, value string) {
	hidden := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.ContainsFunc(value, hidden):
		p.Add(name, "%s contains a character that is not visible ASCII. Use a UUID, for example.", Quoted(value))
	case len(value) > maxKeyLength:
		p.Add(name, "The key is %d characters long; the limit is %d. Use a UUID, for example.", len(value), maxKeyLength)
	}
}

// normalize returns the filters with every value in stored form. It is idempotent.
func (p SavedSearchFilters) normalize(problems *Problems) (s SavedSearchFilters) {
	for i := range filters {
		c := &filters[i]
		if c.Saved == nil {
			continue
		}
		v, normalize := c.saved(&p), c.normalizeSaved
		if normalize == nil {
			normalize = c.normalize
		}
		if !c.boolean() {
			v = c.check(problems, "filters."+c.Saved[0], normalize, v)
		}
		c.save(&s, v)
	}
	problems.ordered("filters.abv_min", s.ABVMin, "filters.abv_max", s.ABVMax)
	problems.ordered("filters.volume_min", s.VolumeMin, "filters.volume_max", s.VolumeMax)
	if p.VolumeMin.OK || p.VolumeMax.OK {
		problems.needUnit("filters.volume_unit", p.VolumeUnit)
	}
	problems.milliliters("filters.volume_min", s.VolumeMin, s.VolumeUnit)
	problems.milliliters("filters.volume_max", s.VolumeMax, s.VolumeUnit)
	return s
}

// searchable normalizes search text. Text without a letter or digit matches nothing, so saving it
// is a mistake.
func (p *Problems) searchable(name, value string) string {
	value = p.text(name, value)
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		p.Add(name, "%s needs at least one letter or digit.", Quoted(value))
		return ""
	}
	return value
}

// stateWord checks that text names one or more US states, and returns it with white space
// normalized.
func (p *Problems) stateWord(name, value string) string {
	value = p.words(name, value)
	if value != "" && len(vocabulary.StatesNamed(value)) == 0 {
		p.refuseState(name, value)
		return ""
	}
	return value
}

// stateCode normalizes the name or code of one US state to the code.
func (p *Problems) stateCode(name, value string) string {
	value = p.words(name, value)
	if value == "" {
		return ""
	}
	found := vocabulary.StatesNamed(value)
	switch len(found) {
	case 0:
		p.refuseState(name, value)
		return ""
	case 1:
		return found[0].Code
	}
	p.Add(name, "%s is ambiguous; use a two-letter state code, such as CA.", Quoted(value))
	return ""
}

func (p *Problems) refuseState(name, value string) {
	hint := ""
	if near, ok := vocabulary.NearestState(value); ok {
		hint = " Did you mean " + near + "?"
	}
	p.Add(name, "%s is not a US state; use a name or two-letter code, such as California or CA.%s", Quoted(value), hint)
}

// normalize returns the schedule, with its first run after now if it is active.
func (p ScheduleParams) normalize(problems *Problems, now time.Time) *Schedule {
	s := &Schedule{Active: p.Active.Or(true), Cadence: problems.Choice("schedule.cadence", p.Cadence, Cadences())}
	switch s.Cadence {
	case CadenceDaily: // ignores the day
	case CadenceWeekly:
		s.Day = problems.integer("schedule.day", p.Day, 0, 0, 6)
	case CadenceMonthly:
		s.Day = problems.integer("schedule.day", p.Day, 1, 1, 28)
	default:
		problems.require("schedule.cadence", "A schedule needs a cadence: "+strings.Join(Cadences(), ", ")+". To save the "+
			"search without a schedule, omit schedule.")
	}
	if s.Active {
		s.NextRunAt = Some(TimestampOf(s.Next(now)))
	}
	return s
}

// AsQuery converts normalized filters to a query without dates. Booleans in a group are
// alternatives; groups must all match. Both origins together don't filter: they also match labels
// of unknown origin. A country and a US state must both match, so the combination of France and
// California matches no label.
func (f SavedSearchFilters) AsQuery() (q Query) {
	for i := range filters {
		c := &filters[i]
		if c.Saved == nil {
			continue
		}
		v := c.saved(&f)
		if c.measured {
			v.number = inMilliliters(v.number, f.VolumeUnit)
		}
		c.set(&q, v)
	}
	return q
}

// narrowToStates adds the condition that a label is from one of the states.
func (q *Query) narrowToStates(states []vocabulary.State) {
	names := []string{} // not nil, which would match everything
	for _, s := range states {
		for _, name := range vocabulary.OriginNames(s.Code) {
			if q.OriginNames == nil || slices.Contains(q.OriginNames, name) {
				names = append(names, name)
			}
		}
	}
	q.OriginNames = names
}

// inMilliliters converts a normalized bound.
func inMilliliters(v Opt[float64], unit string) Opt[float64] {
	ml, ok := vocabulary.Milliliters(v.V, unit)
	if !v.OK || !ok {
		return Opt[float64]{}
	}
	return Some(ml)
}

// Narrow reports whether normalized filters are narrow enough for a schedule. A status,
// estimated_dates, bounds that exclude no value, and all booleans in a group don't count.
func (f SavedSearchFilters) Narrow() bool {
	for i := range filters {
		if c := &filters[i]; c.Saved != nil && c.narrows(c.saved(&f)) {
			return true
		}
	}
	return false
}

func (f *Filter) narrows(v filterValue) bool {
	switch {
	case f.broad || f.Kind == UnitFilter || !v.given():
		return false
	case f.boolean():
		return len(v.words) < len(f.Words)
	case f.Kind == MinFilter:
		return v.number.V > 0
	case f.Kind == MaxFilter:
		return v.number.V < f.Max
	}
	return true
}

// Fingerprint hashes the name, filters and schedule of a normalized search. It ignores run times
// and the fields that Normalize doesn't set. The value is the same in every process and, as long as
// filters keep their meaning, in every version.
func (s SavedSearch) Fingerprint() (sum [32]byte) {
	type schedule struct {
		Cadence string   `json:"cadence"`
		Day     Opt[int] `json:"day"`
		Active  bool     `json:"active"`
	}
	content := struct {
		Name     string             `json:"name"`
		Filters  SavedSearchFilters `json:"filters"`
		Schedule *schedule          `json:"schedule,omitempty"`
	}{s.Name, s.Filters, nil}
	if s.Schedule != nil {
		content.Schedule = &schedule{s.Schedule.Cadence, s.Schedule.StoredDay(), s.Schedule.Active}
	}
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(content) // fails only for non-finite numbers, which normalization rejects
	h.Sum(sum[:0])
	return sum
}

// WhyNot explains why a saved search has no date filters, and names the filters that correspond to
// a search parameter. It returns "" for other names.
func (SavedSearchParams) WhyNot(name string) string { return whyNoFilter(name) }

// WhyNot is like SavedSearchParams.WhyNot.
func (SavedSearchChangeParams) WhyNot(name string) string { return whyNoFilter(name) }

// WhyNot is like SavedSearchParams.WhyNot, but for a preview.
func (PreviewParams) WhyNot(name string) string {
	if whyNoDate(name) == "" {
		return whyNoFilter(name)
	}
	return "A preview always covers the last 30 days. Omit this parameter."
}

// WhyNot is like SavedSearchParams.WhyNot, but for a name within the filters.
func (SavedSearchFilters) WhyNot(name string) string { return whyNoFilter(name) }

func whyNoFilter(name string) string { return cmp.Or(whyNoDate(name), namedDifferently(name)) }

// namedDifferently names the saved-search filters that correspond to a search parameter but have a
// different name.
func namedDifferently(name string) string {
	var names []string
	if f, ok := FilterOf(name); ok && !slices.Contains(f.Saved, name) {
		names = slices.Clone(f.Saved)
	}
	switch name {
	case "origin":
		names = append(names, "us_state")
	case "permit_number":
		names = append(names, "permit_number_text")
	}
	if len(names) == 0 {
		return ""
	}
	for i := range names {
		names[i] = "filters." + names[i]
	}
	return "Unknown parameter; did you mean " + joinedWithOr(names) + "?"
}

func whyNoDate(name string) string {
	name = strings.ToLower(name)
	if !strings.HasPrefix(name, "approval_date") && !strings.HasPrefix(name, "date_") {
		return ""
	}
	return "Saved searches have no approval-date filters: each scheduled run covers the time since the previous one. " +
		"Omit this filter, or search labels directly for a date range."
}

// Explanation explains why a saved search does or doesn't find a label.
type Explanation struct {
	TTBID   TTBID             `json:"ttb_id" pattern:"^[0-9]{14}$" doc:"TTB ID of the label, 14 digits." example:"26282001000009"`
	Label   ColaSummary       `json:"label" doc:"Current record of the label."`
	Matches bool              `json:"matches" doc:"Whether the label currently matches the filters." example:"false"`
	Filters []FilterFinding   `json:"filters" nullable:"false" doc:"Result of each filter. Within a group, one match is enough. Omits volume_unit, and omits origin_domestic and origin_imported if both are set."`
	Found   *SavedSearchMatch `json:"found" ornull:"true" doc:"The match, if a run has found the label."`
	Verdict string            `json:"verdict" enum:"found,next_run,not_yet,filters,initial_import,before_search,too_old,passed,not_scheduled" doc:"found: a run has found it. filters: it doesn't match. not_scheduled: the search has no schedule, or it is paused or on hold. initial_import: part of the initial import. not_yet: its approval date is in the future or unknown. next_run: the next run will find it. before_search: approved and in the registry before the search was created. too_old: reached the registry too late; runs cover late labels for 90 days. passed: runs have covered it, and it didn't match at that time." example:"filters"`
	Message string            `json:"message" doc:"Explanation of the verdict." example:"It doesn't match these filters: brand_name."`
}

// The verdicts of an Explanation.
const (
	VerdictFound         = "found"
	VerdictFilters       = "filters"
	VerdictNotScheduled  = "not_scheduled"
	VerdictInitialImport = "initial_import"
	VerdictNotYet        = "not_yet"
	VerdictNextRun       = "next_run"
	VerdictBeforeSearch  = "before_search"
	VerdictTooOld        = "too_old"
	VerdictPassed        = "passed"
)

// FilterFinding is the result of checking a label against one filter of a saved search.
type FilterFinding struct {
	Filter string      `json:"filter" doc:"Name of the filter." example:"brand_name"`
	Group  Opt[string] `json:"group" nullable:"true" enum:"type,category,origin,container" doc:"Group of alternatives; one match is enough. Null for a filter that must match." example:"type"`
	Value  any         `json:"value" doc:"Value of the filter: a string, a number, or true." example:"\"heron\""`
	Met    bool        `json:"met" doc:"Whether the label matches it." example:"false"`
}
