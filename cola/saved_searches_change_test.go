package cola

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// weekly returns a weekly search that last ran at testNow. If active, it is overdue.
func weekly(active bool) SavedSearch {
	s := SavedSearch{
		UUID: "u", Name: "Oaks", Filters: SavedSearchFilters{BrandName: "oak"}, CreatedAt: 7,
		Schedule: &Schedule{Active: active, Cadence: CadenceWeekly, Day: 1, LastRunAt: Some(TimestampOf(testNow))},
	}
	if active {
		s.Schedule.NextRunAt = Some(TimestampOf(testNow.Add(-time.Hour)))
	}
	return s
}

func unscheduled(s SavedSearch) SavedSearch {
	s.Schedule = nil
	return s
}

// scheduledAs returns a search with a different schedule. If active, it next runs after testNow.
func scheduledAs(s SavedSearch, cadence string, day int, active bool) SavedSearch {
	last := Opt[Timestamp]{}
	if s.Schedule != nil {
		last = s.Schedule.LastRunAt
	}
	s.Schedule = &Schedule{Active: active, Cadence: cadence, Day: day, LastRunAt: last}
	if active {
		s.Schedule.NextRunAt = Some(TimestampOf(s.Schedule.Next(testNow)))
	}
	return s
}

func TestSavedSearchChange(t *testing.T) {
	active, paused := weekly(true), weekly(false)
	broad := unscheduled(weekly(true))
	broad.Filters = SavedSearchFilters{ApplicationStatus: vocabulary.StatusApproved}
	legacy := weekly(true) // narrowed by a filter from a later version
	legacy.Filters = SavedSearchFilters{}
	with := func(s SavedSearch, change func(*SavedSearch)) SavedSearch {
		change(&s)
		return s
	}
	schedule := func(c ScheduleChangeParams) SavedSearchChangeParams { return SavedSearchChangeParams{Schedule: &c} }
	null := func(names ...string) Nulled { return Nulled{Nulls: names} }
	on, off := Some(true), Some(false)
	tests := []struct {
		name   string
		from   SavedSearch
		change SavedSearchChangeParams
		want   SavedSearch
	}{
		{"a name", active, SavedSearchChangeParams{Name: " Elms "}, with(active, func(s *SavedSearch) { s.Name = "Elms" })},
		{"replaced filters", active, SavedSearchChangeParams{Filters: &SavedSearchFilters{Query: " elm ", TypeWine: off}},
			with(active, func(s *SavedSearch) { s.Filters = SavedSearchFilters{Query: "elm"} })},
		{"no filters", unscheduled(active), SavedSearchChangeParams{Filters: &SavedSearchFilters{}},
			with(unscheduled(active), func(s *SavedSearch) { s.Filters = SavedSearchFilters{} })},
		{"paused", active, schedule(ScheduleChangeParams{Active: off}), scheduledAs(active, CadenceWeekly, 1, false)},
		{"paused again", paused, schedule(ScheduleChangeParams{Active: off}), paused},
		{"resumed", paused, schedule(ScheduleChangeParams{Active: on}), scheduledAs(paused, CadenceWeekly, 1, true)},
		{"resumed while active", active, schedule(ScheduleChangeParams{Active: on}), active},
		{"same cadence in upper case", active, schedule(ScheduleChangeParams{Cadence: " WEEKLY "}), active},
		{"different day", active, schedule(ScheduleChangeParams{Day: Some(3)}), scheduledAs(active, CadenceWeekly, 3, true)},
		{"different day while paused", paused, schedule(ScheduleChangeParams{Day: Some(3)}), scheduledAs(paused, CadenceWeekly, 3, false)},
		{"weekly to daily", active, schedule(ScheduleChangeParams{Cadence: "daily"}), scheduledAs(active, CadenceDaily, 0, true)},
		{"daily, with null for the day", active, SavedSearchChangeParams{Nulled: null("schedule.day"), Schedule: &ScheduleChangeParams{Cadence: "daily"}},
			scheduledAs(active, CadenceDaily, 0, true)},
		{"daily, with a day", active, schedule(ScheduleChangeParams{Cadence: "daily", Day: Some(99)}), scheduledAs(active, CadenceDaily, 0, true)},
		{"null for the day", active, SavedSearchChangeParams{Nulled: null("schedule.day"), Schedule: &ScheduleChangeParams{}}, scheduledAs(active, CadenceWeekly, 0, true)},
		{"monthly without a day", active, schedule(ScheduleChangeParams{Cadence: "monthly"}), scheduledAs(active, CadenceMonthly, 1, true)},
		{"a first schedule without a day", unscheduled(active), schedule(ScheduleChangeParams{Cadence: "weekly"}), scheduledAs(unscheduled(active), CadenceWeekly, 0, true)},
		{"monthly and paused", active, schedule(ScheduleChangeParams{Cadence: "monthly", Day: Some(28), Active: off}), scheduledAs(active, CadenceMonthly, 28, false)},
		{"schedule removed", active, SavedSearchChangeParams{Nulled: null("schedule")}, unscheduled(active)},
		{"still no schedule", unscheduled(active), SavedSearchChangeParams{Nulled: null("schedule")}, unscheduled(active)},
		{"a first schedule", unscheduled(active), schedule(ScheduleChangeParams{Cadence: "daily"}), scheduledAs(unscheduled(active), CadenceDaily, 0, true)},
		{"first schedule with narrower filters", broad, SavedSearchChangeParams{Filters: &SavedSearchFilters{Query: "elm"}, Schedule: &ScheduleChangeParams{Cadence: "daily", Active: off}},
			scheduledAs(with(broad, func(s *SavedSearch) { s.Filters = SavedSearchFilters{Query: "elm"} }), CadenceDaily, 0, false)},
		{"broad filters, schedule removed", active, SavedSearchChangeParams{Nulled: null("schedule"), Filters: &broad.Filters},
			with(broad, func(*SavedSearch) {})},
		{"broad, renamed", legacy, SavedSearchChangeParams{Name: "n"}, with(legacy, func(s *SavedSearch) { s.Name = "n" })},
		{"broad, paused", legacy, schedule(ScheduleChangeParams{Active: off}), scheduledAs(legacy, CadenceWeekly, 1, false)},
	}
	for _, tt := range tests {
		prev := *tt.from.clone()
		got, err := tt.change.Apply(tt.from, testNow)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
		if diff := cmp.Diff(prev, tt.from); diff != "" {
			t.Errorf("%s: Apply changed its argument (-before +after):\n%s", tt.name, diff)
		}
	}
}

