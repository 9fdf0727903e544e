package mail

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

func TestDays(t *testing.T) {
	date := cola.NewDate
	for want, window := range map[string][2]cola.Date{
		"November 16, 2026":                    {date(2026, 11, 16), date(2026, 11, 16)},
		"November 9 to 16, 2026":               {date(2026, 11, 9), date(2026, 11, 16)},
		"October 26 to November 2, 2026":       {date(2026, 10, 26), date(2026, 11, 2)},
		"December 28, 2026 to January 4, 2027": {date(2026, 12, 28), date(2027, 1, 4)},
		"January 4, 2026 to January 4, 2027":   {date(2026, 1, 4), date(2027, 1, 4)},
	} {
		if got := days(window[0], window[1]); got != want {
			t.Errorf("days(%v) = %q, want %q", window, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{
		0:       "0 labels",
		1:       "1 label",
		999:     "999 labels",
		1000:    "1,000 labels",
		100000:  "100,000 labels",
		1234567: "1,234,567 labels",
	} {
		if got := count(n, "label", "labels"); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  a\r\n\tb  ": "a b", "a\u202eb\x00": "ab", "a\u2028b\u00a0c": "a b c", "abcdef": "abcdef",
		"abcdefg": "abcde…", "héronßß": "héron…", "\xff": "\uFFFD", "1234 678": "1234…",
	} {
		if got := oneLine(text, 6); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", text, got, want)
		}
	}
}
