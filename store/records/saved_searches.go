package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// SavedSearch is the row of a saved search, except its ID and account.
type SavedSearch struct {
	UUID      string
	Name      string
	Filters   string    // JSON
	Cadence   cola.Text // empty without a schedule
	Day       cola.Opt[int]
	Active    bool
	NextRunAt time.Time
	LastRunAt time.Time
	CreatedAt time.Time

	PausedBecause cola.Text // why the account's state pauses the search; empty if it does not
}

// NewSavedSearch returns the row of a search. It fails with store.ErrMalformed for filters that
// JSON cannot represent.
func NewSavedSearch(s *cola.SavedSearch) (SavedSearch, error) {
	filters, err := cola.AppendJSON(nil, s.Filters)
	if err != nil {
		return SavedSearch{}, errors.Join(store.ErrMalformed, err)
	}
	r := SavedSearch{UUID: s.UUID, Name: s.Name, Filters: string(filters), CreatedAt: s.CreatedAt.Time()}
	if plan := s.Schedule; plan != nil {
		r.Cadence, r.Day, r.Active = cola.Text(plan.Cadence), plan.StoredDay(), plan.Active
		r.NextRunAt, r.LastRunAt = timeOf(plan.NextRunAt), timeOf(plan.LastRunAt)
		r.PausedBecause = cola.Text(plan.PausedBecause.V)
	}
	return r, nil
}

// NewStoredSearch returns the row of a copied search.
func NewStoredSearch(s *store.StoredSearch) (SavedSearch, error) {
	r, err := NewSavedSearch(&s.SavedSearch)
	if s.Schedule == nil {
		r.NextRunAt, r.PausedBecause = s.Due, cola.Text(s.PauseReason)
	}
	return r, err
}

// CopyTo copies the row to a StoredSearch. It sets Due and PauseReason only if the search has no
// schedule.
func (r *SavedSearch) CopyTo(into *store.StoredSearch) (err error) {
	into.SavedSearch, err = r.Search()
	if into.Schedule == nil {
		into.Due, into.PauseReason = r.NextRunAt, string(r.PausedBecause)
	}
	return err
}

// Columns returns the row's columns.
func (r *SavedSearch) Columns() []Column {
	return []Column{
		{"uuid", &r.UUID}, {"name", &r.Name}, {"filters", &r.Filters},
		{"cadence", &r.Cadence}, {"day", &r.Day}, {"active", &r.Active},
		{"next_run_at", &r.NextRunAt}, {"last_run_at", &r.LastRunAt}, {"created_at", &r.CreatedAt},
		{"paused_because", &r.PausedBecause},
	}
}

// Changeable returns the columns that a change may write.
func (r *SavedSearch) Changeable() []Column {
	all := r.Columns()
	return all[1 : len(all)-2] // without UUID, creation time and pause reason
}

// Refusal wraps an error from a caller's change function, and hides it from checks for database
// errors.
type Refusal struct{ Reason error }

// Error implements error.
func (r Refusal) Error() string { return "refused: " + r.Reason.Error() }

// Change applies a change and reports whether it activates the search. Unchanged filters keep their
// stored form, including those that this version of the program does not recognize. A search that
// remains without a schedule keeps its requested run. Change fails with a Refusal if change fails,
// and with store.ErrMalformed for an invalid search; the row then does not change.
func (r *SavedSearch) Change(change func(cola.SavedSearch) (cola.SavedSearch, error)) (activated bool, err error) {
	before, err := r.Search()
	if err != nil {
		return false, err
	}
	after, err := change(before)
	if err != nil {
		return false, Refusal{err}
	}
	after.UUID, after.CreatedAt = before.UUID, before.CreatedAt
	if err := (store.NewSavedSearch{Search: after}).Check(); err != nil {
		return false, err
	}
	row, err := NewSavedSearch(&after)
	if err != nil {
		return false, err
	}
	if after.Filters == before.Filters {
		row.Filters = r.Filters
	}
	if before.Schedule == nil && after.Schedule == nil {
		row.NextRunAt = r.NextRunAt
	}
	row.PausedBecause = r.PausedBecause
	activated = row.Active && !r.Active
	*r = row
	return activated, nil
}

// Search returns the search, without its URLs and without filters that only a newer version of the
// program recognizes.
func (r *SavedSearch) Search() (cola.SavedSearch, error) {
	s := r.withoutFilters()
	if err := json.Unmarshal([]byte(r.Filters), &s.Filters); err != nil {
		return cola.SavedSearch{}, fmt.Errorf("filters of saved search %s: %w", r.UUID, err)
	}
	return s, nil
}

// Due returns the search, without its URLs, and a fault if this version of the program cannot
// run it because of an unknown filter or cadence.
func (r *SavedSearch) Due() (s cola.SavedSearch, fault error) {
	s = r.withoutFilters()
	if r.Cadence != "" && !slices.Contains(cola.Cadences(), string(r.Cadence)) {
		return s, fmt.Errorf("schedule of saved search %s: unknown cadence %q", r.UUID, r.Cadence)
	}
	strict := json.NewDecoder(strings.NewReader(r.Filters))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&s.Filters); err != nil {
		s.Filters = cola.SavedSearchFilters{}
		return s, fmt.Errorf("filters of saved search %s: %w", r.UUID, err)
	}
	return s, nil
}

func (r *SavedSearch) withoutFilters() cola.SavedSearch {
	s := cola.SavedSearch{UUID: r.UUID, Name: r.Name, CreatedAt: cola.TimestampOf(r.CreatedAt)}
	if r.Cadence != "" {
		s.Schedule = &cola.Schedule{
			Active:        r.Active,
			Cadence:       string(r.Cadence),
			Day:           r.Day.V,
			NextRunAt:     timestampOf(r.NextRunAt),
			LastRunAt:     timestampOf(r.LastRunAt),
			PausedBecause: cola.Opt[string]{V: string(r.PausedBecause), OK: r.PausedBecause != ""},
		}
	}
	s.RunRequested = r.Cadence == "" && r.PausedBecause == "" && !r.NextRunAt.IsZero()
	return s
}

// In rows, the zero time stands for an unset time.

func timeOf(t cola.Opt[cola.Timestamp]) time.Time {
	if !t.OK {
		return time.Time{}
	}
	return t.V.Time()
}

func timestampOf(t time.Time) cola.Opt[cola.Timestamp] {
	if t.IsZero() {
		return cola.Opt[cola.Timestamp]{}
	}
	return cola.Some(cola.TimestampOf(t))
}