// clone returns a copy that does not share the schedule.
func (s SavedSearch) clone() *SavedSearch {
	if s.Schedule != nil {
		schedule := *s.Schedule
		s.Schedule = &schedule
	}
	return &s
}

func TestInvalidSavedSearchChanges(t *testing.T) {
	active, none := weekly(true), unscheduled(weekly(true))
	broad := &SavedSearchFilters{ApplicationStatus: vocabulary.StatusApproved}
	legacy := weekly(false)
	legacy.Filters = *broad
	schedule := func(c ScheduleChangeParams) SavedSearchChangeParams { return SavedSearchChangeParams{Schedule: &c} }
	nulls := func(names ...string) SavedSearchChangeParams {
		return SavedSearchChangeParams{Nulled: Nulled{names}, Schedule: &ScheduleChangeParams{}}
	}
	bad := func(name string) Decoded { return Decoded{Problems: Problems{name: {"Bad."}}} }
	for _, tt := range []struct {
		name   string
		from   SavedSearch
		change SavedSearchChangeParams
		want   []string // parameters with problems; nil if too broad
	}{
		{"empty", active, SavedSearchChangeParams{}, []string{"body"}},
		{"an empty schedule", active, schedule(ScheduleChangeParams{}), []string{"schedule"}},
		{"an empty first schedule", none, schedule(ScheduleChangeParams{}), []string{"schedule", "schedule.cadence"}},
		{"a blank name", active, SavedSearchChangeParams{Name: "  "}, []string{"name"}},
		{"everything null", active, nulls("name", "filters", "schedule.cadence", "schedule.active"), []string{"filters", "name", "schedule.active", "schedule.cadence"}},
		{"a day beyond the week", active, schedule(ScheduleChangeParams{Day: Some(7)}), []string{"schedule.day"}},
		{"hourly", active, schedule(ScheduleChangeParams{Cadence: "hourly"}), []string{"schedule.cadence"}},
		{"an incomplete first schedule", none, schedule(ScheduleChangeParams{Active: Some(true)}), []string{"schedule.cadence"}},
		{"invalid filters", active, SavedSearchChangeParams{Filters: &SavedSearchFilters{USState: "narnia", ABVMin: Some(101.0)}}, []string{"filters.abv_min", "filters.us_state"}},
		{"decoding problem", active, SavedSearchChangeParams{Decoded: bad("filters.brand")}, []string{"filters.brand"}},
		{"undecodable day only", active, SavedSearchChangeParams{Decoded: bad("schedule.day"), Schedule: &ScheduleChangeParams{}}, []string{"schedule.day"}},
		{"several problems", active, SavedSearchChangeParams{Decoded: bad("x"), Name: " ", Filters: &SavedSearchFilters{ABVMax: Some(-1.0)}, Schedule: &ScheduleChangeParams{Cadence: "monthly", Day: Some(0)}},
			[]string{"filters.abv_max", "name", "schedule.day", "x"}},
		{"broad filters", active, SavedSearchChangeParams{Filters: broad}, nil},
		{"broad filters while paused", weekly(false), SavedSearchChangeParams{Filters: broad}, nil},
		{"broad filters, pausing", active, SavedSearchChangeParams{Filters: broad, Schedule: &ScheduleChangeParams{Active: Some(false)}}, nil},
		{"a broad search gets a schedule", unscheduled(legacy), schedule(ScheduleChangeParams{Cadence: "daily", Active: Some(false)}), nil},
		{"a broad search is resumed", legacy, schedule(ScheduleChangeParams{Active: Some(true)}), nil},
	} {
		got, err := tt.change.Apply(tt.from, testNow)
		var refusal *Error
		if !errors.As(err, &refusal) || !cmp.Equal(got, SavedSearch{}) {
			t.Errorf("%s: Apply = %+v, %v, want an error", tt.name, got, err)
			continue
		}
		if got := slices.Sorted(maps.Keys(refusal.Details)); !cmp.Equal(tt.want, got) || (tt.want == nil) != (refusal.Code == CodeSearchTooBroad) {
			t.Errorf("%s: details of %s = %q, want %q", tt.name, refusal.Code, got, tt.want)
		}
	}
}

