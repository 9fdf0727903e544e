package store

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// TestStaleSince goes through the days of a week. November 2, 2026, was a Monday.
func TestStaleSince(t *testing.T) {
	for newest, since := range map[int]int{
		2: 6,  // Monday: Tuesday to Thursday may have no labels
		3: 7,  // Tuesday: Wednesday to Friday may have no labels
		4: 10, // Wednesday: Thursday to Monday may have no labels
		5: 11,
		6: 12,
		7: 12, // Saturday counts as Friday
		8: 12,
		9: 13,
	} {
		status := FetchStatus{NewestDay: cola.NewDate(2026, time.November, newest)}
		want := cola.NewDate(2026, time.November, since).Time()
		if got := status.StaleSince(want.Add(-time.Nanosecond)); !got.IsZero() {
			t.Errorf("newest on November %d: stale since %v just before November %d", newest, got, since)
		}
		for _, now := range []time.Time{want, want.AddDate(0, 1, 0)} {
			if got := status.StaleSince(now); !got.Equal(want) {
				t.Errorf("newest on November %d: stale since %v on %v, want %v", newest, got, now, want)
			}
		}
	}
}

// TestStaleWithoutLabels checks that a registry without labels is stale only after requests.
func TestStaleWithoutLabels(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	if since := (FetchStatus{}).StaleSince(now); !since.IsZero() {
		t.Errorf("stale since %v without requests", since)
	}
	started := FetchStatus{FirstRequest: time.Date(2026, time.November, 4, 9, 0, 0, 0, time.UTC)}
	want := time.Date(2026, time.November, 10, 0, 0, 0, 0, time.UTC)
	if since := started.StaleSince(now); !since.Equal(want) {
		t.Errorf("stale since %v, want %v", since, want)
	}
}
