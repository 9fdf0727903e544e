package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

func TestRelativeTime(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		ago  time.Duration
		want string
	}{
		{0, "just now"},
		{time.Minute - 1, "just now"},
		{time.Minute, "1 min ago"},
		{time.Hour - 1, "59 min ago"},
		{time.Hour, "1 hour ago"},
		{2 * time.Hour, "2 hours ago"},
		{24*time.Hour - 1, "23 hours ago"}, // on the day before
		{24 * time.Hour, "yesterday"},
		{36 * time.Hour, "yesterday"}, // midnight
		{36*time.Hour + 1, "2 days ago"},
		{30 * 24 * time.Hour, "30 days ago"},
		{31 * 24 * time.Hour, "Oct 20, 2026"},
		{-1, "in 1 min"}, // a countdown doesn't end early
		{-5 * time.Minute, "in 5 min"},
		{-time.Hour, "in 1 hour"},
		{-23 * time.Hour, "in 23 hours"},
		{-24 * time.Hour, "tomorrow"},
		{-36 * time.Hour, "in 2 days"},
		{-30 * 24 * time.Hour, "in 30 days"},
		{-31 * 24 * time.Hour, "Dec 21, 2026"},
	} {
		if got := relativeTime(now.Add(-test.ago), now); got != test.want {
			t.Errorf("%v ago = %q, want %q", test.ago, got, test.want)
		}
	}
}

// TestTimeTypes checks that every time type is shown with the same markup and the exact UTC time,
// and that a missing time is shown as never.
func TestTimeTypes(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := now.Add(-3 * time.Minute).In(time.FixedZone("", -8*3600))
	stamp := cola.TimestampOf(at)
	for _, value := range []any{at, stamp, cola.Some(stamp)} {
		got := string(relativeTimeHTML(value, now))
		for _, want := range []string{"3 min ago", "2026-11-20T11:57:00Z", "Nov 20, 2026, 11:57 UTC", `tabindex="0"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%T: %s lacks %q", value, got, want)
			}
		}
		if got := exactTimeHTML(value); got != `<time datetime="2026-11-20T11:57:00Z">Nov 20, 2026, 11:57 UTC</time>` {
			t.Errorf("%T: exact time = %s", value, got)
		}
	}
	for _, missing := range []any{time.Time{}, cola.Timestamp(0), cola.Opt[cola.Timestamp]{}, nil} {
		if got, exact := relativeTimeHTML(missing, now), exactTimeHTML(missing); got != neverHTML || exact != neverHTML {
			t.Errorf("%T: %s, %s; want never", missing, got, exact)
		}
	}
}