// TestSavedSearchChangeProperties checks that a changed search could also have been created, and
// that changes are idempotent.
func TestSavedSearchChangeProperties(t *testing.T) {
	days := rapid.SampledFrom([]Opt[int]{{}, Some(0), Some(1), Some(6), Some(7), Some(28)})
	flags := rapid.SampledFrom([]Opt[bool]{{}, Some(true), Some(false)})
	filters := rapid.SampledFrom([]*SavedSearchFilters{nil, {}, {BrandName: "oak"}, {TypeWine: Some(true)}, {ABVMin: Some(0.0)}})
	rapid.Check(t, func(t *rapid.T) {
		s := weekly(true)
		if rapid.Bool().Draw(t, "unscheduled") {
			s.Schedule = nil
		}
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			p := SavedSearchChangeParams{Name: rapid.SampledFrom([]string{"", "n"}).Draw(t, "name"), Filters: filters.Draw(t, "filters")}
			switch rapid.IntRange(0, 3).Draw(t, "schedule") {
			case 0:
				p.Nulls = []string{"schedule"}
			case 1, 2:
				p.Schedule = &ScheduleChangeParams{
					Cadence: rapid.SampledFrom(append(Cadences(), "")).Draw(t, "cadence"), Day: days.Draw(t, "day"), Active: flags.Draw(t, "active"),
				}
			}
			after, err := p.Apply(s, testNow)
			if err != nil {
				continue
			}
			checkCreatable(t, after)
			if again, err := p.Apply(after, testNow.Add(time.Minute)); err != nil || !cmp.Equal(after, again) {
				t.Fatalf("second Apply: %v\n%s", err, cmp.Diff(after, again))
			}
			s = after
		}
	})
}

