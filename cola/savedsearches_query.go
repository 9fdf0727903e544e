package cola

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// AsQuery returns what settled filters ask for, on any date. Booleans of one group mean any of them;
// groups must all match. Both origins together are no filter: they also match labels of unknown origin.
// A country and a US state must both match, so France and California match nothing.
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
	names := []string{} // not nil: none matches nothing
	for _, s := range states {
		for _, name := range vocabulary.OriginNames(s.Code) {
			if q.OriginNames == nil || slices.Contains(q.OriginNames, name) {
				names = append(names, name)
			}
		}
	}
	q.OriginNames = names
}

// inMilliliters converts a settled bound.
func inMilliliters(v Opt[float64], unit string) Opt[float64] {
	ml, ok := vocabulary.Milliliters(v.V, unit)
	if !v.OK || !ok {
		return Opt[float64]{}
	}
	return Some(ml)
}

// Narrow reports whether settled filters narrow a search enough to run it by itself. A status does not, nor do bounds that
// leave out no known value, nor all booleans of a group together.
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

// Fingerprint hashes what a settled search is to do: its name, filters and schedule. When it runs and what the store adds do not
// count. The value is the same in every process and, as long as the filters mean the same, in every version of the program.
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
	_ = json.NewEncoder(h).Encode(content) // fails for numbers that are not finite only, and those are never settled
	h.Sum(sum[:0])
	return sum
}
