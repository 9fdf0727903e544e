package mail

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// oneLine puts untrusted text on one line, removes invisible characters (including bidirectional
// controls), and truncates it to maxRunes.
func oneLine(text string, maxRunes int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case vocabulary.IsInvisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxRunes {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:maxRunes-1])) + "…"
}

// count formats a number with a noun, such as "1,204 labels".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return withCommas(n) + " " + many
}

// withCommas formats an integer with thousands separators.
func withCommas(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

const (
	monthDay = "January 2"
	dayForm  = monthDay + ", 2006"
)

// day formats a date: November 9, 2026.
func day(d cola.Date) string { return d.Time().Format(dayForm) }

// timestamp formats a time: November 23, 2026, 06:00 UTC.
func timestamp(t time.Time) string { return t.UTC().Format(dayForm + ", 15:04 UTC") }

// clockTime formats a time of day.
func clockTime(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// days formats a range of days: November 9 to 16, 2026.
func days(from, to cola.Date) string {
	a, b := from.Time(), to.Time()
	switch {
	case from == to:
		return day(to)
	case a.Year() != b.Year():
		return fmt.Sprintf("%s to %s", day(from), day(to))
	case a.Month() != b.Month():
		return fmt.Sprintf("%s to %s", a.Format(monthDay), day(to))
	}
	return fmt.Sprintf("%s to %s", a.Format(monthDay), b.Format("2, 2006"))
}