// checkCreatable checks that creating the same search gives the same result, except for run times,
// and that the search has a next run only if its schedule is active.
func checkCreatable(t *rapid.T, s SavedSearch) {
	p := SavedSearchParams{Name: s.Name, Filters: &s.Filters}
	if s.Schedule != nil {
		p.Schedule = &ScheduleParams{Cadence: s.Schedule.Cadence, Day: Some(s.Schedule.Day), Active: Some(s.Schedule.Active)}
		if s.Schedule.NextRunAt.OK != s.Schedule.Active {
			t.Fatalf("schedule %+v: next_run_at must be set only when active", *s.Schedule)
		}
	}
	created, err := p.Normalize(testNow)
	if err != nil || created.Fingerprint() != s.Fingerprint() {
		t.Fatalf("Normalize(%+v): %v", s, err)
	}
}

func TestPreviewParams(t *testing.T) {
	got, err := PreviewParams{Filters: &SavedSearchFilters{BrandName: " oak ", TypeWine: Some(false)}}.Normalize()
	if err != nil || got != (SavedSearchFilters{BrandName: "oak"}) {
		t.Errorf("Normalize = %+v, %v", got, err)
	}
	if got, err := (PreviewParams{Filters: &SavedSearchFilters{}}).Normalize(); err != nil || got.Narrow() {
		t.Errorf("broad filters: Normalize = %+v, %v", got, err)
	}
	for name, p := range map[string]PreviewParams{
		"filters":         {},
		"filters.abv_min": {Filters: &SavedSearchFilters{ABVMin: Some(-1.0)}},
		"name":            {Decoded: Decoded{Problems: Problems{"name": {"Unknown."}}}, Filters: &SavedSearchFilters{}},
	} {
		var refusal *Error
		if _, err := p.Normalize(); !errors.As(err, &refusal) || refusal.Code != CodeValidation || len(refusal.Details) != 1 || refusal.Details[name] == nil {
			t.Errorf("%s: error = %v, want one problem with this parameter", name, err)
		}
	}
}

func TestSavedSearchList(t *testing.T) {
	for _, tt := range []struct {
		params SavedSearchListParams
		want   SavedSearchPage
		wrong  string
	}{
		{SavedSearchListParams{}, SavedSearchPage{1, 20}, ""},
		{SavedSearchListParams{Page: Some(2147483647), PerPage: Some(100)}, SavedSearchPage{2147483647, 100}, ""},
		{SavedSearchListParams{Page: Some(0)}, SavedSearchPage{}, "page"},
		{SavedSearchListParams{Page: Some(2147483648)}, SavedSearchPage{}, "page"},
		{SavedSearchListParams{PerPage: Some(101)}, SavedSearchPage{}, "per_page"},
		{SavedSearchListParams{PerPage: Some(0)}, SavedSearchPage{}, "per_page"},
	} {
		got, err := tt.params.Normalize()
		var refusal *Error
		if errors.As(err, &refusal); got != tt.want || (tt.wrong != "") != (refusal != nil) || refusal != nil && refusal.Details[tt.wrong] == nil {
			t.Errorf("Normalize(%+v) = %+v, %v", tt.params, got, err)
		}
	}
}
