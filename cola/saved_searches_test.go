package cola

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTimestamp(t *testing.T) {
	at := time.Date(2026, 11, 20, 13, 14, 15, 123456789, time.FixedZone("", 3600))
	for _, tt := range []struct {
		at   Timestamp
		want string
	}{
		{TimestampOf(at), `"2026-11-20T12:14:15.123456Z"`},
		{TimestampOf(at.Truncate(time.Second)), `"2026-11-20T12:14:15Z"`},
		{TimestampOf(time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC)), `"1969-12-31T23:59:59.999999Z"`},
	} {
		b, err := json.Marshal(tt.at)
		if err != nil || string(b) != tt.want {
			t.Errorf("Marshal(%d) = %s (%v), want %s", tt.at, b, err, tt.want)
		}
		var back Timestamp
		if err := json.Unmarshal(b, &back); err != nil || back != tt.at {
			t.Errorf("Unmarshal(%s) = %d (%v), want %d", b, back, err, tt.at)
		}
	}
	var read Timestamp
	if err := json.Unmarshal([]byte(`"2026-11-20T13:14:15+01:00"`), &read); err != nil || !read.Time().Equal(at.Truncate(time.Second)) {
		t.Errorf("time in another zone: %v, %v", read.Time(), err)
	}
	for _, bad := range []string{`"yesterday"`, `"2026-11-20"`, `""`, `1`} {
		if err := json.Unmarshal([]byte(bad), &read); err == nil {
			t.Errorf("Unmarshal(%s) succeeded, want an error", bad)
		}
	}
}

func TestSavedSearchJSON(t *testing.T) {
	for _, tt := range []struct {
		search SavedSearch
		want   string
	}{
		{SavedSearch{UUID: "u", Name: "n"}, `{"uuid":"u","name":"n","filters":{},"schedule":null,` +
			`"created_at":"1970-01-01T00:00:00Z","manage_url":"","dashboard_url":""}`},
		{SavedSearch{Filters: SavedSearchFilters{TypeWine: Some(true), ABVMin: Some(0.0)}, Schedule: &Schedule{
			Active: true, Cadence: CadenceWeekly, Day: 0, NextRunAt: Some(TimestampOf(time.Unix(0, 0))),
		}}, `{"uuid":"","name":"","filters":{"type_wine":true,"abv_min":0},"schedule":{"active":true,"cadence":"weekly","day":0,` +
			`"next_run_at":"1970-01-01T00:00:00Z","last_run_at":null,"paused_because":null},"created_at":"1970-01-01T00:00:00Z","manage_url":"","dashboard_url":""}`},
	} {
		b, err := json.Marshal(tt.search)
		if err != nil || string(b) != tt.want {
			t.Errorf("Marshal: %v\n got %s\nwant %s", err, b, tt.want)
		}
	}
}

func TestNextRun(t *testing.T) {
	weekly := func(day int) Schedule { return Schedule{Cadence: CadenceWeekly, Day: day} }
	monthly := func(day int) Schedule { return Schedule{Cadence: CadenceMonthly, Day: day} }
	for _, tt := range []struct {
		name     string
		schedule Schedule
		after    string
		want     string
	}{
		{"daily, before the hour", Schedule{Cadence: CadenceDaily}, "2026-11-20T05:59:59.999999Z", "2026-11-20T06:00:00Z"},
		{"daily, at the hour", Schedule{Cadence: CadenceDaily}, "2026-11-20T06:00:00Z", "2026-11-21T06:00:00Z"},
		{"daily, in another zone", Schedule{Cadence: CadenceDaily}, "2026-11-20T22:00:00-09:00", "2026-11-22T06:00:00Z"},
		{"daily, across the new year", Schedule{Cadence: CadenceDaily}, "2026-12-31T12:00:00Z", "2027-01-01T06:00:00Z"},
		{"weekly, later the same day", weekly(5), "2026-11-20T01:00:00Z", "2026-11-20T06:00:00Z"}, // a Friday
		{"weekly, a week later", weekly(5), "2026-11-20T06:00:00Z", "2026-11-27T06:00:00Z"},
		{"weekly, on Sunday", weekly(0), "2026-11-20T12:00:00Z", "2026-11-22T06:00:00Z"},
		{"monthly, the same day", monthly(20), "2026-11-20T05:00:00Z", "2026-11-20T06:00:00Z"},
		{"monthly, from a 31-day month", monthly(20), "2026-12-20T06:00:00Z", "2027-01-20T06:00:00Z"},
		{"monthly, past February", monthly(28), "2026-02-28T06:00:00Z", "2026-03-28T06:00:00Z"},
		{"monthly, across a leap day", monthly(1), "2028-02-28T06:00:00Z", "2028-03-01T06:00:00Z"},
		{"no cadence", Schedule{}, "2026-11-20T05:00:00Z", ""},
		{"no day", Schedule{Cadence: CadenceMonthly}, "2026-11-20T05:00:00Z", ""},
		{"no such day", weekly(7), "2026-11-20T05:00:00Z", ""},
	} {
		after, err := time.Parse(time.RFC3339Nano, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		var want time.Time
		if tt.want != "" {
			if want, err = time.Parse(time.RFC3339, tt.want); err != nil {
				t.Fatal(err)
			}
		}
		if got := tt.schedule.Next(after); got != want {
			t.Errorf("%s: Next(%s) = %v, want %s", tt.name, tt.after, got, tt.want)
		}
	}
}

// TestNextRunProperties checks that runs are in ascending order, fall on the right day at the right
// hour, and skip no dates.
func TestNextRunProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{Cadence: rapid.SampledFrom(Cadences()).Draw(t, "cadence")}
		switch s.Cadence {
		case CadenceWeekly:
			s.Day = rapid.IntRange(0, 6).Draw(t, "weekday")
		case CadenceMonthly:
			s.Day = rapid.IntRange(1, 28).Draw(t, "day")
		}
		after := time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "after"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		next := s.Next(after)
		due := func(at time.Time) bool {
			return at.Truncate(24*time.Hour).Add(RunHour*time.Hour) == at &&
				(s.Cadence != CadenceWeekly || int(at.Weekday()) == s.Day) && (s.Cadence != CadenceMonthly || at.Day() == s.Day)
		}
		if !next.After(after) || next.Location() != time.UTC || !due(next) {
			t.Fatalf("%+v: Next = %v, want a due UTC time after %v", s, next, after)
		}
		for at := after.UTC().Truncate(24 * time.Hour).Add(RunHour * time.Hour); at.Before(next); at = at.Add(24 * time.Hour) {
			if at.After(after) && due(at) {
				t.Fatalf("%+v: Next = %v after %v, skipping %v", s, next, after, at)
			}
		}
		if again := s.Next(next); !again.After(next) {
			t.Fatalf("%+v: Next = %v after %v", s, again, next)
		}
	})
}

