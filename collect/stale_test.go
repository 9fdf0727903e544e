package collect

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestStaleSince goes through the days of a week. November 2, 2026, was a Monday.
func TestStaleSince(t *testing.T) {
	for newest, since := range map[int]int{
		2: 6,  // Monday: Tuesday to Thursday may pass
		3: 7,  // Tuesday: until Friday; the weekend doesn't matter
		4: 10, // Wednesday: until Monday
		5: 11,
		6: 12,
		7: 12, // Saturday counts like Friday
		8: 12,
		9: 13,
	} {
		status := store.FetchStatus{NewestDay: cola.NewDate(2026, time.November, newest)}
		want := cola.NewDate(2026, time.November, since).Time()
		if got := StaleSince(status, want.Add(-time.Nanosecond)); !got.IsZero() {
			t.Errorf("newest on the %dth: stale since %v just before the %dth", newest, got, since)
		}
		for _, now := range []time.Time{want, want.AddDate(1, 0, 0)} {
			if got := StaleSince(status, now); !got.Equal(want) {
				t.Errorf("newest on the %dth: stale since %v, want %v", newest, got, want)
			}
		}
	}
}

// TestStaleWithoutLabels checks registries that have no labels yet.
func TestStaleWithoutLabels(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	if since := StaleSince(store.FetchStatus{}, now); !since.IsZero() {
		t.Errorf("stale since %v without requests", since)
	}
	started := store.FetchStatus{FirstRequest: time.Date(2026, time.November, 4, 9, 0, 0, 0, time.UTC)}
	want := time.Date(2026, time.November, 10, 0, 0, 0, 0, time.UTC)
	if since := StaleSince(started, now); !since.Equal(want) {
		t.Errorf("stale since %v, want %v", since, want)
	}
}

// TestStaleWarning checks that the warning appears once a day.
func TestStaleWarning(t *testing.T) {
	var log bytes.Buffer
	logger, s := slog.New(slog.NewTextHandler(&log, nil)), staleness{}
	status := store.FetchStatus{NewestDay: cola.NewDate(2026, time.November, 2)}
	for _, test := range []struct {
		day, hour, lines int
	}{{5, 12, 0}, {6, 0, 1}, {6, 23, 1}, {7, 0, 2}, {7, 1, 2}, {9, 2, 3}} {
		s.check(status, time.Date(2026, time.November, test.day, test.hour, 0, 0, 0, time.UTC), logger)
		if n := strings.Count(log.String(), "\n"); n != test.lines {
			t.Errorf("November %d, %d:00: %d warnings, want %d", test.day, test.hour, n, test.lines)
		}
	}
}
