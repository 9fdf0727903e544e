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