func TestSavedSearchFingerprint(t *testing.T) {
	base := func() SavedSearch {
		return SavedSearch{Name: "n", Filters: SavedSearchFilters{BrandName: "oak", ABVMin: Some(0.0)}, Schedule: &Schedule{Active: true, Cadence: CadenceWeekly, Day: 1}}
	}
	want := base().Fingerprint()
	same := base()
	same.UUID, same.CreatedAt, same.ManageURL = "u", 1, "https://example.com"
	same.Schedule.NextRunAt, same.Schedule.LastRunAt = Some(Timestamp(1)), Some(Timestamp(2))
	if same.Fingerprint() != want {
		t.Error("fingerprint depends on fields set by the service")
	}
	for name, change := range map[string]func(*SavedSearch){
		"name":     func(s *SavedSearch) { s.Name = "m" },
		"brand":    func(s *SavedSearch) { s.Filters.BrandName = "oaks" },
		"zero":     func(s *SavedSearch) { s.Filters.ABVMin = Opt[float64]{} },
		"flag":     func(s *SavedSearch) { s.Filters.ContainerPod = Some(true) },
		"no alert": func(s *SavedSearch) { s.Schedule = nil },
		"paused":   func(s *SavedSearch) { s.Schedule.Active = false },
		"cadence":  func(s *SavedSearch) { s.Schedule.Cadence = CadenceMonthly },
		"day":      func(s *SavedSearch) { s.Schedule.Day = 0 },
	} {
		changed := base()
		if change(&changed); changed.Fingerprint() == want {
			t.Errorf("fingerprint does not depend on %s", name)
		}
	}
	// Fingerprints are stored, so they must not change between versions.
	const golden = "1f74e62b65fdaea0"
	if got := fmt.Sprintf("%x", want[:8]); got != golden {
		t.Errorf("fingerprint = %s, want %s", got, golden)
	}
}

// TestNormalizeEveryFilter checks that each normalized filter is in the fingerprint, in the JSON
// and, except for a unit alone, in the query.
func TestNormalizeEveryFilter(t *testing.T) {
	fields := reflect.TypeFor[SavedSearchFilters]()
	none := SavedSearch{}.Fingerprint()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		filters := filtersOf(t, name)
		search, err := SavedSearchParams{Name: "n", Filters: &filters}.Normalize(testNow)
		if err != nil {
			t.Errorf("%s: problems = %v", name, details(err))
			continue
		}
		search.Name = ""
		if search.Fingerprint() == none {
			t.Errorf("fingerprint does not depend on %s", name)
		}
		if b, err := json.Marshal(search.Filters); err != nil || !strings.Contains(string(b), `"`+name+`":`) {
			t.Errorf("%s is missing from %s (%v)", name, b, err)
		}
		if filtered := !cmp.Equal(search.Filters.AsQuery(), Query{}); filtered == (name == "volume_unit") {
			t.Errorf("%s: query = %+v", name, search.Filters.AsQuery())
		}
	}
}

// filtersOf returns filters with the named one set.
func filtersOf(t *testing.T, name string) SavedSearchFilters {
	t.Helper()
	values := map[string]string{
		"application_status": `"approved"`, "us_state": `"ohio"`, "applicant_us_state": `"OH"`, "derived_category": `"Wine > Red Wine"`, "estimated_dates": `"exclude"`,
		"volume_unit": `"liters"`, "abv_min": `1`, "abv_max": `1`, "volume_min": `1, "volume_unit": "liters"`, "volume_max": `1, "volume_unit": "liters"`,
	}
	value, listed := values[name]
	for _, flags := range []string{"type_", "derived_beer", "derived_wine", "derived_liquor", "origin_", "container_"} {
		if strings.HasPrefix(name, flags) {
			value, listed = "true", true
		}
	}
	if !listed {
		value = `"oak"`
	}
	var f SavedSearchFilters
	if err := json.Unmarshal([]byte(`{"`+name+`": `+value+`}`), &f); err != nil {
		t.Fatal(err)
	}
	return f
}
