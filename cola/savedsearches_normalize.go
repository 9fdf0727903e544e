package cola

import (
	"strings"
	"time"
	"unicode"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// maxKeyLength is how many characters a caller's idempotency key may have.
const maxKeyLength = 255

// Normalize checks the parameters and settles them into a search, or returns a validation Error that tells all problems at
// once, under dotted names such as filters.abv_min. A search with a schedule whose filters narrow too little fails with
// CodeSearchTooBroad, also while the schedule is not active: to resume it must not make it broad. now decides when the
// search runs first. The UUID, the creation time and the addresses are left to whoever keeps the search.
func (p SavedSearchParams) Normalize(now time.Time) (SavedSearch, error) {
	problems := p.Decoded.problems()
	s := SavedSearch{Name: problems.title("name", p.Name)}
	if p.Filters == nil {
		problems.requireFilters()
	} else {
		s.Filters = p.Filters.settle(problems)
	}
	if p.Schedule != nil {
		s.Schedule = p.Schedule.settle(problems, now)
	}
	problems.key("Idempotency-Key", p.IdempotencyKey)
	if err := problems.Err(); err != nil {
		return SavedSearch{}, err
	}
	if s.Schedule != nil && !s.Filters.Narrow() {
		return SavedSearch{}, tooBroad("leave schedule out")
	}
	return s, nil
}

// tooBroad is the refusal of a search that is to run by itself and narrows too little. instead is how to have it without a schedule.
func tooBroad(instead string) error {
	return Errorf(CodeSearchTooBroad, "A search that runs by itself needs a filter that narrows it. "+
		"Add one of query, brand_name, barcode_value, permit_number_text, country, us_state, applicant_us_state, derived_category, "+
		"a volume, abv_min above 0 or abv_max below 100, or some but not all of the product types, categories, origins or containers; "+
		"a status alone does not narrow it. Or %s: the search is then kept and does not run.", instead)
}

// require notes that a value is missing, unless something is wrong with it already.
func (p *Problems) require(name, message string) {
	if len((*p)[name]) == 0 {
		p.Add(name, "%s", message)
	}
}

// requireFilters notes that there are no filters.
func (p *Problems) requireFilters() {
	p.require("filters", "An object that says what to look for is required, such as {\"brand_name\": \"oak\"}.")
}

// title settles the name of a search.
func (p *Problems) title(name, value string) string {
	return p.Legible(name, value, maxTextLength, "A name to recognise the search by is required: 1 to 200 characters.")
}

// key checks a caller's idempotency key; an empty one is none.
func (p *Problems) key(name, value string) {
	hidden := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.ContainsFunc(value, hidden):
		p.Add(name, "%s holds a character that is not visible ASCII; a UUID makes a good key.", Quoted(value))
	case len(value) > maxKeyLength:
		p.Add(name, "The key has %d characters; at most %d are allowed. A UUID makes a good key.", len(value), maxKeyLength)
	}
}

// settle returns the filters with every value in the form it is stored in. It is idempotent.
func (p SavedSearchFilters) settle(problems *Problems) (s SavedSearchFilters) {
	for i := range filters {
		c := &filters[i]
		if c.Saved == nil {
			continue
		}
		v, settle := c.saved(&p), c.settleSaved
		if settle == nil {
			settle = c.settle
		}
		if !c.boolean() {
			v = c.check(problems, "filters."+c.Saved[0], settle, v)
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

// searchable settles words to look for. Without a letter or a digit there is no word: such a search, kept, would never find anything.
func (p *Problems) searchable(name, value string) string {
	value = p.text(name, value)
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		p.Add(name, "%s has no letter or digit, so it matches nothing.", Quoted(value))
		return ""
	}
	return value
}

// stateWord settles a word that means a US state, or several; it stays as sent.
func (p *Problems) stateWord(name, value string) string {
	value = p.words(name, value)
	if value != "" && len(vocabulary.StatesNamed(value)) == 0 {
		p.refuseState(name, value)
		return ""
	}
	return value
}

// stateCode settles the name or the code of one US state to the code.
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
	p.Add(name, "%s may mean several states; write two letters, such as CA.", Quoted(value))
	return ""
}

func (p *Problems) refuseState(name, value string) {
	hint := ""
	if near, ok := vocabulary.NearestState(value); ok {
		hint = " Did you mean " + near + "?"
	}
	p.Add(name, "%s is not a US state; write its name or two letters, such as california or CA.%s", Quoted(value), hint)
}

// settle returns the schedule; when it is active, with its first run after now.
func (p ScheduleParams) settle(problems *Problems, now time.Time) *Schedule {
	s := &Schedule{Active: p.Active.Or(true), Cadence: problems.Choice("schedule.cadence", p.Cadence, Cadences())}
	switch s.Cadence {
	case CadenceDaily: // clients send a day with every cadence
	case CadenceWeekly:
		s.Day = problems.integer("schedule.day", p.Day, 0, 0, 6)
	case CadenceMonthly:
		s.Day = problems.integer("schedule.day", p.Day, 1, 1, 28)
	default:
		problems.require("schedule.cadence", "A schedule needs a cadence; allowed: "+strings.Join(Cadences(), ", ")+". Leave schedule out for a search that does not run.")
	}
	if s.Active {
		s.NextRunAt = Some(TimestampOf(s.Next(now)))
	}
	return s
}
